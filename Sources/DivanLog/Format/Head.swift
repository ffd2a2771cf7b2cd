/// The contents of the file `HEAD`: up to where the log is known to be durable.
///
/// It is evidence, and never needed to open a store: it tells a log that was cut short from one
/// that ended there. It is replaced as a whole, by renaming. FILE_FORMAT.md §7
package struct Head: Equatable, Sendable {
  package var preamble: FilePreamble
  /// The number and salt of the newest segment when this was written.
  package var segmentNumber: UInt64
  package var segmentSalt: UInt64
  /// The end of the part of that segment that was known to be flushed.
  package var watermark: LogEnd
  package var lastSequence: UInt64
  /// Sequence numbers up to this one may have been assigned.
  package var sequenceBound: UInt64
  /// Whether the store was closed after this was written, with nothing appended since.
  package var isClosed: Bool

  package init(
    preamble: FilePreamble, segmentNumber: UInt64, segmentSalt: UInt64, watermark: LogEnd,
    lastSequence: UInt64, sequenceBound: UInt64, isClosed: Bool
  ) {
    self.preamble = preamble
    self.segmentNumber = segmentNumber
    self.segmentSalt = segmentSalt
    self.watermark = watermark
    self.lastSequence = lastSequence
    self.sequenceBound = sequenceBound
    self.isClosed = isClosed
  }

  package static let size = 256
}

extension Head {
  package func encode() -> SharedBytes {
    var writer = ByteWriter(capacity: Head.size)
    preamble.encode(to: &writer)
    writer.append(segmentNumber)
    writer.append(segmentSalt)
    watermark.encode(to: &writer)
    writer.append(lastSequence)
    writer.append(sequenceBound)
    writer.append((isClosed ? 1 : 0) as UInt64)
    FilePreamble.finish(&writer, size: Head.size)
    return writer.sharedCopy
  }

  package static func decode(_ block: SharedBytes, path: String) throws(LogError) -> Head {
    let preamble = try FilePreamble.decode(block: block, kind: .head, path: path)
    guard block.count == size else {
      throw .damaged(Damage(path: path, offset: 0, reason: "HEAD has a wrong size"))
    }
    for offset in [64, 80, 88, 104, 112] where block.load(UInt64.self, at: offset) > counterLimit {
      throw .damaged(
        Damage(path: path, offset: offset, reason: "a number exceeds the limit of counters"))
    }
    return Head(
      preamble: preamble, segmentNumber: block.load(UInt64.self, at: 64),
      segmentSalt: block.load(UInt64.self, at: 72), watermark: LogEnd.decode(block, at: 80),
      lastSequence: block.load(UInt64.self, at: 104),
      sequenceBound: block.load(UInt64.self, at: 112),
      isClosed: block.load(UInt64.self, at: 120) == 1)
  }
}
