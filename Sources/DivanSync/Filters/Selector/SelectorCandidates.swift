import Divan

/// The values that `$in` and `$nin` name, found in constant time unless they are arrays or objects.
struct SelectorCandidates: Sendable {
  private let order: CouchDBOrder
  private var keys: Set<Key> = []
  private var others: [Value] = []

  init(_ values: [Value], _ order: CouchDBOrder) {
    self.order = order
    for value in values {
      if let key = Key(value, order) { keys.insert(key) } else { others.append(value) }
    }
  }

  /// Returns whether a value, or an element of an array, equals one of these.
  func include(
    _ value: Value, _ clock: inout SelectorClock
  ) throws(SelectorFailure) -> Bool {
    guard let elements = value.arrayValue else { return try includesItself(value, &clock) }
    for element in elements where try includesItself(element, &clock) { return true }
    return false
  }

  private func includesItself(
    _ value: Value, _ clock: inout SelectorClock
  ) throws(SelectorFailure) -> Bool {
    if let key = Key(value, order) {
      try clock.step(for: value)
      return keys.contains(key)
    }
    for other in others {
      try clock.step(forComparing: value, other)
      if order.compare(value, other) == 0 { return true }
    }
    return false
  }

  /// What values have in common that are equal in an order.
  private enum Key: Hashable {
    case null
    case bool(Bool)
    case whole(Int128)
    case number(Double)
    case text(String)
    case bytes([UInt8])

    init?(_ value: Value, _ order: CouchDBOrder) {
      switch value {
      case .null: self = .null
      case .bool(let flag): self = .bool(flag)
      case .int(let number): self = .whole(Int128(number))
      case .unsigned(let number): self = .whole(Int128(number))
      case .double(let number):
        // No integer equals a larger one.
        let whole = number.magnitude < 0x1p65 ? Int128(exactly: number) : nil
        self = whole.map { .whole($0) } ?? .number(number)
      case .string(let text):
        self = order == .raw ? .bytes(Array(text.utf8)) : .text(text.collatedForm)
      case .array, .object: return nil
      }
    }
  }
}
