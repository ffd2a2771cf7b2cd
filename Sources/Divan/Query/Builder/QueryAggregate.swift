/// A value that is computed from many results: see ``QuerySource/groups(_:by:_:)``.
///
/// A sum or an average ignores values that are missing or not numbers. It also ignores numbers that
/// the property's type does not have, such as `2.5` if that is `Int`. The minimum and the maximum
/// are found in the sort order of results, without null and missing values.
///
/// Integers are added exactly, and their sum is an integer if it can be stored: from the least
/// `Int64` to the greatest `UInt64`. Otherwise the sum is a `Double`; it also is if one of the
/// numbers is a `Double`. (A property of an integer type has no `Double`, however its numbers are
/// stored.) Even then, integers are added exactly, and other numbers with an error far below that
/// of adding one by one. A sum beyond the greatest `Double` is infinite. An average is a `Double`.
public struct QueryAggregate<Subject>: Sendable {
  let kind: AggregateKind
  let path: QueryPath
  /// Whether texts are compared by their bytes: for dates, that is by time.
  let byBytes: Bool
  /// The numbers that are added.
  let counting: NumberCounting
  let refusal: DatabaseError?

  /// The number of results.
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

  /// Whether values of a type are stored as texts that are sorted by their bytes.
  static func sortsByBytes(_ type: Any.Type) -> Bool {
    (type as? any _QueryOrdered.Type)?.sortsByBytes ?? false
  }
}

enum AggregateKind: Sendable { case count, sum, average, min, max }
