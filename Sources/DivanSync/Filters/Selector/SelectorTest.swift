import Divan

/// A test of a value: an operator with its argument.
indirect enum SelectorTest: Sendable {
  /// The operators that compare.
  enum Comparison: String, Sendable, CaseIterable {
    case less = "$lt"
    case lessOrEqual = "$lte"
    case equal = "$eq"
    case notEqual = "$ne"
    case greaterOrEqual = "$gte"
    case greater = "$gt"
  }

  case comparison(Comparison, Value, CouchDBOrder)
  case isIn(SelectorCandidates)
  case isNotIn(SelectorCandidates)
  case exists(Bool)
  case type(String)
  case size(Int)
  /// A whole number has this remainder.
  case remainder(divisor: Int128, Int128)
  case pattern(SelectorPattern)
  case prefix(String)
  case containsAll([Value])
  case anyElement(SelectorCondition)
  case allElements(SelectorCondition)
  case anyKey(SelectorCondition)
}

extension SelectorTest {
  /// The test that accepts the other values, if there is one.
  var opposite: SelectorTest? {
    switch self {
    case .comparison(let comparison, let value, let order):
      .comparison(comparison.opposite, value, order)
    case .isIn(let candidates): .isNotIn(candidates)
    case .isNotIn(let candidates): .isIn(candidates)
    case .exists(let flag): .exists(!flag)
    default: nil
    }
  }

  /// The number of steps of all regular expressions that are matched in linear time.
  var patternSize: Int {
    switch self {
    case .pattern(let pattern): pattern.size
    case .anyElement(let condition), .allElements(let condition), .anyKey(let condition):
      condition.patternSize
    default: 0
    }
  }

  /// Whether the test is that nothing is there.
  var wantsMissing: Bool {
    if case .exists(false) = self { true } else { false }
  }

  func accepts(_ value: Value, _ clock: inout SelectorClock) throws(SelectorFailure) -> Bool {
    try clock.step(for: value)
    switch self {
    case .comparison(let comparison, let other, let order):
      try clock.step(forComparing: value, other)
      return comparison.accepts(order.compare(value, other))
    case .isIn(let candidates): return try candidates.include(value, &clock)
    case .isNotIn(let candidates): return try !candidates.include(value, &clock)
    case .exists(let flag): return flag
    case .type(let name): return value.typeName == name
    case .size(let count): return value.arrayValue?.count == count
    case .remainder(let divisor, let remainder):
      return value.wholeNumber.map { $0 % divisor } == remainder
    case .pattern(let pattern):
      guard let text = value.stringValue else { return false }
      return try pattern.matches(text, &clock)
    case .prefix(let prefix): return value.stringValue?.beginsWith(prefix) ?? false
    case .containsAll(let wanted): return value.contains(all: wanted)
    case .anyElement(let condition):
      return try condition.accepts(value.arrayValue ?? [], isAny: true, &clock)
    case .allElements(let condition):
      // No array has all of its elements accepted if it has none.
      guard let elements = value.arrayValue, !elements.isEmpty else { return false }
      return try condition.accepts(elements, isAny: false, &clock)
    case .anyKey(let condition):
      let names = (value.objectValue ?? [:]).keys.map { Value.string($0) }
      return try condition.accepts(names, isAny: true, &clock)
    }
  }
}

extension SelectorTest.Comparison {
  fileprivate var opposite: Self {
    switch self {
    case .less: .greaterOrEqual
    case .lessOrEqual: .greater
    case .equal: .notEqual
    case .notEqual: .equal
    case .greaterOrEqual: .less
    case .greater: .lessOrEqual
    }
  }

  fileprivate func accepts(_ order: Int) -> Bool {
    switch self {
    case .less: order < 0
    case .lessOrEqual: order <= 0
    case .equal: order == 0
    case .notEqual: order != 0
    case .greaterOrEqual: order >= 0
    case .greater: order > 0
    }
  }
}

extension SelectorCondition {
  /// Returns whether the condition accepts any of some elements, or all of them.
  ///
  /// An element that it cannot be evaluated for ends the search, as in CouchDB.
  fileprivate func accepts(
    _ elements: [Value], isAny: Bool, _ clock: inout SelectorClock
  ) throws(SelectorFailure) -> Bool {
    do {
      for element in elements where try matches(.found(element), &clock) == isAny { return isAny }
    } catch .unevaluated {
      return false
    }
    return !isAny
  }
}

extension Value {
  /// Returns whether an array has all of some values as elements, or is the only one of them.
  ///
  /// CouchDB compares these elements as they are stored: `1` and `1.0` differ, as do two forms of
  /// `é`.
  fileprivate func contains(all wanted: [Value]) -> Bool {
    guard let elements = arrayValue, let first = wanted.first else { return false }
    if wanted.count == 1, first.arrayValue != nil, CouchDBOrder.raw.compare(first, self) == 0 {
      return true
    }
    guard wanted.count > 8 else { return wanted.allSatisfy { elements.contains($0) } }
    return Set(wanted).isSubset(of: elements)
  }

  /// The name of the type as `$type` has it.
  fileprivate var typeName: String {
    switch self {
    case .null: "null"
    case .bool: "boolean"
    case .int, .unsigned, .double: "number"
    case .string: "string"
    case .array: "array"
    case .object: "object"
    }
  }

  /// The number, if it was written without fraction and exponent.
  var wholeNumber: Int128? {
    switch self {
    case .int(let number): Int128(number)
    case .unsigned(let number): Int128(number)
    default: nil
    }
  }
}

extension String {
  /// Returns whether the text begins with the scalars of another.
  ///
  /// As in CouchDB, the last of them must not be joined by a mark in this text: `caf` is at the
  /// beginning of `café`, and `cafe` is not, if its `é` consists of two scalars.
  fileprivate func beginsWith(_ prefix: String) -> Bool {
    var rest = unicodeScalars[...]
    var last = rest.startIndex
    for scalar in prefix.unicodeScalars {
      guard rest.first == scalar else { return false }
      last = rest.startIndex
      rest.removeFirst()
    }
    guard !prefix.isEmpty else { return true }
    // A mark at the beginning of a text is a character of its own.
    return String(unicodeScalars[last...].prefix(2)).first?.unicodeScalars.count == 1
  }
}
