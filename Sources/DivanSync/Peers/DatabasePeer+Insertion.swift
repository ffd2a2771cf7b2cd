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
    for attachment in revision.attachments {
      document.attachments[attachment.name] = try await content(of: attachment, revision)
    }
    return IncomingRevision(document, history: revision.history, isDeleted: revision.isDeleted)
  }

  /// Stores the content of an attachment before the transaction that needs it, unless it is here.
  private func content(
    of attachment: ReplicatedAttachment, _ revision: ReplicatedRevision
  ) async throws -> Document.Attachment {
    var result: Document.Attachment
    if let here = try await known(attachment, revision) {
      result = here
    } else {
      let place = "the attachment “\(attachment.name)” of “\(revision.document.id)”"
      switch attachment.content {
      case .stored(let stored):
        result = try await database.storeAttachment(
          contentType: attachment.contentType, pieces: stored.asyncPieces())
      case .sent(let open):
        result = try await database.storeAttachment(
          contentType: attachment.contentType,
          pieces: SentPieces(try await open(), length: attachment.length, of: place))
        guard attachment.digest == nil || attachment.digest == result.digest else {
          throw ReplicationError(.invalidAnswer, "\(place) has another digest than was announced")
        }
      case .known:
        throw ReplicationError(.missingContent, "\(place) was not sent, and is not here")
      }
    }
    result.generation = attachment.generation
    result.foreignDigest = attachment.foreignDigest
    return result
  }

  /// Returns the same attachment of the newest ancestor that is here and has it.
  private func known(
    _ attachment: ReplicatedAttachment, _ revision: ReplicatedRevision
  ) async throws -> Document.Attachment? {
    let (id, ancestors) = (revision.document.id, revision.history.dropFirst())
    guard !ancestors.isEmpty else { return nil }
    return try await database.read { snapshot in
      for ancestor in ancestors {
        let stored = try snapshot.revision(ancestor, of: id)?.attachments[attachment.name]
        if let stored, attachment.isSame(as: stored) { return stored }
      }
      return nil
    }
  }

  /// Makes everything durable that was committed.
  public func flush() async throws { try await database.flush() }
}

extension ReplicatedAttachment {
  /// Whether a stored attachment is the same, as far as digests can tell.
  fileprivate func isSame(as stored: Document.Attachment) -> Bool {
    guard length == stored.length, contentType == stored.contentType else { return false }
    if let digest { return digest == stored.digest }
    return foreignDigest != nil && foreignDigest == stored.foreignDigest
  }
}

/// The pieces of an attachment that a peer sends, which must have the announced length.
private struct SentPieces: AsyncSequence {
  let base: any AsyncSequence<Data, any Error>
  let length: Int
  let place: String

  init(_ base: any AsyncSequence<Data, any Error>, length: Int, of place: String) {
    self.base = base
    self.length = length
    self.place = place
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: any AsyncIteratorProtocol<Data, any Error>
    var rest: Int
    let place: String

    mutating func next() async throws -> Data? {
      let piece = try await base.next(isolation: #isolation)
      rest -= piece?.count ?? 0
      guard rest >= 0 else {
        throw ReplicationError(.invalidAnswer, "\(place) is longer than was announced")
      }
      guard piece != nil || rest == 0 else {
        // Some servers just close a connection that they lost.
        throw ReplicationError(.unreachable, "\(place) ends \(rest) bytes too early")
      }
      return piece
    }
  }

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(base: base.makeAsyncIterator(), rest: length, place: place)
  }
}

extension Error {
  /// Whether the error concerns only one revision, so that others can be replicated.
  fileprivate var concernsOneRevision: Bool {
    if let error = self as? ReplicationError {
      return [.invalidAnswer, .missingContent, .notFound, .forbidden].contains(error.code)
    }
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
