/// A transaction in a segment.
package struct LoggedTransaction: Sendable {
  package struct Part: Sendable {
    /// The file offset of the payload.
    package let offset: Int
    /// The records, without the trailer.
    package let records: SharedBytes
    /// The ranges of the damaged records in `records`.
    var lost: [Range<Int>] = []
  }

  package let commit: UInt64
  package let parts: [Part]
  package let trailer: CommitTrailer
  /// The position just after the transaction.
  package let end: LogEnd
  /// Whether none of its records is damaged.
  package let isWhole: Bool
}

/// Reads the whole transactions of a segment in order.
package struct TransactionReader {
  private var frames: FrameReader
  /// The end of the last whole transaction.
  package private(set) var end: LogEnd
  /// The offset at which the next transaction may begin after a broken one.
  private var resumption = 0
  /// Whether transactions are returned of which only the contents of records are damaged.
  private let passesLost: Bool

  /// If `passesLost`, also returns transactions of which only the contents of records are damaged.
  package init(
    _ segment: Segment, from start: LogEnd? = nil, limit: Int, passesLost: Bool = false
  ) {
    self.passesLost = passesLost
    frames = FrameReader(segment, from: start, limit: limit)
    end =
      start
      ?? LogEnd(
        offset: UInt64(SegmentHeader.size), commit: segment.header.predecessor.commit,
        chain: segment.file.headerChain)
  }

  package enum Item {
    case transaction(LoggedTransaction)
    /// The next bytes are not a whole transaction.
    case broken(offset: Int, reason: String)
    case end
  }

  package mutating func next() throws(LogError) -> Item {
    var parts: [LoggedTransaction.Part] = []
    while true {
      let start = frames.offset
      let (item, lost) = try nextFrame()
      switch item {
      case .frame(let header, let offset, let payload):
        let isExpected =
          header.kind == .transaction && header.commit == end.commit + 1
          && header.flags.contains(.first) == parts.isEmpty
        guard isExpected else {
          // The frame may begin the next transaction, if the one before it was not finished.
          resumption = parts.isEmpty ? start + FrameHeader.alignment : start
          return .broken(offset: start, reason: "the frame is out of order")
        }
        let isLast = header.flags.contains(.last)
        let trailer = isLast ? CommitTrailer.decode(endOf: payload) : nil
        let records = payload.prefix(payload.count - (trailer == nil ? 0 : CommitTrailer.size))
        parts.append(.init(offset: offset + FrameHeader.size, records: records, lost: lost))
        guard isLast else { continue }
        guard let trailer, Int(trailer.frameCount) == parts.count else {
          resumption = frames.offset
          return .broken(offset: start, reason: "the commit has no valid trailer")
        }
        end = LogEnd(
          offset: UInt64(frames.offset), commit: header.commit, chain: frames.chain)
        return .transaction(
          LoggedTransaction(
            commit: header.commit, parts: parts, trailer: trailer, end: end,
            isWhole: parts.allSatisfy(\.lost.isEmpty)))
      case .badPayload(_, let offset):
        resumption = frames.offset
        return .broken(offset: offset, reason: "the frame's payload does not match its checksum")
      case .noFrame(let reason):
        resumption = start + FrameHeader.alignment
        return .broken(offset: start, reason: reason)
      case .end:
        resumption = start
        guard parts.isEmpty else {
          return .broken(offset: start, reason: "the transaction has no end")
        }
        return .end
      }
    }
  }
}

extension TransactionReader {
  /// Returns the next frame, and the ranges of its payload whose records are damaged.
  private mutating func nextFrame() throws(LogError) -> (FrameReader.Item, lost: [Range<Int>]) {
    let item = try frames.next()
    guard passesLost, case .badPayload(let header, let offset) = item else { return (item, []) }
    let payload = try frames.segment.bytes(header.paddedSize, at: offset + FrameHeader.size)
    guard let lost = LostRecords.find(in: payload, header) else { return (item, []) }
    return (.frame(header, offset: offset, payload: payload.prefix(header.payloadSize)), lost)
  }

  /// Continues after damage at the next frame that begins a transaction; false if none does.
  ///
  /// The transactions in between are lost.
  package mutating func resume() throws(LogError) -> Bool {
    var start = resumption
    while try frames.resynchronize(from: start) {
      var probe = frames
      switch try probe.next() {
      case .frame(let header, let offset, _), .badPayload(let header, let offset):
        if header.flags.contains(.first), header.commit > end.commit {
          end = LogEnd(offset: UInt64(offset), commit: header.commit - 1, chain: header.chain)
          return true
        }
        start = probe.offset
      case .noFrame, .end:
        start = frames.offset + FrameHeader.alignment
      }
    }
    return false
  }
}

extension SharedBytes {
  /// Returns the multiples of 8 up to `last` where 8 bytes are not all zeros, as in every header.
  func offsetsOfWords(through last: Int) -> [Int] {
    withSpan { bytes in
      var offsets: [Int] = []
      for offset in stride(from: 0, through: min(last, bytes.count - 8), by: 8)
      where bytes.word(at: offset) != 0 { offsets.append(offset) }
      return offsets
    }
  }
}
