import DivanLog

// Values may be nested arbitrarily deep, so comparing and hashing them must not need a stack as
// deep.

extension Value {
  /// The number of levels that are visited by recursion, which is faster.
  private static let recursionLimit = 32

  /// Compares two values that are not arrays or objects; nil if both are arrays or both objects.
  private static func areEqualPlain(_ a: Value, _ b: Value) -> Bool? {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.int(let a), .int(let b)): a == b
    case (.unsigned(let a), .unsigned(let b)): a == b
    case (.int(let a), .unsigned(let b)), (.unsigned(let b), .int(let a)): a == b
    case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
    case (.string(let a), .string(let b)): haveSameUTF8(a, b)
    case (.array, .array), (.object, .object): nil
    // Not `default`, with which a value of a new case would not equal itself.
    case (.null, _), (.bool, _), (.int, _), (.unsigned, _), (.double, _), (.string, _),
      (.array, _), (.object, _):
      false
    }
  }

  static func areEqual(_ a: Value, _ b: Value, depth: Int = 0) -> Bool {
    if let answer = areEqualPlain(a, b) { return answer }
    guard depth < recursionLimit else { return areEqualDeep(a, b) }
    switch (a, b) {
    case (.array(let a), .array(let b)):
      if haveSameStorage(a, b) { return true }
      return a.count == b.count
        && zip(a, b).allSatisfy { areEqual($0, $1, depth: depth + 1) }
    case (.object(let a), .object(let b)): return areEqual(a, b, depth: depth)
    default: return false
    }
  }

  static func areEqual(_ a: Object, _ b: Object, depth: Int = 0) -> Bool {
    if haveSameStorage(a.entries, b.entries) { return true }
    return a.count == b.count
      && zip(a.entries, b.entries).allSatisfy { a, b in
        haveSameUTF8(a.key, b.key) && areEqual(a.value, b.value, depth: depth + 1)
      }
  }

  /// Does the same with a list instead of the stack.
  private static func areEqualDeep(_ a: Value, _ b: Value) -> Bool {
    var open: [(Value, Value, next: Int)] = [(a, b, 0)]
    while let (a, b, next) = open.popLast() {
      switch (a, b) {
      case (.array(let one), .array(let other)):
        if next == 0 {
          if haveSameStorage(one, other) { continue }
          guard one.count == other.count else { return false }
        }
        guard next < one.count else { continue }
        open.append((a, b, next + 1))
        open.append((one[next], other[next], 0))
      case (.object(let one), .object(let other)):
        if next == 0 {
          if haveSameStorage(one.entries, other.entries) { continue }
          guard one.count == other.count else { return false }
        }
        guard next < one.count else { continue }
        guard haveSameUTF8(one[next].key, other[next].key) else { return false }
        open.append((a, b, next + 1))
        open.append((one[next].value, other[next].value, 0))
      default:
        guard areEqualPlain(a, b) ?? false else { return false }
      }
    }
    return true
  }

  /// Feeds the compared properties into the hasher, down to the maximum depth of stored values.
  ///
  /// Values that differ only below that have the same hash.
  func hash(into hasher: inout Hasher, depth: Int) {
    switch self {
    case .null: hasher.combine(0 as UInt8)
    case .bool(let value): hasher.combine(value)
    case .int(let value): hasher.combine(UInt64(bitPattern: value))
    case .unsigned(let value): hasher.combine(value)
    case .double(let value): hasher.combine(value.bitPattern)
    case .string(let value): hasher.combine(value)
    case .array(let value):
      hasher.combine(value.count)
      guard depth < DocumentLimits.depth else { return }
      for element in value { element.hash(into: &hasher, depth: depth + 1) }
    case .object(let value): value.hash(into: &hasher, depth: depth)
    }
  }
}

extension Value.Object {
  func hash(into hasher: inout Hasher, depth: Int) {
    hasher.combine(entries.count)
    guard depth < DocumentLimits.depth else { return }
    for entry in entries {
      hasher.combine(entry.key)
      entry.value.hash(into: &hasher, depth: depth + 1)
    }
  }
}
