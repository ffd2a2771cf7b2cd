/// A part of a text that shows the words of a query.
struct TextSnippet: Hashable, Sendable {
  /// The bytes of the text that are shown.
  let range: Range<Int>
  /// The bytes to highlight, in the text: ascending, not overlapping, within ``range``.
  let highlights: [Range<Int>]
  /// Whether the text has words before the snippet.
  let isCutAtStart: Bool
  /// Whether the text has words after the snippet.
  let isCutAtEnd: Bool
}

extension TextHighlighter {
  /// Returns the part of a text that shows most of the query.
  ///
  /// It has the most different parts of the query that are within `wordCount` words, then the most
  /// matches, and then it is the first such part of the text. The matches are in its middle. If the
  /// text has no match, the snippet is its beginning. A phrase that begins in the snippet is shown
  /// as a whole. Stop words are not counted, and one word is the least.
  func snippet(in text: [UInt8], wordCount: Int) -> TextSnippet {
    let findings = findings(in: text)
    let count = findings.ranges.count
    let wordCount = min(max(wordCount, 1), max(count, 1))
    guard count > 0 else {
      return TextSnippet(
        range: 0..<0, highlights: [], isCutAtStart: false, isCutAtEnd: false)
    }
    let matches = bestMatches(findings.matches, wordCount)
    let shown = findings.matches[matches]
    var (start, end) = (0, min(wordCount, count))
    if let first = shown.first {
      let lastTerm = shown.reduce(0) { max($0, $1.terms.upperBound) }
      let free = max(0, wordCount - (lastTerm - first.terms.lowerBound))
      start = max(0, min(first.terms.lowerBound - free / 2, count - wordCount))
      end = max(lastTerm, min(start + wordCount, count))
    }
    let lower = start == 0 ? 0 : findings.ranges[start].lowerBound
    let upper =
      end == count
      ? text.count : findings.ranges[start..<end].reduce(0) { max($0, $1.upperBound) }
    let highlights = TextHighlighter.joined(
      findings.matches.filter { $0.terms.lowerBound >= start && $0.terms.upperBound <= end }
        .map(\.range))
    return TextSnippet(
      range: lower..<upper, highlights: highlights, isCutAtStart: start > 0, isCutAtEnd: end < count
    )
  }

  /// The matches of the best snippet, by where they begin.
  private func bestMatches(_ matches: [Match], _ wordCount: Int) -> Range<Int> {
    var counts: [Int: Int] = [:]
    var best = (parts: 0, range: 0..<0)
    var end = 0
    for start in matches.indices {
      while end < matches.count,
        matches[end].terms.lowerBound < matches[start].terms.lowerBound + wordCount
      {
        counts[matches[end].part, default: 0] += 1
        end += 1
      }
      if counts.count > best.parts || counts.count == best.parts && end - start > best.range.count {
        best = (counts.count, start..<end)
      }
      let part = matches[start].part
      counts[part] = counts[part] == 1 ? nil : (counts[part] ?? 1) - 1
    }
    return best.range
  }
}
