import Divan
import Foundation

/// A revision as CouchDB's protocol has it: a JSON object with members that begin with `_`.
///
/// ```json
/// {"_id": "note", "_rev": "2-…", "_revisions": {"start": 2, "ids": ["…", "…"]},
///  "_attachments": {"photo": {"content_type": "image/png", "length": 8, "stub": true}},
///  "text": "Tea"}
/// ```
enum CouchDBDocument {
  /// Returns the members of a revision, with the changes of `content` to each attachment.
  static func members(
    of revision: ReplicatedRevision,
    content: (ReplicatedAttachment, inout Value.Object) throws -> Void
  ) rethrows -> Value.Object {
    var members = revision.document.properties
    members["_id"] = .string(revision.document.id)
    if let id = revision.revision {
      members["_rev"] = .string(id.description)
      members["_revisions"] = [
        "start": .int(Int64(id.generation)),
        "ids": .array(revision.history.map { .string($0.digestText) }),
      ]
    }
    if revision.isDeleted { members["_deleted"] = true }
    if !revision.attachments.isEmpty {
      var attachments: Value.Object = [:]
      for attachment in revision.attachments {
        var entry = attachment.members
        try content(attachment, &entry)
        attachments[attachment.name] = .object(entry)
      }
      members["_attachments"] = .object(attachments)
    }
    return members
  }

  /// Returns the members of a document or of a tombstone, with stubs of its attachments.
  static func members(of document: Document) -> Value.Object {
    let revision = ReplicatedRevision(
      document, history: document.revision.map { [$0] } ?? [], isDeleted: document.isDeleted,
      attachments: document.replicatedAttachments)
    var members = members(of: revision) { _, entry in entry["stub"] = true }
    members["_revisions"] = nil
    return members
  }

  /// Reads a revision from its members.
  ///
  /// - Parameters:
  ///   - members: The members.
  ///   - content: Returns the content of an attachment.
  /// - Returns: The revision.
  /// - Throws: ``ReplicationError`` with the code `invalidAnswer`.
  static func revision(
    from members: Value.Object,
    content: (String, Value) throws -> ReplicatedAttachment.Content
  ) throws -> ReplicatedRevision {
    guard let id = members["_id"]?.stringValue, let text = members["_rev"]?.stringValue,
      let revision = RevisionID(text)
    else { throw invalid("a document has no `_id` and `_rev`", nil) }
    var result = ReplicatedRevision(
      Document(id: id), history: try history(members["_revisions"], of: revision, id),
      isDeleted: members["_deleted"]?.boolValue ?? false)
    var properties = members
    for name in reserved { properties[name] = nil }
    result.document.properties = properties
    guard let value = members["_attachments"] else { return result }
    guard let attachments = value.objectValue else {
      throw invalid("`_attachments` is not an object", id)
    }
    for (name, entry) in attachments {
      result.attachments.append(
        try ReplicatedAttachment(entry, try content(name, entry), name: name, id))
    }
    return result
  }

  /// Members of the protocol, which are no properties.
  ///
  /// Others that begin with `_` are refused when the document is stored.
  static let reserved = [
    "_id", "_rev", "_revisions", "_deleted", "_attachments", "_conflicts", "_deleted_conflicts",
    "_local_seq", "_revs_info",
  ]

  /// Reads `_revisions`, which counts where it disagrees with `_rev`.
  private static func history(
    _ value: Value?, of revision: RevisionID, _ id: String
  ) throws -> [RevisionID] {
    guard let value else { return [revision] }
    guard let start = value["start"]?.intValue, let digests = value["ids"]?.arrayValue,
      !digests.isEmpty, start >= digests.count
    else { throw invalid("`_revisions` is no history", id) }
    return try digests.enumerated().map { index, digest in
      guard let text = digest.stringValue,
        let revision = RevisionID(generation: UInt64(start - index), digest: text)
      else { throw invalid("`_revisions.ids[\(index)]` is not the digest of a revision", id) }
      return revision
    }
  }

  static func invalid(_ message: String, _ id: String?) -> ReplicationError {
    ReplicationError(.invalidAnswer, message + (id.map { ", in the document “\($0)”" } ?? ""))
  }
}

extension ReplicatedAttachment {
  /// The members of an attachment without its content.
  fileprivate var members: Value.Object {
    var members: Value.Object = [
      "content_type": .string(contentType), "length": .int(Int64(length)),
      "revpos": .int(Int64(clamping: generation)),
    ]
    if let foreignDigest {
      members["digest"] = .string(foreignDigest.text)
      if let encoding = foreignDigest.encoding { members["encoding"] = .string(encoding) }
      if let length = foreignDigest.encodedLength {
        members["encoded_length"] = .int(Int64(length))
      }
    } else if let digest {
      members["digest"] = .string(digest)
    }
    return members
  }

  fileprivate init(_ entry: Value, _ content: Content, name: String, _ id: String) throws {
    var length = entry["length"]?.intValue
    // A document that has the content itself need not have its length.
    if length == nil, case .stored(let stored) = content { length = stored.length }
    guard let length, length >= 0 else {
      throw CouchDBDocument.invalid("the attachment “\(name)” has no length", id)
    }
    self.init(
      name: name, contentType: entry["content_type"]?.stringValue ?? "application/octet-stream",
      length: length, generation: UInt64(max(1, entry["revpos"]?.intValue ?? 1)), content)
    guard let text = entry["digest"]?.stringValue else { return }
    if text.hasPrefix("sha256-"), Data(base64Encoded: String(text.dropFirst(7)))?.count == 32 {
      digest = text
    } else {
      let encoding = entry["encoding"]?.stringValue
      foreignDigest = .init(
        text, encoding: encoding,
        encodedLength: encoding == nil ? nil : entry["encoded_length"]?.intValue)
    }
  }
}
