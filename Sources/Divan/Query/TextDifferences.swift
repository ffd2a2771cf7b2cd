/// What makes no difference when texts are compared.
public struct TextDifferences: OptionSet, Sendable, Hashable {
  /// The bits.
  public let rawValue: UInt8
  /// Makes a set of bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Small and capital letters are the same.
  public static let letterCase = TextDifferences(rawValue: 1)
  /// Letters are the same with and without accents, and in whatever way accents are written.
  public static let diacritics = TextDifferences(rawValue: 2)
  /// Both.
  public static let caseAndDiacritics: TextDifferences = [.letterCase, .diacritics]
}

extension TextDifferences: CustomStringConvertible {
  /// What is ignored, in words.
  public var description: String {
    switch self {
    case []: ""
    case .letterCase: "ignoring case"
    case .diacritics: "ignoring diacritics"
    default: "ignoring case and diacritics"
    }
  }
}
