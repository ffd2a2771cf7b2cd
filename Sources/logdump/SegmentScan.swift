import DivanLog

/// A cursor over everything in a segment: its frames, and the bytes between them.
///
/// Unlike a reader of transactions, it continues wherever it can: damage is one of its items.
struct SegmentScan {
  enum Item {
    /// A frame; `isSound` is true if the payload matches the header.
    case frame(FrameHeader, offset: Int, payload: SharedBytes, isSound: Bool)
    /// Bytes that are not a frame of this file at this offset.
    case gap(Range<Int>, reason: String)
    case end
  }

  private let segment: Segment
  private let limit: Int
  private var frames: FrameReader
  private var isAtEnd = false

  /// Stops at `limit`, an offset in the file in bytes.
  init(_ segment: Segment, limit: Int) {
    self.segment = segment
    self.limit = limit
    frames = FrameReader(segment, limit: limit)
  }

  mutating func next() throws(LogError) -> Item {
    guard !isAtEnd else { return .end }
    let start = frames.offset
    switch try frames.next() {
    case .frame(let header, let offset, let payload):
      return .frame(header, offset: offset, payload: payload, isSound: true)
    case .badPayload(let header, let offset):
      let payload = try segment.bytes(header.payloadSize, at: offset + FrameHeader.size)
      return .frame(header, offset: offset, payload: payload, isSound: false)
    case .noFrame(let reason):
      if try !frames.resynchronize(from: start + FrameHeader.alignment) { isAtEnd = true }
      return .gap(start..<(isAtEnd ? limit : frames.offset), reason: reason)
    case .end:
      isAtEnd = true
      return .end
    }
  }
}
