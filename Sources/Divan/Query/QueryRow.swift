import DivanLog

/// A document as a query sees it: its ID, its properties in their stored form, and a way to others.
///
/// Lent to all who look at it: nobody has a copy.
struct QueryRow: ~Copyable {
  var id = SharedBytes.empty
  /// What holds the properties, as its last part.
  var payload = SharedBytes.empty
  /// Where in it the properties begin.
  var bodyStart = 0
  /// Nil where references lead nowhere.
  let references: QueryReferences?

  init(references: QueryReferences?) { self.references = references }

  /// The properties in their stored form.
  var body: SharedBytes { payload.suffix(from: bodyStart) }

  /// Lends these.
  @inline(__always)
  func withBody<R>(
    _ read: (Span<UInt8>) throws(DatabaseError) -> R
  ) throws(DatabaseError) -> R {
    let start = bodyStart
    return try payload.withSpan { (bytes) throws(DatabaseError) in
      try read(bytes.extracting(start...))
    }
  }
}

/// The documents that references of others lead to, each read once.
///
/// Belongs to one run of a query.
final class QueryReferences {
  private let view: StoreView
  private var bodies: [SharedBytesKey: SharedBytes?] = [:]
  /// So that a run over many documents does not keep all that they refer to.
  private static let countLimit = 10_000

  private struct SharedBytesKey: Hashable {
    let bytes: [UInt8]
  }

  init(_ view: StoreView) { self.view = view }

  /// The properties of the document of an ID; nil if there is none.
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
  /// The value that a path leads to, decoded; nil if it leads nowhere.
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

  /// How many elements a value has; none if there is no value.
  static func count(_ bytes: Span<UInt8>, _ range: Range<Int>?) throws(DatabaseError) -> Int {
    guard let range else { return 0 }
    var count = 0
    try forEachElement(bytes, range) { _ in
      count += 1
      return true
    }
    return count
  }

  /// Calls `body` with where each element of a value is, until it returns false: those of an array; none of null, and
  /// anything else itself, as in an index of each element.
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
