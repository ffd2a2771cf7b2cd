import DivanLog
import ProofKit

/// The seeds of the fuzzers: golden stores, and parts of them.
package enum FuzzSeeds {
  static let stores: [GoldenStore] = (GoldenStores.all + GoldenStores.rich).compactMap {
    try? $0.make()
  }

  /// Returns the seeds of a target, by name.
  package static func seeds(for target: FuzzTarget) -> [(name: String, bytes: [UInt8])] {
    var seeds: [(name: String, bytes: [UInt8])] = []
    for store in stores {
      let files = store.files.filter { !$0.key.contains("/") }.sorted { $0.key < $1.key }
      switch target {
      case .segment:
        for (name, bytes) in files where name.hasSuffix(".segment") {
          seeds.append(("\(store.name)-\(name)", bytes))
        }
      case .checkpoint, .attachment, .view, .multipart, .answers, .requests, .query: break
      case .head:
        for (name, bytes) in files {
          seeds.append(("\(store.name)-\(name)", Array(bytes.prefix(4096))))
          seeds.append(("\(store.name)-\(name)-name", Array(name.utf8)))
        }
      case .record:
        for (name, bytes) in files where name.hasSuffix(".segment") {
          seeds.append(("\(store.name)-\(name)", records(of: bytes)))
        }
      case .json:
        for (index, line) in store.contents.enumerated() where index % 7 == 0 {
          seeds.append(("\(store.name)-\(index)", Array(line.json.utf8)))
        }
      case .page:
        for (name, bytes) in files where name.hasSuffix(".checkpoint") {
          seeds.append(("\(store.name)-\(name)", pages(of: bytes)))
        }
      case .store:
        let packed = files.filter { $0.key != "RESERVE" }
          .map { PackedStore.File(name: $0.key, bytes: $0.value) }
        seeds.append((store.name, PackedStore.pack(packed)))
      }
    }
    if target == .view { seeds = FuzzViews.seeds }
    if target == .attachment { seeds = FuzzAttachments.seeds }
    if target == .multipart { seeds = FuzzMultipart.seeds }
    if target == .answers { seeds = FuzzAnswers.seeds }
    if target == .requests { seeds = FuzzRequests.seeds }
    if target == .query { seeds = FuzzQueries.seeds }
    if target == .checkpoint {
      for (index, base) in FuzzStores.checkpointed.enumerated() {
        guard let bytes = base.files[base.checkpoint] else { continue }
        seeds.append(("\(index)", [UInt8(index)] + bytes.array))
      }
    }
    return seeds.filter { $0.bytes.count <= target.sizeLimit && !$0.bytes.isEmpty }
  }

  /// Returns the records of a segment in sequence.
  private static func records(of bytes: [UInt8]) -> [UInt8] {
    var records: [UInt8] = []
    var position = SegmentHeader.size
    while let frame = FramePlace(bytes, at: position), frame.isWhole {
      RecordPlace.forEach(in: bytes, of: frame) { record in
        if records.count < 3 << 10 { records += bytes[record.offset..<record.content.upperBound] }
      }
      position = frame.end
    }
    return records
  }

  /// Returns the pages of a checkpoint; the root is the last one above leaves, or else the last.
  private static func pages(of bytes: [UInt8]) -> [UInt8] {
    var pages: [UInt8] = []
    var root = (page: 0, level: 0)
    var position = CheckpointHeader.size
    while let frame = FramePlace(bytes, at: position), frame.isWhole, frame.kind == 5 {
      let level = Int(bytes[frame.payload.lowerBound + 8])
      let number = pages.count / CheckpointHeader.pageSize
      if level >= root.level, level < 32 { root = (number, level) }
      if pages.count < 28 << 10 { pages += bytes[frame.payload] }
      position = frame.end
    }
    return pages + [3, UInt8(root.page & 0xFF), UInt8(root.level), 0, 0, 0, 0, 0]
  }
}
