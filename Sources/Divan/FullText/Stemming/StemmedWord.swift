/// A word as a stemmer changes it: one byte for each letter.
///
/// Letters that no rule names have the byte ``other``. They keep their order, and no rule removes
/// one, so they come back when the word is written.
struct StemmedWord {
  static let other: UInt8 = 0x80
  static let aUmlaut: UInt8 = 0xE4
  static let oUmlaut: UInt8 = 0xF6
  static let uUmlaut: UInt8 = 0xFC
  static let sharpS: UInt8 = 0xDF

  var letters: [UInt8] = []
  private var others: [UInt32] = []

  /// Replaces the word by a case-folded one, in UTF-8.
  mutating func read(_ word: [UInt8]) {
    letters.removeAll(keepingCapacity: true)
    others.removeAll(keepingCapacity: true)
    var offset = 0
    while offset < word.count {
      let scalar = word.scalar(at: offset)
      offset = scalar.end
      switch scalar.value {
      case ..<0x80, 0xE4, 0xF6, 0xFC, 0xDF: letters.append(UInt8(scalar.value))
      default:
        letters.append(StemmedWord.other)
        others.append(scalar.value)
      }
    }
  }

  /// Replaces bytes by the word, in UTF-8.
  func write(to word: inout [UInt8]) {
    word.removeAll(keepingCapacity: true)
    var index = 0
    for letter in letters {
      if letter == StemmedWord.other {
        word.append(scalar: others[index])
        index += 1
      } else {
        word.append(scalar: UInt32(letter))
      }
    }
  }
}

extension [UInt8] {
  /// Whether the letters before an index end with others.
  func hasSuffix(_ suffix: [UInt8], before end: Int) -> Bool {
    guard end >= suffix.count else { return false }
    let start = end - suffix.count
    for index in suffix.indices where self[start + index] != suffix[index] { return false }
    return true
  }

  /// The index after the first letter outside of a set that follows a letter in it; nil if none.
  ///
  /// From the start of the word this is where the region R1 begins, and from R1 on, R2.
  func region(after start: Int, _ vowels: LetterSet) -> Int? {
    guard let vowel = self[start...].firstIndex(where: { vowels.contains($0) }),
      let consonant = self[vowel...].firstIndex(where: { !vowels.contains($0) })
    else { return nil }
    return consonant + 1
  }
}

/// A set of the letters of ASCII and Latin-1.
struct LetterSet: Sendable {
  private var members: [Bool]

  init(_ letters: String) {
    members = Array(repeating: false, count: 256)
    for scalar in letters.unicodeScalars where scalar.value < 256 {
      members[Int(scalar.value)] = true
    }
  }

  func contains(_ letter: UInt8) -> Bool { members[Int(letter)] }
}

/// The suffixes of one step of a stemmer, each with what the step does about it.
struct SuffixTable<Action: Sendable>: Sendable {
  private struct Rule {
    let suffix: [UInt8]
    let action: Action
  }

  /// The rules by the last letter of their suffixes, the longest first.
  private var rules: [[Rule]]

  init(_ groups: [(suffixes: String, action: Action)]) {
    rules = Array(repeating: [], count: 128)
    for (suffixes, action) in groups {
      for suffix in suffixes.split(separator: " ") {
        let bytes = Array(suffix.utf8)
        rules[Int(bytes[bytes.count - 1])].append(Rule(suffix: bytes, action: action))
      }
    }
    for index in rules.indices {
      rules[index].sort { $0.suffix.count > $1.suffix.count }
    }
  }

  /// The longest suffix of the letters before an index: where it begins, and what to do.
  func longest(in letters: [UInt8], before end: Int? = nil) -> (start: Int, action: Action)? {
    let end = end ?? letters.count
    guard end > 0, letters[end - 1] < 128 else { return nil }
    for rule in rules[Int(letters[end - 1])] where letters.hasSuffix(rule.suffix, before: end) {
      return (end - rule.suffix.count, rule.action)
    }
    return nil
  }
}
