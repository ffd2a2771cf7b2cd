import DivanLog

/// An importer of JSON Lines in pieces of any size, in transactions of some thousand lines.
///
/// Takes memory for several times the longest line, and for one transaction. Not thread-safe: one
/// thread at a time may use it.
final class JSONLinesImport {
  private let database: Database
  private let options: JSONLines.ImportOptions
  private let lineSizeLimit: Int
  private var sink = ImportSink()
  private var blobs: ImportedBlobs
  private var batch = ImportBatch()
  /// The beginning of a line whose end has not arrived yet.
  private var beginning = ByteWriter()
  /// The number of bytes of that line so far, which may be more than ``beginning`` has.
  private var beginningSize = 0
  /// The number of complete lines.
  private var lineCount = 0
  /// The number of bytes in these lines.
  private var byteCount = 0
  private(set) var report = ImportReport()

  init(_ database: Database, _ options: JSONLines.ImportOptions) {
    self.database = database
    var options = options
    options.lineSizeLimit = min(max(1, options.lineSizeLimit), 1 << 30)
    self.options = options
    lineSizeLimit = options.lineSizeLimit
    blobs = ImportedBlobs(database)
  }
}

extension JSONLinesImport {
  /// Adds bytes that follow the previous ones.
  ///
  /// - Throws: ``DatabaseError`` with the ``DatabaseError/importReport``; then the import has
  ///   ended.
  func append(_ piece: SharedBytes, isCancelled: () -> Bool) throws {
    try check(isCancelled)
    var rest = piece
    while let end = rest.index(of: UInt8(ascii: "\n")) {
      try takeEnd(of: rest.prefix(end), withBreak: 1, isCancelled)
      rest = rest.suffix(from: end + 1)
    }
    keep(rest)
  }

  /// Ends the text, and commits the remaining lines.
  func finish(isCancelled: () -> Bool) throws {
    // A cancelled source may simply end.
    try check(isCancelled)
    if beginningSize > 0 { try takeEnd(of: .empty, withBreak: 0, isCancelled) }
    try commit(isCancelled)
    report.lineCount = lineCount
    report.byteCount = byteCount
  }

  /// Returns an error with the report so far and a hint on how to continue.
  func failure(_ error: any Error) -> any Error {
    guard var error = error as? DatabaseError, error.importReport == nil else { return error }
    error.importReport = report
    let position =
      report.lineCount == 0
      ? "Nothing was stored"
      : "Lines 1 to \(report.lineCount) are stored, so continue with `firstLine` \(report.lineCount + 1)"
    error.hint = [error.hint, position].compactMap { $0 }.joined(separator: ". ")
    return error
  }

  private func keep(_ bytes: SharedBytes) {
    beginningSize += bytes.count
    // Of a line that is too long, only its end matters.
    if beginningSize <= lineSizeLimit { beginning.append(bytes) } else { beginning.removeAll() }
  }

  private func takeEnd(
    of end: SharedBytes, withBreak breakSize: Int, _ isCancelled: () -> Bool
  ) throws {
    var line = end
    if beginningSize > 0 {
      keep(end)
      line = beginning.sharedCopy
    }
    let size = beginningSize > 0 ? beginningSize : end.count
    beginning.removeAll()
    beginningSize = 0
    lineCount += 1
    byteCount += size + breakSize
    do {
      guard size <= lineSizeLimit else { throw tooLong(size) }
      try take(line)
    } catch {
      try refuse(DatabaseError(importing: error, line: lineCount))
    }
    if batch.items.count >= max(1, options.transactionCountLimit)
      || batch.size >= ImportBatch.sizeLimit
    {
      try commit(isCancelled)
    }
  }

  private func tooLong(_ size: Int) -> DatabaseError {
    DatabaseError(
      .documentTooLarge, "the line has \(size) bytes, where \(lineSizeLimit) are allowed",
      hint: "Raise `lineSizeLimit` if each document is on its own line")
  }

  /// Parses a line, and adds it to the batch.
  private func take(_ line: SharedBytes) throws(DatabaseError) {
    let text = line.withoutMarks(isFirst: lineCount == 1)
    guard lineCount >= options.firstLine, !text.isBlank else { return }
    switch try ImportedLine.read(text, with: &sink, options) {
    case .chunk(let piece): try blobs.append(piece)
    case .localDocument(let id, let properties):
      batch.append(
        .init(line: lineCount, content: .localDocument(id: id, properties)), size: line.count)
    case .document(var document):
      if document.id.isEmpty { document.id = database.newDocumentID() }
      batch.append(
        .init(line: lineCount, content: .document(document)),
        size: line.count + blobs.sizeInLog(of: document))
    }
  }

  /// Skips a bad line, or ends the import.
  private func refuse(_ error: DatabaseError) throws {
    guard options.onInvalidLine == .skip, error.isOfLine else { throw failure(error) }
    note(error)
  }

  private func note(_ refusal: DatabaseError) {
    report.rejectedCount += 1
    if report.errors.count < ImportReport.refusalLimit { report.errors.append(refusal) }
  }

  private func check(_ isCancelled: () -> Bool) throws {
    guard !isCancelled() else {
      throw failure(DatabaseError(.cancelled, "the import was cancelled"))
    }
  }

  private func commit(_ isCancelled: () -> Bool) throws {
    try check(isCancelled)
    guard !batch.items.isEmpty else { return }
    let outcome: ImportOutcome
    do {
      // The closure runs once, on this thread.
      outcome = try database.store.write(
        durability: database.store.configuration.durability, timeout: nil
      ) { transaction in
        var storing = ImportStoring(transaction, blobs, options)
        try storing.store(batch)
        return storing.outcome
      }
    } catch {
      throw failure(error)
    }
    blobs.release(outcome.referencedDigests)
    batch.removeAll()
    report.lineCount = lineCount
    report.byteCount = byteCount
    report.storedCount += outcome.storedCount
    report.unchangedCount += outcome.unchangedCount
    report.skippedCount += outcome.skippedCount
    report.conflictCount += outcome.conflictCount
    for refusal in outcome.errors { note(refusal) }
  }
}

extension SharedBytes {
  /// Returns a line without a carriage return at its end, and without the text's byte order mark.
  fileprivate func withoutMarks(isFirst: Bool) -> SharedBytes {
    var text = self
    if isFirst, text.count >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF {
      text = text.suffix(from: 3)
    }
    if text.count > 0, text[text.count - 1] == UInt8(ascii: "\r") {
      text = text.prefix(text.count - 1)
    }
    return text
  }

  fileprivate var isBlank: Bool {
    withSpan { bytes in
      var position = 0
      while position < bytes.count, bytes[position] == 0x20 || bytes[position] == 0x09 {
        position += 1
      }
      return position == bytes.count
    }
  }
}
