/// The bytes of a blob, a piece at a time.
///
/// Takes as much memory as a piece: 256 KiB, or a chunk if chunks are larger. It never reads
/// through a map, whose pages would count as this process's memory.
package struct AttachmentStream: Sendable {
  private let reader: AttachmentReader
  private let end: Int
  /// The hash of the bytes so far, if the stream is of the whole blob.
  private var hash: SHA256?
  /// The offset of the next piece.
  package private(set) var offset: Int

  fileprivate init(_ reader: AttachmentReader, _ range: Range<Int>) {
    self.reader = reader
    offset = range.lowerBound
    end = range.upperBound
    hash = range == 0..<reader.length ? SHA256() : nil
  }
}

extension AttachmentReader {
  /// Returns the whole blob as a stream.
  ///
  /// Each piece is checked before it is returned. The last one is returned only when the whole blob
  /// has matched its digest.
  package func stream() -> AttachmentStream { AttachmentStream(self, 0..<length) }

  /// Returns a part of the blob as a stream; `range` is clamped to the blob's ends.
  package func stream(_ range: Range<Int>) -> AttachmentStream {
    AttachmentStream(self, range.clamped(to: 0..<length))
  }

  /// Reads the whole blob as a stream, and throws if anything is wrong with it.
  package func verify() throws(LogError) {
    var stream = stream()
    while try stream.next() != nil {}
  }
}

extension AttachmentStream {
  /// Returns the next piece; nil at the end.
  ///
  /// After an error the stream keeps its position.
  package mutating func next() throws(LogError) -> SharedBytes? {
    // An empty blob has no piece, but it has a digest.
    guard offset < end || (end == 0 && hash != nil) else { return nil }
    let pieceSize = max(1, reader.pieceSize)
    let pieceEnd = end - offset > pieceSize ? (offset / pieceSize + 1) * pieceSize : end
    let piece = try reader.readPiece(offset..<pieceEnd)
    if var hash {
      hash.add(piece)
      if pieceEnd == end, hash.digest != reader.record.digest { throw reader.noteWrongDigest() }
      self.hash = pieceEnd == end ? nil : hash
    }
    offset = pieceEnd
    return piece.isEmpty ? nil : piece
  }
}
