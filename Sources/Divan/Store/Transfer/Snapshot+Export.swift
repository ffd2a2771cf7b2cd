import DivanLog
import Synchronization

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Snapshot {
  /// Writes this version of the database to a new file, as JSON Lines.
  ///
  /// Takes memory for one document and its small attachments, however many documents there are. The
  /// file is written next to its final path, and renamed when it is complete and flushed: a failure
  /// leaves nothing under that name. A crash may leave a partial file whose name ends in
  /// `.unfinished`. The file is on the machine's disk, even if the database is in memory.
  ///
  /// - Parameters:
  ///   - path: The path of the new file; nothing may exist there.
  ///   - options: Options for the export; everything by default.
  ///   - progress: Receives the progress about every 64 KiB. If it throws, the export stops with
  ///     that error and leaves nothing behind.
  /// - Returns: The amount that was written.
  /// - Throws: ``DatabaseError`` with the codes `alreadyExists`, `damaged`, `diskFull`,
  ///   `accessDenied`, `inputOutput`, `cancelled` or `closed`.
  @discardableResult
  public func exportJSONLines(
    to path: String, options: JSONLines.ExportOptions = JSONLines.ExportOptions(),
    progress: ((JSONLines.Progress) throws -> Void)? = nil
  ) throws -> JSONLines.Progress {
    try reportingProgress(to: progress, isCancelled: { Task.isCancelled }) {
      try exportFile(path, options, shouldContinue: $0)
    }
  }

  /// Passes this version of the database as JSON Lines to a closure, in pieces.
  ///
  /// - Parameters:
  ///   - options: Options for the export; everything by default.
  ///   - write: Receives the next piece of text: some whole lines, at least 64 KiB except for the
  ///     last one. Its errors are rethrown, and end the export.
  /// - Returns: The amount that was written.
  /// - Throws: ``DatabaseError`` with the codes `damaged`, `inputOutput` or `closed`.
  @discardableResult
  public func exportJSONLines(
    options: JSONLines.ExportOptions = JSONLines.ExportOptions(), _ write: (Data) throws -> Void
  ) throws -> JSONLines.Progress {
    let export = JSONLinesExport(self, options)
    while let piece = try export.next() { try write(Data(piece.array)) }
    return export.progress
  }

  /// Writes this version of the database as JSON Lines without blocking the calling thread.
  ///
  /// See ``exportJSONLines(to:options:progress:)-8y63a``. A cancelled task gets
  /// ``DatabaseError/Code/cancelled``, and nothing is left behind.
  @discardableResult
  public func exportJSONLines(
    to path: String, options: JSONLines.ExportOptions = JSONLines.ExportOptions(),
    progress: (@Sendable (JSONLines.Progress) throws -> Void)? = nil
  ) async throws -> JSONLines.Progress {
    try await Database.run { isCancelled in
      try reportingProgress(to: progress, isCancelled: isCancelled) {
        try self.exportFile(path, options, shouldContinue: $0)
      }
    }
  }

  /// Returns this version of the database as JSON Lines, in pieces to send over a network.
  ///
  /// - Parameter options: Options for the export; everything by default.
  /// - Returns: The pieces, for `for try await`; you can iterate them several times.
  public func jsonLines(
    options: JSONLines.ExportOptions = JSONLines.ExportOptions()
  ) -> JSONLines.Pieces {
    JSONLines.Pieces(snapshot: self, options: options)
  }

  private func exportFile(
    _ path: String, _ options: JSONLines.ExportOptions, shouldContinue: (JSONLines.Progress) -> Bool
  ) throws -> JSONLines.Progress {
    let export = JSONLinesExport(self, options)
    try view.environment.userFiles.write(path) {
      let piece = try export.next()
      guard shouldContinue(export.progress) else { throw JSONLines.cancelledExport }
      return piece
    }
    return export.progress
  }
}

extension JSONLines {
  /// The text of an export, in pieces: ``Snapshot/jsonLines(options:)``.
  ///
  /// ```swift
  /// for try await piece in try database.snapshot().jsonLines() {
  ///   data.append(piece)
  /// }
  /// ```
  public struct Pieces: AsyncSequence, Sendable {
    let snapshot: Snapshot
    let options: ExportOptions

    /// Returns an iterator that begins at the start of the text.
    public func makeAsyncIterator() -> Iterator { Iterator(SharedExport(snapshot, options)) }

    /// An iterator over the pieces of text.
    ///
    /// ```swift
    /// var pieces = try database.snapshot().jsonLines().makeAsyncIterator()
    /// while let piece = try await pieces.next() { data.append(piece) }
    /// ```
    public struct Iterator: AsyncIteratorProtocol {
      private let export: SharedExport

      fileprivate init(_ export: SharedExport) { self.export = export }

      /// Returns the next piece, some whole lines; nil at the end.
      ///
      /// Pieces have 64 KiB or more, except for the last one.
      ///
      /// - Throws: ``DatabaseError`` with the code `cancelled` if the task was cancelled, because a
      ///   text that simply ends would look complete; otherwise `damaged`, `inputOutput` or
      ///   `closed`.
      public mutating func next(
        isolation actor: isolated (any Actor)? = #isolation
      ) async throws -> Data? {
        let export = export
        return try await Database.run { isCancelled in
          if isCancelled() { throw JSONLines.cancelledExport }
          return try export.next()
        }
      }
    }
  }

  static let cancelledExport = DatabaseError(
    .cancelled, "the export was cancelled; nothing was left behind")
}

/// An export that different threads can continue, one after the other.
private final class SharedExport: Sendable {
  private let export: Guarded<JSONLinesExport>

  init(_ snapshot: Snapshot, _ options: JSONLines.ExportOptions) {
    export = Guarded(JSONLinesExport(snapshot, options))
  }

  func next() throws -> Data? {
    try export.withLock { export in try export.next().map { Data($0.array) } }
  }
}
