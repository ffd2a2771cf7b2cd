import DivanLog

/// A filter that runs on documents in their stored form, and decodes only the values it compares.
struct CompiledFilter: Sendable {
  private let node: FilterNode

  init(_ expression: FilterExpression) { node = .of(expression) }

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
private class FilterNode: @unchecked Sendable {
  // Sendable: subclasses have only constants, which are Sendable.

  /// Whether the value in `range` matches: a document, or an element of an array.
  func accepts(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ row: borrowing QueryRow
  ) throws(DatabaseError) -> Bool { true }

  static func of(_ expression: FilterExpression) -> FilterNode {
    switch expression {
    case .all: FilterNode()
    // A query with a refused filter throws before this runs.
    case .nothing, .refused: NotNode(FilterNode())
    case .not(let part): NotNode(of(part))
    case .and(let parts): AndNode(parts.map(of))
    case .or(let parts): OrNode(parts.map(of))
    case .custom(_, let accepts): CustomNode(accepts)
    case .test(let path, let test): TestNode(CompiledPath(path), CompiledTest(test))
    case .anyElement(let path, let part): AnyNode(CompiledPath(path), of(part))
    case .everyElement(let path, let part): NotNode(AnyNode(CompiledPath(path), NotNode(of(part))))
    }
  }
}

private final class NotNode: FilterNode, @unchecked Sendable {
  private let part: FilterNode
  init(_ part: FilterNode) { self.part = part }

  override func accepts(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ row: borrowing QueryRow
  ) throws(DatabaseError) -> Bool { try !part.accepts(bytes, range, row) }
}

private final class AndNode: FilterNode, @unchecked Sendable {
  private let parts: [FilterNode]
  init(_ parts: [FilterNode]) { self.parts = parts }

  override func accepts(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ row: borrowing QueryRow
  ) throws(DatabaseError) -> Bool {
    for part in parts where try !part.accepts(bytes, range, row) { return false }
    return true
  }
}

private final class OrNode: FilterNode, @unchecked Sendable {
  private let parts: [FilterNode]
  init(_ parts: [FilterNode]) { self.parts = parts }

  override func accepts(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ row: borrowing QueryRow
  ) throws(DatabaseError) -> Bool {
    for part in parts where try part.accepts(bytes, range, row) { return true }
    return false
  }
}

private final class CustomNode: FilterNode, @unchecked Sendable {
  private let accepts: @Sendable (EncodedValue) -> Bool
  init(_ accepts: @escaping @Sendable (EncodedValue) -> Bool) { self.accepts = accepts }

  override func accepts(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ row: borrowing QueryRow
  ) throws(DatabaseError) -> Bool { accepts(EncodedValue(row.properties)) }
}

private final class TestNode: FilterNode, @unchecked Sendable {
  private let path: CompiledPath
  private let test: CompiledTest

  init(_ path: CompiledPath, _ test: CompiledTest) {
    self.path = path
    self.test = test
  }

  override func accepts(
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

private final class AnyNode: FilterNode, @unchecked Sendable {
  private let path: CompiledPath
  private let part: FilterNode

  init(_ path: CompiledPath, _ part: FilterNode) {
    self.path = path
    self.part = part
  }

  override func accepts(
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
