import DivanTesting

/// Changes an input of a target with knowledge of the format.
///
/// It mostly changes bytes within a frame, a record or a header, and then corrects sizes and
/// checksums.
package struct Mutation {
  private var random: SeededGenerator
  /// Changes bytes arbitrarily, up to a size limit: libFuzzer's own mutation.
  private let change: (inout [UInt8], Int) -> Void

  package init(seed: UInt64, change: @escaping (inout [UInt8], Int) -> Void) {
    random = SeededGenerator(seed: seed)
    self.change = change
  }

  private mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

  private mutating func chance(_ part: Int, of whole: Int) -> Bool { below(whole) < part }
}

extension Mutation {
  package mutating func mutate(
    _ input: [UInt8], as target: FuzzTarget, limit: Int
  ) -> [UInt8] {
    var bytes = input
    switch target {
    case .json, .attachment: change(&bytes, limit)
    case .multipart: mutateText(&bytes, Self.multipartWords, limit)
    case .answers, .requests: mutateText(&bytes, Self.protocolWords, limit)
    case .query: mutateText(&bytes, Self.queryWords, limit)
    case .segment: mutateFile(&bytes, .segment, limit)
    case .checkpoint:
      let base = bytes.first ?? 0
      var file = Array(bytes.dropFirst())
      mutateFile(&file, .checkpoint, max(0, limit - 1))
      bytes = [chance(1, of: 10) ? base &+ 1 : base] + file
    case .view: mutateFile(&bytes, .view, limit)
    case .head: mutateHead(&bytes, limit)
    case .record: mutateRecords(&bytes, limit)
    case .page: mutatePages(&bytes, limit)
    case .store: mutateStore(&bytes, limit)
    }
    return bytes.count <= limit ? bytes : Array(bytes.prefix(limit))
  }

  // MARK: Texts

  private static let multipartWords = ["\r\n--b", "\r\n\r\n", "--", "\r\n", "\r", "A: 1"].map {
    Array($0.utf8)
  }

  private static let protocolWords = [
    "\"_id\":\"a\",", "\"_rev\":\"1-00000000000000000000000000000001\",", "\"_revisions\":",
    "{\"start\":1,\"ids\":[\"1\"]}", "\"_deleted\":true,", "\"_attachments\":{\"x\":{", "\"data\":",
    "\"length\":", "\"digest\":\"md5-", "\"follows\":true", "\"stub\":true", "null", "[]", "{}",
    "-1",
    "9223372036854775807", "1e400", "\\u0000", "%2F", "%00", "?rev=", "&open_revs=all", "since=",
    "limit=0", "new_edits=false", "atts_since=", "\r\n--b", "\r\n\r\n", "/_local/", "/db/a", "\n\n",
  ].map { Array($0.utf8) }

  private static let queryWords = [
    " OR ", " AND ", " NOT ", " -", "(", ")", "\"", "*", "~1", "~2", "NEAR(", ", 3)", "title:",
    "text:", "none:", "\n", "the", "running", "Straße", "\u{301}", "’", "日本", "ไทย", "\u{200D}",
    "\u{FDFA}", "\u{0}",
  ].map { Array($0.utf8) }

  /// Changes bytes, and every other time inserts a word or doubles a part.
  private mutating func mutateText(_ bytes: inout [UInt8], _ words: [[UInt8]], _ limit: Int) {
    guard chance(1, of: 2) else { return change(&bytes, limit) }
    for _ in 0...below(3) {
      let offset = below(bytes.count + 1)
      if chance(1, of: 4), !bytes.isEmpty {
        let start = below(bytes.count)
        let part = Array(bytes[start..<min(bytes.count, start + 1 + below(200))])
        bytes.insert(contentsOf: part, at: offset)
      } else {
        bytes.insert(contentsOf: words[below(words.count)], at: offset)
      }
    }
  }

  // MARK: Files

  private mutating func mutateFile(
    _ bytes: inout [UInt8], _ kind: ChecksumRepair.FileKind, _ limit: Int
  ) {
    if bytes.count < 256 || chance(1, of: 12) {
      change(&bytes, limit)
    } else {
      for _ in 0...below(2) { mutatePart(&bytes, kind, limit) }
    }
    guard !chance(1, of: 10) else { return }
    var repair = ChecksumRepair(isDeep: chance(3, of: 4), gap: chance(1, of: 8) ? 1 + below(5) : 0)
    repair.repair(&bytes, as: kind)
  }

  private mutating func mutatePart(
    _ bytes: inout [UInt8], _ kind: ChecksumRepair.FileKind, _ limit: Int
  ) {
    let frames = frames(bytes)
    guard kind != .head, let frame = frames.randomElement(using: &random) else {
      return mutate(&bytes, in: 0..<min(bytes.count, 200))
    }
    switch below(10) {
    case 0:
      mutate(&bytes, in: 8..<min(bytes.count, 200))
    case 1:
      mutate(&bytes, in: frame.offset + 4..<frame.offset + 24)
    case 2:
      mutateOrder(&bytes, frames, limit)
    case 3 where frame.isLast && frame.kind == 1 && frame.payloadSize >= 48:
      mutate(&bytes, in: frame.payload.upperBound - 48..<frame.payload.upperBound)
    case 4, 5, 6:
      mutateRecord(&bytes, frame, limit)
    case 7:
      // Sizes and counts at their limits.
      let places = [64, 72, 80, 96, 104, 120, 128, 136, 144, 160, 184] + [frame.offset + 16]
      let place = places[below(places.count)]
      let values: [UInt64] = [0, 1, 1 << 60, (1 << 60) + 1, .max, UInt64(bytes.count), 1 << 31]
      if place + 8 <= bytes.count { bytes.store(values[below(values.count)], at: place) }
    default:
      let start = frame.payload.lowerBound
      let end = min(frame.payload.upperBound, start + 1 + below(max(1, frame.payloadSize)))
      mutate(&bytes, in: start..<min(end, bytes.count))
    }
  }

  private func frames(_ bytes: [UInt8]) -> [FramePlace] {
    var frames: [FramePlace] = []
    var position = 4096
    while let frame = FramePlace(bytes, at: position) {
      if frame.isWhole { frames.append(frame) }
      position = frame.isWhole ? frame.end : frame.offset + 8
    }
    return frames
  }

  /// Changes bytes of a range, and keeps the others in place.
  private mutating func mutate(_ bytes: inout [UInt8], in range: Range<Int>) {
    guard !range.isEmpty, range.upperBound <= bytes.count else { return }
    var part = Array(bytes[range])
    change(&part, range.count)
    part += bytes[range].dropFirst(part.count)
    bytes.replaceSubrange(range, with: part.prefix(range.count))
  }

  /// Removes a frame, or moves one.
  private mutating func mutateOrder(
    _ bytes: inout [UInt8], _ frames: [FramePlace], _ limit: Int
  ) {
    guard let frame = frames.randomElement(using: &random),
      let other = frames.randomElement(using: &random)
    else { return }
    let copy = Array(bytes[frame.offset..<frame.end])
    switch below(4) {
    case 0: bytes.removeSubrange(frame.offset..<frame.end)
    case 1 where bytes.count + copy.count <= limit:
      bytes.insert(contentsOf: copy, at: other.offset)
    case 2: bytes.removeSubrange(frame.offset...)
    default:
      if other.offset > frame.offset {
        bytes.removeSubrange(other.offset..<other.end)
        bytes.insert(contentsOf: copy, at: other.offset)
      }
    }
  }

  /// Changes one record, which may become longer or shorter, and the frame with it.
  private mutating func mutateRecord(
    _ bytes: inout [UInt8], _ frame: FramePlace, _ limit: Int
  ) {
    var records: [RecordPlace] = []
    RecordPlace.forEach(in: bytes, of: frame) { records.append($0) }
    guard let record = records.randomElement(using: &random) else { return }
    var payload = Array(bytes[frame.payload])
    let start = record.offset - frame.payload.lowerBound
    let end = record.content.upperBound - frame.payload.lowerBound
    payload.replaceSubrange(
      start..<end, with: changed(record, of: bytes, limit: max(16, limit - bytes.count)))
    bytes.store(UInt32(payload.count), at: frame.offset + 8)
    payload += [UInt8](repeating: 0, count: (8 - payload.count % 8) % 8)
    bytes.replaceSubrange(frame.payload.lowerBound..<frame.end, with: payload)
  }

  /// Returns a record with changed content, without a correct checksum.
  private mutating func changed(
    _ record: RecordPlace, of bytes: [UInt8], limit: Int
  ) -> [UInt8] {
    var content = Array(bytes[record.content].dropFirst(4))
    if chance(1, of: 2), content.count > 4 {
      // The beginning: flags, ID, numbers.
      var part = Array(content.prefix(below(min(60, content.count))))
      let count = part.count
      change(&part, max(count, min(count + limit, 80)))
      content.replaceSubrange(0..<count, with: part)
    } else {
      change(&content, content.count + min(limit, 64))
    }
    if chance(3, of: 4), !content.isEmpty { content[0] = 1 }
    var size = content.count + 4
    var record: [UInt8] = []
    while size >= 0x80 {
      record.append(UInt8(size & 0x7F) | 0x80)
      size >>= 7
    }
    return record + [UInt8(size), 0, 0, 0, 0] + content
  }

  // MARK: Others

  private mutating func mutateHead(_ bytes: inout [UInt8], _ limit: Int) {
    if chance(1, of: 4) || bytes.count < 128 {
      change(&bytes, limit)
    } else {
      mutate(&bytes, in: below(8)..<min(bytes.count, 200))
    }
    guard chance(7, of: 8) else { return }
    let isLong = bytes.count >= 4096
    var repair = ChecksumRepair(isDeep: false)
    repair.repair(&bytes, as: isLong ? .segment : .head)
  }

  private mutating func mutateRecords(_ bytes: inout [UInt8], _ limit: Int) {
    var records: [RecordPlace] = []
    RecordPlace.forEach(in: bytes, 0..<bytes.count) { records.append($0) }
    if let record = records.randomElement(using: &random), chance(7, of: 8) {
      let new = changed(record, of: bytes, limit: max(0, limit - bytes.count))
      bytes.replaceSubrange(record.offset..<record.content.upperBound, with: new)
    } else {
      change(&bytes, limit)
    }
    guard chance(15, of: 16) else { return }
    RecordPlace.forEach(in: bytes, 0..<bytes.count) { $0.repair(&bytes) }
  }

  private mutating func mutatePages(_ bytes: inout [UInt8], _ limit: Int) {
    let tailSize = FuzzPages.tailSize
    guard bytes.count > tailSize + 32, chance(7, of: 8) else { return change(&bytes, limit) }
    let tailStart = bytes.count - tailSize
    let pageSize = FuzzPages.pageSizes[Int(bytes[tailStart]) % FuzzPages.pageSizes.count]
    let pageCount = tailStart / pageSize
    if pageCount == 0 || chance(1, of: 8) { return mutate(&bytes, in: tailStart..<bytes.count) }
    let first = below(pageCount) * pageSize
    let range = first..<first + pageSize
    let start = range.lowerBound + (chance(1, of: 3) ? 0 : below(pageSize))
    mutate(&bytes, in: start..<min(range.upperBound, start + 1 + below(64)))
    if chance(4, of: 5) { PageRepair.repair(&bytes, range) }
  }

  private mutating func mutateStore(_ bytes: inout [UInt8], _ limit: Int) {
    var files = PackedStore.unpack(bytes)
    guard !files.isEmpty, !chance(1, of: 16) else { return change(&bytes, limit) }
    let index = below(files.count)
    let room = max(0, limit - bytes.count)
    switch below(12) {
    case 0: files.remove(at: index)
    case 1 where files[index].bytes.count + 6 <= room:
      files.append(
        PackedStore.File(name: files[below(files.count)].name, bytes: files[index].bytes))
    case 2:
      files.swapAt(index, below(files.count))
      let other = below(files.count)
      (files[index].name, files[other].name) = (files[other].name, files[index].name)
    default:
      let name = files[index].name
      let kind: ChecksumRepair.FileKind =
        name.hasSuffix("segment")
        ? .segment
        : name.hasSuffix("checkpoint")
          ? .checkpoint : name.hasSuffix("view") ? .view : .head
      mutateFile(&files[index].bytes, kind, files[index].bytes.count + room)
    }
    bytes = PackedStore.pack(files)
  }
}
