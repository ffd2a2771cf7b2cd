import Divan
import Foundation

extension DatabasePeer {
  /// Stores revisions, and the content of their attachments before them.
  public func insert(
    _ revisions: [ReplicatedRevision], from origin: String
  ) async throws -> [Result<Bool, any Error>] {
    var incoming: [Result<IncomingRevision, any Error>] = []
    incoming.reserveCapacity(revisions.count)
    for revision in revisions {
      do {
        incoming.append(.success(try await complete(revision)))
      } catch let error where error.concernsOneRevision {
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
  private func complete(_ revision: ReplicatedRevision) async throws -> IncomingRevision {
    var document = revision.document
    for (name, attachment) in revision.attachments {
      document.attachments[name] = try await content(of: attachment, named: name, revision)
    }
    return IncomingRevision(document, history: revision.history, isDeleted: revision.isDeleted)
  }

  /// Stores the content of an attachment before the transaction that needs it, unless it is here.
  private func content(
    of attachment: ReplicatedAttachment, named name: String, _ revision: ReplicatedRevision
  ) async throws -> Document.Attachment {
    var result: Document.Attachment
    switch attachment.content {
    case .stored(let stored):
      if let here = try await known(name, revision, where: { $0.digest == stored.digest }) {
        result = here
      } else {
        result = try await database.storeAttachment(
          contentType: attachment.contentType, pieces: stored.asyncPieces())
      }
    case .sent(let open):
      result = try await database.storeAttachment(
        contentType: attachment.contentType, pieces: SentPieces(try await open()))
      guard result.length == attachment.length else {
        throw ReplicationError(
          .invalidAnswer,
          "the attachment “\(name)” of “\(revision.document.id)” has \(result.length) bytes, and"
            + " \(attachment.length) were announced")
      }
    case .known:
      guard
        let here = try await known(
          name, revision, where: { $0.foreignDigest == attachment.foreignDigest })
      else {
        throw ReplicationError(
          .invalidAnswer,
          "the content of the attachment “\(name)” of “\(revision.document.id)” was not sent, and"
            + " is not here")
      }
      result = here
    }
    result.generation = attachment.generation
    result.foreignDigest = attachment.foreignDigest
    return result
  }

  /// Returns the attachment of the newest ancestor that is here and has it.
  private func known(
    _ name: String, _ revision: ReplicatedRevision,
    where isSame: @escaping @Sendable (Document.Attachment) -> Bool
  ) async throws -> Document.Attachment? {
    let (id, ancestors) = (revision.document.id, revision.history.dropFirst())
    guard !ancestors.isEmpty else { return nil }
    return try await database.read { snapshot in
      for ancestor in ancestors {
        let attachment = try snapshot.revision(ancestor, of: id)?.attachments[name]
        if let attachment, isSame(attachment) { return attachment }
      }
      return nil
    }
  }

  /// Makes everything durable that was committed.
  public func flush() async throws { try await database.flush() }
}

/// The pieces of an attachment that a peer sends.
private struct SentPieces: AsyncSequence {
  let base: any AsyncSequence<Data, any Error>

  init(_ base: any AsyncSequence<Data, any Error>) { self.base = base }

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: any AsyncIteratorProtocol<Data, any Error>

    mutating func next() async throws -> Data? { try await base.next(isolation: #isolation) }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator()) }
}

extension Error {
  /// Whether the error concerns only one revision, so that others can be replicated.
  fileprivate var concernsOneRevision: Bool {
    if let error = self as? ReplicationError { return !error.isTemporary }
    guard let error = self as? DatabaseError else { return false }
    return [.damaged, .invalidAttachment, .notFound].contains(error.code)
  }
}

extension DatabaseError {
  /// Whether the error failed a transaction with several revisions, some of which can be stored.
  fileprivate var mayConcernOneOfSeveral: Bool {
    [.transactionTooLarge, .notUnique].contains(code)
  }
}
