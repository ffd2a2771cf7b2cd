/// Reads the frames of a segment in order.
///
/// Damage is an item that it returns; the caller decides what follows from it.
package struct FrameReader {
  let segment: Segment
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
