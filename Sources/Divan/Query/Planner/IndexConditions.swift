extension IndexRange.Kind {
  /// Whether the entries of this range are in the sort order of the results.
  func hasOrder(byBytes: Bool) -> Bool {
    func isOrdered(_ value: Value) -> Bool {
      switch value {
      case .null, .bool, .int, .unsigned, .double: true
      case .string: byBytes
      case .array, .object: false
      }
    }
    return switch self {
    case .all: false
    case .equal: true
    case .prefix: byBytes
    case .between(let lower, let upper):
      [lower, upper].compactMap { $0 }.allSatisfy { isOrdered($0.value) }
    }
  }
}

extension IndexRange {
  /// Creates a range from conditions on the first properties of an index, in their order.
  ///
  /// All but the last must be equalities.
  init(_ parts: [Kind]) { self.init(parts: parts.isEmpty ? [.all] : parts) }
}

/// The conditions of a filter's parts on one property, combined for a look-up in an index.
struct PropertyConditions {
  /// Whether entries with null also represent documents without the property.
  ///
  /// This applies to all properties of an index but the first, without which a document has no
  /// entry.
  let nullIsMissing: Bool
  private var equal: (part: Int, value: Value)?
  /// Values, one of which must be equal; there may be none, but not exactly one.
  private var set: (part: Int, values: [Value])?
  private var prefix: (part: Int, text: String)?
  private var lower: IndexRange.End?
  private var upper: IndexRange.End?
  private var bounds = ConjunctSet()
  /// Whether no value can be within the bounds.
  private var isEmpty = false

  init(nullIsMissing: Bool) { self.nullIsMissing = nullIsMissing }

  /// Adds a test, if an index can answer it.
  mutating func add(_ test: ComparisonOperator, part: Int) {
    switch test {
    case .equal(let value) where nullIsMissing || !value.isNull:
      // One value selects less than several, and more than none.
      if equal == nil, set?.values.isEmpty != true { equal = (part, value) }
    case .oneOf(let values) where nullIsMissing || !values.contains(where: \.isNull):
      guard equal == nil, set == nil else { break }
      if values.count == 1 { equal = (part, values[0]) } else { set = (part, values) }
    case .text(.beginning, let text, []): if prefix == nil { prefix = (part, text) }
    case .order(let order, let value) where !value.isNull:
      bounds.insert(part)
      let isIncluded = order == .lessOrEqual || order == .greaterOrEqual
      let end = IndexRange.End(value: value, isIncluded: isIncluded)
      for other in [lower, upper].compactMap({ $0?.value }) + [value]
      where other.isNotANumber || IndexedValue.type(of: other) != IndexedValue.type(of: value) {
        isEmpty = true
      }
      if order == .less || order == .lessOrEqual {
        upper = PropertyConditions.narrower(upper, end, isUpper: true)
      } else {
        lower = PropertyConditions.narrower(lower, end, isUpper: false)
      }
    default: break
    }
  }

  /// The ranges of the values, and the filter's parts that these answer.
  ///
  /// Nil if an index can answer no part.
  var lookup: (PropertyLookup, covered: ConjunctSet)? {
    // Nothing equals NaN.
    if let equal {
      return (
        equal.value.isNotANumber ? .several([]) : .one(.equal(equal.value)),
        ConjunctSet(equal.part)
      )
    }
    if let set {
      var seen: Set<[UInt8]> = []
      let distinct = set.values.filter {
        !$0.isNotANumber && seen.insert(IndexedValue.whole($0)).inserted
      }
      return (PropertyLookup(distinct.map { .equal($0) }), ConjunctSet(set.part))
    }
    if let prefix { return (.one(.prefix(prefix.text)), ConjunctSet(prefix.part)) }
    if bounds.isEmpty { return nil }
    return (isEmpty ? .several([]) : .one(.between(lower, upper)), bounds)
  }

  /// Returns the end that makes a range narrower.
  private static func narrower(
    _ old: IndexRange.End?, _ new: IndexRange.End, isUpper: Bool
  ) -> IndexRange.End {
    guard let old else { return new }
    let (a, b) = (IndexedValue.whole(old.value), IndexedValue.whole(new.value))
    if a == b { return old.isIncluded ? new : old }
    return a.lexicographicallyPrecedes(b) == isUpper ? old : new
  }
}

/// The ranges in which an index looks up the conditions on one property.
enum PropertyLookup {
  case one(IndexRange.Kind)
  /// No range, or several, each of which is a value.
  case several([IndexRange.Kind])

  init(_ values: [IndexRange.Kind]) {
    self = values.count == 1 ? .one(values[0]) : .several(values)
  }

  var count: Int {
    switch self {
    case .one: 1
    case .several(let values): values.count
    }
  }

  /// Whether each range is a single value.
  var areValues: Bool { if case .one(let range) = self { range.isOneValue } else { true } }
}
