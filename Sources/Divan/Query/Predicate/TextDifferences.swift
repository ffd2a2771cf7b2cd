/// The differences that are ignored when texts are compared.
///
/// ```swift
/// let query = Query<Film>().filter { $0.title.hasPrefix("metro", ignoring: .caseAndDiacritics) }
/// ```
public struct TextDifferences: OptionSet, Sendable, Hashable {
  /// The bits of the set.
  public let rawValue: UInt8
  /// Creates a set from its bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Ignores case: small and capital letters are equal.
  public static let letterCase = TextDifferences(rawValue: 1)
  /// Ignores accents: letters are equal with and without them, however accents are encoded.
  public static let diacritics = TextDifferences(rawValue: 2)
  /// Ignores both.
  public static let caseAndDiacritics: TextDifferences = [.letterCase, .diacritics]
}

extension TextDifferences: CustomStringConvertible {
  /// A textual description of the set.
  public var description: String {
    switch self {
    case []: ""
    case .letterCase: "ignoring case"
    case .diacritics: "ignoring diacritics"
    default: "ignoring case and diacritics"
    }
  }
}
