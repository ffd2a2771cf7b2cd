import Foundation
import Testing

@testable import Divan

/// Tests of word boundaries, with Unicode's own test file as the truth.
struct WordSegmenterTests {
  @Test func `Unicode's test file of word boundaries passes`() throws {
    let lines = try FullTextFixtures.lines(of: "word-breaks.txt")
    #expect(lines.count > 1800)
    for line in lines {
      let parts = line.split(separator: "|").map { part in
        FullTextFixtures.bytes(
          FullTextFixtures.scalars(part.split(separator: "x").joined(separator: " ")))
      }
      .filter { !$0.isEmpty }
      let text = parts.flatMap { $0 }
      let found = FullTextFixtures.segments(text).map { Array(text[$0.range]) }
      #expect(found == parts, "\(line)")
    }
  }

  @Test func `random scalars are split as the rules say, read one by one`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    // Scalars of every class, and several of those with which rules look ahead.
    let samples: [UInt32] = [
      0x61, 0x62, 0x31, 0x5F, 0x20, 0x20, 0x2E, 0x2C, 0x3A, 0x27, 0x22, 0x0D, 0x0A, 0x85, 0x300,
      0x200D, 0xAD, 0x1F1E6, 0x1F1E7, 0x30A2, 0x30FC, 0x5D0, 0x5D1, 0x2019, 0xB7, 0x1F600, 0x2764,
      0xFE0F, 0x6F22, 0x3042, 0xE01, 0x661, 0x3000, 0x21, 0x2D, 0x1F170,
    ]
    for _ in 0..<20_000 {
      let isASCII = Bool.random(using: &random)
      let some = isASCII ? samples.filter { $0 < 0x80 } : samples
      let scalars = (0..<Int.random(in: 0...12, using: &random)).map { _ in
        some.randomElement(using: &random) ?? 0x61
      }
      let text = FullTextFixtures.bytes(scalars)
      let found = FullTextFixtures.segments(text).map { Array(text[$0.range]) }
      let expected = PlainWordBreaks.segments(scalars).map { FullTextFixtures.bytes($0) }
      #expect(found == expected, "seed \(seed): \(scalars.map { String($0, radix: 16) })")
    }
  }

  @Test func `segments cover any bytes without gaps`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<5000 {
      let text = (0..<Int.random(in: 0...40, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      var end = 0
      for segment in FullTextFixtures.segments(text) {
        #expect(segment.range.lowerBound == end && !segment.range.isEmpty, "seed \(seed)")
        end = segment.range.upperBound
      }
      #expect(end == text.count, "seed \(seed)")
    }
  }

  @Test func `each scalar is a segment of its own, and a word if it is a letter or a number`() {
    var differences: [UInt32] = []
    for value in UInt32(0)..<0x110000 {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let text = FullTextFixtures.bytes([value])
      let found = FullTextFixtures.segments(text)
      if found.map(\.range) != [0..<text.count] { differences.append(value) }
      // The standard library may know scalars of a later version of Unicode.
      guard let age = scalar.properties.age, age <= (15, 0) else { continue }
      switch scalar.properties.generalCategory {
      case .uppercaseLetter, .lowercaseLetter, .otherLetter, .decimalNumber, .letterNumber:
        if !found[0].isWord { differences.append(value) }
      case .spaceSeparator, .control, .currencySymbol, .format, .dashPunctuation:
        if found[0].isWord { differences.append(value) }
      default: break
      }
    }
    #expect(differences.isEmpty, "\(differences.prefix(10))")
  }

  @Test(arguments: [
    "x", "é", "a'", "a\u{300}", "\u{300}", "'", "a:", "1,", "日", "\u{1F1E6}", "א\"", " ",
    "\u{200D}",
    "א'\u{300}", "a.\u{300}",
  ])
  func `a long text of the same letters is split in linear time`(text: String) {
    let size = 1 << 16
    func seconds(_ size: Int) -> Double {
      let bytes = Array(String(repeating: text, count: size / text.utf8.count).utf8)
      return FullTextFixtures.seconds {
        var segmenter = WordSegmenter(bytes)
        while segmenter.next() != nil {}
      }
    }
    _ = seconds(1024)
    let (small, large) = (seconds(size / 4), seconds(size * 4))
    // Sixteen times as much text; quadratic time would take 256 times as long.
    #expect(large < max(small, 0.001) * 80, "\(small) s, and \(large) s for sixteen times as much")
  }
}

/// The rules of UAX #29 as they are written, for one place between two scalars at a time.
enum PlainWordBreaks {
  static func segments(_ scalars: [UInt32]) -> [[UInt32]] {
    var segments: [[UInt32]] = []
    for (index, scalar) in scalars.enumerated() {
      if index == 0 || isBoundary(scalars, index) { segments.append([]) }
      segments[segments.count - 1].append(scalar)
    }
    return segments
  }

  private static func value(_ scalar: UInt32) -> WordBreak {
    WordBreakProperties(bits: WordBreakProperties.table[scalar]).wordBreak
  }

  private static func isBoundary(_ scalars: [UInt32], _ index: Int) -> Bool {
    let (left, right) = (value(scalars[index - 1]), value(scalars[index]))
    if scalars[index - 1] == 0x0D, scalars[index] == 0x0A { return false }  // WB3
    if left.endsLine || right.endsLine { return true }  // WB3a, WB3b
    if left == .joiner,
      WordBreakProperties(bits: WordBreakProperties.table[scalars[index]]).isPictograph
    {
      return false  // WB3c
    }
    if left == .space, right == .space { return false }  // WB3d
    if right.isIgnored { return false }  // WB4
    // From here on, ignored scalars are left out, except behind a line end or at the start.
    var before: [WordBreak] = []
    for scalar in scalars[..<index] {
      let value = value(scalar)
      if value.isIgnored, let last = before.last, !last.endsLine { continue }
      before.append(value)
    }
    let after = scalars[index...].map(value)
    let next = after.dropFirst().first { !$0.isIgnored }
    let last = before[before.count - 1]
    let beforeLast = before.count > 1 ? before[before.count - 2] : nil
    func isLetter(_ value: WordBreak?) -> Bool { value == .letter || value == .hebrewLetter }
    func isMidLetter(_ value: WordBreak) -> Bool {
      value == .midLetter || value == .midNumberLetter || value == .singleQuote
    }
    func isMidNumber(_ value: WordBreak) -> Bool {
      value == .midNumber || value == .midNumberLetter || value == .singleQuote
    }
    if isLetter(last), isLetter(right) { return false }  // WB5
    if isLetter(last), isMidLetter(right), isLetter(next) { return false }  // WB6
    if isLetter(beforeLast), isMidLetter(last), isLetter(right) { return false }  // WB7
    if last == .hebrewLetter, right == .singleQuote { return false }  // WB7a
    if last == .hebrewLetter, right == .doubleQuote, next == .hebrewLetter { return false }
    if beforeLast == .hebrewLetter, last == .doubleQuote, right == .hebrewLetter { return false }
    if last == .numeric, right == .numeric { return false }  // WB8
    if isLetter(last), right == .numeric { return false }  // WB9
    if last == .numeric, isLetter(right) { return false }  // WB10
    if beforeLast == .numeric, isMidNumber(last), right == .numeric { return false }  // WB11
    if last == .numeric, isMidNumber(right), next == .numeric { return false }  // WB12
    if last == .katakana, right == .katakana { return false }  // WB13
    let words: [WordBreak] = [.letter, .hebrewLetter, .numeric, .katakana, .extendNumberLetter]
    if words.contains(last), right == .extendNumberLetter { return false }  // WB13a
    if last == .extendNumberLetter, words.contains(right) { return false }  // WB13b
    if last == .regionalIndicator, right == .regionalIndicator {  // WB15, WB16
      return before.reversed().prefix { $0 == .regionalIndicator }.count % 2 == 0
    }
    return true
  }
}
