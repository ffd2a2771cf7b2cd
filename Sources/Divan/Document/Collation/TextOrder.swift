/// The order of texts, for instance among the results of a query.
public enum TextOrder: Sendable, Hashable {
  /// As people sort them: by letters first, then by accents and case; see ``Collation``.
  case collated
  /// By the bytes of their UTF-8, as in an index, which can then deliver the results in order.
  case bytes
}
