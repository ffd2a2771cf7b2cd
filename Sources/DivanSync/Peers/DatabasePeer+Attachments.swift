import Divan
import Foundation

/// The attachments of some revisions, whose content is stored.
struct StoredAttachments {
  fileprivate struct Place: Hashable {
    var revision: Int
    var attachment: Int
  }

  fileprivate var results: [Place: Result<Document.Attachment, any Error>] = [:]
  /// The error that ended storing before the content of all attachments was read.
  fileprivate(set) var interruption: (any Error)?

  /// Returns an attachment of a revision, by the indexes of both.
  ///
  /// - Throws: The error of this attachment, or the one that ended storing before it was read.
  subscript(revision: Int, attachment: Int) -> Document.Attachment {
    get throws {
      let result = results[Place(revision: revision, attachment: attachment)]
      guard let result else {
        throw interruption ?? ReplicationError(.missingContent, "an attachment was not stored")
      }
      return try result.get()
    }
  }
}

/// What became of one attachment.
private struct Answer: Sendable {
  var place: StoredAttachments.Place
  var result: Result<Document.Attachment, any Error>

  /// The error, if it ends the reading of all.
  var interruption: (any Error)? {
    guard case .failure(let error) = result, !error.concernsOneRevision else { return nil }
    return error
  }
}

extension DatabasePeer {
  /// The number of attachments whose content is read at the same time.
  private static var readerCount: Int { 6 }

  /// What tells that attachments of branches of a document have the same content.
  private struct Key: Hashable {
    var id: [UInt8]
    var digest: String
    var length: Int
    var contentType: String

    init?(_ attachment: ReplicatedAttachment, of id: String) {
      guard let digest = attachment.digest ?? attachment.foreignDigest?.text else { return nil }
      self.digest = digest
      self.id = Array(id.utf8)
      length = attachment.length
      contentType = attachment.contentType
    }
  }

  /// Stores the content of all attachments that are not here, several at the same time.
  ///
  /// The first error that does not concern one revision ends it, after what is being read.
  func storedAttachments(
    of revisions: [ReplicatedRevision]
  ) async throws -> StoredAttachments {
    var stored = StoredAttachments()
    var first: [StoredAttachments.Place] = []
    var later: [(place: StoredAttachments.Place, same: StoredAttachments.Place)] = []
    var places: [Key: StoredAttachments.Place] = [:]
    for (index, revision) in revisions.enumerated() {
      for (number, attachment) in revision.attachments.enumerated() {
        let place = StoredAttachments.Place(revision: index, attachment: number)
        do {
          if let here = try await known(attachment, revision) {
            stored.results[place] = .success(here)
            attachment.onSharing?()
            continue
          }
        } catch let error where error.concernsOneRevision {
          stored.results[place] = .failure(error)
          continue
        }
        // Branches of a document often have the same attachments, which are read once.
        let key = Key(attachment, of: revision.document.id)
        if let key, let same = places[key] {
          later.append((place, same))
        } else {
          if let key { places[key] = place }
          first.append(place)
        }
      }
    }
    try await read(first, of: revisions, into: &stored)
    var rest: [StoredAttachments.Place] = []
    for (place, same) in later {
      if case .success(let here)? = stored.results[same] {
        stored.results[place] = .success(here)
        revisions[place.revision].attachments[place.attachment].onSharing?()
      } else {
        rest.append(place)
      }
    }
    try await read(rest, of: revisions, into: &stored)
    return stored
  }

  /// Reads and stores the content of attachments.
  private func read(
    _ places: [StoredAttachments.Place], of revisions: [ReplicatedRevision],
    into stored: inout StoredAttachments
  ) async throws {
    guard stored.interruption == nil else { return }
    let answers = await withTaskGroup(of: Answer.self, returning: [Answer].self) { group in
      var answers: [Answer] = []
      var isInterrupted = false
      var startedCount = 0
      while true {
        while startedCount < places.count, startedCount - answers.count < Self.readerCount,
          !isInterrupted
        {
          let place = places[startedCount]
          let revision = revisions[place.revision]
          group.addTask { await answer(place, revision) }
          startedCount += 1
        }
        // What others read at the time of an error is kept, so that each attempt gets further.
        guard let answer = await group.next() else { return answers }
        answers.append(answer)
        isInterrupted = isInterrupted || answer.interruption != nil
      }
    }
    try Task.checkCancellation()
    for answer in answers {
      if let interruption = answer.interruption {
        stored.interruption = stored.interruption ?? interruption
      } else {
        stored.results[answer.place] = answer.result
      }
    }
  }

  private func answer(
    _ place: StoredAttachments.Place, _ revision: ReplicatedRevision
  ) async -> Answer {
    do {
      let attachment = revision.attachments[place.attachment]
      let stored = try await content(of: attachment, revision)
      return Answer(place: place, result: .success(stored))
    } catch {
      return Answer(place: place, result: .failure(error))
    }
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
      let pieces: any AsyncSequence<Data, any Error>
      do {
        pieces = try await open()
      } catch let error as ReplicationError where error.refusesContent {
        // This says nothing of the other documents, and not that it stays so.
        var unavailable = ReplicationError(
          .unavailableContent, "the peer does not send \(place)", underlying: error)
        unavailable.status = error.status
        throw unavailable
      }
      let progress = TransferProgress(of: [attachment])
      let result: Document.Attachment
      do {
        result = try await database.storeAttachment(
          contentType: attachment.contentType,
          pieces: SentPieces(pieces, of: attachment, place, progress))
      } catch {
        progress.report(total: 0)
        throw error
      }
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
  func keptDigest(
    of attachment: ReplicatedAttachment, _ stored: Document.Attachment
  ) async throws -> Document.Attachment.ForeignDigest? {
    guard case .stored = attachment.content, attachment.digest == nil,
      let check = ContentCheck(attachment.foreignDigest)
    else { return attachment.foreignDigest }
    return try await stored.passes(check) ? attachment.foreignDigest : nil
  }
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
}

/// The pieces of an attachment that a peer sends, which must have the announced length and digest.
private struct SentPieces: AsyncSequence {
  let base: any AsyncSequence<Data, any Error>
  let attachment: ReplicatedAttachment
  let place: String
  let progress: TransferProgress

  init(
    _ base: any AsyncSequence<Data, any Error>, of attachment: ReplicatedAttachment,
    _ place: String, _ progress: TransferProgress
  ) {
    self.base = base
    self.attachment = attachment
    self.place = place
    self.progress = progress
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: any AsyncIteratorProtocol<Data, any Error>
    let length: Int
    var rest: Int
    let progress: TransferProgress
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
        progress.report(total: length - rest)
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
      base: base.makeAsyncIterator(), length: attachment.length, rest: attachment.length,
      progress: progress, check: ContentCheck(attachment.foreignDigest), place: place)
  }
}

extension ReplicationError {
  /// Whether a peer that was asked for the content of an attachment does not send it.
  fileprivate var refusesContent: Bool {
    [.forbidden, .notFound, .refused, .unavailableContent].contains(code)
  }
}

extension Error {
  /// Whether the error concerns only one revision, so that others can be replicated.
  var concernsOneRevision: Bool {
    if let error = self as? ReplicationError {
      return [.invalidAnswer, .missingContent, .unavailableContent].contains(error.code)
    }
    guard let error = self as? DatabaseError else { return false }
    return [.damaged, .invalidAttachment, .notFound].contains(error.code)
  }
}
