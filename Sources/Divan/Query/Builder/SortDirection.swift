/// The direction in which the results of a query are sorted.
public enum SortDirection: Sendable, Hashable {
  /// The smallest value comes first.
  case ascending
  /// The greatest value comes first.
  case descending
}

/// The order of texts among the results of a query.
public enum TextOrder: Sendable, Hashable {
  /// As people sort them: by letters first, then by accents and case; see ``Collation``.
  case collated
  /// By the bytes of their UTF-8, as in an index, which can then deliver the results in order.
  case bytes
}
