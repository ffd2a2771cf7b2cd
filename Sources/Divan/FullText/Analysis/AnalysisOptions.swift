/// How text becomes terms: what an index and its queries must agree about.
package struct AnalysisOptions: Hashable, Sendable {
  package typealias Language = FullTextOptions.Language

  /// The language of the stemmer; nil for no stemming.
  package var stemming: Language?
  /// The languages whose stop words are left out of the index.
  package var stopWords: Set<Language>
  /// Whether `café` is found as `cafe`, and the other way round.
  package var removesDiacritics: Bool

  /// Creates options; by default there is no stemming, no stop word and no diacritic.
  package init(
    stemming: Language? = nil, stopWords: Set<Language> = [], removesDiacritics: Bool = true
  ) {
    (self.stemming, self.stopWords) = (stemming, stopWords)
    self.removesDiacritics = removesDiacritics
  }

  /// The version of the rules that make terms of text.
  ///
  /// It changes with every change of the tables, of where words end, of the stemmers, the stop
  /// words or the n-grams. An index that was built with another version has to be built again.
  package static let version = 1
}
