/// The result of an import, also of one that failed or was cancelled
/// (``DatabaseError/importReport``).
public struct ImportReport: Sendable {
  /// The number of lines that are done: each of them is committed, or was left out as the options
  /// say.
  ///
  /// An import that failed continues after them with `firstLine`.
  public internal(set) var lineCount = 0
  /// The number of bytes of these lines.
  public internal(set) var byteCount = 0
  /// How many lines were stored: documents, revisions of documents, local documents.
  public internal(set) var storedCount = 0
  /// The number of lines that the database had already.
  public internal(set) var unchangedCount = 0
  /// How many lines were left out since there is another document of that ID.
  public internal(set) var skippedCount = 0
  /// How many lines were left out since something is wrong with them.
  public internal(set) var refusedCount = 0
  /// The errors of the first thousand such lines, each with its ``DatabaseError/line``.
  public internal(set) var refusals: [DatabaseError] = []

  /// A report of nothing.
  init() {}

  static let refusalLimit = 1000
}

extension ImportReport: CustomStringConvertible {
  /// The counts, in a sentence.
  public var description: String {
    "\(lineCount) lines: \(storedCount) stored, \(unchangedCount) known already, \(skippedCount) skipped, "
      + "\(refusedCount) refused"
  }
}
