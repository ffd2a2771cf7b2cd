// Aggregates, groups and single properties of the results of a query, without creating documents.

/// The results of a query that have the same value of a property.
public struct QueryGroup: Sendable, Hashable {
  /// The value that they share; null if it is missing.
  public let key: Value
  /// The values of the group's aggregates, in their order.
  public let values: [Value]
}

extension QuerySource {
  /// Computes aggregates of the results of a query.
  ///
  /// It reads each matching document once, however many aggregates there are. For a count it reads
  /// none, if indexes answer the filter.
  ///
  /// - Returns: as many values as there are aggregates, in their order.
  public func aggregate<Subject>(
    _ query: Query<Subject>, _ aggregates: QueryAggregate<Subject>...
  ) throws -> [Value] {
    var sums = try aggregates.map { try RunningAggregate($0) }
    let isReading = aggregates.contains { $0.kind != .count }
    let execution = try execution(of: query, readsResults: isReading)
    try execution.forEachInAnyOrder { candidate in
      if isReading { try execution.read(&candidate) }
      for index in sums.indices {
        if isReading { try sums[index].add(candidate.row) } else { sums[index].addUnread() }
      }
      return true
    }
    return sums.map(\.result)
  }

  /// Returns the sum of a property over the results of a query; 0 if there is no number.
  ///
  /// An integer sum beyond 2⁵³ is rounded to a `Double` here; ``aggregate(_:_:)`` returns it
  /// exactly.
  public func sum<Subject, V>(
    _ query: Query<Subject>, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) throws -> Double { try aggregate(query, .sum(property))[0].doubleValue ?? 0 }

  /// Returns the average of a property over the results of a query; nil if there is no number.
  public func average<Subject, V>(
    _ query: Query<Subject>, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) throws -> Double? { try aggregate(query, .average(property))[0].doubleValue }

  /// Returns the least value of a property among the results of a query; nil if there is none.
  public func minimum<Subject, V>(
    _ query: Query<Subject>, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) throws -> Value? { try aggregate(query, .min(property))[0].unlessNull }

  /// Returns the greatest value of a property among the results of a query; nil if there is none.
  public func maximum<Subject, V>(
    _ query: Query<Subject>, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) throws -> Value? { try aggregate(query, .max(property))[0].unlessNull }

  /// Groups the results of a query by equal values of a property, in the sort order of the values.
  ///
  /// Numbers are compared by value, however they are written. Null and missing values form one
  /// group.
  ///
  /// - Parameters:
  ///   - query: the query.
  ///   - property: the property to group by.
  ///   - aggregates: the aggregates of each group.
  /// - Returns: the groups, with as many values each as there are aggregates.
  /// - Throws: the errors of every call of a ``QuerySource``.
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
    let execution = try execution(of: query, readsResults: true)
    try execution.forEachInAnyOrder { candidate in
      try execution.read(&candidate)
      let value = try candidate.row.value(at: path) ?? .null
      let bytes = SortKeys.bytes(of: value, byBytes: byBytes)
      var group = groups.removeValue(forKey: bytes) ?? (value, fresh)
      for index in group.sums.indices { try group.sums[index].add(candidate.row) }
      groups[bytes] = group
      return true
    }
    return groups.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
      QueryGroup(key: $0.value.key, values: $0.value.sums.map(\.result))
    }
  }

  /// Returns the distinct values of a property among the results of a query, in sort order.
  ///
  /// Null and missing values are left out.
  public func distinct<Subject, V>(
    _ query: Query<Subject>, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) throws -> [Value] { try groups(query, by: property).map(\.key).filter { !$0.isNull } }

  /// Returns some properties of each result of a query, in its order; null for missing ones.
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
    let execution = try execution(of: query, readsResults: true)
    var rows: [[Value]] = []
    try execution.forEach { candidate in
      try execution.read(&candidate)
      var row: [Value] = []
      row.reserveCapacity(paths.count)
      for path in paths { row.append(try candidate.row.value(at: path) ?? .null) }
      rows.append(row)
      return true
    }
    return rows
  }
}

extension Value {
  fileprivate var unlessNull: Value? { isNull ? nil : self }
}
