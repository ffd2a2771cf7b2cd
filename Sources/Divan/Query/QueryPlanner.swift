/// Chooses how a query is answered, by what the indexes of a version of the store can do, and about how many entries
/// they have.
struct QueryPlanner {
  private let view: StoreView
  private let indexes: [KeptIndex]

  /// What reading a document by its ID costs, where reading the next one of a walk costs 1.
  private static let lookupCost = 4
  /// What an entry of an index costs on the same scale, in quarters.
  private static let entriesPerDocument = 4
  /// More than so many values of a set are not looked up one by one without need.
  private static let unionLimit = 64

  /// One way to find candidates.
  private struct Choice {
    var access: QueryAccess
    var estimate: Int
    /// The parts of the filter that need not be asked again.
    var answered: Set<Int>
  }

  init(_ view: StoreView) {
    self.view = view
    // A past version has no indexes of its own.
    // Those of several properties, and of some documents only, are for those who ask them by name.
    let plain = view.state.indexes.filter {
      $0.isReady && $0.index.paths.count == 1 && $0.index.conditions.isEmpty
    }
    indexes = view.past == nil ? plain : []
  }

  func plan(_ query: QueryCore) throws(DatabaseError) -> QueryPlan {
    let whole = query.whole
    if let refusal = whole.refusal { throw refusal }
    let parts = whole.conjuncts
    if parts.contains(where: { if case .nothing = $0 { true } else { false } }) {
      return QueryPlan(access: .nothing, rest: .all, order: .byID, estimate: 0)
    }
    let total = Int(clamping: view.state.documentCount)
    var plan = QueryPlan(
      access: .everything, rest: whole, order: query.sorts.isEmpty ? .byID : .sorted,
      estimate: total)
    if let choice = try best(parts, total) {
      plan.access = choice.access
      plan.estimate = choice.estimate
      plan.rest = .joining(
        parts.enumerated().filter { !choice.answered.contains($0.offset) }.map(\.element))
    }
    try useOrder(of: query, parts, total, &plan)
    return plan
  }

  // MARK: Finding

  private func best(_ parts: [FilterExpression], _ total: Int) throws(DatabaseError) -> Choice? {
    if let named = named(parts) { return named }
    var choices: [Choice] = []
    for kept in indexes { choices += try self.choices(kept, parts) }
    if let range = try idRange(parts) { choices.append(range) }
    for part in parts {
      guard case .or(let alternatives) = part, let union = try union(alternatives, total) else {
        continue
      }
      choices.append(Choice(access: union.access, estimate: union.estimate, answered: []))
    }
    // Of two that have as few the one that answers more.
    choices.sort { ($0.estimate, -$0.answered.count) < ($1.estimate, -$1.answered.count) }
    guard var best = choices.first else { return nil }
    intersect(&best, with: choices.dropFirst(), parts.count, total)
    let isAnswered = best.answered.count == parts.count
    let cost = isAnswered ? best.estimate : best.estimate * QueryPlanner.lookupCost
    return cost <= max(total, 1000) ? best : nil
  }

  /// Documents that the filter names by their IDs.
  private func named(_ parts: [FilterExpression]) -> Choice? {
    for (number, part) in parts.enumerated() {
      guard case .test(.documentID, let test) = part else { continue }
      switch test {
      case .equal(.string(let id)):
        return Choice(access: .named([id]), estimate: 1, answered: [number])
      case .oneOf(let values):
        // IDs are texts; nothing else is equal to one.
        let ids = values.compactMap(\.stringValue)
        return Choice(access: .named(ids), estimate: ids.count, answered: [number])
      default: break
      }
    }
    return nil
  }

  /// Documents whose IDs begin as the filter says.
  private func idRange(_ parts: [FilterExpression]) throws(DatabaseError) -> Choice? {
    for (number, part) in parts.enumerated() {
      guard case .test(.documentID, .text(.beginning, let text, [])) = part, !text.isEmpty else {
        continue
      }
      let range = IDRange.prefix(text)
      let estimate = try view.estimatedCount(of: range)
      // It is a walk like that over all documents, only shorter.
      return Choice(
        access: .ids(range), estimate: estimate / QueryPlanner.lookupCost, answered: [number])
    }
    return nil
  }

  /// What one index can do.
  private func choices(
    _ kept: KeptIndex, _ parts: [FilterExpression]
  ) throws(DatabaseError) -> [Choice] {
    guard kept.index.eachElement else {
      var conditions = IndexConditions()
      for (number, part) in parts.enumerated() {
        guard case .test(let path, let test) = part, path.leads(to: kept.index.path) else {
          continue
        }
        _ = conditions.add(test, part: number)
      }
      return try conditions.isEmpty ? [] : [choice(kept, conditions)]
    }
    var choices: [Choice] = []
    for (number, part) in parts.enumerated() {
      guard case .anyElement(let path, let condition) = part, path.leads(to: kept.index.path) else {
        continue
      }
      // Conditions on one element: each answers its part of it.
      let inner = condition.conjuncts
      var conditions = IndexConditions()
      for (innerNumber, test) in inner.enumerated() {
        guard case .test(let path, let test) = test, path == QueryPath() else { continue }
        _ = conditions.add(test, part: innerNumber)
      }
      guard !conditions.isEmpty else { continue }
      var choice = try choice(kept, conditions)
      choice.answered = choice.answered.count == inner.count ? [number] : []
      choices.append(choice)
    }
    return choices
  }

  private func choice(
    _ kept: KeptIndex, _ conditions: IndexConditions
  ) throws(DatabaseError) -> Choice {
    let (ranges, answered) = conditions.ranges
    var estimate = 0
    for range in ranges { estimate += try view.estimatedCount(of: kept, range) }
    return Choice(
      access: .index(IndexAccess(kept: kept, ranges: ranges, estimate: estimate)),
      estimate: estimate, answered: answered)
  }

  /// Alternatives each of which an index can find.
  private func union(
    _ alternatives: [FilterExpression], _ total: Int
  ) throws(DatabaseError) -> (access: QueryAccess, estimate: Int)? {
    guard alternatives.count <= QueryPlanner.unionLimit else { return nil }
    var accesses: [QueryAccess] = []
    var estimate = 0
    for alternative in alternatives {
      if case .nothing = alternative { continue }
      guard let choice = try best(alternative.conjuncts, total) else { return nil }
      accesses.append(choice.access)
      estimate += choice.estimate
    }
    return (accesses.isEmpty ? .nothing : .union(accesses), estimate)
  }

  /// Looks into further indexes, too, as long as that leaves out documents that would cost more to read.
  private func intersect(
    _ best: inout Choice, with others: ArraySlice<Choice>, _ partCount: Int, _ total: Int
  ) {
    guard case .index(let first) = best.access, total > 0 else { return }
    var accesses = [first]
    for other in others {
      guard case .index(let access) = other.access,
        !other.answered.isSubset(of: best.answered) || other.answered.isEmpty
      else { continue }
      // The same index a second time says nothing new, but for elements of arrays.
      guard access.kept != first.kept || access.kept.index.eachElement else { continue }
      let answered = best.answered.union(other.answered)
      let left = Int(Double(best.estimate) * min(1, Double(other.estimate) / Double(total)))
      let readBefore = best.estimate * QueryPlanner.lookupCost
      let readAfter = answered.count == partCount ? 0 : left * QueryPlanner.lookupCost
      guard readBefore - readAfter > other.estimate / QueryPlanner.entriesPerDocument + 16 else {
        continue
      }
      accesses.append(access)
      best.answered = answered
      best.estimate = left
    }
    if accesses.count > 1 { best.access = .intersection(accesses) }
  }

  // MARK: Order

  /// Lets an index give the order, where that is less work than sorting.
  private func useOrder(
    of query: QueryCore, _ parts: [FilterExpression], _ total: Int, _ plan: inout QueryPlan
  ) throws(DatabaseError) {
    guard let sort = query.sorts.first, sort.path.keys != nil else { return }
    if case .index(let access) = plan.access, sort.path.leads(to: access.kept.index.path),
      !access.kept.index.eachElement, access.ranges.count == 1,
      access.ranges[0].hasOrder(byBytes: sort.byBytes)
    {
      plan.order = .fromIndex
      return
    }
    guard let limit = query.limit,
      let kept = indexes.first(where: {
        sort.path.leads(to: $0.index.path) && !$0.index.eachElement
      })
    else { return }
    // What the filter says of the property itself bounds the walk.
    var conditions = IndexConditions()
    var isPresent = false
    var others = parts.count
    for (number, part) in parts.enumerated() {
      if case .test(sort.path, let test) = part { _ = conditions.add(test, part: number) }
      if case .not(.test(sort.path, .equal(.null))) = part {
        isPresent = true
        others -= 1
      }
    }
    var range = IndexRange.all
    var answered: Set<Int> = []
    if !conditions.isEmpty {
      let own = conditions.ranges
      guard own.ranges.count == 1, own.ranges[0].hasOrder(byBytes: sort.byBytes) else { return }
      (range, answered) = (own.ranges[0], own.answered)
      isPresent = true
      others -= answered.count
    }
    // Null and what is missing come last here, or not at all; first, they would have to be searched for.
    guard sort.descending || isPresent else { return }
    let entries = try view.estimatedCount(of: kept, range)
    // How many of them fulfil the rest is known from other indexes, or is a guess.
    var matching = Double(entries)
    if others > 0 {
      if case .everything = plan.access { matching /= 10 } else { matching = Double(plan.estimate) }
    }
    let walked = min(
      Double(entries), (Double(limit) + Double(query.offset)) * Double(entries) / max(1, matching))
    let cost = walked * Double(QueryPlanner.lookupCost)
    var other = Double(plan.estimate * QueryPlanner.lookupCost)
    if case .everything = plan.access { other = Double(total) * 2 }
    guard cost < other else { return }
    plan = QueryPlan(
      access: .index(
        IndexAccess(
          kept: kept, ranges: [range], estimate: entries, isFollowedByNone: !isPresent)),
      rest: .joining(
        parts.enumerated().filter { !answered.contains($0.offset) }.map(\.element)),
      order: .fromIndex, estimate: Int(walked))
  }
}

extension IndexRange {
  /// Whether the entries of this range are in the order in which results are sorted.
  fileprivate func hasOrder(byBytes: Bool) -> Bool {
    func isOrdered(_ value: Value) -> Bool {
      switch value {
      case .null, .bool, .int, .unsigned, .double: true
      case .string: byBytes
      case .array, .object: false
      }
    }
    return switch kind {
    case .all: false
    case .equal: true
    case .prefix: byBytes
    case .between(let lower, let upper):
      [lower, upper].compactMap { $0 }.allSatisfy { isOrdered($0.value) }
    }
  }
}
