internal import DivanLog

/// What a full-text index knows of a document that a search finds.
///
/// ``FullTextOrder/score(_:)`` makes a score of it. The parts of a query are its words, phrases and
/// prefixes, in order; those that are excluded are no parts. Properties are named by their paths,
/// with dots, as the index has them.
///
/// ```swift
/// let order = FullTextOrder.score { match in
///   let isInTitle = (0..<match.partCount).contains { match.count(ofPart: $0, in: "title") > 0 }
///   return isInTitle ? 2 * match.relevance : match.relevance
/// }
/// let notes = try context.find(query.sort(order).limit(10))
/// ```
///
/// More than 255 occurrences in a property count as 255, where a part is the beginning of many
/// words.
public struct FullTextMatch: Sendable {
  private let search: FullTextScoring.Search
  private let frequencies: TermFrequencies
  /// The number of words in each property, from ``lengthsStart`` on.
  private let lengths: [Int]
  private let lengthsStart: Int

  init(
    _ search: FullTextScoring.Search, _ frequencies: TermFrequencies, _ lengths: [Int],
    at start: Int
  ) {
    (self.search, self.frequencies) = (search, frequencies)
    (self.lengths, lengthsStart) = (lengths, start)
  }

  /// The number of parts that the query has.
  public var partCount: Int { search.partCounts.count }

  /// The score by which ``FullTextOrder/relevance`` orders: BM25 with the weights of the index.
  public var relevance: Double { search.ranking.score(frequencies, lengths, at: lengthsStart) }

  /// Returns how often the query occurs in a property of the document: the sum of its parts.
  ///
  /// It is zero for a property that the index does not have.
  public func count(in property: String) -> Int {
    (0..<partCount).reduce(0) { $0 + count(ofPart: $1, in: property) }
  }

  /// Returns how often a part of the query occurs in a property of the document.
  ///
  /// - Precondition: `part` is one of the first ``partCount`` numbers, from zero on.
  public func count(ofPart part: Int, in property: String) -> Int {
    require((0..<partCount).contains(part), "The query has \(partCount) parts, and not \(part)")
    guard let field = search.properties.firstIndex(of: property) else { return 0 }
    return frequencies[part, field]
  }

  /// Returns the number of words in a property of the document, with stop words left out.
  public func wordCount(in property: String) -> Int {
    search.properties.firstIndex(of: property).map { lengths[lengthsStart + $0] } ?? 0
  }

  /// Returns the average number of words in a property, of the documents that have it.
  public func averageWordCount(in property: String) -> Double {
    search.properties.firstIndex(of: property).map { search.averageLengths[$0] } ?? 0
  }

  /// The number of documents in the index.
  public var documentCount: Int { search.documentCount }

  /// Returns the number of documents with a part of the query, or an upper bound of it.
  ///
  /// - Precondition: `part` is one of the first ``partCount`` numbers, from zero on.
  public func documentCount(ofPart part: Int) -> Int {
    require((0..<partCount).contains(part), "The query has \(partCount) parts, and not \(part)")
    return search.partCounts[part]
  }
}

/// A function that scores matches; the same object is the same order.
final class FullTextScoring: Sendable {
  let function: @Sendable (FullTextMatch) -> Double

  init(_ function: @escaping @Sendable (FullTextMatch) -> Double) { self.function = function }

  /// What all matches of a search have in common.
  final class Search: Sendable {
    let properties: [String]
    let ranking: RelevanceRanking
    let documentCount: Int
    let partCounts: [Int]
    let averageLengths: [Double]

    init(
      _ properties: [String], _ ranking: RelevanceRanking, documentCount: Int, partCounts: [Int],
      averageLengths: [Double]
    ) {
      (self.properties, self.ranking, self.documentCount) = (properties, ranking, documentCount)
      (self.partCounts, self.averageLengths) = (partCounts, averageLengths)
    }
  }
}
