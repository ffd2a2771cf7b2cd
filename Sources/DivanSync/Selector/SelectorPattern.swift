import Synchronization

/// A regular expression of a selector, compiled once.
final class SelectorPattern: Sendable {
  /// The size of the longest expression in bytes.
  static let sizeLimit = 4096
  /// The maximum depth of groups: they are compiled by recursion.
  static let depthLimit = 50

  /// A `Regex` cannot be used by several threads at once.
  private let regex: Mutex<Regex<AnyRegexOutput>>

  init(_ text: String) throws {
    regex = Mutex(try SelectorPattern.compile(text))
  }

  /// Returns whether the expression matches a part of a text.
  func matches(_ text: String) -> Bool {
    regex.withLock { regex in
      do {
        return try regex.firstMatch(in: text) != nil
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
}
