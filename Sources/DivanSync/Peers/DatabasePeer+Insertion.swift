import Divan
import Foundation

extension DatabasePeer {
  /// Stores revisions, and the content of their attachments before them.
  ///
  /// If reading content fails with a temporary error, the revisions that are complete are stored,
  /// and the others have that error as their result. The next attempt reads the content of these
  /// only, again from the first attachment: content without a document is not found again.
  public func insert(
    _ revisions: [ReplicatedRevision], from origin: String
  ) async throws -> [Result<Bool, any Error>] {
    let attachments = try await storedAttachments(of: revisions)
    var incoming: [Result<IncomingRevision, any Error>] = []
    incoming.reserveCapacity(revisions.count)
    for (index, revision) in revisions.enumerated() {
      do {
        incoming.append(.success(try await complete(revision, at: index, attachments)))
      } catch let error where error.concernsOneRevision || error.mayPass {
        incoming.append(.failure(error))
      }
    }
    return try await insert(incoming[...], from: origin)
  }

  /// Inserts revisions in one transaction if they fit into it, and otherwise in several.
  private func insert(
    _ revisions: ArraySlice<Result<IncomingRevision, any Error>>, from origin: String
  ) async throws -> [Result<Bool, any Error>] {
    do {
      let complete = revisions.compactMap { try? $0.get() }
      let results = try await database.write { transaction in
        try transaction.insert(
          contentsOf: complete, contradictions: .keepingKnown, origin: origin)
      }
      var resultIndex = 0
      return revisions.map { revision in
        if case .failure(let error) = revision { return .failure(error) }
        defer { resultIndex += 1 }
        return results[resultIndex].mapError { $0 }
      }
    } catch let error as DatabaseError where error.mayConcernOneOfSeveral {
      // A unique index is checked when the transaction ends, and says which document only then.
      guard revisions.count > 1 else { return [.failure(error)] }
      let middle = revisions.startIndex + revisions.count / 2
      return try await insert(revisions[..<middle], from: origin)
        + insert(revisions[middle...], from: origin)
    }
  }

  /// Returns the revision with its attachments, whose content is stored.
  private func complete(
    _ revision: ReplicatedRevision, at index: Int, _ attachments: StoredAttachments
  ) async throws -> IncomingRevision {
    var document = revision.document
    for (number, attachment) in revision.attachments.enumerated() {
      var stored = try attachments[index, number]
      stored.generation = attachment.generation
      stored.foreignDigest = try await keptDigest(of: attachment, stored)
      document.attachments[attachment.name] = stored
    }
    return IncomingRevision(document, history: revision.history, isDeleted: revision.isDeleted)
  }

  /// Makes everything durable that was committed.
  public func flush() async throws { try await database.flush() }
}

extension DatabaseError {
  /// Whether the error failed a transaction with several revisions, some of which can be stored.
  fileprivate var mayConcernOneOfSeveral: Bool {
    [.transactionTooLarge, .notUnique].contains(code)
  }
}
