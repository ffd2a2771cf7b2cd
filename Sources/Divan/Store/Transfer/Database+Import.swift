import DivanLog
import Synchronization

extension Database {
  /// Stores the documents of a file of JSON Lines: what
  /// ``exportJSONLines(to:options:progress:)-59opq`` writes, or any file with one JSON object a line.
  ///
  /// A line's `_id` is the document's ID. Lines with `_revisions` become the same revisions as where they
  /// come from, as by ``WriteTransaction/insert(_:history:isDeleted:contradictions:origin:)``: importing them again
  /// changes nothing. Other lines become new documents, or what ``JSONLines/ImportOptions/existing`` says of
  /// those that are there; a line that says what stands there already changes nothing. Validations are
  /// asked. `docs/JSON_LINES.md` says everything.
  ///
  /// Lines are committed some thousand at a time, in their order, as durable as the configuration says. An
  /// error ends the import, and nothing of the transaction is stored to which its line belongs; the
  /// error has the ``DatabaseError/line``, and says in ``DatabaseError/importReport`` what was committed
  /// before. Takes memory for one transaction and the longest line.
  ///
  /// - Parameters:
  ///   - path: the file, in UTF-8.
  ///   - options: how lines are taken.
  ///   - progress: told how far it has got, about every 256 KiB; the import ends with
  ///     ``DatabaseError/Code/cancelled`` when it returns false.
  /// - Returns: what was done.
  /// - Throws: ``DatabaseError`` with the codes `invalidJSON`, `invalidValue`, `invalidDocumentID`,
  ///   `invalidRevisionID`, `invalidAttachment`, `documentTooLarge`, `conflict` or `refused` for a line with
  ///   which something is wrong; `notFound` or `accessDenied` for the file; `cancelled`; and as
  ///   ``write(timeout:_:)-2tx42``.
  @discardableResult
  public func importJSONLines(
    from path: String, options: JSONLines.ImportOptions = JSONLines.ImportOptions(),
    progress: ((JSONLines.Progress) -> Bool)? = nil
  ) throws -> ImportReport {
    try importFile(path, options) { progress?($0) ?? true }
  }

  /// Stores documents of JSON Lines that come in pieces of whatever sizes; see
  /// ``importJSONLines(from:options:progress:)-33041``.
  ///
  /// - Parameters:
  ///   - options: how lines are taken.
  ///   - nextPiece: gives the next bytes of the text, and nil at its end. What it throws is thrown, and what
  ///     was committed before stays.
  /// - Returns: what was done.
  /// - Throws: as ``importJSONLines(from:options:progress:)-33041``, but for those of files.
  @discardableResult
  public func importJSONLines(
    options: JSONLines.ImportOptions = JSONLines.ImportOptions(),
    pieces nextPiece: () throws -> (some Sequence<UInt8>)?
  ) throws -> ImportReport {
    try importText(options, goesOn: { _ in true }) {
      try nextPiece().map { SharedBytes(copying: Array($0)) }
    }
  }

  /// Stores the documents of a file of JSON Lines:
  /// ``importJSONLines(from:options:progress:)-33041`` for asynchronous callers, whose thread it does
  /// not block.
  ///
  /// A task that is cancelled gets ``DatabaseError/Code/cancelled`` with what was committed before.
  @discardableResult
  public func importJSONLines(
    from path: String, options: JSONLines.ImportOptions = JSONLines.ImportOptions(),
    progress: (@Sendable (JSONLines.Progress) -> Bool)? = nil
  ) async throws -> ImportReport {
    try await Database.run { isCancelled in
      try self.importFile(path, options) { !isCancelled() && (progress?($0) ?? true) }
    }
  }

  /// Stores documents of JSON Lines that come in pieces, as from a network; see
  /// ``importJSONLines(from:options:progress:)-33041``.
  ///
  /// A task that is cancelled gets ``DatabaseError/Code/cancelled`` with what was committed before.
  ///
  /// - Parameters:
  ///   - pieces: the text, of whatever sizes; some kibibytes each are best, as each is handed to another
  ///     thread. What it throws is thrown, and what was committed before stays.
  ///   - options: how lines are taken.
  /// - Returns: what was done.
  /// - Throws: as ``importJSONLines(from:options:progress:)-33041``, but for those of files.
  @discardableResult
  public func importJSONLines<Pieces: AsyncSequence>(
    from pieces: Pieces, options: JSONLines.ImportOptions = JSONLines.ImportOptions()
  ) async throws -> ImportReport where Pieces.Element: Sequence<UInt8> {
    let intake = JSONLinesIntake(self, options)
    for try await piece in pieces {
      let bytes = SharedBytes(copying: Array(piece))
      try await Database.run { isCancelled in try intake.append(bytes, isCancelled) }
    }
    // A cancelled task's sequence may just end, as if that were the end of the text.
    return try await Database.run { isCancelled in try intake.finish(isCancelled) }
  }

  private func importFile(
    _ path: String, _ options: JSONLines.ImportOptions, goesOn: (JSONLines.Progress) -> Bool
  ) throws -> ImportReport {
    let files = store.userFiles
    let (file, size) = try files.open(path)
    var offset = 0
    do {
      return try importText(options, totalByteCount: size, goesOn: goesOn) {
        let piece = try files.read(file, at: offset)
        offset += piece.count
        return piece.isEmpty ? nil : piece
      }
    } catch var error as DatabaseError {
      if error.line != nil { error.path = path }
      throw error
    }
  }

  private func importText(
    _ options: JSONLines.ImportOptions, totalByteCount: Int? = nil,
    goesOn: (JSONLines.Progress) -> Bool, _ nextPiece: () throws -> SharedBytes?
  ) throws -> ImportReport {
    let lines = JSONLinesImport(self, options)
    var state = JSONLines.Progress(totalByteCount: totalByteCount)
    func isCancelled() -> Bool {
      state.documentCount = lines.report.lineCount
      return !goesOn(state)
    }
    do {
      while let piece = try nextPiece() {
        state.byteCount += piece.count
        try lines.append(piece, isCancelled: isCancelled)
      }
    } catch {
      throw lines.failure(error)
    }
    try lines.finish(isCancelled: isCancelled)
    return lines.report
  }
}

/// Lets different threads, one after the other, go on with one import.
private final class JSONLinesIntake: Sendable {
  private let lines: Guarded<JSONLinesImport>

  init(_ database: Database, _ options: JSONLines.ImportOptions) {
    lines = Guarded(JSONLinesImport(database, options))
  }

  func append(_ bytes: SharedBytes, _ isCancelled: @Sendable () -> Bool) throws {
    try lines.withLock { try $0.append(bytes, isCancelled: isCancelled) }
  }

  func finish(_ isCancelled: @Sendable () -> Bool) throws -> ImportReport {
    try lines.withLock { lines in
      try lines.finish(isCancelled: isCancelled)
      return lines.report
    }
  }
}
