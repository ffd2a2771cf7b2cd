/// What a regular expression wants of one scalar.
indirect enum ScalarTest: Sendable {
  case one(Unicode.Scalar, _ ignoresCase: Bool)
  case range(ClosedRange<Unicode.Scalar>, _ ignoresCase: Bool)
  case digits
  case words
  case spaces
  case anything
  /// A dot: everything but the ends of lines.
  case noLineEnd
  case any([ScalarTest])
  case inverted(ScalarTest)

  /// The number of tests that this consists of.
  var count: Int {
    switch self {
    case .any(let tests): tests.reduce(1) { $0 + $1.count }
    case .inverted(let test): test.count
    default: 1
    }
  }

  func accepts(_ scalar: Unicode.Scalar) -> Bool {
    switch self {
    case .one(let wanted, let ignoresCase):
      scalar == wanted || ignoresCase && scalar.lowercase == wanted.lowercase
    case .range(let range, let ignoresCase):
      range.contains(scalar) || ignoresCase && scalar.cases.contains { range.contains($0) }
    case .digits: ("0"..."9").contains(scalar)
    case .words: scalar.isWord
    case .spaces: scalar == " " || ("\t"..."\r").contains(scalar)
    case .anything: true
    case .noLineEnd: !scalar.isLineEnd
    case .any(let tests): tests.contains { $0.accepts(scalar) }
    case .inverted(let test): !test.accepts(scalar)
    }
  }
}

extension Unicode.Scalar {
  /// Whether it is a letter, a digit or a low line of ASCII.
  var isWord: Bool {
    switch self {
    case "a"..."z", "A"..."Z", "0"..."9", "_": true
    default: false
    }
  }

  /// Whether it is a sign of ASCII, and not a space.
  var isPunctuation: Bool { ("!"..."~").contains(self) && (!isWord || self == "_") }

  fileprivate var isLineEnd: Bool {
    switch self {
    case "\n"..."\r", "\u{85}", "\u{2028}", "\u{2029}": true
    default: false
    }
  }

  fileprivate var lowercase: String {
    isASCII && !("A"..."Z").contains(self) ? String(self) : properties.lowercaseMapping
  }

  /// The two forms of a letter.
  fileprivate var cases: [Unicode.Scalar] {
    [properties.lowercaseMapping, properties.uppercaseMapping].compactMap { text in
      text.unicodeScalars.count == 1 ? text.unicodeScalars.first : nil
    }
  }
}
