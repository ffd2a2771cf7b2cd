public import Divan
public import Foundation

/// A revision on its way from one peer to another.
///
/// ```swift
/// let document = Document(id: "film", ["title": "Metropolis"])
/// let revision = ReplicatedRevision(document, history: history, isDeleted: false)
/// let results = try await peer.insert([revision], from: "https://example.com/films")
/// ```
public struct ReplicatedRevision: Sendable {
  /// The ID and the properties of the document, without its attachments.
  public var document: Document
  /// The IDs of the revision and of its known ancestors, newest first.
  public var history: [RevisionID]
  /// Whether the revision deletes the document.
  public var isDeleted: Bool
  /// Revisions that the receiver has, which may be ancestors of this one.
  public var knownAncestors: [RevisionID] = []
  /// The attachments.
  public var attachments: [ReplicatedAttachment]
  /// Whether an earlier session could not copy it, though it copied others.
  var isRetry = false

  /// Creates a revision.
  public init(
    _ document: Document, history: [RevisionID], isDeleted: Bool,
    attachments: [ReplicatedAttachment] = []
  ) {
    self.document = document
    self.history = history
    self.isDeleted = isDeleted
    self.attachments = attachments
  }

  /// The revision itself.
  public var revision: RevisionID? { history.first }
}

extension ReplicatedRevision {
  /// The generation of the newest ancestor that the receiver has.
  ///
  /// It has the attachments that were added up to then, since they are still in this revision.
  var knownAncestorGeneration: UInt64 {
    let known = Set(knownAncestors)
    return history.dropFirst().first { known.contains($0) }?.generation ?? 0
  }

  /// The attachments that no known ancestor has, so the receiver probably does not have them.
  var newAttachments: [ReplicatedAttachment] {
    guard !attachments.isEmpty else { return [] }
    let generation = knownAncestorGeneration
    return attachments.filter { $0.isNew(after: generation) }
  }

  /// The size of these in bytes.
  ///
  /// A peer can announce any lengths, also those whose sum overflows.
  var newAttachmentSize: Int {
    newAttachments.reduce(0) { $0.saturatingSum($1.length) }
  }
}

extension Int {
  /// The sum with another number, or the greatest number if it is greater than that.
  func saturatingSum(_ other: Int) -> Int {
    let (sum, isTooGreat) = addingReportingOverflow(Swift.max(0, other))
    return isTooGreat ? .max : sum
  }
}

extension ReplicatedAttachment {
  /// Whether a receiver that has an ancestor of a generation probably does not have the content.
  func isNew(after generation: UInt64) -> Bool {
    if case .known = content { return false }
    return self.generation > generation
  }
}

/// An attachment on its way from one peer to another.
///
/// ```swift
/// let poster = ReplicatedAttachment(
///   name: "poster.png", contentType: "image/png", length: data.count, generation: 1,
///   .sent { HTTPBody(data) })
/// let revision = ReplicatedRevision(
///   document, history: history, isDeleted: false, attachments: [poster])
/// ```
public struct ReplicatedAttachment: Sendable {
  /// The name.
  public var name: String
  /// The MIME type.
  public var contentType: String
  /// The size of the content in bytes.
  public var length: Int
  /// The generation of the revision that added it; CouchDB's `revpos`.
  public var generation: UInt64
  /// Divan's digest of the content, if it is known.
  public var digest: String?
  /// The digest that the engine computed in which it was added.
  public var foreignDigest: Document.Attachment.ForeignDigest?
  /// The content.
  public var content: Content
  /// Receives how much of the content a peer copied while it stores the revision, if it is set.
  ///
  /// The number of bytes is in addition to those that were received before; a negative one takes
  /// back what has to be copied again. A peer of your own that calls it makes
  /// ``ReplicationStatus/Side/batchAttachmentBytesDone`` grow before
  /// ``ReplicationPeer/insert(_:from:)`` returns:
  ///
  /// ```swift
  /// for try await piece in try await open() {
  ///   try await upload(piece)
  ///   attachment.progress?(piece.count)
  /// }
  /// ```
  public var progress: (@Sendable (Int) -> Void)?
  /// Called if the target has the content already, so that it is not copied.
  var onSharing: (@Sendable () -> Void)?

  /// The content of an attachment, which is not in memory.
  ///
  /// ```swift
  /// var data = Data()
  /// switch attachment.content {
  /// case .stored(let stored): data = try await stored.data()
  /// case .sent(let open): for try await piece in try await open() { data += piece }
  /// case .known: print("An ancestor of the revision has it")
  /// }
  /// ```
  public enum Content: Sendable {
    /// It is in a store of this process.
    case stored(Document.Attachment)
    /// It is sent by the peer, once.
    ///
    /// If the closure throws a ``ReplicationError`` with the code `unavailableContent`, `refused`,
    /// `forbidden` or `notFound`, the document is a failure, and the next replication asks for it
    /// again. Other errors end the session.
    case sent(@Sendable () async throws -> any AsyncSequence<Data, any Error>)
    /// The receiver has it in an ancestor of the revision.
    case known
  }

  /// Creates an attachment.
  public init(
    name: String, contentType: String, length: Int, generation: UInt64,
    foreignDigest: Document.Attachment.ForeignDigest? = nil, _ content: Content
  ) {
    self.name = name
    self.contentType = contentType
    self.length = length
    self.generation = generation
    self.foreignDigest = foreignDigest
    self.content = content
  }
}
