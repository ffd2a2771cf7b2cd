/// A generator of random numbers that depend only on the seed, on every machine (SplitMix64).
///
/// ```swift
/// var generator = SeededGenerator(seed: 7)
/// let numbers = (1...10).map { _ in Int.random(in: 1...6, using: &generator) }
/// ```
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Creates a generator from a seed.
  public init(seed: UInt64) { state = seed }

  /// Returns the next number.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns a number from 0 up to, but not including, `bound`, which is above 0.
  package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// Returns true in `part` of `whole` cases.
  mutating func chance(_ part: Int, of whole: Int) -> Bool { below(whole) < part }

  mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 24) }
  }
}

/// A hash that is the same on every machine and in every run.
///
/// It is for telling states of a disk apart, and not against an attacker.
struct StableHash: Sendable {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  /// Adds bytes and their number.
  mutating func add(_ bytes: some Sequence<UInt8>) {
    var word: UInt64 = 0
    var count = 0
    for byte in bytes {
      word = word << 8 | UInt64(byte)
      count += 1
      if count % 8 == 0 {
        Self.mix(&value, word)
        word = 0
      }
    }
    Self.mix(&value, word)
    Self.mix(&value, UInt64(count))
  }

  /// Adds many bytes and their number, eight at a time.
  mutating func addWords(_ bytes: [UInt8]) {
    var mixed = value ^ UInt64(bytes.count)
    let span = bytes.span
    var offset = 0
    while offset + 8 <= span.count {
      var word: UInt64 = 0
      for index in offset..<offset + 8 { word = word << 8 | UInt64(span[index]) }
      Self.mix(&mixed, word)
      offset += 8
    }
    var rest: UInt64 = 0
    for index in offset..<span.count { rest = rest << 8 | UInt64(span[index]) }
    Self.mix(&mixed, rest)
    value = mixed
  }

  private static func mix(_ value: inout UInt64, _ word: UInt64) {
    // Both halves of the product, so that every bit of a word reaches every bit of the hash.
    let product = (value ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    value = (product.high ^ product.low) &+ 0xD6E8_FEB8_6659_FD93
  }

  mutating func add(_ number: Int) { Self.mix(&value, UInt64(bitPattern: Int64(number))) }

  mutating func add(_ text: String) { add(text.utf8) }
}
