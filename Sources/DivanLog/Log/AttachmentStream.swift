/// The bytes of a body, a piece at a time.
///
/// Takes as much memory as a piece: 256 KiB, or a chunk where chunks are larger. It never reads through a
/// map, whose pages would count as this process's.
package struct AttachmentStream: Sendable {
  private let reader: AttachmentReader
  private let end: Int
  /// Set while the body is read from its beginning to its end.
  private var hash: SHA256?
  /// Where the next piece begins.
  package private(set) var offset: Int

  fileprivate init(_ reader: AttachmentReader, _ range: Range<Int>) {
    self.reader = reader
    offset = range.lowerBound
    end = range.upperBound
    hash = range == 0..<reader.length ? SHA256() : nil
  }
}

extension AttachmentReader {
  /// The whole body as a stream.
  ///
  /// Each piece is checked before it is given, and the last one is given only when the whole has proved
  /// to match its digest.
  package func stream() -> AttachmentStream { AttachmentStream(self, 0..<length) }

  /// A part of the body as a stream; what `range` has beyond its ends is left out.
  package func stream(_ range: Range<Int>) -> AttachmentStream {
    AttachmentStream(self, range.clamped(to: 0..<length))
  }

  /// Reads the whole body as a stream, and throws if anything is wrong with it.
  package func verify() throws(LogError) {
    var stream = stream()
    while try stream.next() != nil {}
  }
}

extension AttachmentStream {
  /// The next piece; nil at the end.
  ///
  /// After an error the stream stays where it is.
  package mutating func next() throws(LogError) -> SharedBytes? {
    // An empty body has no piece, but a digest nevertheless.
    guard offset < end || (end == 0 && hash != nil) else { return nil }
    let pieceSize = max(1, reader.pieceSize)
    let pieceEnd = end - offset > pieceSize ? (offset / pieceSize + 1) * pieceSize : end
    let piece = try reader.readPiece(offset..<pieceEnd)
    if var hash {
      hash.add(piece)
      if pieceEnd == end, hash.digest != reader.record.digest { throw reader.wrongDigest }
      self.hash = pieceEnd == end ? nil : hash
    }
    offset = pieceEnd
    return piece.isEmpty ? nil : piece
  }
}
