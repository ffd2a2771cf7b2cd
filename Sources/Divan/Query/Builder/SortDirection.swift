/// The direction in which the results of a query are sorted.
///
/// ```swift
/// let newest = Query<Film>().sorted(by: \.year, .descending).sorted(by: \.title).limit(2)
/// ```
public enum SortDirection: Sendable, Hashable {
  /// The smallest value comes first.
  case ascending
  /// The greatest value comes first.
  case descending
}
