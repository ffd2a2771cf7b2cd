public import Divan
public import Foundation

/// A revision on its way from one peer to another.
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

/// An attachment on its way from one peer to another.
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

  /// The content of an attachment, which is not in memory.
  public enum Content: Sendable {
    /// It is in a store of this process.
    case stored(Document.Attachment)
    /// It is sent by the peer, once.
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
