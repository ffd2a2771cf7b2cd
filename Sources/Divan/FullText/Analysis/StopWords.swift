/// Words that are so frequent that an index may leave them out.
///
/// The lists follow those of the Snowball project (https://snowballstem.org). Words are compared
/// folded, with and without diacritics.
struct StopWords: Sendable {
  private let words: Set<[UInt8]>
  private let greatestSize: Int

  /// Returns the words of some languages together, which are made once.
  static func of(_ languages: Set<AnalysisOptions.Language>) -> StopWords {
    switch (languages.contains(.english), languages.contains(.german)) {
    case (true, true): both
    case (true, false): english
    case (false, true): german
    case (false, false): none
    }
  }

  private static let none = StopWords([])
  private static let english = StopWords([.english])
  private static let german = StopWords([.german])
  private static let both = StopWords([.english, .german])

  private init(_ languages: Set<AnalysisOptions.Language>) {
    var words: Set<[UInt8]> = []
    for language in languages {
      let list = language == .english ? StopWords.englishText : StopWords.germanText
      for word in list.split(whereSeparator: \.isWhitespace) {
        let text = Array(word.utf8)
        for removesDiacritics in [true, false] {
          var folding = WordFolding(removesDiacritics: removesDiacritics)
          var folded: [UInt8] = []
          folding.fold(text, 0..<text.count, into: &folded)
          words.insert(folded)
        }
      }
    }
    self.words = words
    greatestSize = words.map(\.count).max() ?? 0
  }

  /// Whether a folded word is one of the words.
  func contains(_ word: [UInt8]) -> Bool { word.count <= greatestSize && words.contains(word) }

  private static let englishText = """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she
    her hers herself it its itself they them their theirs themselves what which who whom this that
    these those am is are was were be been being have has had having do does did doing would should
    could ought i'm you're he's she's it's we're they're i've you've we've they've i'd you'd he'd
    she'd we'd they'd i'll you'll he'll she'll we'll they'll isn't aren't wasn't weren't hasn't
    haven't hadn't doesn't don't didn't won't wouldn't shan't shouldn't can't cannot couldn't
    mustn't let's that's who's what's here's there's when's where's why's how's a an the and but if
    or because as until while of at by for with about against between into through during before
    after above below to from up down in out on off over under again further then once here there
    when where why how all any both each few more most other some such no nor not only own same so
    than too very
    """

  private static let germanText = """
    aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes
    anderm andern anderr anders auch auf aus bei bin bis bist da damit dann der den des dem die das
    daß dass derselbe derselben denselben desselben demselben dieselbe dieselben dasselbe dazu dein
    deine deinem deinen deiner deines denn derer dessen dich dir du dies diese diesem diesen dieser
    dieses doch dort durch ein eine einem einen einer eines einig einige einigem einigen einiger
    einiges einmal er ihn ihm es etwas euer eure eurem euren eurer eures für gegen gewesen hab habe
    haben hat hatte hatten hier hin hinter ich mich mir ihr ihre ihrem ihren ihrer ihres euch im in
    indem ins ist jede jedem jeden jeder jedes jene jenem jenen jener jenes jetzt kann kein keine
    keinem keinen keiner keines können könnte machen man manche manchem manchen mancher manches mein
    meine meinem meinen meiner meines mit muss musste nach nicht nichts noch nun nur ob oder ohne
    sehr sein seine seinem seinen seiner seines selbst sich sie ihnen sind so solche solchem solchen
    solcher solches soll sollte sondern sonst über um und uns unsere unserem unseren unser unseres
    unter viel vom von vor während war waren warst was weg weil weiter welche welchem welchen welcher
    welches wenn werde werden wie wieder will wir wird wirst wo wollen wollte würde würden zu zum zur
    zwar zwischen
    """
}
