/// The order of texts, for instance among the results of a query.
///
/// ```swift
/// let byLetters = Query<Document>().sorted(by: "title")  // "a", "Z"
/// let byBytes = Query<Document>().sorted(by: "title", texts: .bytes)  // "Z", "a"
/// ```
public enum TextOrder: Sendable, Hashable {
  /// As people sort them: by letters first, then by accents and case; see ``Collation``.
  case collated
  /// By the bytes of their UTF-8, as in an index, which can then deliver the results in order.
  case bytes
}
