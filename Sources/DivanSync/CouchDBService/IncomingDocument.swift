import Divan
import Foundation

/// A document that a client sends, checked.
struct IncomingDocument: Sendable {
  let members: Value.Object
  /// The content of attachments that followed the JSON, by their names.
  var sent = Document.Attachments()

  /// Checks the members of a document.
  ///
  /// - Parameters:
  ///   - value: The document.
  ///   - id: The ID in the path, if there is one.
  ///   - limits: The limits.
  /// - Throws: ``ServiceError``.
  init(_ value: Value, id: String?, _ limits: CouchDBService.Limits) throws {
    guard var members = value.objectValue else {
      throw ServiceError.badRequest("Document must be a JSON object")
    }
    if let given = members["_id"] {
      guard let text = given.stringValue else {
        throw ServiceError(400, "illegal_docid", "Document id must be a string")
      }
      guard id.map({ text.utf8.elementsEqual($0.utf8) }) ?? true else {
        throw ServiceError.badRequest("Document ID must match the ID in the path")
      }
      if text.hasPrefix("_"), !text.hasPrefix("_design/") { throw DatabaseService.illegalID }
    }
    if let id { members["_id"] = .string(id) }
    for name in members.keys where name.utf8.first == UInt8(ascii: "_") {
      guard CouchDBDocument.reserved.contains(name) else {
        throw ServiceError(400, "doc_validation", "Bad special document member: \(name)")
      }
    }
    if let attachments = members["_attachments"] {
      guard let entries = attachments.objectValue,
        entries.allSatisfy({ !$0.key.isEmpty && $0.value.objectValue != nil })
      else { throw ServiceError.badRequest("Attachments property must be a JSON object") }
      guard entries.count <= limits.attachmentCount else {
        throw ServiceError(
          413, "too_large", "A document may have \(limits.attachmentCount) attachments.")
      }
    }
    self.members = members
    guard size(isBelow: limits.documentSize) else {
      throw ServiceError(413, "document_too_large", members["_id"]?.stringValue ?? "")
    }
  }

  var id: String? { members["_id"]?.stringValue }

  /// The revision that is changed, or that is inserted.
  func revision() throws -> RevisionID? {
    guard let value = members["_rev"] else { return nil }
    return try ServiceCall.revision(value.stringValue)
  }

  private func size(isBelow limit: Int) -> Bool {
    var properties = members
    properties["_attachments"] = nil
    return Value.object(properties).json.utf8.count <= limit
  }

  /// The content of an attachment: sent, in Base64, or known from an ancestor.
  private func content(
    _ name: String, _ entry: Value, _ limits: CouchDBService.Limits
  ) throws -> ReplicatedAttachment.Content {
    if let stored = sent[name] { return .stored(stored) }
    guard let value = entry["data"] else {
      if entry["follows"] == true {
        throw ServiceError.badRequest("An attachment does not follow: \(name)")
      }
      return .known
    }
    guard let data = value.stringValue.flatMap({ Data(base64Encoded: $0) }) else {
      throw ServiceError.badRequest("Attachment data is not base64")
    }
    guard data.count <= limits.attachmentSize else {
      throw ServiceError(413, "attachment_too_large", name)
    }
    let type = entry["content_type"]?.stringValue ?? "application/octet-stream"
    return .stored(Document.Attachment(contentType: type, data))
  }

  // MARK: Both kinds of writing

  /// The revision to insert with its history.
  func replicated(_ limits: CouchDBService.Limits) throws -> ReplicatedRevision {
    var members = members
    if members["_id"] == nil { throw DatabaseService.illegalID }
    if members["_rev"] == nil {
      guard let start = members["_revisions"]?["start"]?.intValue,
        let digest = members["_revisions"]?["ids"]?[0]?.stringValue
      else {
        throw ServiceError.badRequest(
          "When `new_edits: false`, the document needs `_rev` or `_revisions` specified")
      }
      members["_rev"] = .string("\(start)-\(digest)")
    }
    _ = try ServiceCall.revision(members["_rev"]?.stringValue)
    return try CouchDBDocument.revision(from: members) { try content($0, $1, limits) }
  }

  /// The change to make to the revision that the document names.
  func edit(_ parent: RevisionID?, _ limits: CouchDBService.Limits) throws -> DocumentEdit {
    var edit = DocumentEdit(
      id: id, parent: parent, properties: members,
      isDeleted: members["_deleted"]?.boolValue ?? false)
    for name in CouchDBDocument.reserved { edit.properties[name] = nil }
    for (name, entry) in members["_attachments"]?.objectValue ?? [:] {
      edit.attachments.append((name, try content(name, entry, limits)))
    }
    return edit
  }
}

/// A change of a document that makes a new revision.
struct DocumentEdit: Sendable {
  /// The ID; nil for a new one.
  var id: String?
  /// The revision that is changed; nil for a new document.
  var parent: RevisionID?
  var properties: Value.Object
  var isDeleted = false
  var attachments: [(name: String, content: ReplicatedAttachment.Content)] = []

  /// Makes the change, and returns the stored document.
  func apply(to transaction: WriteTransaction) throws -> Document {
    var document = try parentDocument(transaction)
    let known = document.attachments
    document.properties = properties
    document.attachments = [:]
    for (name, content) in attachments {
      if case .stored(let stored) = content {
        document.attachments[name] = stored
      } else if let stored = known[name] {
        document.attachments[name] = stored
      } else {
        throw ServiceError.missingStub(name, of: id ?? "")
      }
    }
    guard isDeleted else { return try transaction.put(document) }
    do {
      return try transaction.delete(document)
    } catch let error as DatabaseError where error.code == .notFound {
      let isDeleted = try transaction.revision(of: document.id) != nil
      throw ServiceError(404, "not_found", isDeleted ? "deleted" : "missing")
    }
  }

  private func parentDocument(_ transaction: WriteTransaction) throws -> Document {
    guard let id else { return Document() }
    guard let parent else {
      if isDeleted, try transaction.exists(id) { throw ServiceError.conflict }
      return Document(id: id)
    }
    if let document = try transaction.revision(parent, of: id) { return document }
    if isDeleted, try transaction.revision(of: id) == nil { throw ServiceError.missing }
    throw ServiceError.conflict
  }
}
