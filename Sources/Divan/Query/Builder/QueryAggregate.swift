/// A value that is computed from many results: see ``QuerySource/groups(_:by:_:)``.
///
/// ```swift
/// let films = Query<Film>()
/// let years = try snapshot.groups(films, by: { $0.year }, .count, .average { $0.minutes })
/// for (year, count, minutes) in years { print(year, count, minutes ?? 0) }
/// ```
///
/// Values that the property's type does not have are ignored: missing ones, null, a text in a
/// property of type `Int`, and also `2.5` there.
///
/// Integers are added exactly. A sum of `Double` adds integers exactly too, and other numbers with
/// an error far below that of adding one by one. A sum that is beyond the greatest `Double`, at the
/// end or on the way, is infinite, and so is its average; results are added in no particular order.
/// For a property of type ``Value``, the sum is an integer if all numbers are, and if it can be
/// stored as one. The minimum and the maximum are found in the sort order of results.
public struct QueryAggregate<Subject, Result>: Sendable {
  let kind: AggregateKind
  let path: QueryPath
  /// Whether texts are compared by their bytes: for dates, that is by time.
  let byBytes: Bool
  /// The numbers that are added.
  let counting: NumberCounting
  /// Whether the property's type has a stored value.
  let accepts: @Sendable (Value) -> Bool
  /// Converts the computed value.
  let result: @Sendable (Value) throws(DatabaseError) -> Result
  let refusal: DatabaseError?

  private init<V>(
    _ kind: AggregateKind, of property: QueryProperty<V>,
    accepts: @escaping @Sendable (Value) -> Bool = { _ in true },
    result: @escaping @Sendable (Value) throws(DatabaseError) -> Result
  ) {
    self.kind = kind
    path = property.path
    byBytes = PropertyType.sortsByBytes(V.self)
    counting = NumberCounting(V.self)
    self.accepts = accepts
    self.result = result
    refusal = property.refusal?.error
  }
}

extension QueryAggregate where Result == Int {
  /// The number of results.
  public static var count: QueryAggregate {
    QueryAggregate(.count, of: QueryProperty<Value>(QueryPath())) { Int($0.intValue ?? 0) }
  }
}

extension QueryAggregate where Result == Double? {
  /// The average of a property; nil if there is no number.
  public static func average<V: _QueryNumber>(
    _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) -> QueryAggregate {
    QueryAggregate(.average, of: property(QuerySubject())) { $0.doubleValue }
  }
}

extension QueryAggregate {
  /// The sum of a property; 0 if there is no number.
  ///
  /// Small integer types are added as `Int`. Computing it throws
  /// ``DatabaseError/Code/invalidQuery`` if the sum of integers is beyond its type.
  public static func sum<V: _QueryNumber>(
    _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) -> QueryAggregate where Result == V.QuerySum {
    QueryAggregate(.sum, of: property(QuerySubject())) { sum throws(DatabaseError) in
      if let result = V._querySum(sum) { return result }
      throw DatabaseError(
        .invalidQuery, "the sum \(sum) is beyond the range of \(V.QuerySum.self)",
        hint: "Add up fewer documents, or compute the average")
    }
  }

  /// The least value of a property; nil if there is none.
  public static func minimum<V: _QueryOrdered>(
    _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) -> QueryAggregate where Result == V.QueryConstant? { extreme(.min, property) }

  /// The greatest value of a property; nil if there is none.
  public static func maximum<V: _QueryOrdered>(
    _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) -> QueryAggregate where Result == V.QueryConstant? { extreme(.max, property) }

  private static func extreme<V: _QueryOrdered>(
    _ kind: AggregateKind, _ property: (QuerySubject<Subject>) -> QueryProperty<V>
  ) -> QueryAggregate where Result == V.QueryConstant? {
    QueryAggregate(
      kind, of: property(QuerySubject()),
      accepts: { PropertyType.read($0, as: V.QueryConstant.self) != nil },
      result: { $0.isNull ? nil : PropertyType.read($0, as: V.QueryConstant.self) })
  }
}

enum AggregateKind: Sendable { case count, sum, average, min, max }
