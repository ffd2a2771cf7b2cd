import DivanLog
import Synchronization

extension Database {
  /// Stores the documents of a JSON Lines file, with one JSON object per line.
  ///
  /// The file can come from ``exportJSONLines(to:options:progress:)-2ahip`` or any other source.
  ///
  /// A line's `_id` is the document's ID. Lines with `_revisions` become the same revisions as in
  /// their source, as with ``WriteTransaction/insert(_:history:isDeleted:contradictions:origin:)``:
  /// importing them again changes nothing. Other lines become new documents; for existing ones,
  /// ``JSONLines/ImportOptions/onExisting`` decides. A line that equals the present document
  /// changes nothing. Validations run. `docs/JSON_LINES.md` has all details.
  ///
  /// Lines are committed some thousand at a time, in their order, with the configured durability.
  /// An error ends the import, and nothing of its line's transaction is stored. The error has the
  /// ``DatabaseError/line``, and ``DatabaseError/importReport`` says how much was committed before.
  /// Takes memory for one transaction and the longest line.
  ///
  /// - Parameters:
  ///   - path: The file, in UTF-8.
  ///   - options: Options for the import.
  ///   - progress: Receives the progress about every 256 KiB. If it throws, the import ends with
  ///     that error, and ``JSONLines/Progress/storedCount`` documents stay.
  /// - Returns: A report of the import.
  /// - Throws: ``DatabaseError`` with the codes `invalidJSON`, `invalidValue`, `invalidDocumentID`,
  ///   `invalidRevisionID`, `invalidAttachment`, `documentTooLarge`, `conflict` or
  ///   `validationFailed` for a bad line; `notFound` or `accessDenied` for the file; `cancelled`;
  ///   and the errors of ``write(timeout:_:)-2tx42``.
  @discardableResult
  public func importJSONLines(
    from path: String, options: JSONLines.ImportOptions = JSONLines.ImportOptions(),
    progress: ((JSONLines.Progress) throws -> Void)? = nil
  ) throws -> ImportReport {
    try reportingProgress(to: progress, isCancelled: { Task.isCancelled }) {
      try importFile(path, options, shouldContinue: $0)
    }
  }

  /// Stores documents of JSON Lines that come in pieces of any size.
  ///
  /// See ``importJSONLines(from:options:progress:)-ixhr``.
  ///
  /// - Parameters:
  ///   - options: Options for the import.
  ///   - nextPiece: Returns the next bytes of the text, and nil at its end. Its errors are
  ///     rethrown, and everything committed before stays.
  /// - Returns: A report of the import.
  /// - Throws: The errors of ``importJSONLines(from:options:progress:)-ixhr``, except errors of
  ///   files.
  @discardableResult
  public func importJSONLines(
    options: JSONLines.ImportOptions = JSONLines.ImportOptions(),
    pieces nextPiece: () throws -> (some Sequence<UInt8>)?
  ) throws -> ImportReport {
    try importText(options, shouldContinue: { _ in true }) {
      try nextPiece().map { SharedBytes(copying: Array($0)) }
    }
  }

  /// Stores the documents of a JSON Lines file without blocking the calling thread.
  ///
  /// See ``importJSONLines(from:options:progress:)-ixhr``. A cancelled task gets
  /// ``DatabaseError/Code/cancelled`` with a report of the lines committed before.
  @discardableResult
  public func importJSONLines(
    from path: String, options: JSONLines.ImportOptions = JSONLines.ImportOptions(),
    progress: (@Sendable (JSONLines.Progress) throws -> Void)? = nil
  ) async throws -> ImportReport {
    try await Database.run { isCancelled in
      try reportingProgress(to: progress, isCancelled: isCancelled) {
        try self.importFile(path, options, shouldContinue: $0)
      }
    }
  }

  /// Stores documents of JSON Lines that come in asynchronous pieces, as from a network.
  ///
  /// See ``importJSONLines(from:options:progress:)-ixhr``. A cancelled task gets
  /// ``DatabaseError/Code/cancelled`` with a report of the lines committed before.
  ///
  /// - Parameters:
  ///   - pieces: The text, in pieces of any size; some kibibytes each are best, because each is
  ///     passed to another thread. Its errors are rethrown, and everything committed before stays.
  ///   - options: Options for the import.
  /// - Returns: A report of the import.
  /// - Throws: The errors of ``importJSONLines(from:options:progress:)-ixhr``, except errors of
  ///   files.
  @discardableResult
  public func importJSONLines<Pieces: AsyncSequence>(
    from pieces: Pieces, options: JSONLines.ImportOptions = JSONLines.ImportOptions()
  ) async throws -> ImportReport where Pieces.Element: Sequence<UInt8> {
    let intake = JSONLinesIntake(self, options)
    for try await piece in pieces {
      let bytes = SharedBytes(copying: Array(piece))
      try await Database.run { isCancelled in try intake.append(bytes, isCancelled) }
    }
    // A cancelled task's sequence may simply end, as if that were the end of the text.
    return try await Database.run { isCancelled in try intake.finish(isCancelled) }
  }

  private func importFile(
    _ path: String, _ options: JSONLines.ImportOptions, shouldContinue: (JSONLines.Progress) -> Bool
  ) throws -> ImportReport {
    let files = store.environment.userFiles
    let (file, size) = try files.open(path)
    var offset = 0
    do {
      return try importText(options, totalByteCount: size, shouldContinue: shouldContinue) {
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
    shouldContinue: (JSONLines.Progress) -> Bool, _ nextPiece: () throws -> SharedBytes?
  ) throws -> ImportReport {
    let lines = JSONLinesImport(self, options)
    var state = JSONLines.Progress(totalByteCount: totalByteCount)
    func isCancelled() -> Bool {
      state.documentCount = lines.report.lineCount
      state.storedCount = lines.report.storedCount
      return !shouldContinue(state)
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

/// An import that different threads can continue, one after the other.
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
