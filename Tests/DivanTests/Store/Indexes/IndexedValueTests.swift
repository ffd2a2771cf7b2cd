import DivanLog
import DivanTesting
import Testing

@testable import Divan

/// Tests that index keys are in the order of the values that they encode.
struct IndexedValueTests {
  /// Values in ascending order.
  private let ascending: [Value] = [
    .null, false, true,
    .double(-.greatestFiniteMagnitude), .double(-9.3e18), .int(.min), .int(.min + 1),
    .int(-9_007_199_254_740_993), .int(-9_007_199_254_740_992), -2, -1.5, -1,
    .double(-.leastNonzeroMagnitude), 0, .double(.leastNonzeroMagnitude), 0.5, 1, 1.5, 2,
    .int(9_007_199_254_740_992), .int(9_007_199_254_740_993), .int(.max - 1), .int(.max),
    .unsigned(1 << 63), .unsigned(.max - 1), .unsigned(.max), .double(1.8446744073709552e19 * 2),
    "", "\u{0}", "\u{0}\u{0}", "\u{0}a", "a", "a\u{0}", "a\u{0}b", "aa", "ab", "b", "é",
    "\u{10FFFF}",
    [], [.null], [.null, .null], [false], [1], [1, 1], [2], ["a"], ["a", "b"], ["ab"], [[]], [[1]],
    [:], ["a": 1], ["a": 1, "b": 1], ["a": 2], ["aa": 0], ["b": 0],
  ]

  @Test func `keys are in the order of their values`() {
    let encoded = ascending.map { IndexedValue($0).bytes }
    for (index, bytes) in encoded.enumerated() {
      for (other, more) in encoded.enumerated().dropFirst(index + 1) {
        #expect(
          bytes.lexicographicallyPrecedes(more), "\(ascending[index]) and \(ascending[other])")
        #expect(!more.lexicographicallyPrecedes(bytes))
      }
    }
  }

  @Test func `equal numbers have equal keys, whatever their type`() {
    for (one, other) in [
      (1, 1.0), (0, .double(-0.0)), (.int(-5), -5.0), (.unsigned(1 << 63), .double(0x1p63)),
    ] as [(Value, Value)] {
      #expect(IndexedValue(one) == IndexedValue(other), "\(one) and \(other)")
    }
  }

  @Test func `keys of random numbers are in numeric order`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededGenerator(seed: seed)
    for _ in 0..<5000 {
      let (a, b) = (Int64(bitPattern: random.next()), Int64(bitPattern: random.next()) >> 40)
      let near = a &+ b
      let (one, other) = (IndexedValue(.int(a)).bytes, IndexedValue(.int(near)).bytes)
      #expect(one.lexicographicallyPrecedes(other) == (a < near), "\(a) and \(near)")
      let (x, y) = (Double(bitPattern: random.next()), Double(a))
      if x.isFinite {
        let isLess = IndexedValue(.double(x)).bytes
          .lexicographicallyPrecedes(IndexedValue(.double(y)).bytes)
        #expect(isLess == (x < y), "\(x) and \(y)")
      }
    }
  }

  @Test func `long values are truncated in keys and stay distinct`() {
    let long = String(repeating: "x", count: 500)
    let values = [long, long + "y", long + "z"].map { IndexedValue(.string($0)) }
    #expect(values.allSatisfy { $0.bytes.count == IndexedValue.sizeLimit })
    #expect(Set(values).count == 3)
    let short = IndexedValue(.string(String(repeating: "x", count: 160)))
    #expect(short.bytes.count < IndexedValue.cutSize)
    // The depth of a key is limited.
    var deep: Value = 1
    for _ in 0..<1000 { deep = [deep] }
    #expect(IndexedValue.whole(deep).count <= 2 * (DocumentLimits.depth + 1))
  }

  @Test func `no key is a prefix of another key`() {
    // The bytes after a value in a key can then make no difference.
    let long = (150...175).map { String(repeating: "x", count: $0) }
    let values =
      ascending
      + long.flatMap { [.string($0), .string($0 + "\u{0}"), [.string($0)], ["a": .string($0)]] }
    let encoded = Set(values.map { IndexedValue($0).bytes })
    #expect(encoded.count == values.count)
    for bytes in encoded {
      #expect(bytes.count <= IndexedValue.cutSize || bytes.count == IndexedValue.sizeLimit)
      for other in encoded where other != bytes { #expect(!other.starts(with: bytes)) }
    }
  }

  @Test func `keys of strings start with the key of their common prefix`() {
    for text in ["", "a", "a\u{0}", "ab"] {
      let prefix = IndexedValue.prefix(ofTexts: text)
      for other in ["", "a", "a\u{0}", "a\u{0}b", "ab", "abc", "b"] {
        let bytes = IndexedValue(.string(other)).bytes
        #expect(
          bytes.starts(with: prefix) == other.utf8.starts(with: text.utf8),
          "\(text.debugDescription) \(other.debugDescription)")
      }
    }
  }
}
