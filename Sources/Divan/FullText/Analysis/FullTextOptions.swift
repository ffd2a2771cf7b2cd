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
  /// Whether the index also has the text of the documents' attachments.
  ///
  /// ```swift
  /// let options = FullTextOptions(includesAttachments: true, weights: ["_attachments": 0.5])
  /// try database.addIndex(DocumentIndex("mail", fullText: "subject", options: options))
  /// let query = Query<Document>().filter(
  ///   .matches(.fullText("_attachments:milk"), index: "mail"))
  /// ```
  ///
  /// The text of all attachments is one more property of the index, with the name `_attachments`.
  /// An attachment has text if its content type begins with `text/` and names no `charset` other
  /// than UTF-8 or US-ASCII. Bytes that are not UTF-8 count as U+FFFD. Markup is text like any
  /// other. The index has the first 4 MiB of an attachment, and of a document 16 MiB in the order
  /// of the attachments' names.
  ///
  /// A commit that changes the text of a document or of its attachments reads all of them.
  public var includesAttachments: Bool
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
  ///   - includesAttachments: Whether the index has the text of attachments, as `_attachments`.
  ///   - weights: How much each property counts, by its path; 1 where it is not given.
  public init(
    stemming: Language? = nil, stopWords: Set<Language> = [], ignoresDiacritics: Bool = true,
    includesAttachments: Bool = false, weights: [String: Double] = [:]
  ) {
    self.stemming = stemming
    self.stopWords = stopWords
    self.ignoresDiacritics = ignoresDiacritics
    self.includesAttachments = includesAttachments
    self.weights = weights
  }

  /// The name that the text of attachments has among the properties of an index.
  ///
  /// No document has a property with it, because names that begin with an underscore are reserved.
  static let attachmentsName = "_attachments"

  /// What the analysis of text needs to know.
  var analysis: AnalysisOptions {
    AnalysisOptions(
      stemming: stemming, stopWords: stopWords, removesDiacritics: ignoresDiacritics)
  }
}
