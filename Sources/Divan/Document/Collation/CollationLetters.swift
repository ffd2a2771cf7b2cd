/// The letters of Latin, Greek and Cyrillic: their order, their capitals and their accents.
///
/// These tables determine the order that ``Collation`` guarantees; if you change them, raise
/// ``Collation/version``. Decompositions and capitals are those of Unicode 14 for these scripts,
/// and never change there. They are listed here so that no order depends on the tables of a runtime
/// or of a system.
enum CollationLetters {
  /// The signs of ASCII, in their order.
  static let signs = "\t\n\u{B}\u{C}\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
  /// The digits, in their order.
  static let digits = "0123456789"
  /// The Latin letters that have a weight of their own; others follow, by number.
  static let latin = "abcdðeəɛfgɣhijklmnŋoɔpqrstuvwxyzʒþƿ"
  /// The Greek letters that have a weight of their own; others follow, by number.
  static let greek = "αβγδεϝϛζηθικλμνξοπϟρστυφχψωϡ"
  /// The Cyrillic letters that have a weight of their own; others follow, by number.
  static let cyrillic = "аәбвгґғдђѓеєжҗзѕийіїјкќқлљмњнңоөпрстћуўүұфхһцчџшщъыьэюя"

  /// Letters of their own in an alphabet that Unicode composes from a letter and a mark.
  ///
  /// Each is the letter, the mark, and the letter that they form together.
  static let joined: [(UInt32, UInt32, UInt32)] = [
    (0x433, 0x301, 0x453), (0x438, 0x306, 0x439), (0x43A, 0x301, 0x45C), (0x443, 0x306, 0x45E),
    (0x456, 0x308, 0x457),
  ]

  /// Letters that are another form of the letter after them.
  static let variants = "ıi ſs ςσ ϐβ ϑθ ϕφ ϖπ ϰκ ϱρ ϵε"

  /// Letters that are written instead of the two after them.
  static let pairs = """
    æae ÆAE œoe ŒOE ßss ẞSS ĳij ĲIJ ŀl· ĿL· ǆdž ǅDž ǄDŽ ǉlj ǈLj ǇLJ ǌnj ǋNj ǊNJ ǳdz ǲDz ǱDZ
    """

  /// Capitals, each before its small letter, for letters without an accent.
  static let capitals = """
    AaBbCcDdEeFfGgHhIiJjKkLlMmNnOoPpQqRrSsTtUuVvWwXxYyZz
    Ðð Þþ Ŋŋ Ɓɓ Ƃƃ Ƅƅ Ɔɔ Ƈƈ Ɖɖ Ɗɗ Ƌƌ Ǝǝ Əə Ɛɛ Ƒƒ Ɠɠ Ɣɣ Ɩɩ Ɨɨ Ƙƙ Ɯɯ Ɲɲ Ɵɵ Ƣƣ Ƥƥ Ʀʀ Ƨƨ Ʃʃ Ƭƭ Ʈʈ Ʊʊ Ʋʋ
    Ƴƴ Ƶƶ Ʒʒ Ƹƹ Ƽƽ Ǥǥ Ƕƕ Ƿƿ Ȝȝ Ƞƞ Ȣȣ Ȥȥ Ⱥⱥ Ȼȼ Ƚƚ Ⱦⱦ Ɂɂ Ƀƀ Ʉʉ Ʌʌ Ɇɇ Ɉɉ Ɋɋ Ɍɍ Ɏɏ Ͱͱ Ͳͳ Ͷͷ Ϳϳ Αα Ββ Γγ
    Δδ Εε Ζζ Ηη Θθ Ιι Κκ Λλ Μμ Νν Ξξ Οο Ππ Ρρ Σσ Ττ Υυ Φφ Χχ Ψψ Ωω Ϗϗ Ϙϙ Ϛϛ Ϝϝ Ϟϟ Ϡϡ Ϣϣ Ϥϥ Ϧϧ Ϩϩ Ϫϫ
    Ϭϭ Ϯϯ ϴθ Ϸϸ Ϲϲ Ϻϻ Ͻͻ Ͼͼ Ͽͽ Ђђ Єє Ѕѕ Іі Јј Љљ Њњ Ћћ Џџ Аа Бб Вв Гг Дд Ее Жж Зз Ии Кк Лл Мм Нн Оо
    Пп Рр Сс Тт Уу Фф Хх Цц Чч Шш Щщ Ъъ Ыы Ьь Ээ Юю Яя Ѡѡ Ѣѣ Ѥѥ Ѧѧ Ѩѩ Ѫѫ Ѭѭ Ѯѯ Ѱѱ Ѳѳ Ѵѵ Ѹѹ Ѻѻ Ѽѽ Ѿѿ
    Ҁҁ Ҋҋ Ҍҍ Ҏҏ Ґґ Ғғ Ҕҕ Җҗ Ҙҙ Ққ Ҝҝ Ҟҟ Ҡҡ Ңң Ҥҥ Ҧҧ Ҩҩ Ҫҫ Ҭҭ Үү Ұұ Ҳҳ Ҵҵ Ҷҷ Ҹҹ Һһ Ҽҽ Ҿҿ Ӏӏ Ӄӄ Ӆӆ Ӈӈ
    Ӊӊ Ӌӌ Ӎӎ Ӕӕ Әә Ӡӡ Өө Ӷӷ Ӻӻ Ӽӽ Ӿӿ Ԁԁ Ԃԃ Ԅԅ Ԇԇ Ԉԉ Ԋԋ Ԍԍ Ԏԏ Ԑԑ Ԓԓ Ԕԕ Ԗԗ Ԙԙ Ԛԛ Ԝԝ Ԟԟ Ԡԡ Ԣԣ Ԥԥ Ԧԧ Ԩԩ
    Ԫԫ Ԭԭ Ԯԯ Ỻỻ Ỽỽ Ỿỿ
    """

  /// Scalars that are identical to those after them.
  static let equivalents: [(UInt32, [UInt32])] = [
    (0x340, [0x300]), (0x341, [0x301]), (0x343, [0x313]), (0x344, [0x308, 0x301]),
    (0x374, [0x2B9]), (0x37E, [0x3B]), (0x387, [0xB7]), (0x1F71, [0x3AC]), (0x1F73, [0x3AD]),
    (0x1F75, [0x3AE]), (0x1F77, [0x3AF]), (0x1F79, [0x3CC]), (0x1F7B, [0x3CD]),
    (0x1F7D, [0x3CE]), (0x1FBB, [0x386]), (0x1FBE, [0x3B9]), (0x1FC9, [0x388]),
    (0x1FCB, [0x389]), (0x1FD3, [0x390]), (0x1FDB, [0x38A]), (0x1FE3, [0x3B0]),
    (0x1FEB, [0x38E]), (0x1FEE, [0x385]), (0x1FEF, [0x60]), (0x1FF9, [0x38C]),
    (0x1FFB, [0x38F]), (0x1FFD, [0xB4]),
  ]

  /// Marks, and the letters that have them, each after the letter without it.
  ///
  /// A stroke through a letter counts as the mark 0338, though Unicode has no such decomposition.
  static let accents: [(mark: UInt32, letters: String)] = [
    (0x338, "OØ oø DĐ dđ HĦ hħ LŁ lł TŦ tŧ"),
    (
      0x300,
      """
      AÀ EÈ IÌ OÒ UÙ aà eè iì oò uù ÜǛ üǜ NǸ nǹ ЕЀ ИЍ еѐ иѝ ĒḔ ēḕ ŌṐ ōṑ WẀ wẁ ÂẦ âầ ĂẰ
      ăằ ÊỀ êề ÔỒ ôồ ƠỜ ơờ ƯỪ ưừ YỲ yỳ ἀἂ ἁἃ ἈἊ ἉἋ ἐἒ ἑἓ ἘἚ ἙἛ ἠἢ ἡἣ ἨἪ ἩἫ ἰἲ ἱἳ ἸἺ ἹἻ
      ὀὂ ὁὃ ὈὊ ὉὋ ὐὒ ὑὓ ὙὛ ὠὢ ὡὣ ὨὪ ὩὫ αὰ εὲ ηὴ ιὶ οὸ υὺ ωὼ ΑᾺ ΕῈ ΗῊ ᾿῍ ϊῒ ΙῚ ῾῝ ϋῢ ΥῪ
      ¨῭ ΟῸ ΩῺ
      """
    ),
    (
      0x301,
      """
      AÁ EÉ IÍ OÓ UÚ YÝ aá eé ií oó uú yý CĆ cć LĹ lĺ NŃ nń RŔ rŕ SŚ sś ZŹ zź ÜǗ üǘ GǴ
      gǵ ÅǺ åǻ ÆǼ æǽ ØǾ øǿ ¨΅ ΑΆ ΕΈ ΗΉ ΙΊ ΟΌ ΥΎ ΩΏ ϊΐ αά εέ ηή ιί ϋΰ οό υύ ωώ ϒϓ ГЃ КЌ
      гѓ кќ ÇḈ çḉ ĒḖ ēḗ ÏḮ ïḯ KḰ kḱ MḾ mḿ ÕṌ õṍ ŌṒ ōṓ PṔ pṕ ŨṸ ũṹ WẂ wẃ ÂẤ âấ ĂẮ ăắ ÊẾ
      êế ÔỐ ôố ƠỚ ơớ ƯỨ ưứ ἀἄ ἁἅ ἈἌ ἉἍ ἐἔ ἑἕ ἘἜ ἙἝ ἠἤ ἡἥ ἨἬ ἩἭ ἰἴ ἱἵ ἸἼ ἹἽ ὀὄ ὁὅ ὈὌ ὉὍ
      ὐὔ ὑὕ ὙὝ ὠὤ ὡὥ ὨὬ ὩὭ ᾿῎ ῾῞
      """
    ),
    (
      0x302,
      """
      AÂ EÊ IÎ OÔ UÛ aâ eê iî oô uû CĈ cĉ GĜ gĝ HĤ hĥ JĴ jĵ SŜ sŝ WŴ wŵ YŶ yŷ ZẐ zẑ ẠẬ
      ạậ ẸỆ ẹệ ỌỘ ọộ
      """
    ),
    (
      0x303,
      """
      AÃ NÑ OÕ aã nñ oõ IĨ iĩ UŨ uũ VṼ vṽ ÂẪ âẫ ĂẴ ăẵ EẼ eẽ ÊỄ êễ ÔỖ ôỗ ƠỠ ơỡ ƯỮ ưữ YỸ
      yỹ
      """
    ),
    (
      0x304,
      """
      AĀ aā EĒ eē IĪ iī OŌ oō UŪ uū ÜǕ üǖ ÄǞ äǟ ȦǠ ȧǡ ÆǢ æǣ ǪǬ ǫǭ ÖȪ öȫ ÕȬ õȭ ȮȰ ȯȱ YȲ
      yȳ ИӢ иӣ УӮ уӯ GḠ gḡ ḶḸ ḷḹ ṚṜ ṛṝ αᾱ ΑᾹ ιῑ ΙῙ υῡ ΥῩ
      """
    ),
    (
      0x306,
      """
      AĂ aă EĔ eĕ GĞ gğ IĬ iĭ OŎ oŏ UŬ uŭ УЎ ИЙ ий уў ЖӁ жӂ АӐ аӑ ЕӖ еӗ ȨḜ ȩḝ ẠẶ ạặ αᾰ
      ΑᾸ ιῐ ΙῘ υῠ ΥῨ
      """
    ),
    (
      0x307,
      """
      CĊ cċ EĖ eė GĠ gġ Iİ ZŻ zż AȦ aȧ OȮ oȯ BḂ bḃ DḊ dḋ FḞ fḟ HḢ hḣ MṀ mṁ NṄ nṅ PṖ pṗ
      RṘ rṙ SṠ sṡ ŚṤ śṥ ŠṦ šṧ ṢṨ ṣṩ TṪ tṫ WẆ wẇ XẊ xẋ YẎ yẏ ſẛ
      """
    ),
    (
      0x308,
      """
      AÄ EË IÏ OÖ UÜ aä eë iï oö uü yÿ YŸ ΙΪ ΥΫ ιϊ υϋ ϒϔ ЕЁ ІЇ её ії АӒ аӓ ӘӚ әӛ ЖӜ жӝ
      ЗӞ зӟ ИӤ иӥ ОӦ оӧ ӨӪ өӫ ЭӬ эӭ УӰ уӱ ЧӴ чӵ ЫӸ ыӹ HḦ hḧ ÕṎ õṏ ŪṺ ūṻ WẄ wẅ XẌ xẍ tẗ
      """
    ),
    (
      0x309,
      """
      AẢ aả ÂẨ âẩ ĂẲ ăẳ EẺ eẻ ÊỂ êể IỈ iỉ OỎ oỏ ÔỔ ôổ ƠỞ ơở UỦ uủ ƯỬ ưử YỶ yỷ
      """
    ),
    (
      0x30A,
      """
      AÅ aå UŮ uů wẘ yẙ
      """
    ),
    (
      0x30B,
      """
      OŐ oő UŰ uű УӲ уӳ
      """
    ),
    (
      0x30C,
      """
      CČ cč DĎ dď EĚ eě LĽ lľ NŇ nň RŘ rř SŠ sš TŤ tť ZŽ zž AǍ aǎ IǏ iǐ OǑ oǒ UǓ uǔ ÜǙ
      üǚ GǦ gǧ KǨ kǩ ƷǮ ʒǯ jǰ HȞ hȟ
      """
    ),
    (
      0x30F,
      """
      AȀ aȁ EȄ eȅ IȈ iȉ OȌ oȍ RȐ rȑ UȔ uȕ ѴѶ ѵѷ
      """
    ),
    (
      0x311,
      """
      AȂ aȃ EȆ eȇ IȊ iȋ OȎ oȏ RȒ rȓ UȖ uȗ
      """
    ),
    (
      0x313,
      """
      αἀ ΑἈ εἐ ΕἘ ηἠ ΗἨ ιἰ ΙἸ οὀ ΟὈ υὐ ωὠ ΩὨ ρῤ
      """
    ),
    (
      0x314,
      """
      αἁ ΑἉ εἑ ΕἙ ηἡ ΗἩ ιἱ ΙἹ οὁ ΟὉ υὑ ΥὙ ωὡ ΩὩ ρῥ ΡῬ
      """
    ),
    (
      0x31B,
      """
      OƠ oơ UƯ uư
      """
    ),
    (
      0x323,
      """
      BḄ bḅ DḌ dḍ HḤ hḥ KḲ kḳ LḶ lḷ MṂ mṃ NṆ nṇ RṚ rṛ SṢ sṣ TṬ tṭ VṾ vṿ WẈ wẉ ZẒ zẓ AẠ
      aạ EẸ eẹ IỊ iị OỌ oọ ƠỢ ơợ UỤ uụ ƯỰ ưự YỴ yỵ
      """
    ),
    (
      0x324,
      """
      UṲ uṳ
      """
    ),
    (
      0x325,
      """
      AḀ aḁ
      """
    ),
    (
      0x326,
      """
      SȘ sș TȚ tț
      """
    ),
    (
      0x327,
      """
      CÇ cç GĢ gģ KĶ kķ LĻ lļ NŅ nņ RŖ rŗ SŞ sş TŢ tţ EȨ eȩ DḐ dḑ HḨ hḩ
      """
    ),
    (
      0x328,
      """
      AĄ aą EĘ eę IĮ iį UŲ uų OǪ oǫ
      """
    ),
    (
      0x32D,
      """
      DḒ dḓ EḘ eḙ LḼ lḽ NṊ nṋ TṰ tṱ UṶ uṷ
      """
    ),
    (
      0x32E,
      """
      HḪ hḫ
      """
    ),
    (
      0x330,
      """
      EḚ eḛ IḬ iḭ UṴ uṵ
      """
    ),
    (
      0x331,
      """
      BḆ bḇ DḎ dḏ KḴ kḵ LḺ lḻ NṈ nṉ RṞ rṟ TṮ tṯ ZẔ zẕ hẖ
      """
    ),
    (
      0x342,
      """
      ἀἆ ἁἇ ἈἎ ἉἏ ἠἦ ἡἧ ἨἮ ἩἯ ἰἶ ἱἷ ἸἾ ἹἿ ὐὖ ὑὗ ὙὟ ὠὦ ὡὧ ὨὮ ὩὯ αᾶ ¨῁ ηῆ ᾿῏ ιῖ ϊῗ ῾῟ υῦ
      ϋῧ ωῶ
      """
    ),
    (
      0x345,
      """
      ἀᾀ ἁᾁ ἂᾂ ἃᾃ ἄᾄ ἅᾅ ἆᾆ ἇᾇ Ἀᾈ Ἁᾉ Ἂᾊ Ἃᾋ Ἄᾌ Ἅᾍ Ἆᾎ Ἇᾏ ἠᾐ ἡᾑ ἢᾒ ἣᾓ ἤᾔ ἥᾕ ἦᾖ ἧᾗ Ἠᾘ Ἡᾙ Ἢᾚ
      Ἣᾛ Ἤᾜ Ἥᾝ Ἦᾞ Ἧᾟ ὠᾠ ὡᾡ ὢᾢ ὣᾣ ὤᾤ ὥᾥ ὦᾦ ὧᾧ Ὠᾨ Ὡᾩ Ὢᾪ Ὣᾫ Ὤᾬ Ὥᾭ Ὦᾮ Ὧᾯ ὰᾲ αᾳ άᾴ ᾶᾷ Αᾼ ὴῂ
      ηῃ ήῄ ῆῇ Ηῌ ὼῲ ωῳ ώῴ ῶῷ Ωῼ
      """
    ),
  ]
}
