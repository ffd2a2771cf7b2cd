/// A part of a text that shows the words of a query:
/// ``FullTextQuery/snippet(of:wordCount:property:options:)``.
///
/// ```swift
/// let snippet = query.snippet(of: note.text)
/// for (text, isHighlighted) in snippet.parts {
///   print(isHighlighted ? text.uppercased() : String(text), terminator: "")
/// }
/// ```
public struct FullTextSnippet: Hashable, Sendable {
  /// The part of the text; its indices are those of the whole text.
  public let text: Substring
  /// What to highlight in ``text``, and in the whole text: in order, and not overlapping.
  public let highlights: [Range<String.Index>]
  /// Whether the text has words before the snippet.
  public let isCutAtStart: Bool
  /// Whether the text has words after the snippet.
  public let isCutAtEnd: Bool

  /// The snippet in its pieces, which are highlighted or not; together they are ``text``.
  public var parts: [(text: Substring, isHighlighted: Bool)] {
    var parts: [(text: Substring, isHighlighted: Bool)] = []
    var end = text.startIndex
    for range in highlights {
      if end < range.lowerBound { parts.append((text[end..<range.lowerBound], false)) }
      parts.append((text[range], true))
      end = range.upperBound
    }
    if end < text.endIndex { parts.append((text[end...], false)) }
    return parts
  }

  /// Returns the snippet as a string, with marks around what is highlighted.
  ///
  /// ```swift
  /// snippet.marked("[", "]")  // "… the [urgent milk] for …"
  /// ```
  ///
  /// The text is not escaped. For HTML, escape the ``parts``.
  ///
  /// - Parameters:
  ///   - start: The mark before what is highlighted.
  ///   - end: The mark behind it.
  ///   - ellipsis: What stands for the text before and after the snippet, if there is any.
  /// - Returns: The text with the marks.
  public func marked(_ start: String, _ end: String, ellipsis: String = "…") -> String {
    var result = isCutAtStart && !ellipsis.isEmpty ? ellipsis + " " : ""
    for part in parts {
      if part.isHighlighted { result += start }
      result += part.text
      if part.isHighlighted { result += end }
    }
    return isCutAtEnd && !ellipsis.isEmpty ? result + " " + ellipsis : result
  }
}

extension FullTextSnippet {
  init(_ snippet: TextSnippet, of text: String) {
    var ends = TextPlaces(text)
    var places = TextPlaces(text)
    self.text = text[ends.range(snippet.range)]
    highlights = snippet.highlights.map { places.range($0) }
    isCutAtStart = snippet.isCutAtStart
    isCutAtEnd = snippet.isCutAtEnd
  }
}
