/// A log that continues one that was read before.
package enum FollowedChain: Sendable {
  /// It continues where reading stopped.
  case continued(SegmentChain)
  /// A segment was replaced, or commits at the end were appended again: all is to be read again.
  case replaced
  /// Commits that were read do not count any more: the writer's flush failed, and they were lost.
  case lost
}

extension SegmentChain {
  /// Follows a log that was read before, without reading again what was read.
  ///
  /// The segments that are known stay as they are, except for the last one, which may have grown.
  /// After it come the segments of the next numbers among `files`.
  ///
  /// `known` are the segments of the log, in order, which are open; the last one ends where reading
  /// stopped, with the sequence number `lastSequence`. `files` are the files of the directory, or
  /// nil if no segment was added since.
  package static func following(
    _ known: [Segment], through lastSequence: UInt64, among files: Set<FileName>?,
    in directory: StoreDirectory, isMapped: Bool
  ) throws(LogError) -> FollowedChain {
    guard let last = known.last else { return .replaced }
    var chain = SegmentChain(segments: Array(known.dropLast()), leftovers: [], damage: [])
    var added: [SegmentFile] = []
    if let files {
      // What a compaction replaced is still read from the open files, and kept on the disk by them.
      guard known.allSatisfy({ files.contains($0.file.name) }) else { return .replaced }
      var number = last.header.numbers.upperBound + 1
      while files.contains(.segment(number...number)) {
        let file = try SegmentFile(number...number, in: directory)
        // Only segments as they were written are replayed. RECOVERY.md, rule 20
        guard file.header.compaction == nil,
          file.header.preamble.storeID == last.header.preamble.storeID
        else { return .replaced }
        added.append(file)
        number += 1
      }
    }
    var current = last
    for file in added {
      let stated = file.header.predecessor
      if current.header.compaction != nil {
        guard stated.commit == current.end.commit, stated.chain == current.end.chain else {
          return .replaced
        }
      } else {
        // The next writer may have found that less was durable than was read here.
        if stated.commit < current.end.commit {
          return try file.repeats(current.end.commit, lastSequence) ? .replaced : .lost
        }
        guard
          stated.offset > current.end.offset && stated.commit > current.end.commit
            || stated == current.end, try UInt64(current.file.size()) >= stated.offset
        else { return .replaced }
        current.end = stated
        current = try remapped(current, Int(clamping: stated.offset), isMapped)
      }
      chain.segments.append(current)
      current = Segment(
        file: file, mapped: .empty,
        end: LogEnd(
          offset: UInt64(SegmentHeader.size), commit: stated.commit, chain: file.headerChain))
    }
    chain.segments.append(try remapped(current, current.file.size(), isMapped))
    return .continued(chain)
  }

  /// Whether a log has the commits of one that was written before, up to `commit`.
  ///
  /// Counts alone do not prove it: after a failed flush, another writer may have found that commits
  /// were lost, and have committed as many others. `last` is the last segment of the earlier log,
  /// and `lastSequence` the sequence number with which it ended. If a compaction has replaced that
  /// segment since, this returns false.
  ///
  /// `segments` are those of the log, in any order.
  package static func hasCommits(
    through commit: UInt64, _ lastSequence: UInt64, endingIn last: Member, among segments: [Segment]
  ) throws(LogError) -> Bool {
    let found = segments.first {
      $0.header.numbers == last.numbers && $0.header.preamble.salt == last.salt
    }
    guard let found else { return false }
    // Only the writer that made a segment appends to it.
    if found.end.commit >= commit { return true }
    // The next writer has appended the commits again, or found that they were lost.
    let next = segments.first { $0.header.numbers.lowerBound == last.numbers.upperBound + 1 }
    guard let next, next.header.compaction == nil else { return false }
    return try next.file.repeats(commit, lastSequence)
  }

  /// The growth at which the last segment is mapped again.
  private static let mappingStep = 1 << 20

  /// Returns a segment whose map has most of its bytes; the others are read.
  private static func remapped(
    _ segment: Segment, _ size: Int, _ isMapped: Bool
  ) throws(LogError) -> Segment {
    guard isMapped, size - segment.mapped.count >= mappingStep else { return segment }
    let mapped = try attempt { () throws(SystemError) in try segment.file.file.map(size) }
    return Segment(file: segment.file, mapped: mapped, end: segment.end)
  }
}

extension SegmentFile {
  /// Whether a commit in this segment is one that ended with that sequence number elsewhere.
  ///
  /// A writer numbers its changes beyond all that a commit before it may have used.
  fileprivate func repeats(_ commit: UInt64, _ lastSequence: UInt64) throws(LogError) -> Bool {
    let end = LogEnd(
      offset: UInt64(SegmentHeader.size), commit: header.predecessor.commit, chain: headerChain)
    var reader = TransactionReader(
      Segment(file: self, mapped: .empty, end: end), from: nil, limit: try size())
    while case .transaction(let transaction) = try reader.next() {
      if transaction.end.commit == commit {
        return transaction.trailer.lastSequence <= lastSequence
      }
    }
    return false
  }
}
