import DivanLog

/// A document as a query sees it: its ID, its stored properties, and access to other documents.
///
/// It is borrowed by all its users, and never copied.
struct QueryRow: ~Copyable {
  var id = SharedBytes.empty
  /// The bytes that end with the properties.
  var payload = SharedBytes.empty
  /// The offset of the properties in the payload.
  var propertiesStart = 0
  /// Nil if references are not followed.
  let references: QueryReferences?
  let attachments: RowAttachments

  init(references: QueryReferences?, attachments: RowAttachments = .unused) {
    (self.references, self.attachments) = (references, attachments)
  }

  /// The properties in their stored form.
  var properties: SharedBytes { payload.suffix(from: propertiesStart) }

  /// Calls `read` with the borrowed bytes of the properties.
  @inline(__always)
  func withProperties<R>(
    _ read: (Span<UInt8>) throws(DatabaseError) -> R
  ) throws(DatabaseError) -> R {
    let start = propertiesStart
    return try payload.withSpan { (bytes) throws(DatabaseError) in
      try read(bytes.extracting(start...))
    }
  }
}

/// Where conditions on the text of attachments find the attachments of a row.
enum RowAttachments {
  /// No condition reads them.
  case unused
  /// The payload of the row is the whole record, which lists them.
  case listed(ReadView)
  case known(Document.Attachments)
}

extension QueryRow {
  /// Returns the attachments with text, unread.
  func attachedTexts() throws(DatabaseError) -> AttachedTexts {
    switch attachments {
    case .unused: return .none
    case .known(let attachments): return AttachedTexts(attachments)
    case .listed(let view):
      do throws(ByteError) {
        let details = try StoredDocument.decode(payload).details
        return view.attachedTexts(details?.attachments ?? [])
      } catch {
        throw DatabaseError(
          .damaged, "a document's record cannot be decoded: \(error.reason)", documentID: id.text)
      }
    }
  }
}

/// The documents to which others refer, each read once.
///
/// It belongs to one execution of a query.
final class QueryReferences {
  private let view: ReadView
  private var cache: [SharedBytesKey: SharedBytes?] = [:]
  /// The maximum number of cached documents, which bounds the memory of a query over many.
  private static let countLimit = 10_000

  private struct SharedBytesKey: Hashable {
    let bytes: [UInt8]
  }

  init(_ view: ReadView) { self.view = view }

  /// Returns the properties of the document with an ID; nil if there is none.
  func properties(of id: Span<UInt8>) throws(DatabaseError) -> SharedBytes? {
    let text = String(validUTF8: id)
    let key = SharedBytesKey(bytes: Array(text.utf8))
    if let cached = cache[key] { return cached }
    var properties: SharedBytes?
    if let entry = try view.entry(text), !entry.isDeleted {
      properties = try view.winningRecord(at: entry.location, id).body
    }
    if cache.count >= QueryReferences.countLimit { cache.removeAll() }
    cache[key] = .some(properties)
    return properties
  }
}

extension QueryRow {
  /// Returns the decoded value at a path; nil if there is none.
  func value(at path: CompiledPath) throws(DatabaseError) -> Value? {
    if path.isDocumentID { return id.text.map { .string($0) } }
    return try withProperties { (bytes) throws(DatabaseError) in
      try path.follow(bytes, 0..<bytes.count, self) {
        (bytes, range) throws(DatabaseError) -> Value? in
        if path.isCount { return .int(Int64(try QueryRow.count(bytes, range))) }
        guard let range else { return nil }
        return try EncodedValue.decode(bytes.extracting(range))
      }
    }
  }

  /// Returns the number of elements of a value; 0 if there is no value.
  static func count(_ bytes: Span<UInt8>, _ range: Range<Int>?) throws(DatabaseError) -> Int {
    guard let range else { return 0 }
    var count = 0
    try forEachElement(bytes, range) { _ in
      count += 1
      return true
    }
    return count
  }

  /// Calls `body` with the range of each element of a value, until it returns false.
  ///
  /// As in an index of each element, null has no elements, and a value that is not an array is its
  /// own only element.
  static func forEachElement(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ body: (Range<Int>) throws(DatabaseError) -> Bool
  ) throws(DatabaseError) {
    guard !range.isEmpty else { throw EncodedValue.damage(at: range.lowerBound) }
    let tag = bytes[range.lowerBound]
    if tag == ValueFormat.Tag.null { return }
    guard tag & 0xF0 == ValueFormat.Tag.array else {
      _ = try body(range)
      return
    }
    guard
      let container = ValueFormat.container(bytes, at: range.lowerBound, end: range.upperBound)
    else { throw EncodedValue.damage(at: range.lowerBound) }
    var position = container.start
    while position < container.end {
      guard let next = ValueFormat.skip(bytes, at: position, end: container.end) else {
        throw EncodedValue.damage(at: position)
      }
      guard try body(position..<next) else { return }
      position = next
    }
  }
}
