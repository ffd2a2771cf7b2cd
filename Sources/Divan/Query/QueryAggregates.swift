// Numbers, groups and single properties of what a query means, without making documents.

/// A number that is made of many results: see ``QuerySource/groups(_:by:_:)``.
///
/// What is no number, or not there, counts for nothing in a sum or an average, nor does a number that the property's type
/// does not have, such as `2.5` where that is `Int`; the least and the greatest value are found
/// in the order in which results are sorted, without null and what is missing.
///
/// Whole numbers are added exactly, and their sum is whole as long as it is one that can be stored, from the least `Int64`
/// to the greatest `UInt64`. Beyond that, and wherever one of the numbers is a `Double` (of a property of whole numbers none
/// is, however it is stored), the sum is a `Double`: what is
/// whole in it was added exactly, and the rest with an error far below that of adding one by one. A sum beyond the
/// greatest `Double` is infinite. An average is a `Double`.
public struct QueryAggregate<Subject>: Sendable {
  let kind: AggregateKind
  let path: QueryPath
  /// Whether the least and the greatest text are those by bytes: of dates, that is by time.
  let byBytes: Bool
  /// Which numbers are added up.
  let counting: NumberCounting
  let refusal: DatabaseError?

  /// How many results there are.
  public static var count: QueryAggregate {
    QueryAggregate(
      kind: .count, path: QueryPath(), byBytes: false, counting: .all, refusal: nil)
  }

  /// The sum of a property; 0 if there is no number.
  public static func sum<V>(_ property: (QuerySubject<Subject>) -> QueryProperty<V>) -> Self {
    make(.sum, property)
  }

  /// The average of a property; null if there is no number.
  public static func average<V>(_ property: (QuerySubject<Subject>) -> QueryProperty<V>) -> Self {
    make(.average, property)
  }

  /// The least value of a property; null if there is none.
  public static func min<V>(_ property: (QuerySubject<Subject>) -> QueryProperty<V>) -> Self {
    make(.min, property)
  }

  /// The greatest value of a property; null if there is none.
  public static func max<V>(_ property: (QuerySubject<Subject>) -> QueryProperty<V>) -> Self {
    make(.max, property)
  }

  private static func make<V>(
    _ kind: AggregateKind, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) -> Self {
    let property = property(QuerySubject())
    return QueryAggregate(
      kind: kind, path: property.path, byBytes: QueryAggregate.sortsByBytes(V.self),
      counting: NumberCounting(V.self), refusal: property.refusal?.error)
  }

  /// Whether the texts that values of a type are stored as are in the order of their bytes.
  fileprivate static func sortsByBytes(_ type: Any.Type) -> Bool {
    (type as? any QueryOrdered.Type)?.sortsByBytes ?? false
  }
}

enum AggregateKind: Sendable { case count, sum, average, min, max }

/// The results of a query that have the same values of some property.
public struct QueryGroup: Sendable, Hashable {
  /// The value that they have in common; null where it is missing.
  public let key: Value
  /// What was asked of the group, in the order in which it was asked.
  public let values: [Value]
}

extension QuerySource {
  /// Numbers that are made of the results of a query.
  ///
  /// Reads each document that is meant once, however many numbers are asked for; for a count none, where indexes answer
  /// the filter.
  ///
  /// - Returns: as many values as there are aggregates, in their order.
  public func aggregate<Subject>(
    _ query: Query<Subject>, _ aggregates: QueryAggregate<Subject>...
  ) throws -> [Value] {
    var sums = try aggregates.map { try RunningAggregate($0) }
    let isReading = aggregates.contains { $0.kind != .count }
    let run = try run(query, readsResults: isReading)
    try run.forEachInAnyOrder { hit in
      if isReading { try run.read(&hit) }
      for index in sums.indices {
        if isReading { try sums[index].add(hit.row) } else { sums[index].addUnread() }
      }
      return true
    }
    return sums.map(\.result)
  }

  /// The sum of a property over the results of a query; 0 if there is no number.
  ///
  /// A whole sum beyond 2⁵³ is rounded to a `Double` here; ``aggregate(_:_:)`` has it as it is.
  public func sum<Subject, V>(
    _ query: Query<Subject>, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) throws -> Double { try aggregate(query, .sum(property))[0].doubleValue ?? 0 }

  /// The average of a property over the results of a query; nil if there is no number.
  public func average<Subject, V>(
    _ query: Query<Subject>, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) throws -> Double? { try aggregate(query, .average(property))[0].doubleValue }

  /// The least value of a property among the results of a query; nil if there is none.
  public func minimum<Subject, V>(
    _ query: Query<Subject>, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) throws -> Value? { try aggregate(query, .min(property))[0].unlessNull }

  /// The greatest value of a property among the results of a query; nil if there is none.
  public func maximum<Subject, V>(
    _ query: Query<Subject>, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) throws -> Value? { try aggregate(query, .max(property))[0].unlessNull }

  /// The results of a query in groups of equal values of a property, in the order in which values are sorted.
  ///
  /// Numbers are equal however they are written; null and what is missing make one group.
  ///
  /// - Parameters:
  ///   - query: what is meant.
  ///   - property: by what it is grouped.
  ///   - aggregates: what is asked of each group.
  /// - Returns: the groups, with as many values each as there are aggregates.
  /// - Throws: as every call of a ``QuerySource``.
  public func groups<Subject, V>(
    _ query: Query<Subject>, by property: (QuerySubject<Subject>) -> QueryProperty<V>,
    _ aggregates: QueryAggregate<Subject>...
  ) throws -> [QueryGroup] {
    let property = property(QuerySubject())
    if let refusal = property.refusal { throw refusal.error }
    let fresh = try aggregates.map { try RunningAggregate($0) }
    let path = CompiledPath(property.path)
    let byBytes = QueryAggregate<Subject>.sortsByBytes(V.self)
    var groups: [[UInt8]: (key: Value, sums: [RunningAggregate])] = [:]
    let run = try run(query, readsResults: true)
    try run.forEachInAnyOrder { hit in
      try run.read(&hit)
      let value = try hit.row.value(at: path) ?? .null
      let bytes = SortKeys.bytes(of: value, byBytes: byBytes)
      var group = groups.removeValue(forKey: bytes) ?? (value, fresh)
      for index in group.sums.indices { try group.sums[index].add(hit.row) }
      groups[bytes] = group
      return true
    }
    return groups.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
      QueryGroup(key: $0.value.key, values: $0.value.sums.map(\.result))
    }
  }

  /// The different values that a property has among the results of a query, in the order in which values are sorted, null
  /// and missing ones left out.
  public func distinct<Subject, V>(
    _ query: Query<Subject>, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) throws -> [Value] { try groups(query, by: property).map(\.key).filter { !$0.isNull } }

  /// Some properties of each result of a query, in its order; null for what is missing.
  ///
  /// Nothing else of the documents is decoded.
  public func values<Subject, each V>(
    _ query: Query<Subject>,
    _ properties: repeat (QuerySubject<Subject>) -> QueryProperty<each V>
  ) throws -> [[Value]] {
    var paths: [CompiledPath] = []
    for property in repeat each properties {
      let property = property(QuerySubject())
      if let refusal = property.refusal { throw refusal.error }
      paths.append(CompiledPath(property.path))
    }
    let run = try run(query, readsResults: true)
    var rows: [[Value]] = []
    try run.forEach { hit in
      try run.read(&hit)
      var row: [Value] = []
      row.reserveCapacity(paths.count)
      for path in paths { row.append(try hit.row.value(at: path) ?? .null) }
      rows.append(row)
      return true
    }
    return rows
  }
}

extension Value {
  fileprivate var unlessNull: Value? { isNull ? nil : self }
}
