/// Finds the whole records in bytes that are no longer a whole transaction or frame.
///
/// Records have checksums of their own. Records in a damaged frame, or in a transaction that has
/// lost another frame, are therefore salvaged, too. Bytes outside frames with an intact header are
/// lost.
struct RecordSalvage {
  private let segment: Segment
  /// The range that is searched for headers, which also limits payloads.
  private let range: Range<Int>
  private var frames: FrameReader
  /// The offset from which the next frame is searched.
  private var position: Int
  /// The payload being read, without the trailer of a commit.
  private var payload = SharedBytes.empty
  /// The file offset of the payload.
  private var payloadOffset = 0
  /// The offset in the payload from which the next record is searched.
  private var recordOffset = 0
  /// Finds records after the first damaged bytes of this payload; nil until there are any.
  private var search: (start: Int, records: RecordSearch)?
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

  /// Returns the next whole record; nil at the end.
  mutating func next() throws(LogError) -> Item? {
    while true {
      if let (record, size) = nextRecord() {
        let item = Item(
          record: record, offset: payloadOffset + recordOffset, size: size, commit: commit)
        recordOffset += size
        return item
      }
      guard try advance() else { return nil }
    }
  }

  /// Moves ``recordOffset`` to the next whole record of the payload, in linear time; nil at its
  /// end.
  private mutating func nextRecord() -> (record: Record, size: Int)? {
    guard recordOffset < payload.count else { return nil }
    if search == nil {
      let rest = payload.suffix(from: recordOffset)
      let encryption = segment.file.encryption
      if let found = try? Record.decode(rest, encryptedBy: encryption) { return found }
      search = (recordOffset, RecordSearch(rest, encryptedBy: encryption))
    }
    guard let (start, records) = search else { return nil }
    while recordOffset < payload.count {
      if let found = records.record(at: recordOffset - start) { return found }
      let known = recordOffset
      // The content of a damaged attachment may look like records, and is passed over.
      let size = AttachmentRecord.size(
        ofDamaged: payload.suffix(from: recordOffset),
        isRecord: { records.record(at: known + $0 - start) != nil })
      if let size {
        recordOffset += size
      } else {
        recordOffset =
          records.next(from: recordOffset + 1 - start).map { start + $0.position } ?? payload.count
      }
    }
    return nil
  }

  /// Moves to the payload of the next frame with an intact header; returns false if there is none.
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
      header.kind == .transaction || header.kind == .compacted
    else { return true }
    payloadOffset = offset + FrameHeader.size
    commit = header.commit
    // If the file was cut off, the bytes that remain.
    let room = max(0, range.upperBound - payloadOffset)
    payload = try segment.bytes(min(header.payloadSize, room), at: payloadOffset)
    if header.kind == .transaction, header.flags.contains(.last),
      payload.count == header.payloadSize
    {
      payload = payload.prefix(max(0, payload.count - CommitTrailer.size))
    }
    recordOffset = 0
    search = nil
    // The header is intact, and it states the frame's size.
    position = max(position, payloadOffset + min(header.paddedSize, room))
    return true
  }
}
