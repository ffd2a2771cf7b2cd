/// Reduces English words to their stems: `connection`, `connected` and `connecting` to `connect`.
///
/// This is Snowball's algorithm *english*, also called Porter 2, as of Snowball 3.1.1
/// (https://snowballstem.org/algorithms/english/stemmer.html). The steps have its names.
///
/// R1 is the part of the word after the first consonant that follows a vowel, and R2 is the same
/// part of R1. A `y` that is a consonant is written `Y` until the end.
struct EnglishStemmer {
  private static let vowels = LetterSet("aeiouy")
  private static let vowelsAndWXY = LetterSet("aeiouywxY")
  private static let lettersBeforeLi = LetterSet("cdeghkmnrt")
  private static let (y, consonantY, apostrophe) =
    (UInt8(ascii: "y"), UInt8(ascii: "Y"), UInt8(ascii: "'"))

  private static let past = StaticText("past").bytes

  private var word = StemmedWord()
  private var letters: [UInt8] = []
  private var r1 = 0
  private var r2 = 0

  /// Replaces a case-folded word by its stem.
  mutating func stem(_ bytes: inout [UInt8]) {
    if bytes.count <= 6, let stem = EnglishStemmer.exceptions[bytes] { return bytes = stem }
    word.read(bytes)
    guard word.letters.count > 2 else { return }
    swap(&word.letters, &letters)
    beginWord()
    step1a()
    step1b()
    step1c()
    step2()
    step3()
    step4()
    step5()
    for index in letters.indices where letters[index] == EnglishStemmer.consonantY {
      letters[index] = EnglishStemmer.y
    }
    swap(&word.letters, &letters)
    word.write(to: &bytes)
  }

  private static let exceptions: [[UInt8]: [UInt8]] = {
    let changed = [
      "skis": "ski", "skies": "sky", "idly": "idl", "gently": "gentl", "ugly": "ugli",
      "early": "earli", "only": "onli", "singly": "singl",
    ]
    let unchanged = ["andes", "atlas", "bias", "cosmos", "howe", "news", "sky"]
    return Dictionary(
      uniqueKeysWithValues: changed.map { (Array($0.utf8), Array($1.utf8)) }
        + unchanged.map { (Array($0.utf8), Array($0.utf8)) })
  }()

  /// Beginnings after which R1 begins, although it would begin earlier.
  private static let longBeginnings =
    ["arsen", "commun", "emerg", "gener", "inter", "later", "organ", "past", "univers"]
    .map { Array($0.utf8) }

  private mutating func beginWord() {
    if letters.first == EnglishStemmer.apostrophe { letters.removeFirst() }
    for index in letters.indices where letters[index] == EnglishStemmer.y {
      if index == 0 || isVowel(index - 1) { letters[index] = EnglishStemmer.consonantY }
    }
    (r1, r2) = (letters.count, letters.count)
    if let beginning = EnglishStemmer.longBeginnings.first(where: { letters.starts(with: $0) }) {
      r1 = beginning.count
    } else if let region = letters.region(after: 0, EnglishStemmer.vowels) {
      r1 = region
    }
    r2 = letters.region(after: r1, EnglishStemmer.vowels) ?? letters.count
  }

  private func isVowel(_ index: Int) -> Bool { EnglishStemmer.vowels.contains(letters[index]) }

  private func hasVowel(before end: Int) -> Bool {
    letters[..<max(end, 0)].contains { EnglishStemmer.vowels.contains($0) }
  }

  private mutating func replace(from start: Int, by text: StaticText) {
    letters.replaceSubrange(start..., with: text.bytes)
  }

  /// Whether the letters before an index end in a short syllable.
  private func endsShort(before end: Int) -> Bool {
    if letters.hasSuffix(EnglishStemmer.past, before: end) { return true }
    guard end >= 2, isVowel(end - 2) else { return false }
    if end == 2 { return !isVowel(1) }
    return !EnglishStemmer.vowelsAndWXY.contains(letters[end - 1]) && !isVowel(end - 3)
  }

  // MARK: Plurals and participles

  private enum PluralAction { case possessive, ied, s, sses, keep }
  private static let possessives = SuffixTable([("' 's' 's", PluralAction.possessive)])
  private static let plurals = SuffixTable([
    ("ied ies", PluralAction.ied), ("s", .s), ("sses", .sses), ("ss us", .keep),
  ])

  private mutating func step1a() {
    if let (start, _) = EnglishStemmer.possessives.longest(in: letters) {
      letters.removeSubrange(start...)
    }
    guard let (start, action) = EnglishStemmer.plurals.longest(in: letters) else { return }
    switch action {
    case .sses: replace(from: start, by: "ss")
    case .ied: replace(from: start, by: start >= 2 ? "i" : "ie")
    case .s: if hasVowel(before: start - 1) { letters.removeLast() }
    case .keep, .possessive: break
    }
  }

  private enum ParticipleAction { case eed, ed, ing }
  private static let participles = SuffixTable([
    ("eed eedly", ParticipleAction.eed), ("ed edly ingly", .ed), ("ing", .ing),
  ])
  private static let wholeBeforeEed = ["succ", "proc", "exc"].map { Array($0.utf8) }
  private static let wholeBeforeIng =
    ["even", "cann", "inn", "earr", "herr", "out"].map { Array($0.utf8) }

  private mutating func step1b() {
    guard let (start, action) = EnglishStemmer.participles.longest(in: letters) else { return }
    switch action {
    case .eed:
      let isWhole = EnglishStemmer.wholeBeforeEed.contains { $0.elementsEqual(letters[..<start]) }
      if start >= r1, !isWhole { replace(from: start, by: "ee") }
      return
    case .ing:
      if start == 2, letters[1] == EnglishStemmer.y, !isVowel(0) {
        return replace(from: 1, by: "ie")
      }
      if EnglishStemmer.wholeBeforeIng.contains(where: { $0.elementsEqual(letters[..<start]) }) {
        return
      }
    case .ed: break
    }
    guard hasVowel(before: start) else { return }
    letters.removeSubrange(start...)
    mendEnd()
  }

  private enum EndAction { case addE, double }
  private static let ends = SuffixTable([
    ("at bl iz", EndAction.addE), ("bb dd ff gg mm nn pp rr tt", .double),
  ])
  private static let lettersBeforeDouble = LetterSet("aeo")

  /// Makes a stem of what is left of a participle: `hoping` becomes `hope`, `hopping` `hop`.
  private mutating func mendEnd() {
    switch EnglishStemmer.ends.longest(in: letters) {
    case (_, .addE)?: letters.append(UInt8(ascii: "e"))
    case (let start, .double)?:
      // Words such as `add` and `egg` keep both letters.
      if start == 1, EnglishStemmer.lettersBeforeDouble.contains(letters[0]) { return }
      letters.removeLast()
    case nil:
      if letters.count == r1, endsShort(before: letters.count) {
        letters.append(UInt8(ascii: "e"))
      }
    }
  }

  private mutating func step1c() {
    let last = letters.count - 1
    guard last >= 2,
      letters[last] == EnglishStemmer.y || letters[last] == EnglishStemmer.consonantY,
      !isVowel(last - 1)
    else { return }
    letters[last] = UInt8(ascii: "i")
  }

  // MARK: Derived words

  private enum DerivedAction {
    case replace(StaticText)
    case delete, afterL, afterLi, afterSOrT, inR2
  }

  private static let derivations = SuffixTable<DerivedAction>([
    ("tional", .replace("tion")), ("enci", .replace("ence")), ("anci", .replace("ance")),
    ("abli", .replace("able")), ("entli", .replace("ent")), ("izer ization", .replace("ize")),
    ("ational ation ator", .replace("ate")), ("alism aliti alli", .replace("al")),
    ("fulness fulli", .replace("ful")), ("ousli ousness", .replace("ous")),
    ("iveness iviti", .replace("ive")), ("biliti bli", .replace("ble")),
    ("ogist", .replace("og")), ("ogi", .afterL), ("lessli", .replace("less")), ("li", .afterLi),
  ])

  private mutating func step2() {
    guard let (start, action) = EnglishStemmer.derivations.longest(in: letters), start >= r1 else {
      return
    }
    switch action {
    case .replace(let text): replace(from: start, by: text)
    case .afterL:
      if start > 0, letters[start - 1] == UInt8(ascii: "l") { replace(from: start, by: "og") }
    default:
      if start > 0, EnglishStemmer.lettersBeforeLi.contains(letters[start - 1]) {
        letters.removeSubrange(start...)
      }
    }
  }

  private static let qualities = SuffixTable<DerivedAction>([
    ("tional", .replace("tion")), ("ational", .replace("ate")), ("alize", .replace("al")),
    ("icate iciti ical", .replace("ic")), ("ful ness", .delete), ("ative", .inR2),
  ])

  private mutating func step3() {
    guard let (start, action) = EnglishStemmer.qualities.longest(in: letters), start >= r1 else {
      return
    }
    switch action {
    case .replace(let text): replace(from: start, by: text)
    case .inR2: if start >= r2 { letters.removeSubrange(start...) }
    default: letters.removeSubrange(start...)
    }
  }

  private static let endings = SuffixTable<DerivedAction>([
    ("al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize", .delete),
    ("ion", .afterSOrT),
  ])

  private mutating func step4() {
    guard let (start, action) = EnglishStemmer.endings.longest(in: letters), start >= r2 else {
      return
    }
    if case .afterSOrT = action {
      guard start > 0,
        letters[start - 1] == UInt8(ascii: "s") || letters[start - 1] == UInt8(ascii: "t")
      else { return }
    }
    letters.removeSubrange(start...)
  }

  private mutating func step5() {
    let last = letters.count - 1
    guard last >= 0 else { return }
    if letters[last] == UInt8(ascii: "e") {
      if last >= r2 || last >= r1 && !endsShort(before: last) { letters.removeLast() }
    } else if letters[last] == UInt8(ascii: "l"), last >= r2, last > 0,
      letters[last - 1] == UInt8(ascii: "l")
    {
      letters.removeLast()
    }
  }
}

/// Letters of a rule, as bytes.
struct StaticText: Sendable, ExpressibleByStringLiteral {
  let bytes: [UInt8]

  init(_ text: String) { bytes = Array(text.utf8) }
  init(stringLiteral text: String) { self.init(text) }
}
