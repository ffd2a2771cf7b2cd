/// The result of an import, also of one that failed or was cancelled
/// (``DatabaseError/importReport``).
///
/// ```swift
/// let report = try database.importJSONLines(from: path, options: options)
/// for error in report.errors { print(error.line ?? 0, error.message) }
/// ```
public struct ImportReport: Sendable {
  /// The number of completed lines: each is committed, or was omitted as the options specify.
  ///
  /// To continue an import that failed, pass the number of the next line as `firstLine`.
  public internal(set) var lineCount = 0
  /// The number of bytes of these lines.
  public internal(set) var byteCount = 0
  /// The number of stored lines: documents, revisions of documents, local documents.
  public internal(set) var storedCount = 0
  /// How many more documents are in conflict because of lines with `_revisions`.
  ///
  /// A document that was made independently in the exported database and in this one has a branch
  /// of each: see ``Snapshot/hasConflict(_:)``. Negative if lines resolved more conflicts.
  public internal(set) var conflictCount = 0
  /// The number of lines whose content the database had already.
  public internal(set) var unchangedCount = 0
  /// The number of lines that were omitted because another document has the ID.
  public internal(set) var skippedCount = 0
  /// The number of lines that were omitted because they are invalid.
  public internal(set) var rejectedCount = 0
  /// The errors of the first thousand such lines, each with its ``DatabaseError/line``.
  public internal(set) var errors: [DatabaseError] = []

  /// Creates an empty report.
  init() {}

  static let refusalLimit = 1000
}

extension ImportReport: CustomStringConvertible {
  /// The counts, in a sentence.
  public var description: String {
    let conflicts = conflictCount <= 0 ? "" : " (\(conflictCount) in conflict)"
    return "\(lineCount) lines: \(storedCount) stored\(conflicts), "
      + "\(unchangedCount) known already, \(skippedCount) skipped, \(rejectedCount) rejected"
  }
}
