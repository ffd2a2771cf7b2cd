import DivanLog

/// A path, prepared to be followed in stored bytes.
struct CompiledPath: Sendable {
  private enum Step: Sendable {
    case key([UInt8])
    case element(Int)
    case reference
  }

  private let steps: [Step]
  let isDocumentID: Bool
  let isCount: Bool

  init(_ path: QueryPath) {
    steps = path.steps.map { step in
      switch step {
      case .key(let key): .key(Array(key.utf8))
      case .element(let index): .element(index)
      case .reference: .reference
      }
    }
    isDocumentID = path.isDocumentID
    isCount = path.measure == .count
  }

  /// Calls `body` with the bytes in which the path ends, and the value's range, if there is one.
  func follow<R>(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ row: borrowing QueryRow,
    _ body: (Span<UInt8>, Range<Int>?) throws(DatabaseError) -> R
  ) throws(DatabaseError) -> R {
    try follow(from: 0, bytes, range, row, body)
  }

  private func follow<R>(
    from first: Int, _ bytes: Span<UInt8>, _ start: Range<Int>, _ row: borrowing QueryRow,
    _ body: (Span<UInt8>, Range<Int>?) throws(DatabaseError) -> R
  ) throws(DatabaseError) -> R {
    var range = start
    for index in first..<steps.count {
      guard !range.isEmpty else { throw EncodedValue.damage(at: range.lowerBound) }
      let tag = bytes[range.lowerBound] & 0xF0
      let found: ValueFormat.Found
      switch steps[index] {
      case .key(let key):
        guard tag == ValueFormat.Tag.object else { return try body(bytes, nil) }
        guard
          let object = ValueFormat.container(bytes, at: range.lowerBound, end: range.upperBound)
        else { throw EncodedValue.damage(at: range.lowerBound) }
        found = ValueFormat.property(key.span, of: object, in: bytes)
      case .element(let number):
        guard tag == ValueFormat.Tag.array else { return try body(bytes, nil) }
        guard
          let array = ValueFormat.container(bytes, at: range.lowerBound, end: range.upperBound)
        else { throw EncodedValue.damage(at: range.lowerBound) }
        found = number < 0 ? .missing : ValueFormat.element(number, of: array, in: bytes)
      case .reference:
        guard let text = ValueFormat.text(bytes, range),
          let other = try row.references?.properties(of: bytes.extracting(text))
        else { return try body(bytes, nil) }
        return try other.withSpan { (others) throws(DatabaseError) in
          try follow(from: index + 1, others, 0..<others.count, row, body)
        }
      }
      switch found {
      case .at(let start, let end): range = start..<end
      case .missing: return try body(bytes, nil)
      case .damaged: throw EncodedValue.damage(at: range.lowerBound)
      }
    }
    return try body(bytes, range)
  }
}
