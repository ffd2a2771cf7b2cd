internal import DivanLog

extension FullTextOptions {
  /// The options that differ from the defaults, in words.
  package var traits: [String] {
    var traits: [String] = []
    if let stemming { traits.append("\(stemming.name) stems") }
    // In a fixed order.
    for language in Language.allCases where stopWords.contains(language) {
      traits.append("without \(language.name) stop words")
    }
    if !ignoresDiacritics { traits.append("with diacritics") }
    if includesAttachments { traits.append("with attachments") }
    for (name, weight) in weights.sorted(by: { compareUTF8($0.key, $1.key) < 0 }) {
      traits.append("\(name) counts \(weight)")
    }
    return traits
  }
}

extension FullTextOptions.Language {
  /// The name in English.
  fileprivate var name: String {
    switch self {
    case .english: "English"
    case .german: "German"
    }
  }
}
