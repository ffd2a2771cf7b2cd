/// The decision on where the log ends.
///
/// Nothing is written for it. The last segment is read from a position that is known to be sound,
/// and whole transactions count, in order. The bytes after the last of them are a torn tail, which
/// is permanently ignored, unless something proves that more was durable: then it is damage.
/// RECOVERY.md, rules 10 to 13, 16 and 18; FILE_FORMAT.md §8
package struct LogRecovery: Sendable {
  /// The end of the last whole transaction.
  package var end: LogEnd
  /// The durable watermark: the log is proven to have been flushed up to here; at most ``end``.
  package var proven: LogEnd
  /// The trailer of the last whole transaction in this segment, if there is one.
  package var lastTrailer: CommitTrailer?
  /// The highest bound of sequence numbers in any trailer.
  package var sequenceBound: UInt64
  /// The bytes after ``end``, which no longer count, without the zeros at the end of the file.
  package var discarded: Range<Int>?
  /// Damage to bytes that were durable.
  package var damage: Damage?

  /// Evidence outside the examined bytes of how far the log was durable.
  package struct Watermark: Equatable, Sendable {
    package var commit: UInt64
    /// The offset in the examined segment; 0 if the evidence is about another one.
    package var offset: UInt64
    /// The source of the evidence, for the message.
    package var witness: String

    package init(commit: UInt64, offset: UInt64, witness: String) {
      self.commit = commit
      self.offset = offset
      self.witness = witness
    }

    /// Creates the watermark that a recorded position in a segment proves for the last segment.
    ///
    /// The position may be in the last segment, in an older one, or in a newer one.
    package init(
      through end: LogEnd, ofSegment number: UInt64, salt: UInt64, about last: Segment,
      witness: String
    ) {
      let header = last.header
      let isOfLast = number == header.numbers.upperBound && salt == header.preamble.salt
      self.init(
        // A segment newer than the last one existed, even if it was still empty.
        commit: number > header.numbers.upperBound
          ? max(end.commit, header.compaction?.end.commit ?? header.predecessor.commit) + 1
          : end.commit,
        offset: isOfLast ? end.offset : 0, witness: witness)
    }

    package init(_ head: Head, about last: Segment) {
      self.init(
        through: head.watermark, ofSegment: head.segmentNumber, salt: head.segmentSalt, about: last,
        witness: "HEAD")
    }

    /// Returns nil for a mark of another store.
    package init?(_ mark: FlushMark, about last: Segment) {
      guard mark.preamble.storeID == last.header.preamble.storeID else { return nil }
      self.init(
        through: mark.end, ofSegment: mark.segmentNumber, salt: mark.preamble.salt, about: last,
        witness: "FLUSHED")
    }

    /// Creates the watermark that a compacted segment proves; nil for any other segment.
    ///
    /// The commit by which the liveness filter evaluated records, and may have dropped some, was
    /// durable.
    package init?(ofCompaction header: SegmentHeader) {
      guard let compaction = header.compaction else { return nil }
      self.init(commit: compaction.evaluatedAt, offset: 0, witness: "a compacted segment")
    }
  }
}

extension LogRecovery {
  /// Creates the decision that a segment ends where it says.
  ///
  /// The end of a compacted segment is never in doubt.
  package init(endingAsStated segment: Segment) {
    self.init(
      end: segment.end, proven: segment.end, sequenceBound: segment.header.sequenceBound)
  }

  /// Examines the last segment.
  ///
  /// Reading begins at `start`, or at the first frame if that is nil. `watermarks` is other
  /// evidence of what was durable.
  ///
  /// A writer may write while the bytes are read, and the evidence was read before. So reading goes
  /// on, after the evidence, until nothing comes any more. Only then are bytes damage or a torn
  /// tail.
  package static func examine(
    _ segment: Segment, from start: LogEnd?, watermarks: [Watermark]
  ) throws(LogError) -> LogRecovery {
    let first = TransactionReader(segment, from: start, limit: 0).end
    var recovery = LogRecovery(
      end: first, proven: first, sequenceBound: segment.header.sequenceBound)
    var ends = [first]
    var promised = watermarks.map(\.offset).reduce(segment.header.flushedSize, max)
    var before: LogEnd?
    for _ in 0..<passLimit {
      let size = try segment.file.size()
      // What was mapped before may have been zeros then.
      var reader = TransactionReader(
        before == nil ? segment : Segment(segment, through: recovery.end), from: before ?? start,
        limit: size)
      while case .transaction(let transaction) = try reader.next() {
        recovery.lastTrailer = transaction.trailer
        recovery.sequenceBound = max(recovery.sequenceBound, transaction.trailer.sequenceBound)
        promised = max(promised, transaction.trailer.flushedThrough)
        ends.append(transaction.end)
      }
      recovery.end = reader.end
      recovery.proven = ends.last { $0.offset <= promised } ?? first
      recovery.discarded = try segment.bytes(after: reader.end, size: size)
      recovery.damage = try recovery.findDamage(segment, size: size, watermarks: watermarks)
      let isInDoubt = recovery.damage != nil || recovery.discarded != nil
      guard isInDoubt, recovery.end != before else { return recovery }
      before = recovery.end
    }
    // A writer wrote more each time, so nothing is missing.
    recovery.damage = nil
    recovery.discarded = nil
    return recovery
  }

  /// The number of times that the end is read while a writer goes on writing.
  private static let passLimit = 100

  /// Returns the end of the last whole transaction, wherever there is damage before it.
  ///
  /// Sound transactions after damage are read, too. After the last whole transaction, transactions
  /// with damaged records count if something shows that they were durable.
  package static func readableEnd(
    of segment: Segment, size: Int, from start: LogEnd?, watermarks: [Watermark] = []
  ) throws(LogError) -> LogEnd {
    var reader = TransactionReader(segment, from: start, limit: size, passesLost: true)
    var ends = [reader.end]
    reading: while true {
      switch try reader.next() {
      case .transaction(let transaction):
        if transaction.isWhole { ends = [] }
        ends.append(transaction.end)
      case .broken: guard try reader.resume() else { break reading }
      case .end: break reading
      }
    }
    for end in ends.dropLast()
    where try !isMoreProven(than: end, in: segment, size: size, watermarks: watermarks) {
      return end
    }
    return ends[ends.count - 1]
  }

  /// Whether something shows that more was durable than can be read up to `end`.
  ///
  /// `end` is the end of the last whole transaction. If the result is true, it is unknown what came
  /// after it.
  package static func isMoreProven(
    than end: LogEnd, in segment: Segment, size: Int, watermarks: [Watermark]
  ) throws(LogError) -> Bool {
    var recovery = LogRecovery(end: end, proven: end, sequenceBound: 0)
    recovery.discarded = try segment.bytes(after: end, size: size)
    return try recovery.findDamage(segment, size: size, watermarks: watermarks) != nil
  }

  /// Returns the damage, if something shows that more was durable than can be read.
  private func findDamage(
    _ segment: Segment, size: Int, watermarks: [Watermark]
  ) throws(LogError) -> Damage? {
    for watermark in watermarks where watermark.commit > end.commit || watermark.offset > end.offset
    {
      return Damage(
        path: segment.file.path, offset: Int(end.offset),
        size: watermark.offset > end.offset ? Int(clamping: watermark.offset - end.offset) : nil,
        reason:
          "\(watermark.witness) shows that the log was durable through commit \(watermark.commit), "
          + "but it can be read through commit \(end.commit) only")
    }
    if UInt64(size) < end.offset {
      // Reading began at a position that a checkpoint names, and the file ends before it.
      return Damage(
        path: segment.file.path, offset: size, size: Int(clamping: end.offset) - size,
        reason: "the file is shorter than it was when the checkpoint was written")
    }
    if segment.header.flushedSize > end.offset {
      return Damage(
        path: segment.file.path, offset: Int(end.offset),
        size: Int(clamping: segment.header.flushedSize - end.offset),
        reason: "the header shows that more was durable than can be read")
    }
    // A frame may end with zeros, which are not in `discarded`.
    if discarded != nil, let promise = try promise(in: segment, Int(end.offset)..<size) {
      return Damage(
        path: segment.file.path, offset: Int(end.offset),
        size: Int(clamping: promise - end.offset),
        reason: "a later commit shows that more was durable than can be read")
    }
    return nil
  }

  /// Returns the highest promise, above the end, of a whole committing frame in `range`.
  ///
  /// The search is bounded: forged headers could otherwise make it checksum the file again and
  /// again.
  private func promise(in segment: Segment, _ range: Range<Int>) throws(LogError) -> UInt64? {
    var frames = FrameReader(segment, from: end, limit: range.upperBound)
    var budget = 4 * min(range.upperBound, Int.max / 4)
    var highest: UInt64?
    var start = range.lowerBound
    while budget > 0, try frames.resynchronize(from: start) {
      start = frames.offset + FrameHeader.alignment
      let item = try frames.next()
      if case .badPayload(let header, _) = item { budget -= header.frameSize }
      guard case .frame(let header, _, let payload) = item else { continue }
      budget -= header.frameSize
      guard header.kind == .transaction, header.flags.contains(.last),
        let trailer = CommitTrailer.decode(endOf: payload), trailer.flushedThrough > end.offset
      else { continue }
      highest = max(highest ?? 0, trailer.flushedThrough)
    }
    return highest
  }
}
