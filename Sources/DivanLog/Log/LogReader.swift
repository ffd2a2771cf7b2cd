/// Reads the frames of a segment in order.
///
/// Damage is a value that it yields; what follows from it is for the caller to say.
package struct FrameReader {
  private let segment: Segment
  private let limit: Int
  /// Where the next frame begins.
  package private(set) var offset: Int
  /// The chain value that the next frame must carry.
  package private(set) var chain: UInt32

  /// Begins at `start`, the end of the header or of some frame, and stops at `limit`, which is in
  /// bytes from the beginning of the file.
  package init(_ segment: Segment, from start: LogEnd? = nil, limit: Int) {
    self.segment = segment
    self.limit = limit
    offset = start.map { Int(clamping: $0.offset) } ?? SegmentHeader.size
    chain = start?.chain ?? segment.file.headerChain
  }

  package enum Item {
    case frame(FrameHeader, offset: Int, payload: SharedBytes)
    /// The header holds, and so does its place; the payload does not.
    case badPayload(FrameHeader, offset: Int)
    /// Here stands no frame of this file that follows the one before.
    case noFrame(reason: String)
    /// The limit was reached exactly.
    case end
  }

  /// The next frame.
  ///
  /// After anything but a frame or a bad payload, reading stays where it is.
  package mutating func next() throws(LogError) -> Item {
    guard offset < limit else { return .end }
    guard limit - offset >= FrameHeader.size else {
      return .noFrame(reason: "too few bytes for a frame")
    }
    let headerBytes = try segment.bytes(FrameHeader.size, at: offset)
    guard
      let header = FrameHeader.decode(
        headerBytes, offset: offset, salt: segment.header.preamble.salt)
    else { return .noFrame(reason: "no frame header") }
    guard header.chain == chain else {
      return .noFrame(reason: "a frame that does not follow the one before it")
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
  /// The payload of a frame that does not match its checksum, and where its damaged records stand; nil if anything else
  /// of it may be damaged.
  fileprivate func lostRecords(
    of header: FrameHeader, at offset: Int
  ) throws(LogError) -> (payload: SharedBytes, lost: [Range<Int>])? {
    let payload = try segment.bytes(header.paddedSize, at: offset + FrameHeader.size)
    guard let lost = LostRecords.find(in: payload, header) else { return nil }
    return (payload.prefix(header.payloadSize), lost)
  }

  /// Moves to the next place from `start` on where a frame header of this file stands, whatever
  /// came before it.
  ///
  /// Returns false if there is none.
  ///
  /// Headers are bound to their place by their checksum, so nothing else looks like one.
  package mutating func resynchronize(from start: Int) throws(LogError) -> Bool {
    // Mostly one stands near; a search that goes on takes more at a time.
    var window = 512
    var position = (max(start, SegmentHeader.size) + 7) & ~7
    while position < limit {
      // A hole of the file has no headers, however large it is.
      guard let data = try segment.dataOffset(from: position) else { return false }
      position = max(position, data & ~7)
      guard position < limit else { return false }
      // Never through a map, whose pages would count as this process's.
      let bytes = try segment.readBytes(
        min(window + FrameHeader.size, limit - position), at: position)
      guard bytes.count >= FrameHeader.size else { return false }
      for step in bytes.placesOfWords(through: min(window, bytes.count - FrameHeader.size)) {
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

/// A transaction as it stands in a segment.
package struct LoggedTransaction: Sendable {
  package struct Part: Sendable {
    /// Where the payload begins in the file.
    package let offset: Int
    /// Records one after the other, the trailer taken off.
    package let records: SharedBytes
    /// Where the damaged ones stand among them.
    var lost: [Range<Int>] = []
  }

  package let commit: UInt64
  package let parts: [Part]
  package let trailer: CommitTrailer
  /// The place just after it.
  package let end: LogEnd
  /// Whether none of its records is damaged.
  package let isWhole: Bool
}

/// Reads the whole transactions of a segment in order.
package struct TransactionReader {
  private var frames: FrameReader
  /// The end of the last whole transaction.
  package private(set) var end: LogEnd
  /// Where the next transaction may begin after a broken one.
  private var resumption = 0
  /// Whether transactions are read of which nothing is damaged but what some records say.
  private let passesLost: Bool

  /// If `passesLost`, transactions are read, too, of which nothing is damaged but what some records say.
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
    /// No whole transaction follows, and not because the limit was reached.
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
          // The frame may begin the next transaction, where it ends one that is not whole.
          resumption = parts.isEmpty ? start + FrameHeader.alignment : start
          return .broken(offset: start, reason: "a frame out of its order")
        }
        let isLast = header.flags.contains(.last)
        let trailer = isLast ? CommitTrailer.decode(endOf: payload) : nil
        let records = payload.prefix(payload.count - (trailer == nil ? 0 : CommitTrailer.size))
        parts.append(.init(offset: offset + FrameHeader.size, records: records, lost: lost))
        guard isLast else { continue }
        guard let trailer, Int(trailer.frameCount) == parts.count else {
          resumption = frames.offset
          return .broken(offset: start, reason: "a commit without its right trailer")
        }
        end = LogEnd(
          offset: UInt64(frames.offset), commit: header.commit, chain: frames.chain)
        return .transaction(
          LoggedTransaction(
            commit: header.commit, parts: parts, trailer: trailer, end: end,
            isWhole: parts.allSatisfy(\.lost.isEmpty)))
      case .badPayload(_, let offset):
        resumption = frames.offset
        return .broken(offset: offset, reason: "a frame whose payload does not match its checksum")
      case .noFrame(let reason):
        resumption = start + FrameHeader.alignment
        return .broken(offset: start, reason: reason)
      case .end:
        resumption = start
        guard parts.isEmpty else {
          return .broken(offset: start, reason: "a transaction without its end")
        }
        return .end
      }
    }
  }
}

extension TransactionReader {
  /// Goes on after damage, at the next frame that begins a transaction; returns false if none does.
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

/// The records in a run of bytes.
package struct RecordReader {
  private var rest: SharedBytes
  /// Where the next record begins in the file.
  package private(set) var offset: Int

  package init(_ records: SharedBytes, at offset: Int) {
    rest = records
    self.offset = offset
  }

  /// The next record, with its place and size; nil at the end.
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
  /// The multiples of eight up to `last` at which eight bytes stand that are not all zeros, as every header begins.
  fileprivate func placesOfWords(through last: Int) -> [Int] {
    withSpan { bytes in
      var places: [Int] = []
      for place in stride(from: 0, through: min(last, bytes.count - 8), by: 8)
      where bytes.word(at: place) != 0 { places.append(place) }
      return places
    }
  }
}
