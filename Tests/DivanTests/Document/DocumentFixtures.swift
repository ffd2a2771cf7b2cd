import Divan
import DivanLog

/// A seeded pseudorandom number generator (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

extension Value {
  /// Returns a random value of any kind, nested at most `depth` deep.
  static func random(_ random: inout SeededRandom, depth: Int = 4) -> Value {
    switch Int.random(in: 0..<(depth > 0 ? 12 : 9), using: &random) {
    case 0: return .null
    case 1: return .bool(.random(using: &random))
    case 2: return .int(.random(in: -20...100, using: &random))
    case 3:
      return .int(Int64(bitPattern: random.next()) >> UInt64.random(in: 0..<64, using: &random))
    case 4: return .integer(random.next() >> UInt64.random(in: 0..<64, using: &random))
    case 5: return .double(randomDouble(&random))
    case 6, 7, 8: return .string(randomText(&random, upTo: 12))
    case 9:
      return .array(
        (0..<randomCount(&random)).map { _ in .random(&random, depth: depth - 1) })
    default: return .randomObject(&random, depth: depth)
    }
  }

  /// Returns an object of random properties.
  static func randomObject(_ random: inout SeededRandom, depth: Int = 4) -> Value {
    .object(
      Value.Object(
        (0..<randomCount(&random)).map { _ in
          (randomText(&random, upTo: 8), .random(&random, depth: depth - 1))
        }))
  }

  private static func randomCount(_ random: inout SeededRandom) -> Int {
    Int.random(in: 0..<20, using: &random) == 0
      ? Int.random(in: 15...60, using: &random) : Int.random(in: 0...5, using: &random)
  }

  private static func randomDouble(_ random: inout SeededRandom) -> Double {
    switch Int.random(in: 0..<5, using: &random) {
    case 0:
      let number = Double(bitPattern: random.next())
      return number.isFinite ? number : 0
    case 1: return Double(Int.random(in: -10_000...10_000, using: &random)) / 100
    case 2: return Double(Float.random(in: -1000...1000, using: &random))
    case 3:
      return [
        0.0, -0.0, 1.0, 0.1, 1e20, 1e300, .leastNonzeroMagnitude, 1.7976931348623157e308, 1e15,
        123456789012345.6,
      ][
        Int.random(in: 0..<10, using: &random)]
    default: return Double(Int.random(in: 0...20, using: &random))
    }
  }

  static func randomText(_ random: inout SeededRandom, upTo limit: Int) -> String {
    let alphabet: [Character] = [
      "a", "b", "c", "d", "é", "ß", "☃", "😀", "\"", "\\", "\n", "\u{1}", "z", "e\u{301}",
    ]
    let count =
      Int.random(in: 0..<30, using: &random) == 0
      ? Int.random(in: 60...130, using: &random) : Int.random(in: 0...limit, using: &random)
    return String(
      (0..<count).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &random)] })
  }

  /// The stored form.
  var stored: SharedBytes {
    get throws { try ValueEncoder.encode(self) }
  }
}
