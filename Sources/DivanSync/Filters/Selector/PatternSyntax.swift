/// A regular expression as its syntax has it.
///
/// It is the part of the syntax that can be matched in linear time, and that Swift and PCRE read in
/// the same way.
indirect enum PatternSyntax: Sendable {
  case scalar(ScalarTest)
  case sequence([PatternSyntax])
  case choice([PatternSyntax])
  /// Between `minimum` and `maximum` times; nil is any number.
  case repetition(PatternSyntax, minimum: Int, maximum: Int?)
  case place(Place)

  /// A condition on the place between two scalars.
  enum Place: Sendable {
    case start
    case end
    case wordBoundary
    case noWordBoundary
  }

  /// What is refused, and why.
  struct Refusal: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
  }
}

extension PatternSyntax {
  /// Reads an expression.
  ///
  /// - Throws: ``Refusal`` for what cannot be matched in linear time or would mean something else
  ///   elsewhere.
  init(_ text: String) throws(Refusal) {
    var parser = PatternParser(text)
    self = try parser.expression()
  }
}

/// Reads regular expressions.
private struct PatternParser {
  private var rest: ArraySlice<Character>
  private var ignoresCase = false
  private var dotIsAnything = false

  init(_ text: String) { rest = Array(text)[...] }

  mutating func expression() throws(PatternSyntax.Refusal) -> PatternSyntax {
    try readFlags()
    let result = try choice()
    guard rest.isEmpty else { throw refusal("a “)” closes nothing") }
    return result
  }

  private func refusal(_ text: String) -> PatternSyntax.Refusal { PatternSyntax.Refusal(text) }

  /// Reads `(?i)` and `(?s)` at the beginning.
  private mutating func readFlags() throws(PatternSyntax.Refusal) {
    guard rest.starts(with: "(?"), let end = rest.firstIndex(of: ")") else { return }
    let flags = rest[..<end].dropFirst(2)
    guard !flags.isEmpty, flags.allSatisfy({ $0 == "i" || $0 == "s" }) else { return }
    ignoresCase = flags.contains("i")
    dotIsAnything = flags.contains("s")
    rest = rest[end...].dropFirst()
  }

  private mutating func choice() throws(PatternSyntax.Refusal) -> PatternSyntax {
    var choices = [try sequence()]
    while rest.first == "|" {
      rest.removeFirst()
      choices.append(try sequence())
    }
    return choices.count == 1 ? choices[0] : .choice(choices)
  }

  private mutating func sequence() throws(PatternSyntax.Refusal) -> PatternSyntax {
    var parts: [PatternSyntax] = []
    while let next = rest.first, next != "|", next != ")" {
      let part = try atom()
      parts.append(try repeated(part))
    }
    return parts.count == 1 ? parts[0] : .sequence(parts)
  }

  private mutating func atom() throws(PatternSyntax.Refusal) -> PatternSyntax {
    let character = rest.removeFirst()
    switch character {
    case "(": return try group()
    case "[":
      let characters = try characterClass()
      return .scalar(characters)
    case ".": return .scalar(dotIsAnything ? .anything : .noLineEnd)
    case "^": return .place(.start)
    case "$": return .place(.end)
    case "\\": return try escape()
    case "*", "+", "?": throw refusal("a “\(character)” has nothing before it")
    case "{", "}", "]": throw refusal("a “\(character)” that is meant as itself needs a “\\”")
    default: return try literal(character)
    }
  }

  /// A character, whose scalars belong together.
  private func literal(_ character: Character) throws(PatternSyntax.Refusal) -> PatternSyntax {
    let scalars = Array(character.unicodeScalars)
    guard scalars.count > 1 else { return .scalar(.one(scalars[0], ignoresCase)) }
    guard !scalars[0].isASCII || scalars[0].isWord else {
      throw refusal("a combining mark follows a sign")
    }
    return .sequence(scalars.map { .scalar(.one($0, ignoresCase)) })
  }

  private mutating func group() throws(PatternSyntax.Refusal) -> PatternSyntax {
    if rest.first == "?" {
      guard rest.starts(with: "?:") else {
        throw refusal("groups are “(…)” and “(?:…)”, and “(?i)” is allowed at the beginning")
      }
      rest = rest.dropFirst(2)
    } else if rest.first == "*" {
      throw refusal("groups are “(…)” and “(?:…)”")
    }
    let result = try choice()
    guard rest.popFirst() == ")" else { throw refusal("a “(” is not closed") }
    // A condition on a place may be repeated in a group.
    return .sequence([result])
  }

  private mutating func escape() throws(PatternSyntax.Refusal) -> PatternSyntax {
    guard let character = rest.popFirst() else { throw refusal("a “\\” ends it") }
    switch character {
    case "b": return .place(.wordBoundary)
    case "B": return .place(.noWordBoundary)
    default: return .scalar(try escaped(character))
    }
  }

  /// What a character after a backslash means, in a class, too.
  private func escaped(_ character: Character) throws(PatternSyntax.Refusal) -> ScalarTest {
    switch character {
    case "d": return .digits
    case "D": return .inverted(.digits)
    case "w": return .words
    case "W": return .inverted(.words)
    case "s": return .spaces
    case "S": return .inverted(.spaces)
    case "n": return .one("\n", false)
    case "r": return .one("\r", false)
    case "t": return .one("\t", false)
    default:
      let scalars = character.unicodeScalars
      guard let first = scalars.first, scalars.count == 1, first.isPunctuation else {
        throw refusal("“\\\(character)” is not one of \\b \\B \\d \\D \\w \\W \\s \\S \\n \\r \\t")
      }
      return .one(first, false)
    }
  }
}

// MARK: Repetitions

extension PatternParser {
  private mutating func repeated(
    _ part: PatternSyntax
  ) throws(PatternSyntax.Refusal) -> PatternSyntax {
    let (minimum, maximum): (Int, Int?)
    switch rest.first {
    case "*": (minimum, maximum) = (0, nil)
    case "+": (minimum, maximum) = (1, nil)
    case "?": (minimum, maximum) = (0, 1)
    case "{": (minimum, maximum) = try counts()
    default: return part
    }
    rest.removeFirst()
    if case .place = part { throw refusal("a condition on a place is repeated") }
    // Which match is found first makes no difference to whether there is one.
    if rest.first == "?" { rest.removeFirst() }
    if let next = rest.first, "*+?{".contains(next) {
      throw refusal("a repetition follows a repetition")
    }
    return .repetition(part, minimum: minimum, maximum: maximum)
  }

  /// Reads `{2}`, `{2,}` or `{2,4}` up to its last character.
  private mutating func counts() throws(PatternSyntax.Refusal) -> (Int, Int?) {
    guard let end = rest.firstIndex(of: "}") else { throw refusal("a “{” is not closed") }
    let parts = rest[..<end].dropFirst().split(separator: ",", omittingEmptySubsequences: false)
    let numbers = parts.map { part in
      part.count <= 4 && part.allSatisfy { ("0"..."9").contains($0) } ? Int(String(part)) : nil
    }
    rest = rest[end...]
    guard let first = numbers.first, let minimum = first, numbers.count <= 2 else {
      throw refusal("a repetition is “{2}”, “{2,}” or “{2,4}”, with at most 4 digits")
    }
    guard numbers.count == 2 else { return (minimum, minimum) }
    guard !parts[1].isEmpty else { return (minimum, nil) }
    guard let maximum = numbers[1], minimum <= maximum else {
      throw refusal("the numbers of a repetition are not in order")
    }
    return (minimum, maximum)
  }
}

// MARK: Classes

extension PatternParser {
  /// Reads a class after its opening bracket; nothing is nested in it.
  private mutating func characterClass() throws(PatternSyntax.Refusal) -> ScalarTest {
    let isInverted = rest.first == "^"
    if isInverted { rest.removeFirst() }
    guard rest.first != ":" else { throw refusal("a “:” at the beginning of a class needs a “\\”") }
    var members: [ScalarTest] = []
    while rest.first != "]" {
      guard let character = rest.popFirst() else { throw refusal("a “[” is not closed") }
      let member = try classMember(character)
      guard rest.first == "-", let last = rest.dropFirst().first, last != "]" else {
        members.append(member)
        continue
      }
      rest = rest.dropFirst(2)
      guard last != "-", case .one(let first, _) = member,
        case .one(let end, _) = try classMember(last), first <= end
      else { throw refusal("a range of characters is not in order") }
      members.append(.range(first...end, ignoresCase))
    }
    rest.removeFirst()
    guard !members.isEmpty else { throw refusal("a class is empty") }
    return isInverted ? .inverted(.any(members)) : .any(members)
  }

  private mutating func classMember(
    _ character: Character
  ) throws(PatternSyntax.Refusal) -> ScalarTest {
    switch character {
    case "\\":
      guard let next = rest.popFirst() else { throw refusal("a “\\” ends it") }
      return try escaped(next)
    case "[", "&", "~":
      throw refusal("a “\(character)” in a class needs a “\\”")
    default:
      guard let scalar = character.unicodeScalars.first, character.unicodeScalars.count == 1 else {
        throw refusal("a character in a class consists of several scalars")
      }
      return .one(scalar, ignoresCase)
    }
  }
}
