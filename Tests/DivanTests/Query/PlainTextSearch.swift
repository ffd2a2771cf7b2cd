import DivanTesting
import Foundation

@testable import Divan

/// A plain search for words: every document is split at its spaces, and tested word by word.
///
/// It fits documents whose words are small letters of ASCII, with an index without stemming.
struct PlainTextSearch {
  /// A word and its position among those of the property.
  typealias Place = (word: String, position: Int)

  /// The names of the properties, in the order of the index.
  ///
  /// The last one is the text of attachments: `document(_:_:)` makes attachments of its elements.
  static let fields = ["title", "body", "tags", "_attachments"]
  static let weights = [3.0, 1, 0.5, 2]
  static let vocabulary = [
    "ant", "ants", "bee", "bees", "cat", "cow", "dog", "dot", "elk", "emu",
  ]

  /// The words of each property of a document.
  static func places(_ properties: Value.Object) -> [[Place]] {
    fields.map { name in
      var places: [Place] = []
      var start = 0
      let texts = properties[name]?.arrayValue ?? properties[name].map { [$0] } ?? []
      for text in texts.compactMap(\.stringValue) {
        let words = text.split(separator: " ")
        for (offset, word) in words.enumerated() { places.append((String(word), start + offset)) }
        start += words.count + TextAnalyser.elementGap
      }
      return places
    }
  }

  /// Returns a document with some properties, and with attachments of the last one.
  static func document(_ id: String, _ properties: Value.Object) -> Document {
    var properties = properties
    let texts = properties.removeValue(forKey: "_attachments")?.arrayValue ?? []
    var document = Document(id: id, properties)
    for (number, text) in texts.compactMap(\.stringValue).enumerated() {
      document.attachments["\(number)"] = Document.Attachment(
        contentType: "text/plain", text.utf8)
    }
    return document
  }

  // MARK: Matching

  /// Whether the words of some properties match.
  static func matches(
    _ expression: FullTextExpression, _ places: [[Place]], in allowed: Set<Int>
  ) -> Bool {
    switch expression {
    case .words(let words):
      allowed.contains { !spans(of: words, in: places[$0]).isEmpty }
    case .field(let name, let inner):
      matches(inner, places, in: allowed.filter { fields[$0] == name })
    case .all(let parts): parts.allSatisfy { matches($0, places, in: allowed) }
    case .any(let parts): parts.contains { matches($0, places, in: allowed) }
    case .without(let base, let excluded):
      matches(base, places, in: allowed) && !matches(excluded, places, in: allowed)
    case .near(let parts, let distance):
      allowed.contains { field in
        isNear(parts.map { spans(of: $0, in: places[field]) }, distance)
      }
    }
  }

  /// The positions of a word or a phrase.
  private static func spans(of words: FullTextWords, in places: [Place]) -> [Range<Int>] {
    let wanted = words.text.split(separator: " ").map(String.init)
    return places.compactMap { place in
      for (offset, word) in wanted.enumerated() {
        let isLast = offset == wanted.count - 1
        let isThere = places.contains { other in
          other.position == place.position + offset
            && (isLast && words.isPrefix
              ? other.word.hasPrefix(word) : isNear(other.word, word, words.maxDistance))
        }
        if !isThere { return nil }
      }
      return place.position..<place.position + wanted.count
    }
  }

  /// Whether any choice of a span of each part is near enough.
  private static func isNear(_ spans: [[Range<Int>]], _ distance: Int) -> Bool {
    var choices: [[Range<Int>]] = [[]]
    for own in spans { choices = choices.flatMap { choice in own.map { choice + [$0] } } }
    return choices.contains { choice in
      let sorted = choice.sorted { ($0.lowerBound, $0.count) < ($1.lowerBound, $1.count) }
      return sorted[sorted.count - 1].lowerBound - sorted[0].upperBound <= distance
    }
  }

  private static func isNear(_ word: String, _ other: String, _ maxDistance: Int) -> Bool {
    word == other || maxDistance > 0 && distance(Array(word), Array(other)) <= maxDistance
  }

  /// The number of letters to add, remove or replace.
  private static func distance(_ a: [Character], _ b: [Character]) -> Int {
    guard let first = a.first else { return b.count }
    guard let other = b.first else { return a.count }
    let (restA, restB) = (Array(a.dropFirst()), Array(b.dropFirst()))
    if first == other { return distance(restA, restB) }
    return 1 + min(distance(restA, b), distance(a, restB), distance(restA, restB))
  }

  // MARK: Relevance

  /// The words that count for relevance: those of the parts that match.
  private static func ranked(
    _ expression: FullTextExpression, _ places: [[Place]], in allowed: Set<Int>
  ) -> Set<String> {
    guard matches(expression, places, in: allowed) else { return [] }
    switch expression {
    case .words(let words): return [words.text]
    case .all(let parts), .any(let parts):
      return parts.reduce(into: []) { $0.formUnion(ranked($1, places, in: allowed)) }
    case .without(let base, _): return ranked(base, places, in: allowed)
    case .field, .near: preconditionFailure("The ranking of these is not computed here")
    }
  }

  /// Returns the scores of the documents that match, by the formula of BM25 over properties.
  ///
  /// The expression consists of different words.
  static func scores(
    _ expression: FullTextExpression, _ documents: [String: Value.Object], in allowed: Set<Int>
  ) -> [String: Double] {
    let all = documents.mapValues { places($0) }.filter { !$0.value.allSatisfy(\.isEmpty) }
    let count = Double(all.count)
    let averages = fields.indices.map { field in
      max(
        1,
        Double(all.values.reduce(0) { $0 + $1[field].count })
          / Double(max(1, all.values.count { !$0[field].isEmpty })))
    }
    return all.filter { matches(expression, $0.value, in: allowed) }.mapValues { places in
      ranked(expression, places, in: allowed).reduce(0) { score, word in
        var frequency = 0.0
        for field in allowed {
          let own = Double(places[field].count { $0.word == word })
          let share = Double(places[field].count) / averages[field]
          frequency += weights[field] * own / (0.25 + 0.75 * share)
        }
        let having = Double(all.values.count { $0.contains { $0.contains { $0.word == word } } })
        let rarity = log(1 + (count - having + 0.5) / (having + 0.5))
        return score + rarity * frequency * 2.2 / (frequency + 1.2)
      }
    }
  }
}

/// Random documents with few different words, and random queries for them.
struct RandomTexts {
  var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func word() -> String {
    PlainTextSearch.vocabulary[random.below(PlainTextSearch.vocabulary.count)]
  }

  private mutating func text(_ limit: Int) -> String {
    (0..<random.below(limit)).map { _ in word() }.joined(separator: " ")
  }

  mutating func document() -> Value.Object {
    var document: Value.Object = [
      "n": .int(Int64(random.below(30))), "done": .bool(random.below(3) == 0),
    ]
    if random.below(6) > 0 { document["title"] = .string(text(4)) }
    if random.below(6) > 0 { document["body"] = .string(text(9)) }
    if random.below(3) == 0 {
      document["tags"] = .array((0..<random.below(4)).map { _ in .string(text(3)) })
    }
    if random.below(3) == 0 {
      document["_attachments"] = .array((0..<random.below(4)).map { _ in .string(text(5)) })
    }
    // Values that are no text have no words.
    if random.below(12) == 0 { document["title"] = .int(7) }
    if random.below(12) == 0 { document["tags"] = .string(text(3)) }
    if random.below(12) == 0 { document["body"] = .null }
    return document
  }

  private mutating func words() -> FullTextWords {
    switch random.below(8) {
    case 0: FullTextWords(String(word().prefix(random.below(3) + 1)), isPrefix: true)
    case 1: FullTextWords(word(), maxDistance: 1 + random.below(2))
    case 2, 3: FullTextWords(word() + " " + word())
    default: FullTextWords(word())
    }
  }

  /// Returns a query of all that the language has.
  mutating func expression(depth: Int = 3) -> FullTextExpression {
    func parts(_ texts: inout RandomTexts) -> [FullTextExpression] {
      (0..<2 + texts.random.below(2)).map { _ in texts.expression(depth: depth - 1) }
    }
    switch depth == 0 ? 9 : random.below(10) {
    case 0:
      return .field(
        PlainTextSearch.fields[random.below(PlainTextSearch.fields.count)],
        expression(depth: depth - 1))
    case 1, 2: return .all(parts(&self))
    case 3, 4: return .any(parts(&self))
    case 5: return .without(expression(depth: depth - 1), expression(depth: depth - 1))
    case 6: return .near((0..<1 + random.below(2)).map { _ in words() }, distance: random.below(4))
    default: return .words(words())
    }
  }

  /// Returns a query of different words, whose ranking is computed.
  mutating func rankedExpression() -> FullTextExpression {
    var words: [FullTextExpression] = []
    for word in PlainTextSearch.vocabulary where random.below(3) == 0 {
      words.append(.words(FullTextWords(word)))
    }
    while words.count < 4 {
      let word = FullTextExpression.words(FullTextWords(word()))
      if !words.contains(word) { words.append(word) }
    }
    switch random.below(5) {
    case 0: return words[0]
    case 1: return .all(Array(words[..<2]))
    case 2: return .any([.all(Array(words[..<2])), words[2]])
    case 3: return .without(.any(Array(words[1...])), words[0])
    default: return .any(words)
    }
  }
}
