import DivanLog

/// A revision that was made elsewhere, with its history: what stores exchange.
public struct IncomingRevision: Sendable {
  /// The document's ID, properties and attachments; its own revision does not matter.
  public var document: Document
  /// The revision's ID, and those of the revisions before it, newest first, as far as they are known.
  public var history: [RevisionID]
  /// Whether the revision deletes the document.
  public var isDeleted: Bool

  /// Makes a revision of what another store sent.
  public init(_ document: Document, history: [RevisionID], isDeleted: Bool = false) {
    self.document = document
    self.history = history
    self.isDeleted = isDeleted
  }
}

/// What becomes of a history that names another parent for a revision than the one that is known.
///
/// A revision has one parent, so one of the two was made up: by a program that chooses revision IDs by itself, mostly.
public enum HistoryContradictions: Sendable {
  /// The revision is refused, with ``DatabaseError/Code/invalidRevisionID``.
  case refused
  /// What is known counts: the history is taken from the revision on whose parent is known. CouchDB accepts such
  /// histories too; it keeps both, and has the revision twice.
  case keepingKnown
}

extension WriteTransaction {
  /// Stores revisions that were made elsewhere, each as ``insert(_:history:isDeleted:contradictions:origin:)`` does,
  /// whatever becomes of the others.
  ///
  /// ```swift
  /// let results = try database.write { try $0.insert(contentsOf: batch, origin: "peer") }
  /// for (revision, result) in zip(batch, results) {
  ///   if case .failure(let error) = result { print(revision.document.id, error) }
  /// }
  /// ```
  ///
  /// What fails for a reason of its own, such as an invalid ID, a validation that refuses it, or a damaged document in
  /// its place, is an error in the results and is not stored. What concerns all of them, such as a full disk, is thrown. A
  /// value that a unique index has already is found when the transaction ends, which fails as a whole.
  ///
  /// - Parameters:
  ///   - revisions: what to store. Of one document, a revision may come before its ancestors or after them.
  ///   - contradictions: what becomes of a history that contradicts what is known.
  ///   - origin: where they come from, as ``Change/origin`` tells it.
  /// - Returns: of each, in the same order, whether it was stored, or why it cannot be.
  /// - Throws: ``DatabaseError`` with the codes `transactionTooLarge`, `diskFull`, `inputOutput`, `closed` and others that are
  ///   about no revision.
  @discardableResult
  public func insert(
    contentsOf revisions: some Sequence<IncomingRevision>,
    contradictions: HistoryContradictions = .refused, origin: String? = nil
  ) throws -> [Result<Bool, DatabaseError>] {
    try check()
    var results: [Result<Bool, DatabaseError>] = []
    results.reserveCapacity(revisions.underestimatedCount)
    for each in revisions {
      do {
        results.append(
          .success(
            try insert(
              each.document, history: each.history, isDeleted: each.isDeleted,
              contradictions: contradictions, origin: origin)))
      } catch let error as DatabaseError where error.isOfOneDocument {
        results.append(.failure(error))
      }
    }
    return results
  }
}

extension DatabaseError {
  private static let codesOfOneDocument: Set<Code> = [
    .conflict, .damaged, .documentTooLarge, .invalidAttachment, .invalidDocumentID, .invalidJSON,
    .invalidRevisionID, .invalidValue, .notFound, .refused,
  ]

  /// Whether it is about what was to be stored, or about what stands in its place, so that others can be stored
  /// nevertheless.
  fileprivate var isOfOneDocument: Bool { DatabaseError.codesOfOneDocument.contains(code) }
}
