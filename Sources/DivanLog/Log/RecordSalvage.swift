/// Finds the whole records in bytes that are no whole transaction, or no whole frame, any more.
///
/// Records have checksums of their own: those in a damaged frame, or in a transaction of which another
/// frame is lost, are found too. What stands where no frame's header holds is lost.
struct RecordSalvage {
  private let segment: Segment
  /// Where headers are looked for, and how far payloads may reach.
  private let range: Range<Int>
  private var frames: FrameReader
  /// Where the next frame is looked for.
  private var position: Int
  /// The payload being read, without the trailer of a commit.
  private var payload = SharedBytes.empty
  /// Where it begins in the file.
  private var payloadOffset = 0
  /// Where in it the next record is looked for.
  private var place = 0
  /// How many bytes may still be checksummed in vain in this payload.
  private var budget = 0
  private var commit: UInt64 = 0

  init(_ segment: Segment, _ range: Range<Int>) {
    self.segment = segment
    self.range = range
    frames = FrameReader(segment, limit: range.upperBound)
    position = range.lowerBound
  }

  struct Item {
    let record: Record
    let offset: Int
    let size: Int
    /// The commit that the frame's header names.
    let commit: UInt64
  }

  /// The next whole record; nil at the end.
  mutating func next() throws(LogError) -> Item? {
    while true {
      while place < payload.count, budget > 0 {
        let rest = payload.suffix(from: place)
        guard let (record, size) = try? Record.decode(rest) else {
          // Each attempt may read as many bytes as a damaged size says, so their sum is bounded.
          var reader = ByteReader(rest)
          budget -= 1 + ((try? reader.readCount(limit: rest.count)) ?? 0)
          place += 1
          continue
        }
        let item = Item(
          record: record, offset: payloadOffset + place, size: size, commit: commit)
        place += size
        return item
      }
      guard try advance() else { return nil }
    }
  }

  /// Takes up the payload of the next frame whose header holds; returns false if there is none.
  private mutating func advance() throws(LogError) -> Bool {
    payload = .empty
    guard try frames.resynchronize(from: position), frames.offset < range.upperBound else {
      return false
    }
    let offset = frames.offset
    position = offset + FrameHeader.alignment
    let bytes = try segment.bytes(FrameHeader.size, at: offset)
    guard
      let header = FrameHeader.decode(bytes, offset: offset, salt: segment.header.preamble.salt),
      header.kind == .transaction || header.kind == .merged
    else { return true }
    payloadOffset = offset + FrameHeader.size
    commit = header.commit
    // Of a file that was cut off, as much as there is.
    let room = max(0, range.upperBound - payloadOffset)
    payload = try segment.bytes(min(header.payloadSize, room), at: payloadOffset)
    if header.kind == .transaction, header.flags.contains(.last),
      payload.count == header.payloadSize
    {
      payload = payload.prefix(max(0, payload.count - CommitTrailer.size))
    }
    place = 0
    budget = 4 * payload.count + 4096
    // Its header says how long the frame is, and holds.
    position = max(position, payloadOffset + min(header.paddedSize, room))
    return true
  }
}
