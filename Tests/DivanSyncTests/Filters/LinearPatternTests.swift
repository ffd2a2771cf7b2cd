import Divan
import DivanTesting
import Foundation
import Testing

@testable import DivanSync

/// Tests of regular expressions that are matched in linear time.
struct LinearPatternTests {
  private static func selector(
    _ pattern: String, _ matching: PatternMatching = .linear
  ) throws(ReplicationError) -> MangoSelector {
    try MangoSelector(["a": ["$regex": .string(pattern)]], matching)
  }

  private static let cases: [(String, [String], [String])] = [
    ("", ["", "x"], []), ("b+c", ["abbcd"], ["ac"]), ("^b$", ["b"], ["ab", "b\n"]),
    ("a|bc", ["xa", "bc"], ["b", "c"]), ("^(?:ab)*$", ["", "abab"], ["aba"]),
    ("^a{2}$", ["aa"], ["a", "aaa"]), ("^a{2,}$", ["aa", "aaaa"], ["a"]),
    ("^a{1,3}$", ["a", "aaa"], ["", "aaaa"]), ("^a??b$", ["b", "ab"], ["aab"]),
    ("^[^a-c]$", ["d", "é", "\n"], ["b"]), ("^[a\\-\\]]+$", ["-]a"], ["b"]),
    ("^[-a]+$", ["-a"], ["b"]), ("^.$", ["x", "日"], ["", "\n", "xy"]), ("(?s)^.$", ["\n"], []),
    ("(?i)^oSLO$", ["Oslo"], ["Bergen"]), ("(?i)^[a-f]é$", ["Cé", "CÉ"], ["gé"]),
    ("\\bfoo\\b", ["a foo-bar"], ["foobar", "éfoo_"]), ("\\Boo", ["foo"], ["oo"]),
    ("^\\d\\w\\s$", ["7_\t"], ["٣_\t", "7é\t"]), ("^\\D\\W\\S$", ["x-x"], ["1-x"]),
    ("^\\$\\.\\(\\\\$", ["$.(\\"], ["x"]), ("^(a|b|)c$", ["ac", "bc", "c"], ["d"]),
    ("^(a*)*b$", ["aab", "b"], ["a"]), ("($)*a", ["a"], ["b"]), ("\\b1\\b", ["a-1"], ["a1"]),
    ("^[^\\W]+$", ["_1a"], ["-"]), ("e$", ["cafe"], ["cafe\u{301}"]),
  ]

  @Test(arguments: cases)
  func `an expression matches a part of a text`(
    _ pattern: String, _ accepted: [String], _ refused: [String]
  ) throws {
    let selector = try Self.selector(pattern)
    for text in accepted { #expect(selector.matches(["a": .string(text)]), "\(text)") }
    for text in refused { #expect(!selector.matches(["a": .string(text)]), "\(text)") }
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `random expressions match what Swift matches`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var counts = [false: 0, true: 0]
    for _ in 0..<500 {
      let pattern = RandomPattern.pattern(&random)
      let backtracking = try Self.selector(pattern, .backtracking)
      let linear: MangoSelector
      do {
        linear = try Self.selector(pattern)
      } catch {
        #expect(error.message.contains("it has more than 300 steps"), "\(pattern)")
        continue
      }
      for _ in 0..<10 {
        var text = RandomPattern.text(&random)
        // Beside other scalars, Swift does not take a digit or a low line for a part of a word.
        // PCRE, which CouchDB uses, does.
        let name = pattern.lowercased()
        if name.contains("\\b") || name.contains("\\w") {
          text.removeAll { $0 == "1" || $0 == "_" }
        }
        let expected = backtracking.matches(["a": .string(text)])
        counts[expected, default: 0] += 1
        #expect(
          linear.matches(["a": .string(text)]) == expected,
          "\(pattern.debugDescription) in \(text.debugDescription), seed \(seed)")
      }
    }
    #expect(counts[true, default: 0] > 500 && counts[false, default: 0] > 500, "seed \(seed)")
  }

  @Test(
    .timeLimit(.minutes(5)),
    arguments: [
      "(a+)+$", "^(a*)*$", "^(a|a)*$", "(a|aa)+$", "^(.*a){12}$", "a*a*a*a*a*a*b", "(a?){50}a{50}$",
      "([a-z]+)*[0-9]$",
    ])
  func `no expression takes exponential time`(_ pattern: String) throws {
    let text = String(repeating: "a", count: 50_000) + "!"
    #expect(try !Self.selector(pattern).matches(["a": .string(text)]))
  }

  @Test(arguments: [
    "(?=a)", "(?!a)", "(?<=a)b", "(?<name>a)", "(?>a)", "(a)\\1", "\\k<a>", "a++", "a**", "a{2}{3}",
    "^*", "\\b+", "a{,3}", "a{x}", "a{3,2}", "a{99999}", "{", "a]", "(", ")", "(a", "a)", "[", "[]",
    "[]a]",
    "[a", "[b-a]", "[a-\\d]", "[[:alpha:]]", "[:alpha:]", "[a&&b]", "[a~~b]", "[a--b]", "\\p{L}",
    "\\Qa\\E",
    "\\x41", "\\u0041", "\\", "*a", "(*)", "(?i", "(?x)a", "a(?i)b", "\\A", "[e\u{301}]",
    ".\u{301}", "a{301}", "(a{20}){20}", "((a{9}){9}){9}",
  ])
  func `an expression that may take long or has another meaning elsewhere is refused`(
    _ pattern: String
  ) {
    let error = #expect(throws: ReplicationError.self) { try Self.selector(pattern) }
    #expect(error?.code == .invalidSelector)
    #expect(error?.message.contains("the regular expression is invalid") == true)
  }

  @Test(.timeLimit(.minutes(5)))
  func `repetitions of nothing take no time, and expressions together have a limit`() throws {
    #expect(try Self.selector("((((){9999}){9999}){9999}){9999}").matches(["a": ""]))
    let many = Value.array((0..<31).map { _ in ["a": ["$not": ["$regex": "a{10}"]]] })
    let error = #expect(throws: ReplicationError.self) {
      try MangoSelector(["$or": many], .linear)
    }
    #expect(error?.message.contains("may have 300 together") == true)
    #expect(throws: ReplicationError.self) {
      try MangoSelector(["b": ["$elemMatch": ["$or": many]]], .linear)
    }
    #expect(try MangoSelector(["$or": many]).matches(["a": "b"]))
  }
}

/// Random expressions of the syntax that is matched in linear time, and texts.
private enum RandomPattern {
  static func text(_ random: inout SeededGenerator) -> String {
    let parts = ["a", "b", "A", "1", "_", " ", "\n", "é", "É", "-", "日", "e\u{301}", "\u{2028}"]
    return (0..<Int.random(in: 0...7, using: &random)).map { _ in
      parts.randomElement(using: &random) ?? ""
    }.joined()
  }

  static func pattern(_ random: inout SeededGenerator) -> String {
    let flags = ["", "", "", "(?i)", "(?s)", "(?is)"].randomElement(using: &random) ?? ""
    return flags + choice(&random, depth: 3, repeats: true)
  }

  /// Returns alternatives, which have repetitions of their own if `repeats`.
  private static func choice(
    _ random: inout SeededGenerator, depth: Int, repeats: Bool
  ) -> String {
    let count = [1, 1, 1, 2, 3].randomElement(using: &random) ?? 1
    return (0..<count).map { _ in
      (0..<Int.random(in: 1...3, using: &random)).map { _ in
        part(&random, depth: depth, repeats: repeats)
      }.joined()
    }.joined(separator: "|")
  }

  private static func part(
    _ random: inout SeededGenerator, depth: Int, repeats: Bool
  ) -> String {
    // Swift may try a repeated condition on a place without end, so groups have none.
    if depth == 3, Int.random(in: 0..<8, using: &random) == 0 {
      return ["^", "$", "\\b", "\\B"].randomElement(using: &random) ?? ""
    }
    let repetitions = ["", "", "", "*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "+?", "??"]
    let repetition = repeats ? repetitions.randomElement(using: &random) ?? "" : ""
    var atom: String
    switch Int.random(in: 0..<(depth > 0 ? 10 : 7), using: &random) {
    case 0..<4:
      atom = ["a", "b", "A", "1", "\\-", "é", "日", "_"].randomElement(using: &random) ?? ""
    case 4, 5:
      atom =
        [".", "\\d", "\\w", "\\s", "\\D", "\\W", "\\S", "\\n"].randomElement(using: &random) ?? ""
    case 6:
      let members = ["a-c", "A-B", "é", "\\d", "\\s", "1", "_", "\\-", "日"]
      atom =
        (Bool.random(using: &random) ? "[" : "[^")
        + (0..<Int.random(in: 1...3, using: &random)).map { _ in
          members.randomElement(using: &random) ?? ""
        }.joined() + "]"
    default:
      // A repetition of repetitions takes Swift exponential time.
      let inner = choice(&random, depth: depth - 1, repeats: repetition.isEmpty && repeats)
      atom = (Bool.random(using: &random) ? "(" : "(?:") + inner + ")"
    }
    return atom + repetition
  }
}
