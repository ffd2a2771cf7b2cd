/// What an import has done: when it is over, and when it failed or was cancelled in the midst
/// (``DatabaseError/importReport``).
public struct ImportReport: Sendable {
  /// How many lines are done with: everything that stands in this line and in those before it is
  /// committed, or was left out as the options say.
  ///
  /// An import that failed goes on behind it with `firstLine`.
  public internal(set) var lineCount = 0
  /// How many bytes these lines have.
  public internal(set) var byteCount = 0
  /// How many lines were stored: documents, revisions of documents, local documents.
  public internal(set) var storedCount = 0
  /// How many lines said what stands in the database already.
  public internal(set) var unchangedCount = 0
  /// How many lines were left out since there is another document of that ID.
  public internal(set) var skippedCount = 0
  /// How many lines were left out since something is wrong with them.
  public internal(set) var refusedCount = 0
  /// What is wrong with them, each with its ``DatabaseError/line``; of the first thousand.
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
