/// An order of results that a search for text determines: see ``Query/sort(_:)``.
///
/// ```swift
/// let milk = Query<Note>().filter { $0.text.matches(.fullText("milk")) }
/// let best = try snapshot.find(milk.sort(.relevance).limit(10))
/// ```
public struct FullTextOrder: Sendable {
  /// What computes the score of a match; nil for BM25.
  let scoring: FullTextScoring?

  /// The documents that match best come first.
  ///
  /// A document is more relevant if it has more of the words, if the words are rarer in the index,
  /// if it is shorter, and if they are in a property with a greater weight. Of documents that are
  /// equally relevant, the one that came into the index first is first.
  public static let relevance = FullTextOrder(scoring: nil)

  /// The documents with the highest scores come first, which a function computes.
  ///
  /// ```swift
  /// // How much of the title the query covers, and then how relevant the whole note is.
  /// let order = FullTextOrder.score { match in
  ///   match.relevance + 10 * Double(match.count(in: "title"))
  ///     / Double(1 + match.wordCount(in: "title"))
  /// }
  /// let notes = try context.find(query.sort(order).limit(10))
  /// ```
  ///
  /// The function is called for each match, on the thread that executes the query, and again if
  /// further results are needed. So it returns the same for equal figures. A result that is not a
  /// number is the lowest score.
  ///
  /// Each call of this function makes another order, and queries with different orders are not
  /// equal. Keep an order in a constant where queries are compared, as in a SwiftUI view.
  public static func score(
    _ function: @escaping @Sendable (FullTextMatch) -> Double
  ) -> FullTextOrder {
    FullTextOrder(scoring: FullTextScoring(function))
  }
}

extension FullTextOrder: Hashable {
  /// Whether two orders are the same; of functions, only the same call of ``score(_:)`` made the
  /// same.
  public static func == (a: FullTextOrder, b: FullTextOrder) -> Bool { a.scoring === b.scoring }

  /// Hashes the order.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(scoring.map(ObjectIdentifier.init))
  }
}

extension FullTextOrder: CustomStringConvertible {
  /// A textual description of the order, as part of that of a query.
  public var description: String { scoring == nil ? "by relevance" : "by a score" }
}
