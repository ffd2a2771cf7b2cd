import DivanLog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A writer of export lines that reuses its buffers.
struct ExportedLine: ~Copyable {
  /// The members that begin with an underscore, and the properties, each as an object.
  private var head = JSONText(isPretty: false)
  private var properties = JSONText(isPretty: false)

  /// An attachment in a line.
  struct Attachment {
    let entry: AttachmentEntry
    var content: Content

    enum Content {
      /// The content is in this line.
      case inline(SharedBytes)
      /// The content is in lines before this one.
      case before
      /// The content was not requested, or cannot be read.
      case absent
    }
  }
}

extension ExportedLine {
  /// Appends the line of a document's revision.
  mutating func append(
    _ record: DocumentRecord, id: String, history: [RevisionID]?, expiry: UInt64?,
    _ attachments: [Attachment], to text: inout ByteWriter
  ) throws(DatabaseError) {
    begin(id: id)
    add("_rev", record.revision.description)
    if record.isDeleted {
      addKey("_deleted")
      head.add(true)
    }
    if let history { addRevisions(history) }
    if let date = expiry.flatMap({ ISO8601Date.text(of: Expiry.date($0)) }) {
      addKey("_exp")
      head.add(text: date.span)
    }
    if !attachments.isEmpty {
      addKey("_attachments")
      head.beginObject()
      for attachment in attachments { add(attachment) }
      _ = head.endObject()
    }
    try end(with: record.body, to: &text)
  }

  /// Appends the line of a local document.
  mutating func append(
    localDocument id: String, _ encoded: SharedBytes, to text: inout ByteWriter
  ) throws(DatabaseError) {
    begin(id: "_local/" + id)
    try end(with: encoded, to: &text)
  }

  /// Appends the line of a piece of an attachment's content.
  mutating func append(
    piece: SharedBytes, at offset: Int, of digest: SHA256.Digest, length: Int,
    to text: inout ByteWriter
  ) {
    head.removeAll()
    head.beginObject()
    addKey("_body")
    head.beginObject()
    add("digest", digest.attachmentText)
    addKey("length")
    head.add(Int64(length))
    addKey("offset")
    head.add(Int64(offset))
    add("data", piece.base64)
    _ = head.endObject()
    _ = head.endObject()
    head.writer.withSpan { text.append($0) }
    text.append(UInt8(ascii: "\n"))
  }

  private mutating func begin(id: String) {
    head.removeAll()
    head.beginObject()
    add("_id", id)
  }

  /// Appends the head, the properties, and the end of the line.
  private mutating func end(
    with encoded: SharedBytes, to text: inout ByteWriter
  ) throws(DatabaseError) {
    properties.removeAll()
    let damage = encoded.withSpan { ValueReader.read($0, into: &properties) }
    guard damage == nil, EncodedValue(encoded).kind == .object else {
      throw EncodedValue.damage(at: damage)
    }
    head.writer.withSpan { text.append($0) }
    // Two objects become one: `{"_id":"a"` and `{"n":1}`.
    properties.writer.withSpan { properties in
      text.append(properties.count > 2 ? UInt8(ascii: ",") : UInt8(ascii: "}"))
      text.append(properties.extracting(properties.count > 2 ? 1... : 2...))
    }
    text.append(UInt8(ascii: "\n"))
  }

  private mutating func addRevisions(_ history: [RevisionID]) {
    addKey("_revisions")
    head.beginObject()
    addKey("start")
    head.add(unsigned: history[0].generation)
    addKey("ids")
    head.beginArray()
    for revision in history { withUTF8(of: revision.digestText) { head.add(text: $0) } }
    head.endArray()
    _ = head.endObject()
  }

  private mutating func add(_ attachment: Attachment) {
    let entry = attachment.entry
    addKey(entry.name)
    head.beginObject()
    add("content_type", entry.contentType)
    add("digest", entry.digest.attachmentText)
    addKey("length")
    head.add(unsigned: entry.length)
    addKey("revpos")
    head.add(unsigned: entry.generation)
    if let digest = entry.foreignDigest {
      add("foreign_digest", digest.text)
      if let encoding = digest.encoding { add("encoding", encoding) }
      if let length = digest.encodedLength {
        addKey("encoded_length")
        head.add(unsigned: UInt64(length))
      }
    }
    switch attachment.content {
    case .inline(let bytes): add("data", bytes.base64)
    case .before:
      addKey("follows")
      head.add(true)
    case .absent:
      addKey("stub")
      head.add(true)
    }
    _ = head.endObject()
  }

  private mutating func add(_ key: String, _ value: String) {
    addKey(key)
    withUTF8(of: value) { head.add(text: $0) }
  }

  private mutating func addKey(_ key: String) {
    withUTF8(of: key) { head.addKey($0, source: 0) }
  }
}

extension SharedBytes {
  fileprivate var base64: String { Data(array).base64EncodedString() }
}
