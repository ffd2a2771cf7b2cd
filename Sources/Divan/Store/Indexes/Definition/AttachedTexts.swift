import DivanLog

/// The text attachments of a revision, and the text of those that were read.
///
/// They are in the order of their names. Their content is read only when an index needs it.
struct AttachedTexts: Sendable {
  /// The number of bytes of an attachment that an index has.
  static let sizeLimit = 4 << 20
  /// The number of bytes of all attachments of a document that an index has.
  static let documentSizeLimit = 16 << 20

  fileprivate struct Item {
    let name: String
    let attachment: Document.Attachment
    /// The number of bytes that an index has of it.
    let size: Int
    /// Valid UTF-8; nil if it was not read.
    var text: [UInt8]?
  }

  private var items: [Item] = []

  static let none = AttachedTexts()

  private init() {}

  /// Creates the list of the attachments of a revision that have text.
  init(_ attachments: Document.Attachments) {
    var left = AttachedTexts.documentSizeLimit
    for (name, attachment) in attachments where AttachedTexts.isText(attachment.contentType) {
      let size = min(max(attachment.length, 0), AttachedTexts.sizeLimit, left)
      left -= size
      items.append(Item(name: name, attachment: attachment, size: size))
    }
  }

  /// Whether attachments with a content type have text that an index can read.
  ///
  /// Parameters follow the type: `text/plain; charset="UTF-8"`.
  static func isText(_ contentType: String) -> Bool {
    let parts = contentType.lowercased().split(separator: ";", omittingEmptySubsequences: false)
    guard let type = parts.first, type.drop(while: \.isWhitespace).hasPrefix("text/") else {
      return false
    }
    for parameter in parts.dropFirst() {
      let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, trimmed(pair[0]) == "charset" else { continue }
      let value = trimmed(pair[1])
      return ["utf-8", "utf8", "us-ascii", "ascii"].contains(
        value.hasPrefix("\"") && value.hasSuffix("\"") ? value.dropFirst().dropLast() : value)
    }
    return true
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text.drop(while: \.isWhitespace)
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
  }
}

extension AttachedTexts {
  var isEmpty: Bool { items.isEmpty }

  /// Whether the text of each attachment was read.
  var isWhole: Bool { items.allSatisfy { $0.text != nil } }

  /// The texts in the order of the attachments' names; empty where an attachment was not read.
  ///
  /// So what was read is at the same place in an index, whatever else could be read.
  var texts: some Sequence<[UInt8]> { items.lazy.map { $0.text ?? [] } }

  /// Whether two revisions have the same text, as their digests show.
  func haveSameText(as other: AttachedTexts) -> Bool {
    items.map(\.digest) == other.items.map(\.digest) && !items.contains { $0.digest == nil }
  }
}

extension AttachedTexts {
  /// Reads the text of all attachments.
  ///
  /// - Throws: The error of the first attachment that cannot be read, with its name.
  mutating func read(of documentID: String?) throws(DatabaseError) {
    for index in items.indices {
      do throws(DatabaseError) {
        items[index].text = try items[index].read()
      } catch {
        throw items[index].error(error, documentID)
      }
    }
  }

  /// Reads the text of the attachments that can be read, and returns the errors of the others.
  ///
  /// - Throws: An error that does not concern the attachment alone, such as a lack of memory.
  mutating func readSound(of documentID: String?) throws(DatabaseError) -> [DatabaseError] {
    var errors: [DatabaseError] = []
    for index in items.indices {
      do throws(DatabaseError) {
        items[index].text = try items[index].read()
      } catch {
        guard error.concernsAttachmentAlone else { throw error }
        errors.append(items[index].error(error, documentID))
      }
    }
    return errors
  }
}

extension DatabaseError {
  /// Whether it is about the attachment that was read, and not about the process or the store.
  var concernsAttachmentAlone: Bool {
    switch code {
    case .closed, .suspended, .cancelled, .resourceExhausted: return false
    default:
      let system = underlying as? SystemError
      return system?.code != .outOfMemory && system?.code != .interrupted
    }
  }
}

extension AttachedTexts.Item {
  fileprivate var digest: SHA256.Digest? {
    if case .stored(let digest, _) = attachment.body { digest } else { nil }
  }

  /// Returns the text, with bytes that are not UTF-8 replaced.
  fileprivate func read() throws(DatabaseError) -> [UInt8] {
    // Another attachment may have used up the size of the document.
    guard size > 0 else { return [] }
    // With the byte after it, to see whether it ends within a scalar.
    var bytes = try readBytes(0..<min(size + 1, attachment.length))
    if bytes.count > size {
      bytes.removeSubrange(bytes.scalarBoundary(from: 0, upTo: size)...)
    }
    guard firstInvalidUTF8(in: bytes.span) != nil else { return bytes }
    return Array(String(decoding: bytes, as: UTF8.self).utf8)
  }

  private func readBytes(_ range: Range<Int>) throws(DatabaseError) -> [UInt8] {
    guard case .stored(let digest, let source) = attachment.body else {
      throw DatabaseError(.notFound, "its content is not stored")
    }
    let reader = try source.open(digest)
    guard reader.length == attachment.length else {
      throw DatabaseError(
        .damaged, "the attachment has \(reader.length) bytes instead of \(attachment.length)")
    }
    return try translating { () throws(LogError) in try reader.read(range).array }
  }

  /// Returns an error that says which attachment cannot be read.
  fileprivate func error(_ cause: DatabaseError, _ documentID: String?) -> DatabaseError {
    DatabaseError(
      cause.code,
      "a full-text index cannot read the attachment \(name.debugDescription): \(cause.message)",
      hint: "Remove the attachment or replace it, or restore its file from a backup",
      documentID: documentID, path: cause.path, offset: cause.offset, underlying: cause.underlying)
  }
}
