import DivanLog
import Foundation
import Testing

@testable import Divan

/// Tests of the order of values, which is also the order of their keys.
struct CollationTests {
  @Test func `values of all kinds have one total order`() {
    let ascending: [Value] = [
      .null, false, true, .int(.min), -1.5, 0, 0.5, 1, .unsigned(.max), .double(1e300),
      "", "\u{0}", "\u{1F}", "\t", "\n", " ", "_", "-1", "$", "«x»", "…", "😀", "0", "9",
      "a", "A", "á", "Á", "aa", "ab", "AB", "abc", "Abc", "ABC", "ác", "b", "co-op", "coop",
      "d", "đ", "ð", "e", "Zebra", "þ", "α", "ά", "Σ", "ω", "е", "ё", "ж", "и", "й", "я", "א", "日",
      [], [.null], ["a"], ["a", 1], ["A", 0], ["b"], [[]],
      [:], ["a": 1], ["a": 1, "b": 0], ["a": 2], ["A": 1], ["b": 0],
    ]
    for (index, value) in ascending.enumerated() {
      for (other, greater) in ascending.enumerated() {
        let order = Collation.compare(value, greater)
        #expect(order.signum() == (index - other).signum(), "\(value) and \(greater)")
      }
    }
  }

  @Test func `texts compare by letters, then by accents, then by case`() {
    let ascending = [
      "resume", "Resume", "RESUME", "resumé", "résume", "résumé", "Résumé", "resumes", "rôle",
      "roles", "straße", "Straße", "strassen",
    ]
    #expect(ascending.shuffled().sorted { Collation.precedes($0, $1) } == ascending)
    #expect(Collation.precedes("strasse", "straße"))
  }

  @Test func `equal integers and doubles collate as equal, canonically equal texts do not`() {
    #expect(Collation.key(of: 1) == Collation.key(of: 1.0))
    #expect(Collation.compare(.double(-0.0), 0) == 0)
    #expect(Collation.compare([1], [1.0]) == 0)
    let (one, two) = ("caf\u{E9}", "cafe\u{301}")
    #expect(CollationText.compare(one, two, .accents) == 0)
    #expect(Collation.precedes(one, two) && !Collation.precedes(two, one))
  }

  @Test func `integers that round to the same double collate as different`() {
    let ascending: [Value] = [
      .int(.min), .int(.min + 1), .int(-(1 << 53) - 1), .int(-(1 << 53)), .int(1 << 53),
      .int(1 << 53 + 1), .int(.max - 1), .int(.max), .double(0x1p63), .unsigned(1 << 63 + 1),
      .unsigned(.max - 1), .unsigned(.max), .double(0x1p64),
    ]
    for (a, b) in zip(ascending, ascending.dropFirst()) {
      #expect(Collation.precedes(a, b), "\(a) and \(b)")
      #expect(order(Collation.key(of: a), Collation.key(of: b)) < 0, "\(a) and \(b)")
    }
    #expect(Collation.key(of: .double(-0x1p63)) == Collation.key(of: .int(.min)))
    #expect(Collation.key(of: .double(0x1p63)) == Collation.key(of: .unsigned(1 << 63)))
  }

  @Test func `random values and their collation keys sort as in the reference comparison`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<150 {
      var values = (0..<12).map { _ in Value.collated(&random) }
      values += values.prefix(3)
      let keys = values.map { Collation.key(of: $0) }
      for (index, a) in values.enumerated() {
        let stored = EncodedValue(try a.stored)
        #expect(try Collation.key(of: stored) == keys[index], "seed \(seed): \(a)")
        for (other, b) in values.enumerated() {
          let expected = PlainCollation.compare(a, b).signum()
          #expect(Collation.compare(a, b).signum() == expected, "seed \(seed): \(a) and \(b)")
          let byKey = order(keys[index], keys[other]).signum()
          #expect(byKey == expected, "seed \(seed): the keys of \(a) and \(b)")
          if byKey != 0 { #expect(!keys[other].starts(with: keys[index])) }
        }
      }
    }
  }

  @Test func `random texts and their collation keys sort as in the reference comparison`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<4000 {
      let (a, b) = String.collated(&random)
      let (one, other) = (PlainText(a), PlainText(b))
      let expected = one < other ? -1 : one == other ? 0 : 1
      #expect(
        CollationText.compare(a, b).signum() == expected,
        "seed \(seed): \(a.debugDescription) and \(b.debugDescription)")
      #expect(CollationText.compare(b, a).signum() == -expected, "seed \(seed)")
      let keys = [a, b].map { Collation.key(of: .string($0)) }
      #expect(order(keys[0], keys[1]).signum() == expected, "seed \(seed)")
      let prefix = CollationKey.prefix(ofTexts: b, .collated)
      let (letters, start) = (CollationText.letters(of: a), CollationText.letters(of: b))
      #expect(keys[0].starts(with: prefix) == letters.starts(with: start), "seed \(seed)")
    }
  }

  @Test func `Unicode scalars have distinct collation keys in the reference order`() {
    var texts: [(text: String, key: [UInt8], plain: PlainText)] = []
    for number in Array(0..<0x3100) + Array(stride(from: 0x3100, to: 0x110000, by: 97)) {
      guard let scalar = Unicode.Scalar(UInt32(number)) else { continue }
      let text = String(scalar)
      texts.append((text, Collation.key(of: .string(text)), PlainText(text)))
    }
    texts.sort { $0.key.lexicographicallyPrecedes($1.key) }
    for (a, b) in zip(texts, texts.dropFirst()) {
      let names = "\(a.text.debugDescription) and \(b.text.debugDescription)"
      #expect(a.key != b.key, "\(names)")
      #expect(a.plain < b.plain, "\(names)")
      #expect(Collation.precedes(a.text, b.text), "\(names)")
    }
  }

  @Test func `invalid UTF-8 compares consistently, and its stored form has no collation key`() {
    let bytes: [[UInt8]] = [[0xFF], [0xE9, 0x80], [0xC3], [0xED, 0xA0, 0x80], [0x61, 0xCC], []]
    for a in bytes {
      for b in bytes {
        let order = CollationText.compare(a.span, b.span).signum()
        let opposite = CollationText.compare(b.span, a.span).signum()
        #expect(order == -opposite)
        #expect((order == 0) == (a == b))
      }
    }
    let damaged = EncodedValue(SharedBytes(copying: [0x45, 0x61]))
    #expect(throws: DatabaseError.self) { try Collation.key(of: damaged) }
  }

  @Test func `deeply nested values and long runs of accents can be compared`() {
    var deep: Value = 1
    for _ in 0..<2000 { deep = [deep] }
    #expect(Collation.compare(deep, deep) == 0)
    #expect(Collation.compare(deep, [1]) > 0)
    let marks = "a" + String(repeating: "\u{301}\u{300}", count: 50_000)
    #expect(Collation.precedes("a", marks) && Collation.precedes(marks, "ab"))
  }

  @Test func `values collate in CouchDB's order`() throws {
    guard let directory = ProcessInfo.processInfo.environment["DIVAN_VECTORS"] else {
      print("DIVAN_VECTORS is not set: collation-order.json was not read")
      return
    }
    let file = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/collation-order.json"))
    let vectors = try JSONDecoder().decode(CollationVectors.self, from: file)
    var count = 0
    for list in vectors.lists {
      let name = list.name
      // CouchDB compares objects in the order in which their properties were written.
      let groups = list.groups.filter { $0[0].objectValue?.count ?? 0 <= 1 }
      // CouchDB orders texts as ICU does, and it did not return every value of one list.
      let isOurs = [
        "couchdb-specification", "numbers", "nesting", "deep-nesting",
      ].contains(name)
      guard isOurs else { continue }
      for (a, b) in zip(groups, groups.dropFirst()) {
        let (a, b) = (a[0], b[0])
        count += 1
        // CouchDB has integers of any size.
        #expect(Collation.compare(a, b) <= (name == "numbers" ? 0 : -1), "\(name): \(a) and \(b)")
      }
    }
    #expect(count > 40)
  }
}

/// Values in CouchDB's order, recorded from it; equal values are grouped.
private struct CollationVectors: Decodable {
  struct List: Decodable {
    let name: String
    let groups: [[Value]]
  }

  let lists: [List]
}

extension Value {
  /// Returns a random value that is likely to be similar to others.
  fileprivate static func collated(_ random: inout SeededRandom, depth: Int = 3) -> Value {
    switch Int.random(in: 0..<(depth > 0 ? 9 : 6), using: &random) {
    case 0: return [.null, false, true].randomElement(using: &random) ?? .null
    case 1: return .int(.random(in: -2...2, using: &random))
    case 2: return .random(&random, depth: 0)
    case 3, 4, 5: return .string(String.collated(&random).0)
    case 6, 7:
      return .array(
        (0..<Int.random(in: 0...3, using: &random)).map { _ in
          .collated(&random, depth: depth - 1)
        })
    default:
      return .object(
        Object(
          (0..<Int.random(in: 0...3, using: &random)).map { _ in
            (String.collated(&random).0, .collated(&random, depth: depth - 1))
          }))
    }
  }
}

extension String {
  /// Returns two random texts that have much in common.
  fileprivate static func collated(_ random: inout SeededRandom) -> (String, String) {
    let letters = Array(
      "aAàÀbeéEzss ßæÆaeåØoıiſςσΣάαиИйЙіїüǖṻ0-\u{301}\u{306}\u{308}\u{304}\u{323}\u{345}\u{0}日😀½"
        .unicodeScalars)
    func some(_ count: Int) -> String.UnicodeScalarView {
      var view = String.UnicodeScalarView()
      for _ in 0..<count {
        let isAny = Int.random(in: 0..<6, using: &random) == 0
        let any = Unicode.Scalar(UInt32.random(in: 0..<0x2100, using: &random))
        let common = letters[Int.random(in: 0..<letters.count, using: &random)]
        view.append(isAny ? any ?? common : common)
      }
      return view
    }
    let start = some(Int.random(in: 0...4, using: &random))
    func text() -> String {
      String(start + some(Int.random(in: 0...3, using: &random)))
    }
    let (one, other) = (text(), text())
    return (one, other)
  }
}

/// Returns the order of two byte sequences.
private func order(_ a: [UInt8], _ b: [UInt8]) -> Int { compare(a.span, b.span) }
