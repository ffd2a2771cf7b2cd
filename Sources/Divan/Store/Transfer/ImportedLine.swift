import DivanLog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A parsed line of an import.
enum ImportedLine {
  case document(ImportedDocument)
  case localDocument(id: String, EncodedValue)
  case chunk(ImportedChunk)
}

/// A document or revision in a line.
struct ImportedDocument {
  /// Empty if the line has none.
  var id: String
  var properties: EncodedValue
  var isDeleted = false
  /// The revision and its ancestors, newest first; empty if the line is not a specific revision.
  var history: [RevisionID] = []
  var expiry: Date?
  var attachments: [ImportedAttachment] = []
}

struct ImportedAttachment {
  var name: String
  var contentType: String
  /// The digest that the content must have; nil if the line has none.
  var digest: SHA256.Digest?
  var length: Int?
  /// 0 if the line has none.
  var generation: UInt64
  /// The digest that another store gives for it.
  var foreignDigest: Document.Attachment.ForeignDigest?
  /// Nil if the line does not have the content.
  var content: SharedBytes?
}

/// A part of the content of an attachment.
struct ImportedChunk {
  var digest: SHA256.Digest
  var length: Int
  var offset: Int
  var content: SharedBytes
}

extension ImportedLine {
  /// Parses a line.
  ///
  /// - Throws: ``DatabaseError`` that describes the problem, with the ``DatabaseError/column`` if
  ///   the line is not JSON.
  static func read(
    _ text: SharedBytes, with sink: inout ImportSink, _ options: JSONLines.ImportOptions
  ) throws(DatabaseError) -> ImportedLine {
    let (properties, reserved) = try sink.read(text, sizeLimit: options.lineSizeLimit)
    var members = ReservedMembers(reserved)
    if let chunk = members.take("_body") { return .chunk(try ImportedChunk(chunk)) }
    var document = ImportedDocument(id: try members.takeID(), properties: properties)
    try members.takeRevision()
    if let id = document.id.removing(prefix: "_local/") {
      try members.expectNothing()
      return .localDocument(id: id, properties)
    }
    if document.id.isEmpty, let name = options.idProperty {
      document.id = try ReservedMembers.id(try properties.property(name)?.decode(), path: name)
    }
    document.isDeleted = try members.takeFlag("_deleted")
    document.history = try members.takeHistory()
    document.expiry = try members.takeExpiry()
    document.attachments = try members.takeAttachments(isRevision: !document.history.isEmpty)
    try members.expectNothing()
    return .document(document)
  }
}

/// The members of a line that begin with an underscore; each is removed when it is read.
private struct ReservedMembers {
  private var members: Value.Object
  private var revision: String?

  init(_ members: Value.Object) { self.members = members }

  mutating func take(_ name: String) -> Value? { members.removeValue(forKey: name) }

  /// Returns the ID in a line; empty if there is none.
  mutating func takeID() throws(DatabaseError) -> String {
    guard let id = take("_id") else { return "" }
    return try Self.id(id, path: "_id")
  }

  /// Returns an ID, also as other databases write it: a string, an integer, `{"$oid": "…"}`.
  static func id(_ value: Value?, path: String) throws(DatabaseError) -> String {
    switch value {
    case .string(let text)? where !text.isEmpty: return text
    case .int(let number)?: return "\(number)"
    case .unsigned(let number)?: return "\(number)"
    default:
      if let text = value?["$oid"]?.stringValue, !text.isEmpty { return text }
      throw problem(
        .invalidDocumentID, "the document's ID is neither a text nor a whole number", path)
    }
  }

  /// Reads the line's revision, which is only compared with the history.
  mutating func takeRevision() throws(DatabaseError) {
    guard let value = take("_rev") else { return }
    revision = value.stringValue
    if revision == nil { throw Self.problem(.invalidRevisionID, "a text is expected", "_rev") }
  }

  mutating func takeFlag(_ name: String) throws(DatabaseError) -> Bool {
    guard let value = take(name) else { return false }
    guard let flag = value.boolValue else {
      throw Self.problem(.invalidValue, "true or false is expected", name)
    }
    return flag
  }

  /// `_revisions`: the generation of the newest revision, and the digests from that one on.
  mutating func takeHistory() throws(DatabaseError) -> [RevisionID] {
    guard let revisions = take("_revisions") else { return [] }
    guard let start = revisions["start"]?.intValue, let ids = revisions["ids"]?.arrayValue,
      ids.count > 0, start >= ids.count
    else {
      throw Self.problem(
        .invalidRevisionID, "a history has a `start`, and not more `ids` than that", "_revisions")
    }
    var history: [RevisionID] = []
    for (index, id) in ids.enumerated() {
      guard let digest = id.stringValue,
        let revision = RevisionID(generation: UInt64(start - index), digest: digest)
      else {
        throw Self.problem(
          .invalidRevisionID, "this is not the digest of a revision", "_revisions.ids[\(index)]")
      }
      history.append(revision)
    }
    if let revision, RevisionID(revision) != history[0] {
      throw Self.problem(
        .invalidRevisionID,
        "`_rev` is \(revision.excerpt), but `_revisions` begins with \(history[0])",
        "_rev")
    }
    return history
  }

  /// `_exp`: a date in ISO 8601, or seconds since 1970.
  mutating func takeExpiry() throws(DatabaseError) -> Date? {
    guard let value = take("_exp") else { return nil }
    if let seconds = value.doubleValue { return Date(timeIntervalSince1970: seconds) }
    let date = value.stringValue.flatMap { text in
      withUTF8(of: text) { ISO8601Date.date(of: $0) }
    }
    guard let date else {
      throw Self.problem(
        .invalidValue, "a date as 2026-03-01T12:00:00Z, or seconds since 1970, is expected", "_exp")
    }
    return date
  }

  mutating func takeAttachments(
    isRevision: Bool
  ) throws(DatabaseError) -> [ImportedAttachment] {
    guard let value = take("_attachments") else { return [] }
    guard let object = value.objectValue else {
      throw Self.problem(.invalidAttachment, "an object is expected", "_attachments")
    }
    var attachments: [ImportedAttachment] = []
    for (name, entry) in object {
      guard name.utf8.count <= AttachmentEntry.textSizeLimit else {
        throw Self.problem(
          .invalidAttachment, "a name of \(name.utf8.count) bytes is too long for an attachment",
          "_attachments")
      }
      var path = "_attachments"
      PropertyPath.append(key: name, to: &path)
      attachments.append(
        try ImportedAttachment(name: name, entry, path: path, isRevision: isRevision))
    }
    return attachments
  }

  /// Refuses remaining members, except purely informative ones.
  func expectNothing() throws(DatabaseError) {
    let informative = ["_conflicts", "_deleted_conflicts", "_local_seq", "_revs_info"]
    for name in members.keys where !informative.contains(name) {
      var error = PropertyNames.reserved(name)
      error.propertyPath = name.excerpt
      throw error
    }
  }

  static func problem(
    _ code: DatabaseError.Code, _ message: String, _ path: String
  ) -> DatabaseError {
    DatabaseError(code, "\(message), at \(path)", propertyPath: path)
  }
}

extension ImportedAttachment {
  fileprivate init(
    name: String, _ entry: Value, path: String, isRevision: Bool
  ) throws(DatabaseError) {
    func problem(_ message: String, _ key: String) -> DatabaseError {
      ReservedMembers.problem(.invalidAttachment, message, "\(path).\(key)")
    }
    self.name = name
    contentType = entry["content_type"]?.stringValue ?? "application/octet-stream"
    generation = 0
    // For a new revision, the store computes which attachments are new.
    if isRevision, let value = entry["revpos"] {
      guard let number = value.intValue, number > 0 else {
        throw problem("a generation is expected", "revpos")
      }
      generation = UInt64(number)
    }
    if let value = entry["length"] {
      guard let length = value.intValue else { throw problem("a length is expected", "length") }
      self.length = length
    }
    // Digests of other kinds, from other stores, cannot be compared with ours.
    var externalDigest = entry["foreign_digest"]?.stringValue
    if let text = entry["digest"]?.stringValue {
      if text.utf8.starts(with: "sha256-".utf8) {
        guard let digest = SHA256.Digest(attachmentText: text) else {
          throw problem("this is not a digest", "digest")
        }
        self.digest = digest
      } else {
        externalDigest = externalDigest ?? text
      }
    }
    if let externalDigest, !externalDigest.isEmpty {
      let encoding = entry["encoding"]?.stringValue
      foreignDigest = .init(
        externalDigest, encoding: encoding,
        encodedLength: encoding == nil
          ? nil : entry["encoded_length"]?.intValue.flatMap { Int(exactly: $0) })
    }
    if let value = entry["data"] { content = try content(value, problem) }
  }

  /// Returns the content of an entry, which must have the length and the digest that it states.
  private func content(
    _ value: Value, _ problem: (_ message: String, _ key: String) -> DatabaseError
  ) throws(DatabaseError) -> SharedBytes {
    guard let bytes = SharedBytes(base64: value) else {
      throw problem("this is not base64", "data")
    }
    if let length, length != bytes.count {
      throw problem("there are \(bytes.count) bytes instead of \(length)", "length")
    }
    if let digest, digest != SHA256.digest(of: bytes) {
      throw problem("the content has another digest", "digest")
    }
    return bytes
  }
}

extension ImportedChunk {
  fileprivate init(_ value: Value) throws(DatabaseError) {
    guard let digest = value["digest"]?.stringValue.flatMap(SHA256.Digest.init(attachmentText:)),
      let length = value["length"]?.intValue, let offset = value["offset"]?.intValue,
      offset >= 0, length > 0,
      let content = value["data"].flatMap(SharedBytes.init(base64:)), !content.isEmpty
    else {
      throw ReservedMembers.problem(
        .invalidAttachment, "a piece of content has a digest, a length, an offset and data", "_body"
      )
    }
    self.init(digest: digest, length: length, offset: offset, content: content)
  }
}

extension SharedBytes {
  /// Decodes a base64 string; nil if it is malformed.
  fileprivate init?(base64 value: Value) {
    guard let text = value.stringValue, let data = Data(base64Encoded: text) else { return nil }
    self.init(copying: Array(data))
  }
}

extension String {
  /// Returns the string after a prefix; nil if it does not begin with the prefix.
  fileprivate func removing(prefix: String) -> String? {
    // Compared by bytes, since the rest may combine with the prefix's last character.
    utf8.starts(with: prefix.utf8)
      ? String(decoding: utf8.dropFirst(prefix.utf8.count), as: UTF8.self) : nil
  }
}
