import DivanLog

/// Walks over everything in a segment, frame by frame, and over what is none.
///
/// Unlike a reader of transactions it goes on wherever it can: damage is one of its items.
struct SegmentWalk {
  enum Item {
    /// `isSound` tells whether the payload is what the header says.
    case frame(FrameHeader, offset: Int, payload: SharedBytes, isSound: Bool)
    /// Bytes that are no frame which belongs there.
    case gap(Range<Int>, reason: String)
    case end
  }

  private let segment: Segment
  private let limit: Int
  private var frames: FrameReader
  private var isAtEnd = false

  /// Stops at `limit`, in bytes from the beginning of the file.
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
