extension FullTextQuery {
  /// Returns the parts of a text that the query finds, to highlight them.
  ///
  /// ```swift
  /// let query = FullTextQuery.fullText("cafe")
  /// let ranges = query.highlights(in: "Two Cafés.")  // the range of "Cafés"
  /// ```
  ///
  /// Excluded words are not highlighted. It takes time proportional to the text.
  ///
  /// - Parameters:
  ///   - text: The text, such as a property of a document.
  ///   - property: The path of the property that has the text, with dots: words that the query asks
  ///     for in other properties are not highlighted. Nil to highlight all words.
  ///   - options: The options of the index, so that the same words match.
  /// - Returns: The ranges of whole words and phrases, in order and not overlapping.
  public func highlights(
    in text: String, property: String? = nil, options: FullTextOptions = FullTextOptions()
  ) -> [Range<String.Index>] {
    guard let highlighter = highlighter(of: property, options) else { return [] }
    var places = TextPlaces(text)
    return highlighter.highlights(in: Array(text.utf8)).map { places.range($0) }
  }

  /// Returns the part of a text that shows most of the query, for a list of results.
  ///
  /// ```swift
  /// let snippet = query.snippet(of: note.text, wordCount: 12)
  /// print(snippet.marked("*", "*"))  // … two cups of *milk*, and flour …
  /// ```
  ///
  /// It takes time proportional to the text.
  ///
  /// - Parameters:
  ///   - text: The text, such as a property of a document.
  ///   - wordCount: About how many words to show. Phrases are not cut, and stop words do not count.
  ///   - property: The path of the property that has the text, with dots: words that the query asks
  ///     for in other properties do not count. Nil for all words.
  ///   - options: The options of the index, so that the same words match.
  /// - Returns: The first part of the text that has the most different words of the query; the
  ///   beginning of the text if it has none.
  public func snippet(
    of text: String, wordCount: Int = 20, property: String? = nil,
    options: FullTextOptions = FullTextOptions()
  ) -> FullTextSnippet {
    // A query that has no word finds nothing, and shows the beginning of the text.
    let highlighter =
      highlighter(of: property, options) ?? TextHighlighter(.all([]), options.analysis)
    let snippet = highlighter.snippet(in: Array(text.utf8), wordCount: wordCount)
    return FullTextSnippet(snippet, of: text)
  }

  /// The highlighter of the query in the text of a property; nil if the query has no word.
  ///
  /// The properties of the index are not known here: a name before a colon is one if it is this
  /// property's, or has a weight. For the words of all properties, it may be one or not.
  private func highlighter(of property: String?, _ options: FullTextOptions) -> TextHighlighter? {
    let first = expression { $0 == property || options.weights[$0] != nil }
    guard var found = first else { return nil }
    if property == nil, let named = expression(isField: { _ in true }), named != found {
      found = .any([found, named])
    }
    return TextHighlighter(found, options.analysis, field: property)
  }
}

/// Finds the indices of a text by their offsets in UTF-8, which ascend.
struct TextPlaces {
  private let text: String
  private var last: (offset: Int, index: String.Index)

  init(_ text: String) {
    self.text = text
    last = (0, text.startIndex)
  }

  /// Returns the range of some bytes that are not before those of the call before.
  mutating func range(_ bytes: Range<Int>) -> Range<String.Index> {
    let start = index(bytes.lowerBound)
    return start..<index(bytes.upperBound)
  }

  private mutating func index(_ offset: Int) -> String.Index {
    // From the last one, because strings of Apple's systems may be stored in UTF-16.
    let index = text.utf8.index(last.index, offsetBy: offset - last.offset)
    last = (offset, index)
    return index
  }
}
