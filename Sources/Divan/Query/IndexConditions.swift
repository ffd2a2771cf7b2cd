extension IndexRange.Kind {
  /// Whether the entries of this range are in the order in which results are sorted.
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
  /// What is asked of the first properties of an index, one after the other; all but the last are equalities.
  init(_ parts: [Kind]) { self.init(parts: parts.isEmpty ? [.all] : parts) }
}

/// What parts of a filter ask of one property, brought together so that an index can look it up.
struct PropertyConditions {
  /// Whether entries with null stand for documents without the property, too: so they do for all properties of an index
  /// but the first, without which a document has no entry.
  let nullIsMissing: Bool
  private var equal: (part: Int, value: Value)?
  /// Values one of which is meant; there may be none, but not just one.
  private var set: (part: Int, values: [Value])?
  private var prefix: (part: Int, text: String)?
  private var lower: IndexRange.End?
  private var upper: IndexRange.End?
  private var bounds = FilterPartSet()
  /// Whether no value can be within the bounds.
  private var isNothing = false

  init(nullIsMissing: Bool) { self.nullIsMissing = nullIsMissing }

  /// Takes a test over, if an index can answer it.
  mutating func add(_ test: FilterTest, part: Int) {
    switch test {
    case .equal(let value) where nullIsMissing || !value.isNull:
      // One value is less than several, and more than none.
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
        isNothing = true
      }
      if order == .less || order == .lessOrEqual {
        upper = PropertyConditions.narrower(upper, end, isUpper: true)
      } else {
        lower = PropertyConditions.narrower(lower, end, isUpper: false)
      }
    default: break
    }
  }

  /// The ranges in which the values are, and the parts of the filter that these answer; nil if no index can answer any.
  var lookup: (PropertyLookup, answered: FilterPartSet)? {
    // Nothing is equal to what is no number.
    if let equal {
      return (
        equal.value.isNotANumber ? .several([]) : .one(.equal(equal.value)),
        FilterPartSet(equal.part)
      )
    }
    if let set {
      var seen: Set<[UInt8]> = []
      let distinct = set.values.filter {
        !$0.isNotANumber && seen.insert(IndexedValue.whole($0)).inserted
      }
      return (PropertyLookup(distinct.map { .equal($0) }), FilterPartSet(set.part))
    }
    if let prefix { return (.one(.prefix(prefix.text)), FilterPartSet(prefix.part)) }
    if bounds.isEmpty { return nil }
    return (isNothing ? .several([]) : .one(.between(lower, upper)), bounds)
  }

  /// The end that leaves less of a range.
  private static func narrower(
    _ old: IndexRange.End?, _ new: IndexRange.End, isUpper: Bool
  ) -> IndexRange.End {
    guard let old else { return new }
    let (a, b) = (IndexedValue.whole(old.value), IndexedValue.whole(new.value))
    if a == b { return old.isIncluded ? new : old }
    return a.lexicographicallyPrecedes(b) == isUpper ? old : new
  }
}

/// The ranges in which an index can look up what is asked of one property.
enum PropertyLookup {
  case one(IndexRange.Kind)
  /// None, or more than one; these are values.
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

  /// Whether each of them is one value.
  var areValues: Bool { if case .one(let range) = self { range.isOneValue } else { true } }
}

extension Value {
  /// Whether this is what no number is, to which nothing is equal, and than which nothing is less or greater.
  var isNotANumber: Bool { if case .double(let number) = self { number.isNaN } else { false } }
}
