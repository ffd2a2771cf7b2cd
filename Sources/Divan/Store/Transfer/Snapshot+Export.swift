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
  /// Takes memory for one document and its small attachments, however many there are. The file is written
  /// beside its place and renamed into it when it is whole and flushed: a failure leaves nothing under
  /// that name. A crash may leave what was written until then, under a name that ends in `.unfinished`.
  /// The file is on the machine's disk, also if the database is in memory.
  ///
  /// - Parameters:
  ///   - path: where the file goes; nothing may be there.
  ///   - options: what is exported, and how; everything, unless set.
  ///   - progress: told how far it has got, about every 64 KiB; exporting stops with
  ///     ``DatabaseError/Code/cancelled`` when it returns false, and leaves nothing behind.
  /// - Returns: how much was written.
  /// - Throws: ``DatabaseError`` with the codes `alreadyExists`, `damaged`, `diskFull`, `accessDenied`,
  ///   `inputOutput`, `cancelled` or `closed`.
  @discardableResult
  public func exportJSONLines(
    to path: String, options: JSONLines.ExportOptions = JSONLines.ExportOptions(),
    progress: ((JSONLines.Progress) -> Bool)? = nil
  ) throws -> JSONLines.Progress {
    try exportFile(path, options) { progress?($0) ?? true }
  }

  /// Writes this version of the database as JSON Lines to wherever the pieces are handed on.
  ///
  /// - Parameters:
  ///   - options: what is exported, and how; everything, unless set.
  ///   - write: takes the next piece of text: some whole lines, 64 KiB or more but for the last one. What
  ///     it throws is thrown, and ends it.
  /// - Returns: how much was written.
  /// - Throws: ``DatabaseError`` with the codes `damaged`, `inputOutput` or `closed`.
  @discardableResult
  public func exportJSONLines(
    options: JSONLines.ExportOptions = JSONLines.ExportOptions(), _ write: (Data) throws -> Void
  ) throws -> JSONLines.Progress {
    let export = JSONLinesExport(self, options)
    while let piece = try export.next() { try write(Data(piece.array)) }
    return export.progress
  }

  /// Writes this version of the database to a new file, as JSON Lines:
  /// ``exportJSONLines(to:options:progress:)-1upqc`` for asynchronous callers, whose thread it does
  /// not block.
  ///
  /// A task that is cancelled gets ``DatabaseError/Code/cancelled``, and nothing is left behind.
  @discardableResult
  public func exportJSONLines(
    to path: String, options: JSONLines.ExportOptions = JSONLines.ExportOptions(),
    progress: (@Sendable (JSONLines.Progress) -> Bool)? = nil
  ) async throws -> JSONLines.Progress {
    try await Database.run { isCancelled in
      try self.exportFile(path, options) { !isCancelled() && (progress?($0) ?? true) }
    }
  }

  /// This version of the database as JSON Lines, a piece at a time, as for sending it over a network.
  ///
  /// - Parameter options: what is exported, and how; everything, unless set.
  /// - Returns: the pieces, to be read with `for try await`, as often as is wanted.
  public func jsonLines(
    options: JSONLines.ExportOptions = JSONLines.ExportOptions()
  ) -> JSONLines.Pieces {
    JSONLines.Pieces(snapshot: self, options: options)
  }

  private func exportFile(
    _ path: String, _ options: JSONLines.ExportOptions, goesOn: (JSONLines.Progress) -> Bool
  ) throws -> JSONLines.Progress {
    let export = JSONLinesExport(self, options)
    try view.store.userFiles.write(path) {
      let piece = try export.next()
      guard goesOn(export.progress) else { throw JSONLines.cancelledExport }
      return piece
    }
    return export.progress
  }
}

extension Database {
  /// Writes the database as it is now to a new file, as JSON Lines; see
  /// ``Snapshot/exportJSONLines(to:options:progress:)-1upqc``.
  ///
  /// Reading and writing go on meanwhile; later changes do not show.
  @discardableResult
  public func exportJSONLines(
    to path: String, options: JSONLines.ExportOptions = JSONLines.ExportOptions(),
    progress: ((JSONLines.Progress) -> Bool)? = nil
  ) throws -> JSONLines.Progress {
    try snapshot().exportJSONLines(to: path, options: options, progress: progress)
  }

  /// Writes the database as it is now to a new file, as JSON Lines, for asynchronous callers; see
  /// ``Snapshot/exportJSONLines(to:options:progress:)-1upqc``.
  ///
  /// A task that is cancelled gets ``DatabaseError/Code/cancelled``, and nothing is left behind.
  @discardableResult
  public func exportJSONLines(
    to path: String, options: JSONLines.ExportOptions = JSONLines.ExportOptions(),
    progress: (@Sendable (JSONLines.Progress) -> Bool)? = nil
  ) async throws -> JSONLines.Progress {
    try await snapshot().exportJSONLines(to: path, options: options, progress: progress)
  }
}

extension JSONLines {
  /// The text of an export, a piece at a time: ``Snapshot/jsonLines(options:)``.
  public struct Pieces: AsyncSequence, Sendable {
    let snapshot: Snapshot
    let options: ExportOptions

    /// Begins at the beginning.
    public func makeAsyncIterator() -> Iterator { Iterator(SharedExport(snapshot, options)) }

    /// Reads the text.
    public struct Iterator: AsyncIteratorProtocol {
      private let export: SharedExport

      fileprivate init(_ export: SharedExport) { self.export = export }

      /// The next piece: some whole lines, 64 KiB or more but for the last one; nil at the end.
      ///
      /// - Throws: ``DatabaseError`` with the code `cancelled` if the task was cancelled, since a text that
      ///   just ends would look like a whole one; otherwise `damaged`, `inputOutput` or `closed`.
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

/// Lets different threads, one after the other, go on with one export.
private final class SharedExport: Sendable {
  private let export: Guarded<JSONLinesExport>

  init(_ snapshot: Snapshot, _ options: JSONLines.ExportOptions) {
    export = Guarded(JSONLinesExport(snapshot, options))
  }

  func next() throws -> Data? {
    try export.withLock { export in try export.next().map { Data($0.array) } }
  }
}
