import Foundation
import Testing

@testable import Divan

/// Tests of the language of full-text queries.
struct FullTextParserTests {
  private static func words(_ text: String, _ isPrefix: Bool = false, _ distance: Int = 0)
    -> FullTextExpression
  {
    .words(FullTextWords(text, isPrefix: isPrefix, maxDistance: distance))
  }

  static let queries: [(String, FullTextExpression)] = [
    ("milk", words("milk")), ("  milk  ", words("milk")), ("milk*", words("milk", true)),
    ("milk~1", words("milk", false, 1)), ("milk*~2", words("milk", true, 2)),
    ("\"urgent milk\"", words("urgent milk")), ("“urgent milk”*", words("urgent milk", true)),
    ("„urgent milk“", words("urgent milk")), ("\"a \"\"b\"\" c\"", words("a \"b\" c")),
    ("a b", .all([words("a"), words("b")])), ("a AND b", .all([words("a"), words("b")])),
    ("a and b", .all([words("a"), words("and"), words("b")])),
    ("a OR b OR c", .any([words("a"), words("b"), words("c")])),
    ("a b OR c", .any([.all([words("a"), words("b")]), words("c")])),
    ("a (b OR c)", .all([words("a"), .any([words("b"), words("c")])])),
    ("a NOT b", .without(words("a"), words("b"))), ("a -b", .without(words("a"), words("b"))),
    ("-b a", .without(words("a"), words("b"))), ("rock-n-roll", words("rock-n-roll")),
    ("a AND NOT b", .without(words("a"), words("b"))),
    (
      "a b -c -\"d e\"",
      .without(.all([words("a"), words("b")]), .any([words("c"), words("d e")]))
    ),
    ("title:milk", .field("title", words("milk"))),
    ("title: milk", .field("title", words("milk"))),
    ("title:(a OR b) c", .all([.field("title", .any([words("a"), words("b")])), words("c")])),
    ("\"my title\":\"a b\"", .field("my title", words("a b"))),
    ("-title:a b", .without(words("b"), .field("title", words("a")))),
    ("NEAR(a b, 5)", .near([FullTextWords("a"), FullTextWords("b")], distance: 5)),
    (
      "NEAR(\"a b\" c*)",
      .near([FullTextWords("a b"), FullTextWords("c", isPrefix: true)], distance: 10)
    ),
    // As the documentation says: OR binds weakest, and NEAR has a distance of ten.
    ("fresh milk OR cream", .any([.all([words("fresh"), words("milk")]), words("cream")])),
    (
      "NEAR(milk honey)", .near([FullTextWords("milk"), FullTextWords("honey")], distance: 10)
    ),
    ("sub.title:milk", .field("sub.title", words("milk"))),
    ("NEAR a", .all([words("NEAR"), words("a")])), ("日本 🎬", .all([words("日本"), words("🎬")])),
  ]

  @Test(arguments: queries)
  func `a query is parsed, by both parsers alike`(text: String, expression: FullTextExpression)
    throws
  {
    #expect(try FullTextParser.parse(text) == expression)
    #expect(FullTextParser.parseLeniently(text, isField: { $0.contains("title") }) == expression)
  }

  @Test(arguments: [
    ("", "the query has no words", 0), ("   ", "the query has no words", 0),
    ("a AND", "AND has nothing after it", 5), ("AND a", "AND has nothing before it", 4),
    ("a OR", "OR has nothing after it", 4), ("OR a", "OR has nothing before it", 0),
    ("a OR OR b", "OR has nothing after it", 5), ("NOT", "NOT has nothing after it", 3),
    ("-a", "only excluded words are here: there is nothing to exclude them from", 0),
    ("b OR -a", "only excluded words are here: there is nothing to exclude them from", 5),
    ("(a", "a parenthesis is not closed", 2), ("ü (a", "a parenthesis is not closed", 5),
    ("()", "the parentheses have nothing in them", 1),
    ("a )", "a closing parenthesis has nothing before it that it belongs to", 2),
    ("a *", "the star has nothing before it that it belongs to", 2),
    ("*", "the star has nothing before it that it belongs to", 0),
    ("a ,b", "the comma has nothing before it that it belongs to", 2),
    ("\"a", "a quotation mark is not closed", 0),
    ("a~", "a tilde has no distance of 1 or 2 after it", 1),
    ("a~3", "a tilde has no distance of 1 or 2 after it", 1),
    ("title:", "the property “title” has no words after it", 6),
    ("NEAR()", "NEAR has no words in it", 5),
    ("NEAR(a, b)", "NEAR has no distance of 0 to 10000 after its comma", 8),
    ("NEAR(a b", "the parenthesis of NEAR is not closed, or has more than words", 8),
    (
      "b*~1", "the beginning of a word is not longer than its distance, so any word matches", 2
    ),
    ("NEAR(a OR b)", "the parenthesis of NEAR is not closed, or has more than words", 7),
  ])
  func `the strict parser says what is wrong, and where`(
    text: String, message: String, offset: Int
  ) {
    #expect(throws: FullTextQueryError(message, offset: offset)) {
      try FullTextParser.parse(text)
    }
  }

  @Test(
    arguments: [
      ("", nil), ("-", "\"-\""), ("AND", nil), ("milk AND", "milk"), ("OR milk", "milk"),
      ("NOT", nil),
      ("-milk", nil), ("-milk -\"a b\"", nil), ("NOT milk", nil), ("milk OR -sour", "milk"),
      ("-sour OR milk", "milk"), ("(-sour) milk", "milk"), ("milk -(-sour)", "milk"),
      ("-title:milk", nil), ("milk OR (tea -sour)", "milk OR (tea NOT sour)"), ("(milk", "milk"),
      ("milk)", "milk"), ("() milk", "milk"),
      ("a )b", "a AND b"),
      ("\"urgent milk", "\"urgent milk\""), ("\"fresh mi*", "\"fresh mi\"*"),
      ("\"fresh mi*\"", "\"fresh mi*\""), ("milk~", "milk~1"), ("milk~9", "milk~2"),
      ("* milk *", "milk"),
      ("http://divan.example", "\"http://divan.example\""), ("title:", nil),
      ("key:value", "\"key:value\""), ("title:key:value", "title:\"key:value\""),
      ("a:b:c*", "\"a:b:c\"*"), ("a: b", "a AND b"), ("\"a\":b", "a AND b"),
      ("1,000", "\"1,000\""), ("1, 2", "1 AND 2"), ("a,1", "a AND 1"),
      ("NEAR(1,000 b, 3)", "NEAR(\"1,000\" b, 3)"), ("צה\"ל", "\"צה\"\"ל\""),
      ("a\"b c\"", "a AND \"b c\""), ("\"צה\"ל א\"", "\"צה\"\"ל א\""),
      ("a, b; c", "a AND b; AND c"), ("NEAR(a, b)", "NEAR(a, 10) AND b"), ("NEAR(", nil),
      ("((((a OR", "a"), ("a AND AND b", "a AND b"), ("a NOT NOT b", "a NOT b"),
      ("(a * b) OR c", "(a AND b) OR c"), ("a b a", "a AND b"), ("a OR a", "a"),
      ("(a b) (a b)", "a AND b"), ("a NOT b -b", "a NOT b"), ("a A", "a AND A"),
      ("NEAR(a a)", "NEAR(a a, 10)"), ("a*~1 milk", "a* AND milk"), ("mi*~2", "mi*"),
      ("mil*~2", "mil*~2"), ("\"milk a*\"*~1", "\"milk a*\"*"), ("a OR () b", "a OR b"),
    ] as [(String, String?)])
  func `the lenient parser makes the best of any text`(text: String, expected: String?) {
    let parsed = FullTextParser.parseLeniently(text, isField: { $0 == "title" })
    #expect(parsed?.description == expected)
  }

  @Test(
    arguments: [
      ("", nil), ("mi", "mi*"), ("mi ", "mi"), ("mi*", "mi*"), ("fresh mi", "fresh AND mi*"),
      ("\"fresh mi", "\"fresh mi\"*"), ("\"fresh mi*", "\"fresh mi\"*"),
      ("\"fresh mi\"", "\"fresh mi\"*"), ("\"fresh milk ", "\"fresh milk \""), ("milk\"", "milk*"),
      ("milk \"", "milk AND \"\"*"), ("\"milk \"", "\"milk \""), ("(tea mi", "tea AND mi*"),
      ("milk OR", "milk"), ("milk -so", "milk NOT so*"), ("milk~1", "milk~1"),
      ("title:mi", "title:mi*"),
      ("key:va", "\"key:va\"*"), ("NEAR(a mi", "NEAR(a mi*, 10)"), ("milk\n", "milk"),
    ] as [(String, String?)])
  func `the last word of a text that is being typed is the beginning of a word`(
    text: String, expected: String?
  ) {
    let parsed = FullTextParser.parseLeniently(text, typed: true, isField: { $0 == "title" })
    #expect(parsed?.description == expected)
  }

  @Test func `a description parses back to an equal expression`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<20_000 {
      let expression = RandomExpression.make(&random, depth: 4)
      let text = expression.description
      #expect(try FullTextParser.parse(text) == expression, "seed \(seed): \(text)")
      let lenient = FullTextParser.parseLeniently(text, isField: { _ in true })
      #expect(lenient == expression, "seed \(seed): \(text)")
    }
  }

  @Test func `the lenient parser parses any text, and strictly what it has made of it`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    let parts = [
      "a", "b", " ", " ", "\"", "“", "”", "(", ")", ":", "*", "~", "1", ",", "-", "AND", "OR",
      "NOT",
      "NEAR", "NEAR(", "ü", "\u{301}", "\u{0}", "日", "\n",
    ]
    for _ in 0..<30_000 {
      let text = (0..<Int.random(in: 0...14, using: &random)).map { _ in
        parts.randomElement(using: &random) ?? ""
      }.joined()
      let lenient = FullTextParser.parseLeniently(text, isField: { $0 == "a" })
      if let lenient {
        let again = try FullTextParser.parse(lenient.description)
        #expect(again == lenient, "seed \(seed): \(text.debugDescription) \(lenient)")
      }
      // Where the strict parser accepts a text, the lenient one reads the same.
      if let strict = try? FullTextParser.parse(text) {
        #expect(FullTextParser.parseLeniently(text, isField: { _ in true }) == strict, "\(text)")
      }
    }
  }

  @Test(arguments: [
    "(", "a:", "a ", "NOT ", "- ", "\" ", "a OR ", "NEAR(", "~", ")", "a(", "\"a\":(",
  ])
  func `a megabyte of a query is refused or cut, in linear time and without a deep stack`(
    part: String
  ) {
    let text = String(repeating: part, count: (1 << 20) / part.utf8.count)
    let seconds = FullTextFixtures.seconds {
      #expect(throws: FullTextQueryError.self) { try FullTextParser.parse(text) }
      _ = FullTextParser.parseLeniently(text, isField: { _ in true })?.description
    }
    #expect(seconds < 20)
  }

  @Test func `parentheses are refused beyond the limit of depth`() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "(", count: depth) + "a" + String(repeating: ")", count: depth)
    }
    #expect(try FullTextParser.parse(nested(FullTextParser.depthLimit - 1)).description == "a")
    #expect(throws: FullTextQueryError.self) {
      try FullTextParser.parse(nested(FullTextParser.depthLimit))
    }
    #expect(FullTextParser.parseLeniently(nested(1000))?.description == "a")
  }
}

/// Random expressions of the query language.
enum RandomExpression {
  static let texts = [
    "a", "milk", "AND", "NEAR", "-a", "a-b", "a b", "\"", "(", "", "日本", "x:y", "\"\u{301}", "“q”",
    "~1",
    "5",
  ]

  static func words(_ random: inout SeededRandom) -> FullTextWords {
    var words = FullTextWords(
      texts.randomElement(using: &random) ?? "a",
      isPrefix: Int.random(in: 0..<4, using: &random) == 0,
      maxDistance: max(0, Int.random(in: -4...2, using: &random)))
    if words.matchesAnyTerm { words.maxDistance = 0 }
    return words
  }

  static func make(_ random: inout SeededRandom, depth: Int) -> FullTextExpression {
    /// Different parts; one of them is an expression by itself.
    func join(
      _ random: inout SeededRandom, _ join: ([FullTextExpression]) -> FullTextExpression
    ) -> FullTextExpression {
      var parts: [FullTextExpression] = []
      for _ in 0..<Int.random(in: 2...3, using: &random) {
        let part = make(&random, depth: depth - 1)
        if !parts.contains(part) { parts.append(part) }
      }
      return parts.count > 1 ? join(parts) : parts[0]
    }
    switch depth == 0 ? 0 : Int.random(in: 0..<7, using: &random) {
    case 0, 1: return .words(words(&random))
    case 2:
      return .field(texts.randomElement(using: &random) ?? "a", make(&random, depth: depth - 1))
    case 3: return join(&random, FullTextExpression.all)
    case 4: return join(&random, FullTextExpression.any)
    case 5: return .without(make(&random, depth: depth - 1), make(&random, depth: depth - 1))
    default:
      let parts = (0..<Int.random(in: 1...3, using: &random)).map { _ in words(&random) }
      return .near(parts, distance: .random(in: 0...20, using: &random))
    }
  }
}
