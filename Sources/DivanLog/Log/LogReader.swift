/// Reads the frames of a segment in order.
///
/// Damage is an item that it returns; the caller decides what follows from it.
package struct FrameReader {
  private let segment: Segment
  private let limit: Int
  /// The offset of the next frame.
  package private(set) var offset: Int
  /// The chain value that the next frame must carry.
  package private(set) var chain: UInt32

  /// Begins at `start` and stops at `limit`, an offset in the file in bytes.
  ///
  /// `start` is the end of the header or of a frame.
  package init(_ segment: Segment, from start: LogEnd? = nil, limit: Int) {
    self.segment = segment
    self.limit = limit
    offset = start.map { Int(clamping: $0.offset) } ?? SegmentHeader.size
    chain = start?.chain ?? segment.file.headerChain
  }

  package enum Item {
    case frame(FrameHeader, offset: Int, payload: SharedBytes)
    /// The header and its offset are right, but the payload is damaged.
    case badPayload(FrameHeader, offset: Int)
    /// There is no frame of this file here that follows the previous one.
    case noFrame(reason: String)
    /// The limit was reached exactly.
    case end
  }

  /// Returns the next frame.
  ///
  /// After anything but a frame or a bad payload, the position does not change.
  package mutating func next() throws(LogError) -> Item {
    guard offset < limit else { return .end }
    guard limit - offset >= FrameHeader.size else {
      return .noFrame(reason: "there are too few bytes for a frame")
    }
    let headerBytes = try segment.bytes(FrameHeader.size, at: offset)
    guard
      let header = FrameHeader.decode(
        headerBytes, offset: offset, salt: segment.header.preamble.salt)
    else { return .noFrame(reason: "there is no frame header here") }
    guard header.chain == chain else {
      return .noFrame(reason: "the frame does not follow the one before it")
    }
    guard header.frameSize <= limit - offset else {
      return .noFrame(reason: "the frame is cut off")
    }
    let payload = try segment.bytes(header.paddedSize, at: offset + FrameHeader.size)
    guard payload.count == header.paddedSize else {
      return .noFrame(reason: "the frame is cut off")
    }
    let start = offset
    offset += header.frameSize
    chain = FrameHeader.chain(after: headerBytes)
    guard CRC32C.checksum(payload) == header.payloadChecksum else {
      return .badPayload(header, offset: start)
    }
    return .frame(header, offset: start, payload: payload.prefix(header.payloadSize))
  }
}

extension FrameReader {
  /// Returns the payload of a damaged frame, and the ranges of its damaged records.
  ///
  /// Returns nil if anything else in the payload may be damaged.
  fileprivate func lostRecords(
    of header: FrameHeader, at offset: Int
  ) throws(LogError) -> (payload: SharedBytes, lost: [Range<Int>])? {
    let payload = try segment.bytes(header.paddedSize, at: offset + FrameHeader.size)
    guard let lost = LostRecords.find(in: payload, header) else { return nil }
    return (payload.prefix(header.payloadSize), lost)
  }

  /// Moves to the next frame header of this file from `start` on, past any other bytes.
  ///
  /// Returns false if there is none. A header's checksum binds it to its offset, so nothing else
  /// looks like a header.
  package mutating func resynchronize(from start: Int) throws(LogError) -> Bool {
    // Usually one is near; a longer search reads more at a time.
    var window = 512
    var position = (max(start, SegmentHeader.size) + 7) & ~7
    while position < limit {
      // A hole in the file contains no headers, however large it is.
      guard let data = try segment.dataOffset(from: position) else { return false }
      position = max(position, data & ~7)
      guard position < limit else { return false }
      // Never through a map, whose pages would count as this process's memory.
      let bytes = try segment.readBytes(
        min(window + FrameHeader.size, limit - position), at: position)
      guard bytes.count >= FrameHeader.size else { return false }
      for step in bytes.offsetsOfWords(through: min(window, bytes.count - FrameHeader.size)) {
        let candidate = bytes.suffix(from: step)
        let offset = position + step
        guard
          let header = FrameHeader.decode(
            candidate, offset: offset, salt: segment.header.preamble.salt)
        else { continue }
        self.offset = offset
        chain = header.chain
        return true
      }
      position += window
      window = min(2 * window, 1 << 16)
    }
    return false
  }
}

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
      var item = try frames.next()
      var lost: [Range<Int>] = []
      if passesLost, case .badPayload(let header, let offset) = item,
        let found = try frames.lostRecords(of: header, at: offset)
      {
        item = .frame(header, offset: offset, payload: found.payload)
        lost = found.lost
      }
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

/// A cursor over the records in a run of bytes.
package struct RecordReader {
  private var rest: SharedBytes
  /// The file offset of the next record.
  package private(set) var offset: Int

  package init(_ records: SharedBytes, at offset: Int) {
    rest = records
    self.offset = offset
  }

  /// Returns the next record, with its offset and size; nil at the end.
  package mutating func next() throws(ByteError) -> (record: Record, offset: Int, size: Int)? {
    guard !rest.isEmpty else { return nil }
    let (record, size) = try Record.decode(rest)
    let start = offset
    rest = rest.suffix(from: size)
    offset += size
    return (record, start, size)
  }
}

extension SharedBytes {
  /// Returns the multiples of 8 up to `last` where 8 bytes are not all zeros, as in every header.
  fileprivate func offsetsOfWords(through last: Int) -> [Int] {
    withSpan { bytes in
      var offsets: [Int] = []
      for offset in stride(from: 0, through: min(last, bytes.count - 8), by: 8)
      where bytes.word(at: offset) != 0 { offsets.append(offset) }
      return offsets
    }
  }
}
