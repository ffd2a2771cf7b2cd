/// What the segmentation of text needs to know of a scalar.
struct WordBreakProperties {
  let bits: UInt16

  /// The properties of all scalars.
  static let table = ScalarTable(ranges: WordBreakData.ranges)

  /// The value of the property Word_Break.
  var wordBreak: WordBreak { WordBreak(rawValue: UInt8(bits & 0x1F)) ?? .other }
  /// Whether the scalar has the property Extended_Pictographic.
  var isPictograph: Bool { bits & 0x20 != 0 }
  /// Whether the scalar is a letter, a number or an emoji: text with it is a word.
  var isWord: Bool { bits & 0x40 != 0 }
  /// Whether the scalar's script has no spaces between words.
  var isNGram: Bool { bits & 0x80 != 0 }
}

/// The values of Unicode's property Word_Break, in the order of the generated table.
enum WordBreak: UInt8 {
  case other, carriageReturn, lineFeed, newline, extend, joiner, format, regionalIndicator
  case katakana, hebrewLetter, letter, singleQuote, doubleQuote, midNumberLetter, midLetter
  case midNumber, numeric, extendNumberLetter, space

  /// AHLetter in the rules.
  var isLetter: Bool { self == .letter || self == .hebrewLetter }
  /// CR, LF or Newline in the rules.
  var endsLine: Bool { self == .carriageReturn || self == .lineFeed || self == .newline }
  /// What rule WB4 ignores.
  var isIgnored: Bool { self == .extend || self == .joiner || self == .format }

  /// Whether there is no boundary between two neighbours, by the rules for two scalars.
  ///
  /// These are WB5, WB8 to WB10, WB13, WB13a and WB13b.
  func joins(_ next: WordBreak) -> Bool {
    switch (self, next) {
    case (.letter, .letter), (.letter, .hebrewLetter), (.hebrewLetter, .letter),
      (.hebrewLetter, .hebrewLetter), (.letter, .numeric), (.hebrewLetter, .numeric),
      (.numeric, .numeric), (.numeric, .letter), (.numeric, .hebrewLetter),
      (.katakana, .katakana):
      true
    case (.letter, .extendNumberLetter), (.hebrewLetter, .extendNumberLetter),
      (.numeric, .extendNumberLetter), (.katakana, .extendNumberLetter),
      (.extendNumberLetter, .extendNumberLetter):
      true
    case (.extendNumberLetter, .letter), (.extendNumberLetter, .hebrewLetter),
      (.extendNumberLetter, .numeric), (.extendNumberLetter, .katakana):
      true
    default: false
    }
  }

  /// Whether there is no boundary on either side of `middle`, with this before it and `next` after.
  ///
  /// These are WB6 and WB7, WB7b and WB7c, WB11 and WB12.
  func joins(_ middle: WordBreak, _ next: WordBreak) -> Bool {
    switch middle {
    case .midLetter: isLetter && next.isLetter
    case .midNumber: self == .numeric && next == .numeric
    case .midNumberLetter, .singleQuote:
      isLetter && next.isLetter || self == .numeric && next == .numeric
    case .doubleQuote: self == .hebrewLetter && next == .hebrewLetter
    default: false
    }
  }
}
