import Divan
import Foundation

extension DatabasePeer {
  /// Stores revisions, and the content of their attachments before them.
  public func insert(
    _ revisions: [ReplicatedRevision], from origin: String
  ) async throws -> [Result<Bool, any Error>] {
    var incoming: [Result<IncomingRevision, any Error>] = []
    incoming.reserveCapacity(revisions.count)
    // Branches of a document often have the same attachments.
    var (id, siblings) = ("", [String: Document.Attachment]())
    for revision in revisions {
      if !id.utf8.elementsEqual(revision.document.id.utf8) {
        (id, siblings) = (revision.document.id, [:])
      }
      do {
        incoming.append(.success(try await complete(revision, &siblings)))
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
  ///
  /// `siblings` are the attachments of branches that were completed before, by their digests.
  private func complete(
    _ revision: ReplicatedRevision, _ siblings: inout [String: Document.Attachment]
  ) async throws -> IncomingRevision {
    var document = revision.document
    for attachment in revision.attachments {
      var here = attachment.anyDigest.flatMap { siblings[$0] }
      if here.map({ attachment.isSame(as: $0) }) != true {
        here = try await known(attachment, revision)
      }
      var stored = if let here { here } else { try await content(of: attachment, revision) }
      stored.generation = attachment.generation
      stored.foreignDigest = try await keptDigest(of: attachment, stored)
      document.attachments[attachment.name] = stored
      if let digest = attachment.anyDigest { siblings[digest] = stored }
    }
    return IncomingRevision(document, history: revision.history, isDeleted: revision.isDeleted)
  }

  /// Stores the content of an attachment before the transaction that needs it.
  private func content(
    of attachment: ReplicatedAttachment, _ revision: ReplicatedRevision
  ) async throws -> Document.Attachment {
    let place = "the attachment “\(attachment.name)” of “\(revision.document.id)”"
    switch attachment.content {
    case .stored(let stored):
      return try await database.storeAttachment(
        contentType: attachment.contentType, pieces: stored.asyncPieces())
    case .sent(let open):
      let result = try await database.storeAttachment(
        contentType: attachment.contentType,
        pieces: SentPieces(try await open(), of: attachment, place))
      guard attachment.digest == nil || attachment.digest == result.digest else {
        throw ReplicationError(.invalidAnswer, "\(place) has another digest than was announced")
      }
      return result
    case .known:
      throw ReplicationError(.missingContent, "\(place) was not sent, and is not here")
    }
  }

  /// Returns the same attachment of another revision that is here: of an ancestor, the newest one
  /// first, or of another branch.
  private func known(
    _ attachment: ReplicatedAttachment, _ revision: ReplicatedRevision
  ) async throws -> Document.Attachment? {
    let (id, ancestors) = (revision.document.id, revision.history.dropFirst())
    typealias Found = (same: Document.Attachment?, inherited: Document.Attachment?)
    let (same, inherited) = try await database.read { snapshot -> Found in
      var inherited: Document.Attachment?
      for ancestor in ancestors {
        let stored = try snapshot.revision(ancestor, of: id)?.attachments[attachment.name]
        guard let stored else { continue }
        if attachment.isSame(as: stored) { return (stored, inherited) }
        if inherited == nil, attachment.maybeSame(as: stored) { inherited = stored }
      }
      for leaf in try snapshot.leaves(of: id) {
        let same = leaf.attachments.values.first { attachment.isSame(as: $0) }
        if let same { return (same, inherited) }
      }
      return (nil, inherited)
    }
    if let same { return same }
    guard let inherited else { return nil }
    // The other side computed a digest of what was sent from here, in its own way.
    if let check = ContentCheck(attachment.foreignDigest) {
      // Content that cannot be read here is sent again.
      return (try? await inherited.passes(check)) == true ? inherited : nil
    }
    // One of compressed content says nothing. Both sides add it in the same revision then.
    guard inherited.foreignDigest == nil, inherited.generation == attachment.generation
    else { return nil }
    return inherited
  }

  /// Returns the digest of another engine to keep.
  ///
  /// Readers of this store check content by it, so one that is not that of the content is dropped.
  /// Of content that was sent, or that is here, it was checked.
  private func keptDigest(
    of attachment: ReplicatedAttachment, _ stored: Document.Attachment
  ) async throws -> Document.Attachment.ForeignDigest? {
    guard case .stored = attachment.content, attachment.digest == nil,
      let check = ContentCheck(attachment.foreignDigest)
    else { return attachment.foreignDigest }
    return try await stored.passes(check) ? attachment.foreignDigest : nil
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

  /// Whether a stored attachment of an ancestor can be the same though their digests are not of the
  /// same kind.
  fileprivate func maybeSame(as stored: Document.Attachment) -> Bool {
    guard length == stored.length, contentType == stored.contentType else { return false }
    return digest == nil && foreignDigest != nil
  }

  /// The digest, Divan's own or another engine's.
  fileprivate var anyDigest: String? { digest ?? foreignDigest?.text }
}

/// The pieces of an attachment that a peer sends, which must have the announced length and digest.
private struct SentPieces: AsyncSequence {
  let base: any AsyncSequence<Data, any Error>
  let attachment: ReplicatedAttachment
  let place: String

  init(
    _ base: any AsyncSequence<Data, any Error>, of attachment: ReplicatedAttachment,
    _ place: String
  ) {
    self.base = base
    self.attachment = attachment
    self.place = place
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: any AsyncIteratorProtocol<Data, any Error>
    var rest: Int
    /// The check of another engine's digest.
    var check: ContentCheck?
    let place: String

    mutating func next() async throws -> Data? {
      let piece = try await base.next(isolation: #isolation)
      rest -= piece?.count ?? 0
      guard rest >= 0 else {
        throw ReplicationError(.invalidAnswer, "\(place) is longer than was announced")
      }
      if let piece {
        check?.add(piece)
        return piece
      }
      guard rest == 0 else {
        // Some servers just close a connection that they lost.
        throw ReplicationError(.unreachable, "\(place) ends \(rest) bytes too early")
      }
      guard check?.isPassed ?? true else {
        throw ReplicationError(.invalidAnswer, "\(place) has another digest than was announced")
      }
      return nil
    }
  }

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(
      base: base.makeAsyncIterator(), rest: attachment.length,
      check: ContentCheck(attachment.foreignDigest), place: place)
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
