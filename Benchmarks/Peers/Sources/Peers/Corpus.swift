import Divan
import Foundation

/// The documents of one run, written to a file once and mapped by every process.
///
/// Mapped memory of a file is not anonymous, so the documents do not count in the memory figures
/// and cost no time while a load is measured.
///
/// Layout, in the machine's byte order, because the file never leaves the run:
///
///     count: UInt64 | offsets: (count + 1) × UInt64 | ids: count × 20 bytes | bodies
///
/// `@unchecked Sendable`: the mapping is read-only and lives as long as the process.
final class Corpus: @unchecked Sendable {
  let count: Int
  let generator: DocumentGenerator
  private let offsets: UnsafePointer<UInt64>
  private let ids: UnsafeRawPointer
  private let bodies: UnsafeRawPointer

  init(path: String, seed: UInt64) throws {
    let descriptor = open(path, O_RDONLY)
    guard descriptor >= 0 else { throw PeerError("cannot open \(path)") }
    defer { Foundation.close(descriptor) }
    let size = Int(lseek(descriptor, 0, SEEK_END))
    guard let base = mmap(nil, size, PROT_READ, MAP_SHARED, descriptor, 0), base != MAP_FAILED
    else { throw PeerError("cannot map \(path)") }
    count = Int(base.load(as: UInt64.self))
    generator = DocumentGenerator(seed: seed)
    offsets = UnsafePointer((base + 8).assumingMemoryBound(to: UInt64.self))
    ids = UnsafeRawPointer(base + 8 + (count + 1) * 8)
    bodies = ids + count * DocumentGenerator.idSize
    // Every page is read once here, so that no workload pays for the first access to it.
    var sum: UInt8 = 0
    for offset in stride(from: 0, to: size, by: 4096) {
      sum &+= base.load(fromByteOffset: offset, as: UInt8.self)
    }
    withExtendedLifetime(sum) {}
  }

  /// Generates `count` documents into a file at `path`.
  static func write(count: Int, seed: UInt64, to path: String) throws {
    let generator = DocumentGenerator(seed: seed)
    var offsets: [UInt64] = [0]
    var ids: [UInt8] = []
    var bodies: [UInt8] = []
    bodies.reserveCapacity(count * 320)
    for index in 0..<count {
      let document = generator.document(index)
      ids.append(contentsOf: document.id.utf8)
      bodies.append(contentsOf: document.json.utf8)
      offsets.append(UInt64(bodies.count))
    }
    guard let file = fopen(path, "w") else { throw PeerError("cannot create \(path)") }
    defer { fclose(file) }
    var header = UInt64(count)
    let written =
      fwrite(&header, 8, 1, file) + fwrite(offsets, 8, offsets.count, file)
      + fwrite(ids, 1, ids.count, file) + fwrite(bodies, 1, bodies.count, file)
    guard written == 1 + offsets.count + ids.count + bodies.count else {
      throw PeerError("cannot write \(path)")
    }
  }

  func id(_ index: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: ids + index * DocumentGenerator.idSize, count: DocumentGenerator.idSize)
  }

  func body(_ index: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: bodies + Int(offsets[index]), count: Int(offsets[index + 1] - offsets[index]))
  }

  /// Returns the number of bytes of the first `count` documents as JSON with `_id` and `_rev`.
  ///
  /// All sizes on disk are divided by this.
  func liveBytes(_ count: Int) -> Int {
    let idProperty = DocumentGenerator.idSize + #""_id":"","#.utf8.count
    let revisionProperty = #""_rev":"1-","#.utf8.count + 32
    return Int(offsets[count]) + count * (idProperty + revisionProperty)
  }

  /// Returns documents to write in one transaction; bodies may be those of other documents.
  func batch(_ indices: some Sequence<Int>, form: DocumentForm, bodyShift: Int = 0) -> Batch {
    Batch(
      documents: indices.map { index in
        let source = (index + bodyShift) % count
        var document = Document(id: id(index), body: body(source))
        switch form {
        case .json: break
        case .record: document.record = record(index, source)
        case .divan: document.divan = record(index, source).divanDocument
        }
        return document
      })
  }

  /// Returns the IDs of `sampleCount` random documents among the first `count`.
  ///
  /// They are copied side by side, so that reading the list costs no cache misses.
  func randomIDs(among count: Int, sampleCount: Int, seed: UInt64) -> IDList {
    var random = SplitMix64(state: seed)
    return IDList((0..<sampleCount).map { _ in id(random.next(below: count)) })
  }

  private func record(_ index: Int, _ source: Int) -> SampleDocument {
    var record = generator.document(source)
    record.id = String(decoding: id(index), as: UTF8.self)
    return record
  }
}

/// One document in the forms that the engines take.
///
/// `@unchecked Sendable`: it points into the corpus, which is read-only and never unmapped.
struct Document: @unchecked Sendable {
  var id: UnsafeRawBufferPointer
  var body: UnsafeRawBufferPointer
  /// The same document as a Swift value, for engines that require it.
  var record: SampleDocument?
  /// The same document as a `Document` of Divan.
  var divan: Divan.Document?
}

/// Documents that are written in one transaction.
struct Batch: Sendable {
  var documents: [Document]
}

/// IDs to look up, side by side: as bytes, and as text for stores whose API requires that.
struct IDList: Sendable {
  let bytes: [UInt8]
  let strings: [String]
  var count: Int { strings.count }

  init(_ ids: [UnsafeRawBufferPointer]) {
    bytes = ids.flatMap { $0 }
    strings = ids.map { String(decoding: $0, as: UTF8.self) }
  }

  /// Calls `body` with each ID.
  @inline(__always)
  func forEach(_ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
    try bytes.withUnsafeBytes { all in
      for index in 0..<count {
        let start = index * DocumentGenerator.idSize
        try body(UnsafeRawBufferPointer(rebasing: all[start..<start + DocumentGenerator.idSize]))
      }
    }
  }
}
