/// An order of results that a search for text determines: see ``Query/sort(_:)``.
///
/// ```swift
/// let milk = Query<Note>().filter { $0.text.matches(.fullText("milk")) }
/// let best = try snapshot.find(milk.sort(.relevance).limit(10))
/// ```
public struct FullTextOrder: Sendable, Hashable {
  private enum Kind: Sendable { case relevance }
  private let kind: Kind

  /// The documents that match best come first.
  ///
  /// A document is more relevant if it has more of the words, if the words are rarer in the index,
  /// if it is shorter, and if they are in a property with a greater weight. Of documents that are
  /// equally relevant, the one that came into the index first is first.
  public static let relevance = FullTextOrder(kind: .relevance)
}
