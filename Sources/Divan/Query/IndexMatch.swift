/// What one index can look up for a filter.
///
/// Invariants:
/// - No two of `ranges` have an entry in common; each says something of the first properties of the index, in their order,
///   and only the last of these may be no equality.
/// - Every document that fulfils the filter is among the entries of `ranges`, if `isWhole`; and each document among them
///   fulfils the `answered` parts.
struct IndexMatch {
  let kept: KeptIndex
  private(set) var ranges = IndexMatch.everything
  /// The parts of the filter that need not be asked again.
  private(set) var answered: FilterPartSet
  /// Whether documents that have no entry cannot fulfil the filter.
  fileprivate(set) var isWhole: Bool

  /// Whether all that is found has the same values, so that it comes in the order of IDs.
  var isOneValue: Bool {
    ranges.count == 1 && ranges[0].count == kept.index.paths.count
      && ranges[0].allSatisfy(\.isOneValue)
  }

  /// How many of the first properties have one value.
  var equalCount: Int {
    ranges.count == 1 ? ranges[0].prefix { $0.isOneValue }.count : 0
  }

  /// One range, in which every entry is.
  private static let everything: [[IndexRange.Kind]] = [[]]
  /// Sets of values for several properties are not multiplied to more ranges than that.
  private static let productLimit = 256
}

extension FilterParts {
  /// Adds what an index can look up: nothing, if it leaves out documents that are meant; several things, if it has the
  /// elements of arrays and several parts ask for any of these.
  ///
  /// What leaves out documents without entries is added only if these may come behind all others.
  func addMatches(_ kept: KeptIndex, mayLackDocuments: Bool, to matches: inout [IndexMatch]) {
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
      if match.isWhole || mayLackDocuments { matches.append(match) }
      return
    }
    for (number, part) in parts.enumerated() {
      guard case .anyElement(let path, let condition) = part, path.leads(to: index.paths[0]) else {
        continue
      }
      var match = IndexMatch(kept: kept, answered: answered, isWhole: true)
      if match.extend(byElement: condition, number, parts) { matches.append(match) }
    }
  }
}

extension IndexMatch {
  /// Adds what is asked of the properties from one on, as far as they can be looked up one behind the other.
  fileprivate mutating func extend(from first: Int, _ parts: [FilterExpression]) {
    for number in first..<kept.index.paths.count {
      var conditions = PropertyConditions(nullIsMissing: number > 0)
      for (part, expression) in parts.enumerated() {
        guard case .test(let path, let test) = expression,
          path.leads(to: kept.index.paths[number])
        else { continue }
        conditions.add(test, part: part)
      }
      guard let (found, answered) = conditions.lookup,
        ranges.count <= 1 || ranges.count * found.count <= IndexMatch.productLimit
      else { return }
      let isFirst = ranges.count == 1 && ranges[0].isEmpty
      ranges =
        isFirst ? found.map { [$0] } : ranges.flatMap { range in found.map { range + [$0] } }
      self.answered.formUnion(answered)
      // Null is in none of these ranges, and what is missing in none of an index's first property.
      isWhole = true
      guard found.allSatisfy(\.isOneValue) else { return }
    }
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
    ranges = found.map { [$0] }
    if answered.count == inner.count { self.answered.insert(part) }
    if found.allSatisfy(\.isOneValue) { extend(from: 1, parts) }
    return true
  }
}
