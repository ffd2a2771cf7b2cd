import DivanLog

/// A document as a query sees it: its ID, its stored properties, and access to other documents.
///
/// It is lent to all its users, and never copied.
struct QueryRow: ~Copyable {
  var id = SharedBytes.empty
  /// The bytes that end with the properties.
  var payload = SharedBytes.empty
  /// The offset of the properties in the payload.
  var propertiesStart = 0
  /// Nil if references are not followed.
  let references: QueryReferences?

  init(references: QueryReferences?) { self.references = references }

  /// The properties in their stored form.
  var body: SharedBytes { payload.suffix(from: propertiesStart) }

  /// Lends the properties to `read`.
  @inline(__always)
  func withBody<R>(
    _ read: (Span<UInt8>) throws(DatabaseError) -> R
  ) throws(DatabaseError) -> R {
    let start = propertiesStart
    return try payload.withSpan { (bytes) throws(DatabaseError) in
      try read(bytes.extracting(start...))
    }
  }
}

/// The documents to which others refer, each read once.
///
/// It belongs to one run of a query.
final class QueryReferences {
  private let view: ReadView
  private var bodies: [SharedBytesKey: SharedBytes?] = [:]
  /// The maximum number of cached documents: a run over many must not keep all that they refer to.
  private static let countLimit = 10_000

  private struct SharedBytesKey: Hashable {
    let bytes: [UInt8]
  }

  init(_ view: ReadView) { self.view = view }

  /// Returns the properties of the document with an ID; nil if there is none.
  func body(of id: Span<UInt8>) throws(DatabaseError) -> SharedBytes? {
    let text = String(validUTF8: id)
    let key = SharedBytesKey(bytes: Array(text.utf8))
    if let known = bodies[key] { return known }
    var body: SharedBytes?
    if let entry = try view.entry(text), !entry.isDeleted {
      body = try view.winningRecord(of: entry, text).body
    }
    if bodies.count >= QueryReferences.countLimit { bodies.removeAll() }
    bodies[key] = .some(body)
    return body
  }
}

extension QueryRow {
  /// Returns the decoded value at a path; nil if there is none.
  func value(at path: CompiledPath) throws(DatabaseError) -> Value? {
    if path.isDocumentID { return id.text.map { .string($0) } }
    return try withBody { (bytes) throws(DatabaseError) in
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
