import Foundation
import Testing

@testable import Divan

/// Tests of folding, with Unicode's data files as the truth.
struct WordFoldingTests {
  /// What every scalar folds to, from `DerivedNormalizationProps.txt`.
  private static func folds() throws -> [UInt32: [UInt32]] {
    var folds: [UInt32: [UInt32]] = [:]
    for line in try FullTextFixtures.lines(of: "folds.txt") {
      let fields = line.split(separator: ";", omittingEmptySubsequences: false)
      let ends = fields[0].split(separator: "-").compactMap { UInt32($0, radix: 16) }
      for scalar in ends[0]...ends[ends.count - 1] {
        folds[scalar] = FullTextFixtures.scalars(fields[1])
      }
    }
    return folds
  }

  /// Apostrophes of typography are folded besides.
  private func plain(_ scalars: [UInt32]) -> [UInt32] {
    scalars.map { $0 == 0x2018 || $0 == 0x2019 ? 0x27 : $0 }
  }

  @Test func `every scalar folds to what Unicode's file says`() throws {
    let folds = try WordFoldingTests.folds()
    #expect(folds.count > 10_000)
    var differences: [String] = []
    for value in UInt32(0)..<0x110000 where Unicode.Scalar(value) != nil {
      let folded = FullTextFixtures.folded(FullTextFixtures.bytes([value])).scalars
      // The file has the folds composed, and those of some scalars come apart in NFC.
      let expected = plain(folds[value] ?? [value])
      let composed = Array(
        String(decoding: FullTextFixtures.bytes(expected), as: UTF8.self)
          .precomposedStringWithCanonicalMapping.unicodeScalars.map(\.value))
      if folded != composed { differences.append("\(String(value, radix: 16)): \(folded)") }
    }
    #expect(differences.isEmpty, "\(differences.prefix(10))")
  }

  @Test func `the strings of Unicode's normalisation test fold to what its files say`() throws {
    let lines = try FullTextFixtures.lines(of: "normalisation.txt")
    #expect(lines.count > 2000)
    for line in lines {
      let fields = line.split(separator: ";").map(FullTextFixtures.scalars)
      // The source, its canonical and its compatible decomposition are the same when folded.
      for source in fields[..<3] {
        let folded = FullTextFixtures.folded(FullTextFixtures.bytes(source)).scalars
        #expect(folded == plain(fields[3]), "\(line)")
      }
    }
  }

  @Test func `folded text folds to itself`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    let folds = try Array(WordFoldingTests.folds().keys).sorted()
    for index in 0..<20_000 {
      let scalars = (0..<Int.random(in: 0...6, using: &random)).map { _ in
        switch Int.random(in: 0..<4, using: &random) {
        case 0: UInt32.random(in: 0x300...0x36F, using: &random)
        case 1: UInt32.random(in: 0x20...0x24F, using: &random)
        case 2: UInt32.random(in: 0x1100...0x11FF, using: &random)
        default: folds.randomElement(using: &random) ?? 0x41
        }
      }
      let removesDiacritics = index % 2 == 0
      let once = FullTextFixtures.folded(
        FullTextFixtures.bytes(scalars), removesDiacritics: removesDiacritics)
      let twice = FullTextFixtures.folded(once, removesDiacritics: removesDiacritics)
      #expect(once == twice, "seed \(seed): \(scalars.map { String($0, radix: 16) })")
    }
  }

  @Test(arguments: [
    ("STRASSE", "strasse"), ("Straße", "strasse"), ("ﬁlm", "film"), ("Ａｂｃ１", "abc1"),
    ("Ⅷ", "viii"), ("soft\u{AD}hyphen", "softhyphen"), ("don’t", "don't"), ("İ", "i\u{307}"),
    ("ΌΣΟΣ", "όσοσ"), ("ｶﾞ", "ガ"), ("\u{1100}\u{1161}\u{11A8}", "각"), ("ǅ", "dž"),
  ])
  func `words that look different are folded to the same form`(text: String, folded: String) {
    #expect(FullTextFixtures.folded(text) == folded)
    #expect(
      Array(FullTextFixtures.folded(text).unicodeScalars)
        == Array(folded.precomposedStringWithCanonicalMapping.unicodeScalars))
  }

  @Test(arguments: [
    ("Café", "cafe"), ("Ærø", "æro"), ("naïve", "naive"),
    ("Łódź", "lodz"), ("ΆΝΘΡΩΠΟΣ", "ανθρωποσ"), ("Ё", "е"), ("й", "и"), ("Việt", "viet"),
    ("ガ", "ガ"), ("हिन्दी", "हिन्दी"), ("שָׁלוֹם", "שלום"), ("กำ", "กํา"), ("x\u{301}\u{323}", "x"),
  ])
  func `marks are removed where they make no other letter`(text: String, folded: String) {
    let found = FullTextFixtures.folded(text, removesDiacritics: true)
    #expect(Array(found.unicodeScalars) == Array(folded.unicodeScalars), "\(found)")
  }

  @Test func `bytes that are not UTF-8 fold to replacement characters`() {
    for (bytes, expected) in [
      ([0x41, 0xFF, 0x42], "a\u{FFFD}b"), ([0xC3], "\u{FFFD}"), ([0xC0, 0x80], "\u{FFFD}\u{FFFD}"),
      ([0xED, 0xA0, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"), ([0xF5, 0x41], "\u{FFFD}a"),
    ] as [([UInt8], String)] {
      #expect(
        String(decoding: FullTextFixtures.folded(bytes), as: UTF8.self) == expected, "\(bytes)")
    }
  }

  @Test func `UTF-8 reads as the standard library decodes it, if it is valid`() {
    var differences: [UInt32] = []
    for value in UInt32(0)..<0x110000 {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let bytes = Array(String(scalar).utf8)
      let read = bytes.scalar(at: 0)
      if read.value != value || read.end != bytes.count || FullTextFixtures.bytes([value]) != bytes
      {
        differences.append(value)
      }
    }
    #expect(differences.isEmpty, "\(differences.prefix(10))")
  }

  @Test func `a million marks behind one letter are folded`() {
    let marks = String(repeating: "\u{301}\u{323}", count: 500_000)
    let text = Array(("a" + marks).utf8)
    let seconds = FullTextFixtures.seconds { _ = FullTextFixtures.folded(text) }
    #expect(seconds < 30)
    #expect(FullTextFixtures.folded("a" + marks, removesDiacritics: true) == "a")
  }
}
