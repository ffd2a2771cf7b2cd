import Divan
import DivanLog
import Foundation
import ProofKit
import Testing
import logdump

/// Tests of `salvage` and `verify` on stores in which one byte is changed.
struct FlippedStoreTests {
  /// A record as `tx` lists it.
  private struct Listed {
    let file: String
    let bytes: Range<Int>
    let kind: Int
    let id: String?
  }

  /// An undamaged golden store, with its salvaged documents and the positions of its records.
  private struct Sound {
    let store: DumpedStore
    let files: [String: [UInt8]]
    let records: [Listed]
    /// The lines of each document in an export of the salvaged store.
    let saved: [String: [Substring]]
    /// An export of the store itself.
    let export: String

    init(_ name: String) throws {
      store = DumpedStore()
      files = try GoldenFolder.version1.files(of: name)
      for (file, bytes) in files.sorted(by: { $0.key < $1.key }) {
        var folder = store.path
        try? store.fileSystem.makeDirectory(folder)
        for part in file.split(separator: "/").dropLast() {
          folder += "/\(part)"
          try? store.fileSystem.makeDirectory(folder)
        }
        try store.replace(file, with: bytes)
      }
      records = try store.dump("tx", "--records", "--json").lines.compactMap { line in
        let value = try Value(json: line)
        guard let kind = value["record"]?.intValue, let file = value["file"]?.stringValue,
          let offset = value["offset"]?.intValue, let size = value["size"]?.intValue
        else { return nil }
        return Listed(
          file: file, bytes: Int(offset)..<Int(offset + size), kind: Int(kind),
          id: value["id"]?.stringValue)
      }
      export = store.dump("export", "--everything").output
      (_, saved) = try FlippedStoreTests.salvage(store)
    }
  }

  /// Salvages a store, and returns the run and the lines of each salvaged document.
  private static func salvage(_ store: DumpedStore) throws -> (Run, [String: [Substring]]) {
    let run = store.dump("salvage", "--to", "/new.divan")
    let text = store.dump("export", "--everything", path: "/new.divan").output
    var lines: [String: [Substring]] = [:]
    for line in text.split(separator: "\n") {
      let id = try Value(json: String(line))["_id"]?.stringValue ?? ""
      lines[id, default: []].append(line)
    }
    if try store.fileSystem.exists("/new.divan") { try removeAll("/new.divan", store.fileSystem) }
    return (run, lines)
  }

  private static func removeAll(_ path: String, _ fileSystem: MemoryFileSystem) throws {
    for name in try fileSystem.list(path) {
      let child = "\(path)/\(name)"
      if try fileSystem.status(child).kind == .directory {
        try removeAll(child, fileSystem)
      } else {
        try fileSystem.remove(child)
      }
    }
    try fileSystem.removeDirectory(path)
  }

  /// Regression test: salvage stopped too early.
  ///
  /// It gave up in a frame after reading four times as many bytes as there were. It did not search
  /// after damaged headers of frames and segments at all. With `DIVAN_EVERY_BIT` set, every bit of
  /// the stores is flipped, which takes long.
  @Test(arguments: [
    ("fresh", 7), ("conflicts", 61), ("attachments", 29), ("local", 29), ("merged-one", 29),
    ("tombstones", 61), ("histories", 61), ("nested", 61),
  ])
  func `after a flipped byte, salvage saves all other documents and verify reports it`(
    name: String, step: Int
  ) throws {
    let isEveryBit = ProcessInfo.processInfo.environment["DIVAN_EVERY_BIT"] != nil
    let step = isEveryBit ? 1 : step
    let sound = try Sound(name)
    let store = sound.store
    #expect(store.dump("verify").status == .sound)
    #expect(!sound.saved.isEmpty)
    for (file, bytes) in sound.files.sorted(by: { $0.key < $1.key }) {
      let isSegment = file.hasSuffix(".segment")
      // A checkpoint's pages are large, and salvage does not need them.
      let stride = isSegment || file == "HEAD" ? step : 61 * step
      for index in bytes.indices where index % stride == 0 {
        // Most of a segment's header is zeros, of which a sample is enough.
        if isSegment, (200..<4080).contains(index), index % 256 != 0 { continue }
        for bit in isEveryBit ? 0..<8 : index / step % 8..<index / step % 8 + 1 {
          var changed = bytes
          changed[index] ^= 1 << UInt8(bit)
          try store.withBytes(changed, in: file) {
            let location = "\(name)/\(file), byte \(index), bit \(bit)"
            let verified = store.dump("verify")
            if verified.status == .sound {
              #expect(store.dump("export", "--everything").output == sound.export, "\(location)")
              #expect(["RESERVE", "LOCK"].contains(file), "\(location)")
            }
            let (run, saved) = try FlippedStoreTests.salvage(store)
            #expect([.sound, .damage].contains(run.status), "\(location): \(run.problems)")
            let hit = sound.records.filter { $0.file == file && $0.bytes.contains(index) }
            let isAttachmentHit = file.hasPrefix("attachments/") || hit.contains { $0.kind == 3 }
            for (id, lines) in sound.saved where !hit.contains(where: { $0.id == id }) {
              // A document with a lost attachment is saved as a new revision without it.
              let isHit =
                isAttachmentHit && lines.contains { $0.contains("_attachments") }
                || id.hasPrefix("_local/") && hit.contains { $0.kind == 5 }
              if isHit { continue }
              #expect(saved[id] == lines, "\(location): \(id) in \(run.output)")
            }
            if isAttachmentHit {
              #expect(saved.count == sound.saved.count, "\(location)")
            }
          }
        }
      }
    }
  }

  /// Regression test: none of two thousand documents was saved.
  @Test(arguments: [0, 40, 10_000, 20_000])
  func `a flipped bit in an attachment loses nothing else`(offset: Int) throws {
    let store = DumpedStore()
    let content = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }
    let database = try store.open()
    try database.write { transaction in
      var film = Document(id: "a")
      film.attachments["still"] = Document.Attachment(contentType: "x/y", content)
      try transaction.put(film)
      for number in 0..<300 { try transaction.put(Document(id: "d\(number)", ["n": 1])) }
    }
    try database.close()
    let name = "0000000001.segment"
    var bytes = try store.bytes(name)
    let digest = SHA256.digest(of: SharedBytes(copying: content)).bytes
    let start = try #require(bytes.indices.first { Array(bytes[$0...].prefix(32)) == digest })
    // Offsets count from the form of the record, which precedes the digest.
    bytes[start - 1 + offset] ^= 4
    try store.replace(name, with: bytes)
    #expect(store.dump("verify").status == .damage)
    let run = store.dump("salvage", "--to", "/new.divan")
    #expect(run.output.contains("301 documents were put into"), "\(run.output)")
    #expect(run.output.contains("lost: attachment still of a"))
  }

  @Test func `records within a damaged attachment are not salvaged`() throws {
    let other = try DumpedStore.films()
    let content = try other.bytes("0000000001.segment")
    let store = DumpedStore()
    let database = try store.open()
    try database.write { transaction in
      var film = Document(id: "a")
      film.attachments["store"] = Document.Attachment(contentType: "x/y", content)
      try transaction.put(film)
      try transaction.put(Document(id: "b"))
    }
    try database.close()
    let name = "0000000001.segment"
    let sound = try store.bytes(name)
    let start = try #require(
      (4096..<sound.count).first { Array(sound[$0...].prefix(64)) == Array(content.prefix(64)) })
    // In the content; in its length, which precedes it; and in the size of the record.
    let size = start - 2 - 32 - 1 - 1 - 4 - 2
    for offset in [start + 100, start + 4100, start - 1, size] {
      var bytes = sound
      bytes[offset] ^= 1
      try store.withBytes(bytes, in: name) {
        let (run, saved) = try FlippedStoreTests.salvage(store)
        #expect(run.status == .damage)
        #expect(saved.keys.sorted() == ["a", "b"], "byte \(offset - start): \(run.output)")
      }
    }
  }

  @Test func `a segment with a destroyed header is still searched`() throws {
    let store = try DumpedStore.films()
    var bytes = try store.bytes("0000000001.segment")
    for index in 0..<200 { bytes[index] = 0xFF }
    try store.replace("0000000001.segment", with: bytes)
    let (run, saved) = try FlippedStoreTests.salvage(store)
    #expect(run.status == .damage)
    #expect(saved.keys.sorted() == ["m", "metropolis", "nosferatu"], "\(run.output)")
  }
}
