import DivanLog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Types beyond JSON that are stored as texts, each in one form.
///
/// A date is in ISO 8601, in UTC with milliseconds; data is base64; the others are stored as their
/// descriptions.
enum StoredText {
  /// Returns the text of a decimal number; nil if it is not a number.
  static func text(of number: Decimal) -> String? { number.isNaN ? nil : number.description }

  /// Returns the decimal number that a text represents, or nil.
  ///
  /// The text has digits with at most one point, optionally after a sign and before an exponent.
  static func decimal(of text: String) -> Decimal? {
    // `Decimal` reads as much as it can, and ignores the rest.
    var rest = Substring(text).utf8
    func skipDigits() -> Int {
      let digits = rest.prefix { $0 >= 0x30 && $0 <= 0x39 }.count
      rest = rest.dropFirst(digits)
      return digits
    }
    func skip(_ characters: Unicode.Scalar...) -> Bool {
      guard let first = rest.first, characters.contains(Unicode.Scalar(first)) else { return false }
      rest = rest.dropFirst()
      return true
    }
    _ = skip("-", "+")
    var digits = skipDigits()
    if skip(".") { digits += skipDigits() }
    guard digits > 0 else { return nil }
    if skip("e", "E") {
      _ = skip("-", "+")
      let size = skipDigits()
      guard size > 0, size < 5 else { return nil }
    }
    guard rest.isEmpty, let number = Decimal(string: text), !number.isNaN else { return nil }
    return number
  }

  /// Returns the URL that a text represents, or nil.
  static func url(of text: String) -> URL? { text.isEmpty ? nil : URL(string: text) }
}

extension Float {
  /// The double with the fewest digits whose nearest float this is.
  ///
  /// For example, it is 0.1, not 0.10000000149011612.
  var shortestDouble: Double {
    let number = Double(self)
    guard isFinite, number.rounded(.towardZero) != number, abs(number) >= 1e-6 else {
      return number
    }
    for places in 1...12 {
      let power = DecimalForm.powersOfTen[places]
      let short = (number * power).rounded() / power
      if Float(short) == self { return short }
    }
    return number
  }
}
