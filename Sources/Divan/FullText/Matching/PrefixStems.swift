/// The stems of words that begin with what was typed of them, where the stems do not begin so.
///
/// ```
/// painti  →  painting  →  paint
/// ```
///
/// An index with stemming has `paint` for `painting`, so no term begins with `painti`. The words
/// are what was typed, or a beginning of it, with a usual suffix that continues the rest of it.
enum PrefixStems {
  /// The greatest number of stems.
  static let limit = 64
  /// The number of letters that are before a suffix at least.
  private static let leastLength = 3

  /// Returns stems, in a fixed order and each once, that do not begin with `term`.
  ///
  /// `typed` is the beginning of words, folded and with its diacritics; `term` is the same as it is
  /// looked up.
  static func stems(
    ofWordsWith typed: [UInt8], besides term: [UInt8], _ options: AnalysisOptions
  ) -> [[UInt8]] {
    guard let language = options.stemming, typed.count <= TermFilter.termSizeLimit else {
      return []
    }
    var plain = options
    plain.stopWords = []
    var filter = TermFilter(plain)
    let suffixes = language == .english ? english : german
    var stems: [[UInt8]] = []
    var stem: [UInt8] = []
    for end in ends(of: typed) {
      let rest = typed[end...]
      for suffix in suffixes where suffix.starts(with: rest) {
        let word = Array(typed[..<end]) + suffix
        guard filter.makeTerm(word, 0..<word.count, into: &stem), !stem.starts(with: term),
          !stems.contains(stem)
        else { continue }
        stems.append(stem)
        if stems.count == limit { return stems }
      }
    }
    return stems
  }

  /// Returns where a suffix can begin: at the end of what was typed, and before.
  private static func ends(of typed: [UInt8]) -> [Int] {
    var ends: [Int] = []
    var offset = 0
    while offset < typed.count {
      offset = typed.scalar(at: offset).end
      ends.append(offset)
    }
    return ends.dropFirst(leastLength - 1).suffix(longestSuffix + 1).reversed()
  }

  private static let longestSuffix = (english + german).map(\.count).max() ?? 0

  private static func list(_ suffixes: String) -> [[UInt8]] {
    suffixes.split(whereSeparator: \.isWhitespace).map { Array($0.utf8) }
  }

  private static let english = list(
    """
    ing ings ingly ed edly er ers es ies ied s 's ly ily ally ness nesses ment ments ful fully less
    able ably ible ibly ability ibilities ion ions ation ations ator ators ational ition itions ive
    ively iveness ize izes ized izing izer ization izations ise ised ising al ally ality alism ity
    ities ism isms ist ists ous ously ousness ance ances ence ences ant ent ional iness
    """)

  private static let german = list(
    """
    e en er ern es em s st est n ens erin ernen nis igen iger iges ige igem ig ung ungen heit heiten
    keit keiten igkeit igkeiten lich liche lichen licher liches lichem isch ische ischen ischer
    isches ischem end ende enden ender endes ste sten ster stes te ten test tet et
    """)
}
