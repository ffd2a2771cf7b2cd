/// The direction in which the results of a query are sorted.
public enum SortDirection: Sendable, Hashable {
  /// The smallest value comes first.
  case ascending
  /// The greatest value comes first.
  case descending
}
