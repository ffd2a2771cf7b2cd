import DivanLog

/// A filter that runs on documents in their stored form, and decodes only the values it compares.
struct CompiledFilter: Sendable {
  private let node: any FilterNode

  init(_ expression: FilterExpression) { node = expression.node }

  /// Whether a document matches the filter.
  ///
  /// - Throws: `damaged` if the bytes that are read are not a value; errors in reading referenced
  ///   documents.
  func accepts(_ row: borrowing QueryRow) throws(DatabaseError) -> Bool {
    try row.withProperties { (bytes) throws(DatabaseError) in
      try node.accepts(bytes, 0..<bytes.count, row)
    }
  }
}

/// A node of a compiled filter.
///
/// Nodes are classes, so that running a filter copies nothing.
private protocol FilterNode: AnyObject, Sendable {
  /// Whether the value in `range` matches: a document, or an element of an array.
  func accepts(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ row: borrowing QueryRow
  ) throws(DatabaseError) -> Bool
}

extension FilterExpression {
  fileprivate var node: any FilterNode {
    switch self {
    case .all: AllNode()
    // A query with a refused filter throws before this runs, and so does one without an index.
    case .nothing, .refused, .fullText(_, nil): NotNode(AllNode())
    case .not(let part): NotNode(part.node)
    case .and(let parts): AndNode(parts.map(\.node))
    case .or(let parts): OrNode(parts.map(\.node))
    case .custom(_, let accepts): CustomNode(accepts)
    case .fullText(_, let test?): FullTextNode(test)
    case .test(let path, let test): TestNode(CompiledPath(path), CompiledTest(test))
    case .anyElement(let path, let part): AnyNode(CompiledPath(path), part.node)
    case .everyElement(let path, let part):
      NotNode(AnyNode(CompiledPath(path), NotNode(part.node)))
    }
  }
}

private final class AllNode: FilterNode {
  func accepts(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ row: borrowing QueryRow
  ) throws(DatabaseError) -> Bool { true }
}

private final class NotNode: FilterNode {
  private let part: any FilterNode
  init(_ part: any FilterNode) { self.part = part }

  func accepts(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ row: borrowing QueryRow
  ) throws(DatabaseError) -> Bool { try !part.accepts(bytes, range, row) }
}

private final class AndNode: FilterNode {
  private let parts: [any FilterNode]
  init(_ parts: [any FilterNode]) { self.parts = parts }

  func accepts(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ row: borrowing QueryRow
  ) throws(DatabaseError) -> Bool {
    for part in parts where try !part.accepts(bytes, range, row) { return false }
    return true
  }
}

private final class OrNode: FilterNode {
  private let parts: [any FilterNode]
  init(_ parts: [any FilterNode]) { self.parts = parts }

  func accepts(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ row: borrowing QueryRow
  ) throws(DatabaseError) -> Bool {
    for part in parts where try part.accepts(bytes, range, row) { return true }
    return false
  }
}

private final class CustomNode: FilterNode {
  private let accepts: @Sendable (EncodedValue) -> Bool
  init(_ accepts: @escaping @Sendable (EncodedValue) -> Bool) { self.accepts = accepts }

  func accepts(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ row: borrowing QueryRow
  ) throws(DatabaseError) -> Bool { accepts(EncodedValue(row.properties)) }
}

private final class FullTextNode: FilterNode {
  private let test: FullTextTest
  init(_ test: FullTextTest) { self.test = test }

  func accepts(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ row: borrowing QueryRow
  ) throws(DatabaseError) -> Bool { try test.accepts(row) }
}

private final class TestNode: FilterNode {
  private let path: CompiledPath
  private let test: CompiledTest

  init(_ path: CompiledPath, _ test: CompiledTest) {
    self.path = path
    self.test = test
  }

  func accepts(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ row: borrowing QueryRow
  ) throws(DatabaseError) -> Bool {
    if path.isDocumentID { return row.id.withSpan { test.accepts(text: $0) } }
    return try path.follow(bytes, range, row) { (bytes, range) throws(DatabaseError) in
      if path.isCount { return test.accepts(count: try QueryRow.count(bytes, range)) }
      guard let range else { return test.acceptsMissing }
      return try test.accepts(bytes, range)
    }
  }
}

private final class AnyNode: FilterNode {
  private let path: CompiledPath
  private let part: any FilterNode

  init(_ path: CompiledPath, _ part: any FilterNode) {
    self.path = path
    self.part = part
  }

  func accepts(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ row: borrowing QueryRow
  ) throws(DatabaseError) -> Bool {
    try path.follow(bytes, range, row) { (bytes, range) throws(DatabaseError) in
      guard let range else { return false }
      var isFound = false
      try QueryRow.forEachElement(bytes, range) { (element) throws(DatabaseError) in
        isFound = try part.accepts(bytes, element, row)
        return !isFound
      }
      return isFound
    }
  }
}
