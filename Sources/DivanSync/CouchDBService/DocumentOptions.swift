import Divan
import Foundation

/// What a client wants to see of a revision besides its properties.
struct DocumentOptions: Sendable {
  var history = false
  var historyStates = false
  var conflicts = false
  var deletedConflicts = false
  var sequence = false
  /// Whether attachments are in the JSON, in Base64.
  var isInline = false
  /// Whether attachments that are too large for JSON are stubs, and not an error.
  ///
  /// An answer with many documents would otherwise end at the first of them, each time.
  var leavesLargeOut = false
  /// Whether attachments follow the JSON, as parts of their own.
  var isFollowed = false
  /// Revisions that the client has, whose attachments it need not get again.
  var knownRevisions: [RevisionID] = []

  init() {}

  init(_ call: ServiceCall) throws {
    let meta = try call.isOn("meta")
    history = try call.isOn("revs")
    historyStates = try meta || call.isOn("revs_info")
    conflicts = try meta || call.isOn("conflicts")
    deletedConflicts = try meta || call.isOn("deleted_conflicts")
    sequence = try call.isOn("local_seq")
    isInline = try call.isOn("attachments")
    if let known = try call.revisions("atts_since") {
      knownRevisions = known
      isInline = true
    }
  }

  /// Whether the answer depends on more than the revision.
  var dependsOnTree: Bool { historyStates || conflicts || deletedConflicts || sequence }
}

/// A revision as it is sent.
struct ServedDocument: Sendable {
  var revision: RevisionID
  var members: Value.Object
  /// The attachments that follow, in the order of the members.
  var following: [Document.Attachment] = []
  var followingNames: [String] = []
  /// The attachments whose content is in the JSON, in Base64.
  var inline = Document.Attachments()
}

extension Snapshot {
  /// Returns a revision as it is sent; nil if it is not known or its content is not retained.
  func served(
    _ revision: RevisionID, of id: String, _ options: DocumentOptions,
    _ limits: CouchDBService.Limits
  ) throws -> ServedDocument? {
    guard
      case .found(let found) = try replicated(
        RevisionRequest(id: id, revision: revision, knownAncestors: options.knownRevisions))
    else { return nil }
    var served = ServedDocument(revision: revision, members: [:])
    let knownGeneration = found.knownGeneration
    var inlineSize = 0
    served.members = try CouchDBDocument.members(of: found) { attachment, entry in
      guard case .stored(let stored) = attachment.content,
        options.isInline || options.isFollowed, attachment.generation > knownGeneration
      else {
        entry["stub"] = true
        return
      }
      if options.isInline {
        guard inlineSize + stored.length <= limits.inlineAttachmentSize else {
          guard options.leavesLargeOut else { throw Self.tooLargeForJSON }
          entry["stub"] = true
          return
        }
        inlineSize += stored.length
      }
      // The content is sent as it is, and the digest is that of the encoded one.
      if entry["encoding"] != nil {
        for name in ["encoding", "encoded_length", "digest"] { entry[name] = nil }
      }
      if options.isFollowed {
        entry["follows"] = true
        served.following.append(stored)
        served.followingNames.append(attachment.name)
      } else {
        entry["length"] = nil
        served.inline[attachment.name] = stored
      }
    }
    // Content that is damaged is an error of this document, which is too late while it is sent.
    // None is read if there is too much of it.
    for attachment in served.inline.values { try attachment.checkContent() }
    if !options.history { served.members["_revisions"] = nil }
    try addTree(options, found, &served.members)
    return served
  }

  private static let tooLargeForJSON = ServiceError(
    413, "attachment_too_large",
    "The attachments are too large for JSON. Request them as multipart, or one by one.")

  private func addTree(
    _ options: DocumentOptions, _ found: ReplicatedRevision, _ members: inout Value.Object
  ) throws {
    let id = found.document.id
    if options.sequence { members["_local_seq"] = .int(Int64(clamping: found.document.sequence)) }
    if options.historyStates {
      members["_revs_info"] = .array(
        try found.history.map { revision in
          let document = try self.revision(revision, of: id)
          let state = document.map { $0.isDeleted ? "deleted" : "available" } ?? "missing"
          return ["rev": .string(revision.description), "status": .string(state)]
        })
    }
    guard options.conflicts || options.deletedConflicts else { return }
    let others = try leafRevisions(of: id).filter { $0.id != found.revision }
    func add(_ name: String, isDeleted: Bool) {
      let list = others.filter { $0.isDeleted == isDeleted }
      guard !list.isEmpty else { return }
      members[name] = .array(list.map { .string($0.id.description) })
    }
    if options.conflicts { add("_conflicts", isDeleted: false) }
    if options.deletedConflicts { add("_deleted_conflicts", isDeleted: true) }
  }

  /// Returns the leaves that a revision is or leads to, the winning one first; empty if it is not
  /// known.
  func leaves(above revision: RevisionID, of id: String) throws -> [RevisionID] {
    let leaves = try leafRevisions(of: id).map(\.id)
    if leaves.contains(revision) { return [revision] }
    let above = try Set(leafRevisions(above: revision, of: id))
    return leaves.filter { above.contains($0) }
  }
}

extension Document.Attachment {
  /// Reads the content once, with little memory.
  ///
  /// - Throws: ``DatabaseError`` if it cannot be read or is not what was stored.
  fileprivate func checkContent() throws {
    var pieces = try pieces()
    while try pieces.next() != nil {}
  }
}

extension ReplicatedRevision {
  /// The generation of the newest known ancestor, or of the revision itself if it is known.
  ///
  /// Attachments that were added up to it are known, since they are still in this revision.
  fileprivate var knownGeneration: UInt64 {
    guard !knownAncestors.isEmpty else { return 0 }
    let known = Set(knownAncestors)
    return history.first { known.contains($0) }?.generation ?? 0
  }
}
