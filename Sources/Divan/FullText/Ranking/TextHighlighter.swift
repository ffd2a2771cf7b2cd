/// Finds the words of a query in a text, to show why it matches.
///
/// The text is analysed again, as for the index, so the ranges are those of whole words in the text
/// as it is: a query for `cafe` finds `Cafés` where the stemmer does. It takes time proportional to
/// the text, and to its matches with each phrase.
struct TextHighlighter {
  /// A part of the text that matches.
  struct Match: Hashable, Sendable {
    /// The number of the part of the query: a word or a phrase, counted from 0.
    let part: Int
    /// The numbers of the terms of the text that it has.
    let terms: Range<Int>
    /// Its bytes in the text.
    let range: Range<Int>
  }

  /// The terms of a text, and the matches in their order.
  struct Findings {
    /// The bytes of each term.
    fileprivate(set) var ranges: [Range<Int>] = []
    fileprivate(set) var matches: [Match] = []
  }

  private let options: AnalysisOptions
  private let parts: [AnalysedWords]
  /// The words of parts that are compared with each term; others are looked up.
  private var inexact: [(part: Int, word: Int)] = []
  private var exact: [[UInt8]: [(part: Int, word: Int)]] = [:]

  /// Creates a highlighter of a query in the text of a property; nil ignores names of properties.
  init(_ query: FullTextExpression, _ options: AnalysisOptions, field: String? = nil) {
    self.options = options
    var known: Set<FullTextWords> = []
    let words = query.wordsToFind(in: field).filter { known.insert($0).inserted }
    parts = words.map { AnalysedWords($0, options) }
    for (part, words) in parts.enumerated() {
      for (index, word) in words.words.enumerated() {
        if word.isPrefix || word.maxDistance > 0 {
          inexact.append((part, index))
        } else {
          exact[word.term, default: []].append((part, index))
        }
      }
    }
  }

  /// Returns the parts of a text to highlight: ascending, and not overlapping.
  func highlights(in text: [UInt8]) -> [Range<Int>] {
    TextHighlighter.joined(findings(in: text).matches.map(\.range))
  }

  /// Joins ranges that overlap, given by their beginnings.
  static func joined(_ ranges: [Range<Int>]) -> [Range<Int>] {
    var joined: [Range<Int>] = []
    for range in ranges {
      if let last = joined.last, range.lowerBound < last.upperBound {
        joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
    return joined
  }

  /// A word of the query at a term of the text.
  private struct Hit {
    let position: Int
    let term: Int
  }

  /// Finds the terms of a text, and the matches by their beginnings.
  func findings(in text: [UInt8]) -> Findings {
    var findings = Findings()
    /// The hits of each word of each part, in the order of the text.
    var hits = parts.map { Array(repeating: [Hit](), count: $0.words.count) }
    var matchers = inexact.map { part, index in
      let word = parts[part].words[index]
      return FuzzyMatcher(word.term, maxDistance: word.maxDistance, isPrefix: word.isPrefix)
    }
    var cursor = TokenCursor(text, options)
    while cursor.next() {
      let hit = Hit(position: cursor.position, term: findings.ranges.count)
      findings.ranges.append(cursor.range)
      for (part, word) in exact[cursor.term] ?? [] { hits[part][word].append(hit) }
      for (index, (part, word)) in inexact.enumerated() {
        if parts[part].words[word].matches(cursor.term)
          || parts[part].words[word].maxDistance > 0
            && matchers[index].distance(of: cursor.term) != nil
        {
          hits[part][word].append(hit)
        }
      }
    }
    for part in parts.indices { addMatches(of: part, hits[part], to: &findings) }
    findings.matches.sort {
      ($0.terms.lowerBound, $0.terms.upperBound, $0.part)
        < ($1.terms.lowerBound, $1.terms.upperBound, $1.part)
    }
    return findings
  }

  private func addMatches(of part: Int, _ hits: [[Hit]], to findings: inout Findings) {
    guard let first = hits.first else { return }
    var next = Array(repeating: 0, count: hits.count)
    for hit in first {
      var last = hit
      let isMatch = hits.indices.dropFirst().allSatisfy { word in
        let place = hit.position + parts[part].words[word].offset
        let list = hits[word]
        while next[word] < list.count, list[next[word]].position < place { next[word] += 1 }
        guard next[word] < list.count, list[next[word]].position == place else { return false }
        last = list[next[word]]
        return true
      }
      guard isMatch else { continue }
      let range =
        findings.ranges[hit.term].lowerBound..<findings.ranges[last.term].upperBound
      findings.matches.append(Match(part: part, terms: hit.term..<last.term + 1, range: range))
    }
  }
}
