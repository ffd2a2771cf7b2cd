/// What one index can look up for a filter.
///
/// Invariants:
/// - No two of `ranges` have an entry in common; each says something of the first properties of the index, in their order,
///   and only the last of these may be no equality.
/// - Every document that fulfils the filter is among the entries of `ranges`, if `isWhole`; and each document among them
///   fulfils the `answered` parts.
struct IndexMatch {
  let kept: KeptIndex
  private(set) var ranges = IndexRanges.one([])
  /// The parts of the filter that need not be asked again.
  private(set) var answered: FilterPartSet
  /// Whether documents that have no entry cannot fulfil the filter.
  fileprivate(set) var isWhole: Bool

  /// Whether all that is found has the same values, so that it comes in the order of IDs.
  var isOneValue: Bool {
    guard case .one(let range) = ranges else { return false }
    return range.count == kept.index.paths.count && range.allSatisfy(\.isOneValue)
  }

  /// How many of the first properties have one value.
  var equalCount: Int {
    if case .one(let range) = ranges { range.prefix { $0.isOneValue }.count } else { 0 }
  }

  /// Sets of values for several properties are not multiplied to more ranges than that.
  private static let productLimit = 256
}

extension FilterParts {
  /// Calls `body` with what an index can look up: nothing, if it leaves out documents that are meant; several things, if it has
  /// the elements of arrays and several parts ask for any of these.
  ///
  /// With what leaves out documents without entries only if these may come behind all others.
  func forEachMatch(
    _ kept: KeptIndex, mayLackDocuments: Bool = false, _ body: (IndexMatch) -> Void
  ) {
    let index = kept.index
    var answered = FilterPartSet()
    for condition in index.conditions {
      guard imply(condition) else { return }
      for (number, part) in parts.enumerated() where part.isSame(as: condition) {
        answered.insert(number)
      }
    }
    guard index.eachElement else {
      var match = IndexMatch(kept: kept, answered: answered, isWhole: false)
      match.extend(from: 0, parts)
      match.isWhole = match.isWhole || implyProperty(index.paths[0])
      if match.isWhole || mayLackDocuments { body(match) }
      return
    }
    for (number, part) in parts.enumerated() {
      guard case .anyElement(let path, let condition) = part, path.leads(to: index.paths[0]) else {
        continue
      }
      var match = IndexMatch(kept: kept, answered: answered, isWhole: true)
      if match.extend(byElement: condition, number, parts) { body(match) }
    }
  }
}

extension IndexMatch {
  /// Adds what is asked of the properties from one on, as far as they can be looked up one behind the other.
  fileprivate mutating func extend(from first: Int, _ parts: [FilterExpression]) {
    for number in first..<kept.index.paths.count {
      guard let (found, answered) = lookup(number, parts),
        ranges.count <= 1 || ranges.count * found.count <= IndexMatch.productLimit
      else { return }
      ranges.append(found)
      self.answered.formUnion(answered)
      // Null is in none of these ranges, and what is missing in none of an index's first property.
      isWhole = true
      guard found.areValues else { return }
    }
  }

  /// What is asked of one of the properties; nil if no index can answer any of it.
  private func lookup(
    _ number: Int, _ parts: [FilterExpression]
  ) -> (PropertyLookup, answered: FilterPartSet)? {
    let property = kept.index.paths[number]
    var conditions: PropertyConditions?
    for (part, expression) in parts.enumerated() {
      guard case .test(let path, let test) = expression, path.leads(to: property) else { continue }
      // An equality says all, and most queries have one.
      if conditions == nil, case .equal(let value) = test, !value.isNull, !value.isNotANumber {
        return (.one(.equal(value)), FilterPartSet(part))
      }
      if conditions == nil { conditions = PropertyConditions(nullIsMissing: number > 0) }
      conditions?.add(test, part: part)
    }
    return conditions?.lookup
  }

  /// Adds what a part of the filter asks of one element of an array, and then what is asked of the other properties;
  /// returns whether an index can look that up.
  fileprivate mutating func extend(
    byElement condition: FilterExpression, _ part: Int, _ parts: [FilterExpression]
  ) -> Bool {
    let inner = condition.conjuncts
    var conditions = PropertyConditions(nullIsMissing: false)
    for (number, test) in inner.enumerated() {
      guard case .test(let path, let test) = test, path == QueryPath() else { continue }
      conditions.add(test, part: number)
    }
    guard let (found, answered) = conditions.lookup else { return false }
    ranges.append(found)
    if answered.count == inner.count { self.answered.insert(part) }
    if found.areValues { extend(from: 1, parts) }
    return true
  }
}

/// What is looked up in an index, which mostly is one range: of each what is asked of the first properties.
enum IndexRanges: Sendable {
  case one([IndexRange.Kind])
  /// None, or more than one.
  case several([[IndexRange.Kind]])
}

extension IndexRanges: RandomAccessCollection {
  var startIndex: Int { 0 }
  var endIndex: Int {
    switch self {
    case .one: 1
    case .several(let ranges): ranges.count
    }
  }

  subscript(number: Int) -> [IndexRange.Kind] {
    switch self {
    case .one(let range): range
    case .several(let ranges): ranges[number]
    }
  }

  /// Adds what is asked of one property more.
  mutating func append(_ lookup: PropertyLookup) {
    switch (self, lookup) {
    case (.one(var range), .one(let last)):
      range.append(last)
      self = .one(range)
    case (_, .one(let last)): self = .several(map { $0 + [last] })
    case (_, .several(let all)): self = .several(flatMap { range in all.map { range + [$0] } })
    }
  }
}
