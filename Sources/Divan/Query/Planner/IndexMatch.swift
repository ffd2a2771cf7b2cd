/// The conditions of a filter that one index can look up.
///
/// Invariants:
/// - No two of `ranges` have an entry in common. Each has conditions on the first properties of the
///   index, in their order, and only the last of these may be no equality.
/// - Every document that matches the filter is among the entries of `ranges`, if `isWhole`. Each
///   document among them meets the `covered` parts.
struct IndexMatch {
  let definition: IndexDefinition
  private(set) var ranges = IndexRanges.one([])
  /// The parts of the filter that need not be tested again.
  private(set) var covered: ConjunctSet
  /// Whether documents without an entry cannot match the filter.
  fileprivate(set) var isWhole: Bool

  /// Whether all entries found have the same values, so that they are in the order of IDs.
  var isOneValue: Bool {
    guard case .one(let range) = ranges else { return false }
    return range.count == definition.index.paths.count && range.allSatisfy(\.isOneValue)
  }

  /// The number of first properties that have a single value.
  var equalCount: Int {
    if case .one(let range) = ranges { range.prefix { $0.isOneValue }.count } else { 0 }
  }

  /// The maximum number of ranges that sets of values for several properties are multiplied to.
  private static let productLimit = 256
}

extension Conjuncts {
  /// Calls `body` with each way in which an index can answer the filter.
  ///
  /// There is none if the index lacks matching documents, or has no values, but the words of text.
  /// There may be several if it indexes the elements of arrays and several parts have conditions on
  /// any element. Matches that lack documents without entries are included only if
  /// `mayLackDocuments`: the caller then adds those after all others.
  func forEachMatch(
    _ definition: IndexDefinition, mayLackDocuments: Bool = false, _ body: (IndexMatch) -> Void
  ) {
    let index = definition.index
    guard index.fullText == nil else { return }
    var covered = ConjunctSet()
    for condition in index.conditions {
      guard imply(condition) else { return }
      for (number, part) in parts.enumerated() where part.isSame(as: condition) {
        covered.insert(number)
      }
    }
    guard index.eachElement else {
      var match = IndexMatch(definition: definition, covered: covered, isWhole: false)
      match.extend(from: 0, parts)
      match.isWhole = match.isWhole || implyProperty(index.paths[0])
      if match.isWhole || mayLackDocuments { body(match) }
      return
    }
    for (number, part) in parts.enumerated() {
      guard case .anyElement(let path, let condition) = part, path.leads(to: index.paths[0]) else {
        continue
      }
      var match = IndexMatch(definition: definition, covered: covered, isWhole: true)
      if match.extend(byElement: condition, number, parts) { body(match) }
    }
  }
}

extension IndexMatch {
  /// Adds the conditions on the properties from `first` on, while they can be looked up together.
  fileprivate mutating func extend(from first: Int, _ parts: [FilterExpression]) {
    for number in first..<definition.index.paths.count {
      guard let (found, covered) = lookup(number, parts),
        ranges.count <= 1 || ranges.count * found.count <= IndexMatch.productLimit
      else { return }
      ranges.append(found)
      self.covered.formUnion(covered)
      // A range of an index's first property includes neither null nor missing values.
      isWhole = true
      guard found.areValues else { return }
    }
  }

  /// Returns the look-up for one property; nil if no index can answer any condition on it.
  private func lookup(
    _ number: Int, _ parts: [FilterExpression]
  ) -> (PropertyLookup, covered: ConjunctSet)? {
    let property = definition.index.paths[number]
    var conditions: PropertyConditions?
    for (part, expression) in parts.enumerated() {
      guard case .test(let path, let test) = expression, path.leads(to: property) else { continue }
      // An equality makes all other conditions residual, and most queries have one.
      if conditions == nil, case .equal(let value) = test, !value.isNull, !value.isNotANumber {
        return (.one(.equal(value)), ConjunctSet(part))
      }
      if conditions == nil { conditions = PropertyConditions(nullIsMissing: number > 0) }
      conditions?.add(test, part: part)
    }
    return conditions?.lookup
  }

  /// Adds the conditions of a part on an array element, then those on the other properties.
  ///
  /// Returns whether an index can look that up.
  fileprivate mutating func extend(
    byElement condition: FilterExpression, _ part: Int, _ parts: [FilterExpression]
  ) -> Bool {
    let inner = condition.conjuncts
    var conditions = PropertyConditions(nullIsMissing: false)
    for (number, test) in inner.enumerated() {
      guard case .test(let path, let test) = test, path == QueryPath() else { continue }
      conditions.add(test, part: number)
    }
    guard let (found, covered) = conditions.lookup else { return false }
    ranges.append(found)
    if covered.count == inner.count { self.covered.insert(part) }
    if found.areValues { extend(from: 1, parts) }
    return true
  }
}

/// The ranges to look up in an index, mostly one; each has conditions on the first properties.
enum IndexRanges: Sendable {
  case one([IndexRange.Kind])
  /// No range, or several.
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

  /// Adds the conditions on another property.
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
