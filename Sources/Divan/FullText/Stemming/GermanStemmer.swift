/// Reduces German words to their stems: `Häuser`, `Hauses` and `Haeusern` to `haus`.
///
/// This is Snowball's algorithm *german*, as of Snowball 3.1.1
/// (https://snowballstem.org/algorithms/german/stemmer.html). It has the umlauts that are written
/// `ae`, `oe` and `ue`, too, and writes the stem without umlauts.
///
/// R1 is the part of the word after the first consonant that follows a vowel, and after at least
/// three letters. R2 is the part after the next such consonant. Between vowels, `u` and `y` are
/// consonants, and are written `U` and `Y` until the end.
struct GermanStemmer {
  private static let vowels = LetterSet("aeiouyäöü")
  private static let lettersBeforeS = LetterSet("bdfghklmnrt")
  private static let lettersBeforeSt = LetterSet("bdfghklmnt")
  private static let lettersBeforeEt = LetterSet("Udfgklmnrstzä")
  private static let (e, u, y) = (UInt8(ascii: "e"), UInt8(ascii: "u"), UInt8(ascii: "y"))

  private var word = StemmedWord()
  private var letters: [UInt8] = []
  private var r1 = 0
  private var r2 = 0

  /// Replaces a case-folded word by its stem.
  mutating func stem(_ bytes: inout [UInt8]) {
    word.read(bytes)
    letters.removeAll(keepingCapacity: true)
    markConsonants()
    spellUmlauts()
    markRegions()
    step1()
    step2()
    step3()
    step4()
    for index in letters.indices { letters[index] = GermanStemmer.plain(letters[index]) }
    swap(&word.letters, &letters)
    word.write(to: &bytes)
  }

  private static func plain(_ letter: UInt8) -> UInt8 {
    switch letter {
    case UInt8(ascii: "U"), StemmedWord.uUmlaut: u
    case UInt8(ascii: "Y"): y
    case StemmedWord.aUmlaut: UInt8(ascii: "a")
    case StemmedWord.oUmlaut: UInt8(ascii: "o")
    default: letter
    }
  }

  private mutating func markConsonants() {
    guard word.letters.count > 2 else { return }
    for index in 1..<word.letters.count - 1 {
      let letter = word.letters[index]
      guard letter == GermanStemmer.u || letter == GermanStemmer.y,
        GermanStemmer.vowels.contains(word.letters[index - 1]),
        GermanStemmer.vowels.contains(word.letters[index + 1])
      else { continue }
      word.letters[index] = letter & 0x5F
    }
  }

  /// Copies the letters of the word, with umlauts for their spellings in two letters.
  private mutating func spellUmlauts() {
    var index = 0
    let source = word.letters
    while index < source.count {
      let letter = source[index]
      let next = index + 1 < source.count ? source[index + 1] : 0
      index += 2
      switch (letter, next) {
      case (UInt8(ascii: "a"), GermanStemmer.e): letters.append(StemmedWord.aUmlaut)
      case (UInt8(ascii: "o"), GermanStemmer.e): letters.append(StemmedWord.oUmlaut)
      case (GermanStemmer.u, GermanStemmer.e): letters.append(StemmedWord.uUmlaut)
      case (UInt8(ascii: "q"), GermanStemmer.u): letters += [letter, next]
      case (StemmedWord.sharpS, _):
        letters += [UInt8(ascii: "s"), UInt8(ascii: "s")]
        index -= 1
      default:
        letters.append(letter)
        index -= 1
      }
    }
  }

  private mutating func markRegions() {
    (r1, r2) = (letters.count, letters.count)
    guard letters.count >= 3, let first = letters.region(after: 0, GermanStemmer.vowels) else {
      return
    }
    r1 = max(first, 3)
    r2 = letters.region(after: first, GermanStemmer.vowels) ?? letters.count
  }

  private func has(_ set: LetterSet, before index: Int) -> Bool {
    index > 0 && set.contains(letters[index - 1])
  }

  private func has(_ letter: UInt8, before index: Int) -> Bool {
    index > 0 && letters[index - 1] == letter
  }

  private mutating func remove(from start: Int) { letters.removeSubrange(start...) }

  // MARK: Steps

  private enum Inflection { case em, er, e, s, ln }
  private static let inflections = SuffixTable([
    ("em", Inflection.em), ("ern er erin erinnen", .er), ("e en es", .e), ("s", .s),
    ("ln lns", .ln),
  ])
  private static let syst = StaticText("syst").bytes
  private static let niss = StaticText("niss").bytes

  private mutating func step1() {
    guard let (start, action) = GermanStemmer.inflections.longest(in: letters), start >= r1 else {
      return
    }
    switch action {
    case .em: if !letters.hasSuffix(GermanStemmer.syst, before: start) { remove(from: start) }
    case .er: remove(from: start)
    case .e:
      remove(from: start)
      if letters.hasSuffix(GermanStemmer.niss, before: start) { letters.removeLast() }
    case .s: if has(GermanStemmer.lettersBeforeS, before: start) { remove(from: start) }
    case .ln: remove(from: start + 1)
    }
  }

  private enum Comparison { case en, st, et }
  private static let comparisons = SuffixTable([
    ("en er est", Comparison.en), ("st", .st), ("et", .et),
  ])
  private static let wordsBeforeEt = SuffixTable([("tick plan geordn intern tr", ())])

  private mutating func step2() {
    guard let (start, action) = GermanStemmer.comparisons.longest(in: letters), start >= r1 else {
      return
    }
    switch action {
    case .en: remove(from: start)
    case .st:
      if start >= 4, has(GermanStemmer.lettersBeforeSt, before: start) { remove(from: start) }
    case .et:
      if has(GermanStemmer.lettersBeforeEt, before: start),
        GermanStemmer.wordsBeforeEt.longest(in: letters, before: start) == nil
      {
        remove(from: start)
      }
    }
  }

  private enum Derivation { case end, ig, lich, keit }
  private static let derivations = SuffixTable([
    ("end ung", Derivation.end), ("ig ik isch", .ig), ("lich heit", .lich), ("keit", .keit),
  ])
  private static let ig = StaticText("ig").bytes
  private static let afterKeit = SuffixTable([("ig lich", ())])
  private static let afterLich = SuffixTable([("er en", ())])

  private mutating func step3() {
    guard let (start, action) = GermanStemmer.derivations.longest(in: letters), start >= r2 else {
      return
    }
    switch action {
    case .end:
      remove(from: start)
      if letters.hasSuffix(GermanStemmer.ig, before: start), start - 2 >= r2,
        !has(GermanStemmer.e, before: start - 2)
      {
        remove(from: start - 2)
      }
    case .ig: if !has(GermanStemmer.e, before: start) { remove(from: start) }
    case .lich:
      remove(from: start)
      if let (inner, _) = GermanStemmer.afterLich.longest(in: letters), inner >= r1 {
        remove(from: inner)
      }
    case .keit:
      remove(from: start)
      if let (inner, _) = GermanStemmer.afterKeit.longest(in: letters), inner >= r2 {
        remove(from: inner)
      }
    }
  }

  private static let possessives = SuffixTable([("' 's 'sch", ())])

  private mutating func step4() {
    if let (start, _) = GermanStemmer.possessives.longest(in: letters), start >= 2 {
      remove(from: start)
    }
  }
}
