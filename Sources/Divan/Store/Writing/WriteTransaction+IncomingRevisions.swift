import DivanLog

/// A revision that another store made, with its history: the unit that stores exchange.
///
/// ```swift
/// let history = try theirs.revisions(leadingTo: revision, of: "note")
/// let incoming = IncomingRevision(document, history: history, isDeleted: document.isDeleted)
/// try database.write { try $0.insert(contentsOf: [incoming], origin: "other") }
/// ```
public struct IncomingRevision: Sendable {
  /// The document's ID, properties and attachments; its own revision is ignored.
  public var document: Document
  /// The IDs of the revision and of its known ancestors, newest first.
  public var history: [RevisionID]
  /// Whether the revision deletes the document.
  public var isDeleted: Bool

  /// Creates a revision from content that another store sent.
  public init(_ document: Document, history: [RevisionID], isDeleted: Bool = false) {
    self.document = document
    self.history = history
    self.isDeleted = isDeleted
  }
}

/// The handling of a history that contradicts the known parent of a revision.
///
/// ```swift
/// try transaction.insert(document, history: history, contradictions: .keepingKnown)
/// ```
///
/// A revision has one parent, so one of the two was made up, mostly by a program that chooses
/// revision IDs by itself.
public enum HistoryContradictions: Sendable {
  /// The revision is rejected with ``DatabaseError/Code/invalidRevisionID``.
  case rejected
  /// The known parent counts, and the history is used only from that revision on.
  ///
  /// CouchDB accepts such histories too; it keeps both, and has the revision twice.
  case keepingKnown
}

extension WriteTransaction {
  /// Stores revisions that other stores made, each independently of the others.
  ///
  /// Each is stored as ``insert(_:history:isDeleted:contradictions:origin:)`` does.
  ///
  /// ```swift
  /// let results = try database.write { try $0.insert(contentsOf: batch, origin: "peer") }
  /// for (revision, result) in zip(batch, results) {
  ///   if case .failure(let error) = result { print(revision.document.id, error) }
  /// }
  /// ```
  ///
  /// An error that concerns one revision is in the results, and the revision is not stored.
  /// Examples are an invalid ID, a refusal by a validation, and a damaged document with its ID. An
  /// error that concerns all of them, such as a full disk, is thrown. A duplicate value in a unique
  /// index is found when the transaction ends, which fails as a whole.
  ///
  /// - Parameters:
  ///   - revisions: The revisions to store. A document's revision may come before its ancestors or
  ///     after them.
  ///   - contradictions: The handling of a history that contradicts the known one.
  ///   - origin: The source of the revisions, which ``Change/origin`` reports.
  /// - Returns: For each revision, in the same order, whether it was stored, or the error that
  ///   prevented it.
  /// - Throws: ``DatabaseError`` with the codes `transactionTooLarge`, `diskFull`, `inputOutput`,
  ///   `closed` and others that concern no single revision.
  @discardableResult
  public func insert(
    contentsOf revisions: some Sequence<IncomingRevision>,
    contradictions: HistoryContradictions = .rejected, origin: String? = nil
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
    .invalidRevisionID, .invalidValue, .notFound, .validationFailed,
  ]

  /// Whether the error concerns only one document, so that others can still be stored.
  fileprivate var isOfOneDocument: Bool { DatabaseError.codesOfOneDocument.contains(code) }
}
