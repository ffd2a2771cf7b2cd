import Divan
import Foundation

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

  /// Reads and stores the content of attachments.
  func read(
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
