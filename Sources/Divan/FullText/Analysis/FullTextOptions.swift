/// How a full-text index makes terms of text, and how much each property counts.
///
/// ```swift
/// var options = FullTextOptions(stemming: .english)
/// options.weights = ["title": 4]
/// try database.addIndex(DocumentIndex("text", fullText: "title", "body", options: options))
/// ```
///
/// The options are part of the index: a query is read with the options of the index that answers
/// it. Two indexes with other options are two indexes, so replacing an index with other options
/// builds it again. Weights are the exception: a class or a schema that declares other weights
/// changes those of the index.
public struct FullTextOptions: Hashable, Sendable {
  /// A language whose stemmer or stop words are used.
  ///
  /// ```swift
  /// let language = FullTextOptions.Language(rawValue: setting)  // such as "german"
  /// let options = FullTextOptions(stemming: language, stopWords: language.map { [$0] } ?? [])
  /// try database.addIndex(DocumentIndex("text", fullText: "body", options: options))
  /// ```
  public enum Language: String, Hashable, Sendable, CaseIterable {
    /// English.
    case english
    /// German.
    case german
  }

  /// The language whose words are reduced to their stems; nil for words as they are.
  ///
  /// With English stems, `painting` finds `painted`.
  public var stemming: Language?
  /// The languages whose most frequent words are left out of the index.
  public var stopWords: Set<Language>
  /// Whether `café` is found as `cafe`, and the other way round.
  public var ignoresDiacritics: Bool
  /// How much a property counts for relevance, by its path with dots; 1 where it is not given.
  ///
  /// Weights are from 0 to 1,000,000. The words of a property with the weight 0 are found, and
  /// do not count.
  public var weights: [String: Double]

  /// Creates options.
  ///
  /// - Parameters:
  ///   - stemming: The language whose words are reduced to their stems; nil for none.
  ///   - stopWords: The languages whose most frequent words are left out.
  ///   - ignoresDiacritics: Whether `café` is found as `cafe`.
  ///   - weights: How much each property counts, by its path; 1 where it is not given.
  public init(
    stemming: Language? = nil, stopWords: Set<Language> = [], ignoresDiacritics: Bool = true,
    weights: [String: Double] = [:]
  ) {
    self.stemming = stemming
    self.stopWords = stopWords
    self.ignoresDiacritics = ignoresDiacritics
    self.weights = weights
  }

  /// What the analysis of text needs to know.
  var analysis: AnalysisOptions {
    AnalysisOptions(
      stemming: stemming, stopWords: stopWords, removesDiacritics: ignoresDiacritics)
  }
}
