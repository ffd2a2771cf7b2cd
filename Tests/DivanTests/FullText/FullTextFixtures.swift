import Foundation
import TestSupport

@testable import Divan

/// What the tests of full-text search share: expected forms, random texts, and shorter calls.
enum FullTextFixtures {
  /// The lines of a file of `Tests/Fixtures/fulltext`, without comments.
  static func lines(of name: String) throws -> [Substring] {
    try ProjectFolder.text(of: "Tests/Fixtures/fulltext/\(name)")
      .split(separator: "\n").filter { !$0.hasPrefix("#") }
  }

  /// The scalars that hexadecimal numbers with spaces between them name.
  static func scalars(_ text: some StringProtocol) -> [UInt32] {
    text.split(separator: " ").compactMap { UInt32($0, radix: 16) }
  }

  static func bytes(_ scalars: [UInt32]) -> [UInt8] {
    var bytes: [UInt8] = []
    for scalar in scalars { bytes.append(scalar: scalar) }
    return bytes
  }

  static func folded(_ text: [UInt8], removesDiacritics: Bool = false) -> [UInt8] {
    var folding = WordFolding(removesDiacritics: removesDiacritics)
    var result: [UInt8] = []
    folding.fold(text, 0..<text.count, into: &result)
    return result
  }

  static func folded(_ text: String, removesDiacritics: Bool = false) -> String {
    String(decoding: folded(Array(text.utf8), removesDiacritics: removesDiacritics), as: UTF8.self)
  }

  /// The terms of a text, with their positions and the text that each is made of.
  static func tokens(
    _ text: [UInt8], _ options: AnalysisOptions = AnalysisOptions(),
    for purpose: TokenCursor.Purpose = .index
  ) -> [(term: String, position: Int, range: Range<Int>)] {
    var cursor = TokenCursor(text, options, for: purpose)
    var tokens: [(term: String, position: Int, range: Range<Int>)] = []
    while cursor.next() {
      tokens.append((String(decoding: cursor.term, as: UTF8.self), cursor.position, cursor.range))
    }
    return tokens
  }

  static func terms(
    _ text: String, _ options: AnalysisOptions = AnalysisOptions(),
    for purpose: TokenCursor.Purpose = .index
  ) -> [String] {
    tokens(Array(text.utf8), options, for: purpose).map(\.term)
  }

  /// Whether a text matches an expression, as a document of an index with one property does.
  static func matches(
    _ expression: FullTextExpression, _ text: String,
    _ options: AnalysisOptions = AnalysisOptions()
  ) throws -> Bool {
    var builder = PostingsBuilder(fieldCount: 1)
    var cursor = TokenCursor(Array(text.utf8), options)
    while cursor.next() {
      builder.append(
        cursor.term, document: 0, Occurrence(field: 0, position: cursor.position))
    }
    var matches = QueryMatches(
      TermDictionary(builder.finish()), AnalysedQuery(expression, options), fieldNames: ["text"])
    return try matches.cursor(expression, in: .all)?.document == 0
  }

  static func segments(_ text: [UInt8]) -> [WordSegmenter.Segment] {
    var segmenter = WordSegmenter(text)
    var segments: [WordSegmenter.Segment] = []
    while let segment = segmenter.next() { segments.append(segment) }
    return segments
  }

  /// The seconds that work takes.
  static func seconds(_ work: () throws -> Void) rethrows -> Double {
    let duration = try ContinuousClock().measure(work)
    return Double(duration.components.seconds)
      + Double(duration.components.attoseconds) / 1_000_000_000_000_000_000
  }
}
