import Divan
import DivanLog

/// Finds the newest whole record of each document in a log, whatever else is damaged.
///
/// Records have checksums of their own: those in a damaged frame, or in a transaction of which another
/// frame is lost, are found too. What never counted is not taken: a torn tail, and what stands in
/// a segment past its end.
struct Rescue {
  struct Place {
    var segment: Int
    var locator: RecordLocator
    var sequence: UInt64
    var isDeleted: Bool
  }

  let segments: [Segment]
  private(set) var places: [String: Place] = [:]
  private(set) var losses: [Damage]

  init(_ log: OpenedLog) {
    segments = log.segments
    losses = log.damage
  }
}

extension Rescue {
  mutating func run() throws {
    for index in segments.indices { try read(index) }
  }

  private mutating func read(_ index: Int) throws {
    let segment = segments[index]
    let limit = min(Int(clamping: segment.end.offset), try segment.file.size())
    var walk = SegmentWalk(segment, limit: limit)
    while true {
      switch try walk.next() {
      case .frame(let header, let offset, let payload, let isSound):
        guard header.kind == .transaction || header.kind == .merged else { continue }
        let hasTrailer = header.kind == .transaction && header.flags.contains(.last)
        let size = max(0, payload.count - (hasTrailer ? CommitTrailer.size : 0))
        readRecords(payload.prefix(size), at: offset + FrameHeader.size, index, isSound: isSound)
      case .gap(let range, let reason):
        lose(
          Damage(
            path: segment.file.path, offset: range.lowerBound, size: range.count, reason: reason))
      case .end: return
      }
    }
  }

  private mutating func readRecords(
    _ records: SharedBytes, at offset: Int, _ index: Int, isSound: Bool
  ) {
    var position = 0
    var lossStart: Int?
    // Each attempt may read as many bytes as a damaged size says, so their sum is bounded.
    var budget = 4 * records.count + 4096
    while position < records.count, budget > 0 {
      let rest = records.suffix(from: position)
      guard let (record, size) = try? Record.decode(rest) else {
        lossStart = lossStart ?? position
        budget -= attemptCost(rest)
        position += 1
        continue
      }
      lose(from: lossStart, to: position, at: offset, index)
      lossStart = nil
      take(record, at: offset + position, size, index)
      position += size
    }
    lose(from: lossStart, to: records.count, at: offset, index)
  }

  /// How many bytes a failed attempt to read a record went over.
  private func attemptCost(_ bytes: SharedBytes) -> Int {
    var reader = ByteReader(bytes)
    return 1 + ((try? reader.readCount(limit: bytes.count)) ?? 0)
  }

  private mutating func take(_ record: Record, at offset: Int, _ size: Int, _ index: Int) {
    guard record.kind == .document, let document = try? InspectedDocument(record.payload) else {
      return
    }
    // Sequence numbers rise along the log.
    if let known = places[document.id], known.sequence > document.sequence { return }
    places[document.id] = Place(
      segment: index,
      locator: RecordLocator(
        fileID: segments[index].fileID, offset: UInt64(offset), size: UInt32(size)),
      sequence: document.sequence, isDeleted: document.isDeleted)
  }

  private mutating func lose(from start: Int?, to end: Int, at offset: Int, _ index: Int) {
    guard let start else { return }
    lose(
      Damage(
        path: segments[index].file.path, offset: offset + start, size: end - start,
        reason: "\(end - start) bytes that are no whole record"))
  }

  private mutating func lose(_ damage: Damage) {
    // Enough to see where; the rest is counted by the documents that come out.
    if losses.count < 10_000 { losses.append(damage) }
  }
}
