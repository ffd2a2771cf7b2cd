#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Document.Attachment {
  /// Returns the whole content, checked against its digest, without blocking the calling thread.
  ///
  /// ```swift
  /// let poster = try await film.attachments["poster"]?.data()
  /// ```
  ///
  /// - Throws: The errors of the synchronous call; ``DatabaseError/Code/cancelled``.
  public func data() async throws -> Data {
    try await Database.run { isCancelled in
      try self.read(nil) { if isCancelled() { throw Self.cancelledError } }
    }
  }

  /// Returns a part of the content, checked, without blocking the calling thread.
  ///
  /// The part of `range` beyond the end is ignored.
  ///
  /// - Throws: The errors of the synchronous call; ``DatabaseError/Code/cancelled``.
  public func data(in range: Range<Int>) async throws -> Data {
    try await Database.run { isCancelled in
      try self.read(range.clamped(to: 0..<length)) {
        if isCancelled() { throw Self.cancelledError }
      }
    }
  }

  fileprivate static let cancelledError = DatabaseError(
    .cancelled, "the task was cancelled before the attachment was read")

  /// Returns the content, or a part of it, in pieces that are read without blocking the thread.
  ///
  /// ```swift
  /// for try await piece in trailer.asyncPieces() { try await response.write(piece) }
  /// ```
  ///
  /// Nothing is read until you ask for the first piece, nor ahead of the one that you ask for. So
  /// the memory in use is that of one piece: mostly 256 KiB.
  ///
  /// - Parameter range: The part to read; nil reads all of it.
  /// - Returns: The pieces, in order.
  public func asyncPieces(_ range: Range<Int>? = nil) -> AsyncPieces {
    AsyncPieces(attachment: self, range: range)
  }

  /// The content of an attachment in pieces, for asynchronous callers.
  ///
  /// ```swift
  /// for try await piece in photo.asyncPieces() { size += piece.count }
  /// ```
  ///
  /// Each iteration reads the content from its beginning. Iterating throws the errors of
  /// ``Document/Attachment/data()-4s5kk``, and ``DatabaseError/Code/cancelled`` if the task is
  /// cancelled.
  public struct AsyncPieces: AsyncSequence, Sendable {
    let attachment: Document.Attachment
    let range: Range<Int>?

    /// Returns an iterator over the pieces.
    public func makeAsyncIterator() -> Iterator { Iterator(state: .unopened(attachment, range)) }

    /// Reads the pieces one by one.
    ///
    /// ```swift
    /// var pieces = photo.asyncPieces().makeAsyncIterator()
    /// while let piece = try await pieces.next() { size += piece.count }
    /// ```
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate enum State: Sendable {
        case unopened(Document.Attachment, Range<Int>?)
        case open(AttachmentPieces)
      }

      fileprivate var state: State

      /// Returns the next piece; nil at the end.
      public mutating func next() async throws -> Data? {
        let before = state
        let (piece, pieces) = try await Database.run { isCancelled in
          if isCancelled() { throw Document.Attachment.cancelledError }
          var pieces =
            switch before {
            case .unopened(let attachment, let range): try attachment.pieces(range)
            case .open(let pieces): pieces
            }
          return (try pieces.next(), pieces)
        }
        state = .open(pieces)
        return piece
      }
    }
  }
}
