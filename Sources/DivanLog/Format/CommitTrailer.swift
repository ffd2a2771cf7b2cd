/// The last bytes of the payload that commits a transaction. FILE_FORMAT.md §5
package struct CommitTrailer: Equatable, Sendable {
  package var frameCount: UInt32
  package var recordCount: UInt32
  /// The last sequence number in use after this commit.
  package var lastSequence: UInt64
  /// Sequence numbers up to this one may be used once this trailer is flushed.
  package var sequenceBound: UInt64
  /// The promise: this many bytes of the file were flushed when the trailer was written.
  package var flushedThrough: UInt64
  /// Milliseconds since 1970 by the writer's clock; never earlier than the previous commit.
  package var time: UInt64
  /// The number of documents that are not deleted, after this commit.
  package var documentCount: UInt64

  package init(
    frameCount: UInt32, recordCount: UInt32, lastSequence: UInt64, sequenceBound: UInt64,
    flushedThrough: UInt64, time: UInt64, documentCount: UInt64
  ) {
    self.frameCount = frameCount
    self.recordCount = recordCount
    self.lastSequence = lastSequence
    self.sequenceBound = sequenceBound
    self.flushedThrough = flushedThrough
    self.time = time
    self.documentCount = documentCount
  }

  package static let size = 48
}

extension CommitTrailer {
  package func encode(to writer: inout ByteWriter) {
    writer.append(frameCount)
    writer.append(recordCount)
    writer.append(lastSequence)
    writer.append(sequenceBound)
    writer.append(flushedThrough)
    writer.append(time)
    writer.append(documentCount)
  }

  /// Decodes the trailer at the end of a payload; nil if it is too short or a number too large.
  package static func decode(endOf payload: SharedBytes) -> CommitTrailer? {
    guard payload.count >= size else { return nil }
    let at = payload.count - size
    for offset in stride(from: 8, to: size, by: 8)
    where payload.load(UInt64.self, at: at + offset) > counterLimit { return nil }
    return CommitTrailer(
      frameCount: payload.load(UInt32.self, at: at),
      recordCount: payload.load(UInt32.self, at: at + 4),
      lastSequence: payload.load(UInt64.self, at: at + 8),
      sequenceBound: payload.load(UInt64.self, at: at + 16),
      flushedThrough: payload.load(UInt64.self, at: at + 24),
      time: payload.load(UInt64.self, at: at + 32),
      documentCount: payload.load(UInt64.self, at: at + 40))
  }
}
