// Aggregates, groups and single properties of the results of a query, without creating documents.

extension QuerySource {
  /// Computes aggregates of the results of a query.
  ///
  /// It reads each matching document once, however many aggregates there are. For a count it reads
  /// none, if indexes answer the filter.
  ///
  /// ```swift
  /// let (count, oldest) = try snapshot.aggregate(Query<Film>(), .count, .minimum { $0.year })
  /// ```
  ///
  /// - Returns: The value of each aggregate, in their order.
  /// - Throws: The errors of every call of a ``QuerySource``.
  public func aggregate<Subject, each R>(
    _ query: Query<Subject>, _ aggregates: repeat QueryAggregate<Subject, each R>
  ) throws -> (repeat each R) {
    var running: [RunningAggregate] = []
    for aggregate in repeat each aggregates { running.append(try RunningAggregate(aggregate)) }
    let isReading = running.contains(where: \.isReading)
    let execution = try execution(of: query, readsResults: isReading)
    try execution.forEach(inAnyOrder: true) { candidate in
      if isReading { try execution.read(&candidate) }
      for index in running.indices {
        if isReading { try running[index].add(candidate.row) } else { running[index].addUnread() }
      }
      return true
    }
    var index = 0
    return (repeat try (each aggregates).next(of: running, at: &index))
  }

  /// Returns the sum of a property over the results of a query; 0 if there is no number.
  ///
  /// - Throws: The errors of every call of a ``QuerySource``; `invalidQuery` if the sum of integers
  ///   is beyond the range of its type.
  public func sum<Subject, V: _QueryNumber>(
    _ query: Query<Subject>, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) throws -> V.QuerySum { try aggregate(query, .sum(property)) }

  /// Returns the average of a property over the results of a query; nil if there is no number.
  public func average<Subject, V: _QueryNumber>(
    _ query: Query<Subject>, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) throws -> Double? { try aggregate(query, .average(property)) }

  /// Returns the least value of a property among the results of a query; nil if there is none.
  public func minimum<Subject, V: _QueryOrdered>(
    _ query: Query<Subject>, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) throws -> V.QueryConstant? { try aggregate(query, .minimum(property)) }

  /// Returns the greatest value of a property among the results of a query; nil if there is none.
  public func maximum<Subject, V: _QueryOrdered>(
    _ query: Query<Subject>, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) throws -> V.QueryConstant? { try aggregate(query, .maximum(property)) }

  /// Groups the results of a query by equal values of a property, in the sort order of the values.
  ///
  /// Numbers are compared by value, however they are written. Stored values that are read as the
  /// same value, such as two forms of a date, are one group if the type is also `Encodable`: the
  /// form in which it is stored decides. The key of a group is read as in ``values(_:_:)``.
  ///
  /// ```swift
  /// for (year, count) in try snapshot.groups(Query<Film>(), by: { $0.year }, .count) {
  ///   print(year, count)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - query: The query.
  ///   - property: The property to group by.
  ///   - aggregates: The aggregates of each group.
  /// - Returns: The key of each group, and the value of each of its aggregates.
  /// - Throws: The errors of every call of a ``QuerySource``, and those of ``values(_:_:)``.
  public func groups<Subject, V: Decodable, each R>(
    _ query: Query<Subject>, by property: (QuerySubject<Subject>) -> QueryProperty<V>,
    _ aggregates: repeat QueryAggregate<Subject, each R>
  ) throws -> [(key: V, repeat each R)] {
    var running: [RunningAggregate] = []
    for aggregate in repeat each aggregates { running.append(try RunningAggregate(aggregate)) }
    return try groups(
      query, by: property(QuerySubject()), isByBytes: PropertyType.sortsByBytes(V.self), running
    ).map { group in
      var index = 0
      return (key: group.key, repeat try (each aggregates).next(of: group.running, at: &index))
    }
  }

  private func groups<Subject, V: Decodable>(
    _ query: Query<Subject>, by property: QueryProperty<V>, isByBytes: Bool,
    _ fresh: [RunningAggregate]
  ) throws -> [(key: V, running: [RunningAggregate])] {
    let key = try ProjectedProperty(property)
    var groups = ResultGroups<V>(fresh, isByBytes: isByBytes)
    let execution = try execution(of: query, readsResults: true)
    try execution.forEach(inAnyOrder: true) { candidate in
      try execution.read(&candidate)
      let (value, stored) = try key.read(candidate.row)
      try groups.add(candidate.row, to: value, storedAs: stored)
      return true
    }
    return groups.sorted()
  }

  /// Returns the distinct values of a property among the results of a query, in sort order.
  ///
  /// Values that the property's type does not have are left out, such as null and missing values.
  public func distinct<Subject, V: Decodable>(
    _ query: Query<Subject>, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) throws -> [V] {
    let property = property(QuerySubject())
    let stored = QueryProperty<Value>(property.path, refusal: property.refusal)
    let isByBytes = PropertyType.sortsByBytes(V.self)
    let isReadExactly = PropertyType.isReadExactly(V.self)
    var known: Set<[UInt8]> = []
    return try groups(query, by: stored, isByBytes: isByBytes, []).compactMap { group -> V? in
      guard !group.key.isNull, let value = PropertyType.read(group.key, as: V.self) else {
        return nil
      }
      guard !isReadExactly, let form = PropertyType.storedForm(of: value) else { return value }
      return known.insert(SortKeys.bytes(of: form, byBytes: isByBytes)).inserted ? value : nil
    }
  }

  /// Returns the distinct values of a property among the results of a query, in sort order.
  ///
  /// Values that the property's type does not have are left out, such as null and missing values.
  public func distinct<Subject, V: Decodable>(
    _ query: Query<Subject>, _ property: (QuerySubject<Subject>) -> QueryProperty<V?>
  ) throws -> [V] {
    let property = property(QuerySubject())
    return try distinct(query) { _ in QueryProperty<V>(property.path, refusal: property.refusal) }
  }

  /// Returns some properties of each result of a query, in its order.
  ///
  /// Each value is the one that the property of the result would have. If a document has no such
  /// value, a property of a model has its declared value, and an optional is nil. Otherwise the
  /// call throws; ``QueryProperty/optional`` reads such values as nil. Nothing else of the
  /// documents is decoded.
  ///
  /// ```swift
  /// for (title, year) in try snapshot.values(Query<Film>(), { $0.title }, { $0.year }) {
  ///   print(title, year)
  /// }
  /// ```
  ///
  /// - Throws: The errors of every call of a ``QuerySource``; `mismatchedType` if a document has no
  ///   value of a property's type.
  public func values<Subject, each V: Decodable>(
    _ query: Query<Subject>,
    _ properties: repeat (QuerySubject<Subject>) -> QueryProperty<each V>
  ) throws -> [(repeat each V)] {
    let projected = (repeat try ProjectedProperty((each properties)(QuerySubject())))
    let execution = try execution(of: query, readsResults: true)
    var rows: [(repeat each V)] = []
    try execution.forEach { candidate in
      try execution.read(&candidate)
      rows.append((repeat try (each projected).read(candidate.row).value))
      return true
    }
    return rows
  }
}

extension QueryAggregate {
  /// Returns the result of the running aggregate at an index, and advances the index.
  fileprivate func next(
    of running: [RunningAggregate], at index: inout Int
  ) throws(DatabaseError) -> Result {
    defer { index += 1 }
    return try result(running[index].result)
  }
}
