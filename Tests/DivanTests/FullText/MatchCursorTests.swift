import DivanLog
import Foundation
import Testing

@testable import Divan

/// Tests of the cursors over matches, with a search through all texts as the model.
struct MatchCursorTests {
  /// Documents with two properties, each a list of words.
  private struct Corpus {
    var texts: [[[Int]]]
    var lists: [Int: PostingsBuilder.List] = [:]

    init(_ random: inout SeededRandom, wordCount: Int) {
      texts = (0..<Int.random(in: 0...300, using: &random)).map { _ in
        // Few are so long that positions share a bit of a signature.
        let limit = Int.random(in: 0..<50, using: &random) == 0 ? 150 : 12
        return (0..<2).map { _ in
          (0..<Int.random(in: 0...limit, using: &random)).map { _ in
            // Low words are frequent.
            min(
              .random(in: 0..<wordCount, using: &random), .random(in: 0..<wordCount, using: &random)
            )
          }
        }
      }
      var builder = PostingsBuilder(fieldCount: 2)
      for (document, fields) in texts.enumerated() {
        for (field, words) in fields.enumerated() {
          for (position, word) in words.enumerated() {
            builder.append(
              [UInt8(word)], document: UInt64(document * 3),
              Occurrence(field: field, position: position))
          }
        }
      }
      for list in builder.finish() { lists[Int(list.term[0])] = list }
    }

    func cursor(_ word: Int, _ fields: FieldSet, part: Int? = nil) throws -> TermMatches {
      try TermMatches(PostingsList(lists[word]), fieldCount: 2, fields: fields, part: part)
    }
  }

  /// A query over words that are numbers.
  private indirect enum Query {
    case word(Int)
    case inField(Int, Int)
    case all([Query])
    case any([Query])
    case without(Query, Query)
    case phrase([(words: [Int], offset: Int)])
    case near([[Int]], Int)

    static func random(_ random: inout SeededRandom, depth: Int, wordCount: Int) -> Query {
      func word() -> Int { .random(in: 0..<wordCount, using: &random) }
      func parts() -> [Query] {
        (0..<Int.random(in: 1...3, using: &random)).map { _ in
          Query.random(&random, depth: depth - 1, wordCount: wordCount)
        }
      }
      switch depth == 0 ? 0 : Int.random(in: 0..<7, using: &random) {
      case 1: return .inField(word(), .random(in: 0..<2, using: &random))
      case 2: return .all(parts())
      case 3: return .any(parts())
      case 4:
        return .without(
          Query.random(&random, depth: depth - 1, wordCount: wordCount),
          Query.random(&random, depth: depth - 1, wordCount: wordCount))
      case 5:
        var offset = 0
        return .phrase(
          (0..<Int.random(in: 1...3, using: &random)).map { _ in
            defer { offset += Int.random(in: 1...2, using: &random) }
            // Several words at one place, as a prefix has them.
            return (
              Array(Set((0..<Int.random(in: 1...2, using: &random)).map { _ in word() })), offset
            )
          })
      case 6:
        return .near(
          (0..<Int.random(in: 1...3, using: &random)).map { _ in
            (0..<Int.random(in: 1...2, using: &random)).map { _ in word() }
          }, .random(in: 0...4, using: &random))
      default: return .word(word())
      }
    }

    func cursor(_ corpus: Corpus) throws -> any MatchCursor {
      switch self {
      case .word(let word): return try corpus.cursor(word, .all)
      case .inField(let word, let field): return try corpus.cursor(word, FieldSet([field]))
      case .all(let parts): return try AllMatches(parts.map { try $0.cursor(corpus) })
      case .any(let parts): return AnyMatches(try parts.map { try $0.cursor(corpus) })
      case .without(let base, let out):
        return try RemainingMatches(base.cursor(corpus), without: out.cursor(corpus))
      case .phrase(let words):
        return try PhraseMatches(
          words.map { word in
            let cursors = try word.words.map { try corpus.cursor($0, .all) }
            return (cursors.count == 1 ? cursors[0] : AnyMatches(cursors), word.offset)
          })
      case .near(let parts, let distance):
        return try NearMatches(
          parts.map { words in
            if words.count == 1 { return try corpus.cursor(words[0], .all) }
            return try PhraseMatches(words.enumerated().map { (try corpus.cursor($1, .all), $0) })
          }, distance: distance)
      }
    }

    /// Whether a document matches, by looking at its words.
    func matches(_ fields: [[Int]]) -> Bool {
      switch self {
      case .word(let word): fields.contains { $0.contains(word) }
      case .inField(let word, let field): fields[field].contains(word)
      case .all(let parts): parts.allSatisfy { $0.matches(fields) }
      case .any(let parts): parts.contains { $0.matches(fields) }
      case .without(let base, let out): base.matches(fields) && !out.matches(fields)
      case .phrase(let words):
        fields.contains { text in
          text.indices.contains { start in
            words.allSatisfy { word in
              let place = start + word.offset - words[0].offset
              return place < text.count && word.words.contains(text[place])
            }
          }
        }
      case .near(let parts, let distance):
        fields.contains { Query.isNear($0, parts, distance) }
      }
    }

    /// Tries all places of all parts.
    private static func isNear(_ text: [Int], _ parts: [[Int]], _ distance: Int) -> Bool {
      var choices: [[Range<Int>]] = [[]]
      for part in parts {
        let places = text.indices.filter { Array(text[$0...].prefix(part.count)) == part }
        choices = choices.flatMap { choice in places.map { choice + [$0..<$0 + part.count] } }
      }
      return choices.contains { choice in
        let sorted = choice.sorted { ($0.lowerBound, $0.count) < ($1.lowerBound, $1.count) }
        return sorted[sorted.count - 1].lowerBound - sorted[0].upperBound <= distance
      }
    }
  }

  @Test func `cursors find the documents that a search through all texts finds`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<40 {
      let wordCount = Int.random(in: 2...10, using: &random)
      let corpus = Corpus(&random, wordCount: wordCount)
      for _ in 0..<25 {
        let query = Query.random(&random, depth: 3, wordCount: wordCount)
        let expected = corpus.texts.indices.filter { query.matches(corpus.texts[$0]) }
          .map { UInt64($0 * 3) }
        let cursor = try query.cursor(corpus)
        var found: [UInt64] = []
        while cursor.document != DocumentNumber.end {
          found.append(cursor.document)
          var spans: [MatchSpan] = []
          try cursor.appendSpans(to: &spans)
          #expect(!spans.isEmpty, "seed \(seed): \(query)")
          try cursor.advance()
        }
        #expect(found == expected, "seed \(seed): \(query)")
        #expect(cursor.document == DocumentNumber.end)

        // Another cursor skips.
        let skipping = try query.cursor(corpus)
        var target: UInt64 = 0
        while skipping.document != DocumentNumber.end {
          target += .random(in: 0...100, using: &random)
          try skipping.advance(to: target)
          let next = expected.first { $0 >= target } ?? DocumentNumber.end
          #expect(skipping.document == next, "seed \(seed): \(query)")
        }
      }
    }
  }

  @Test func `frequencies are counted for each ranked part and property`() throws {
    var builder = PostingsBuilder(fieldCount: 2)
    for (field, text) in ["a b a b", "a b c a"].enumerated() {
      for (position, word) in text.split(separator: " ").enumerated() {
        builder.append(Array(word.utf8), document: 1, Occurrence(field: field, position: position))
      }
    }
    let lists = Dictionary(
      uniqueKeysWithValues: builder.finish().map { (String(decoding: $0.term, as: UTF8.self), $0) })
    func term(_ word: String, part: Int?) throws -> TermMatches {
      try TermMatches(PostingsList(lists[word]), fieldCount: 2, part: part)
    }
    let phrase = try PhraseMatches(
      [(try term("a", part: nil), 0), (try term("b", part: nil), 1)], part: 1)
    let query = AnyMatches([try term("a", part: 0), phrase, try term("c", part: 2)])
    var frequencies = TermFrequencies(partCount: 3, fieldCount: 2)
    try query.addFrequencies(to: &frequencies)
    #expect(frequencies.counts == [2, 2, 2, 1, 0, 1])
  }
}
