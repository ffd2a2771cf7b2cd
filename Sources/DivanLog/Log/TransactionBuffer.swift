/// A transaction under construction: its frames, with their offsets in the segment.
///
/// The offset of the first frame is known from the beginning. Every record therefore has its offset
/// at once, and one call writes the whole transaction.
package struct TransactionBuffer: ~Copyable {
  private var writer: ByteWriter
  /// The offsets of the frames within `writer`; there is always a last one, which is still open.
  private var frameStarts: [Int] = [0]
  /// The end of each closed frame's payload, before its padding.
  private var frameEnds: [Int] = []
  /// The offset of the first frame in the segment.
  private let base: Int
  package private(set) var recordCount = 0
  /// The encryption of the segment that the transaction is for.
  private let encryption: FileEncryption?

  /// A frame is closed once its records have grown to this many bytes, so that damage stays local.
  package static let frameSizeGoal = 1 << 20

  /// Begins a transaction at `offset` of a segment, which is not encrypted if `encryption` is nil.
  package init(at offset: Int, encryptedBy encryption: FileEncryption? = nil) {
    base = offset
    self.encryption = encryption
    writer = ByteWriter(capacity: 4096)
    writer.appendZeros(FrameHeader.size)
  }

  /// The size so far in bytes, including frame headers.
  package var size: Int { writer.count }

  /// Appends a record whose payload `encode` appends, and returns its offset in the segment.
  package mutating func append(
    _ kind: Record.Kind, encode: (inout ByteWriter) -> Void
  ) -> (offset: Int, size: Int) {
    if writer.count - frameStarts[frameStarts.count - 1] >= TransactionBuffer.frameSizeGoal {
      beginFrame()
    }
    let start = writer.count
    let size = Record.append(kind: kind, to: &writer, encryptedBy: encryption, encode: encode)
    recordCount += 1
    return (base + start, size)
  }

  private mutating func beginFrame() {
    frameEnds.append(writer.count)
    writer.pad(to: FrameHeader.alignment)
    frameStarts.append(writer.count)
    writer.appendZeros(FrameHeader.size)
  }

  /// A state that ``rollback(to:)`` can return to.
  package struct Savepoint {
    fileprivate let count: Int
    fileprivate let frameCount: Int
    fileprivate let recordCount: Int
  }

  package var savepoint: Savepoint {
    Savepoint(count: writer.count, frameCount: frameStarts.count, recordCount: recordCount)
  }

  package mutating func rollback(to savepoint: Savepoint) {
    writer.truncate(to: savepoint.count)
    frameStarts.removeLast(frameStarts.count - savepoint.frameCount)
    frameEnds.removeLast(frameEnds.count - (savepoint.frameCount - 1))
    recordCount = savepoint.recordCount
  }

  /// Returns the bytes of a record that was appended, by its offset in the segment.
  package func record(at offset: Int, size: Int) -> SharedBytes? {
    let start = offset - base
    guard start >= 0, size >= 0, start <= writer.count, size <= writer.count - start else {
      return nil
    }
    return writer.copy(from: start, count: size)
  }

  /// Completes the frames, and returns the position after them.
  package mutating func finish(
    after end: LogEnd, salt: UInt64, trailer: CommitTrailer
  ) -> LogEnd {
    var trailer = trailer
    trailer.frameCount = UInt32(frameStarts.count)
    trailer.recordCount = UInt32(recordCount)
    trailer.encode(to: &writer)
    frameEnds.append(writer.count)
    writer.pad(to: FrameHeader.alignment)
    var chain = end.chain
    for index in frameStarts.indices {
      let start = frameStarts[index]
      let paddedEnd = index + 1 < frameStarts.count ? frameStarts[index + 1] : writer.count
      var check = CRC32C()
      check.add(writer, in: start + FrameHeader.size..<paddedEnd)
      var flags: FrameHeader.Flags = []
      if index == 0 { flags.insert(.first) }
      if index == frameStarts.count - 1 { flags.insert(.last) }
      let header = FrameHeader(
        kind: .transaction, flags: flags,
        payloadSize: frameEnds[index] - start - FrameHeader.size,
        payloadChecksum: check.checksum, commit: end.commit + 1, chain: chain)
      chain = header.encode(into: &writer, at: start, offset: base + start, salt: salt)
    }
    return LogEnd(
      offset: UInt64(base + writer.count), commit: end.commit + 1, chain: chain)
  }

  /// Writes the finished frames at their offset.
  package func write(to file: any OpenFile) throws(SystemError) {
    try file.write(writer, at: base)
  }
}
