import Synchronization

/// How the regular expressions of a selector are matched.
enum PatternMatching: Sendable {
  /// With all of Swift's syntax, and in exponential time at worst.
  case backtracking
  /// With a part of the syntax, in linear time.
  case linear
}

/// A regular expression of a selector, compiled once.
final class SelectorPattern: Sendable {
  /// The size of the longest expression in bytes.
  private static let sizeLimit = 4096
  /// The number of opening brackets: groups and classes are compiled by recursion.
  private static let bracketLimit = 100

  private let linear: LinearPattern?
  /// Nil if the expression is linear.
  ///
  /// A `Regex` cannot be used by several threads at once.
  private let regex: Mutex<Regex<AnyRegexOutput>?>

  init(_ text: String, _ matching: PatternMatching) throws {
    guard text.utf8.count <= SelectorPattern.sizeLimit else {
      throw Refusal("it has more than \(SelectorPattern.sizeLimit) bytes")
    }
    // Also those that are only characters, which is simpler to count and to explain.
    guard text.utf8.count(where: { $0 == 0x28 || $0 == 0x5B }) <= SelectorPattern.bracketLimit
    else { throw Refusal("it has more than \(SelectorPattern.bracketLimit) opening brackets") }
    switch matching {
    case .linear:
      linear = try LinearPattern(text)
      regex = Mutex(nil)
    case .backtracking:
      linear = nil
      regex = Mutex(try SelectorPattern.compile(text))
    }
  }

  /// The number of steps of a linear expression.
  var size: Int { linear?.size ?? 0 }

  /// Returns whether the expression matches a part of a text.
  ///
  /// Only the time of a linear expression can be over.
  func matches(_ text: String, _ clock: inout SelectorClock) throws(SelectorFailure) -> Bool {
    if let linear { return try linear.matches(text, &clock) }
    return regex.withLock { regex in
      do {
        return try regex?.firstMatch(in: text) != nil
      } catch {
        return false
      }
    }
  }

  /// Returns the expression with classes of ASCII, as CouchDB's have them.
  private static func compile(_ text: String) throws -> Regex<AnyRegexOutput> {
    try Regex(text).matchingSemantics(.unicodeScalar).wordBoundaryKind(.simple)
      .asciiOnlyDigits().asciiOnlyWordCharacters().asciiOnlyWhitespace().asciiOnlyCharacterClasses()
  }

  private struct Refusal: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
  }
}
