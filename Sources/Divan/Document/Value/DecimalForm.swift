/// A decimal, `digits` × 10 ^ `exponent`, whose nearest double is a given double.
///
/// Decimals of at most 15 significant digits and doubles in the ordinary range determine each
/// other, so a double has one form, or none:
/// - A whole number below 10^15 has the exponent 0.
/// - For others, `digits` is not divisible by ten, and is the shortest that reads back as the
///   double.
///
/// Invariant: `digits` is within ±(10^15 - 1). There is no form of -0.0.
struct DecimalForm: Equatable {
  var digits: Int64
  var exponent: Int

  static let digitsLimit: Int64 = 1_000_000_000_000_000

  init(digits: Int64, exponent: Int) {
    self.digits = digits
    self.exponent = exponent
  }

  /// The form of a finite double, or nil if it takes more than 15 digits.
  init?(_ number: Double) {
    let limit = Double(DecimalForm.digitsLimit)
    if abs(number) < limit, number.rounded(.towardZero) == number {
      self.init(digits: Int64(number), exponent: 0)
      return
    }
    if abs(number) < limit, abs(number) >= 1e-6 {
      for places in 1...22 {
        // The error is less than 0.2 below 10^15, so rounding finds the digits if there are any.
        let scaled = (number * DecimalForm.powersOfTen[places]).rounded()
        guard abs(scaled) < limit else { return nil }
        if scaled / DecimalForm.powersOfTen[places] == number {
          self.init(digits: Int64(scaled), exponent: -places)
          return
        }
      }
      return nil
    }
    self.init(shortest: number.description)
  }

  /// Reads the shortest text of a double: `d.ddd` or `de±dd`.
  private init?(shortest text: String) {
    var digits: Int64 = 0
    var exponent = 0
    var isNegative = false
    var isFraction = false
    var zeros = 0
    var significant = 0
    var rest = Substring(text)
    if rest.first == "-" {
      isNegative = true
      rest = rest.dropFirst()
    }
    while let character = rest.first, character != "e" {
      rest = rest.dropFirst()
      guard character != "." else {
        isFraction = true
        continue
      }
      guard let digit = character.wholeNumberValue else { return nil }
      if isFraction { exponent -= 1 }
      // Zeros count once another digit follows.
      if digit == 0 {
        zeros += 1
        continue
      }
      let growth = significant == 0 ? 1 : zeros + 1
      significant += growth
      guard significant <= 15 else { return nil }
      for _ in 0..<growth { digits *= 10 }
      digits += Int64(digit)
      zeros = 0
    }
    if rest.first == "e" {
      guard let written = Int(rest.dropFirst()) else { return nil }
      exponent += written
    }
    self.init(digits: isNegative ? -digits : digits, exponent: exponent + zeros)
  }

  /// The nearest double.
  var number: Double {
    if exponent == 0 { return Double(digits) }
    // Both factors are exact, so the one operation rounds correctly.
    if exponent < 0, exponent >= -22 {
      return Double(digits) / DecimalForm.powersOfTen[-exponent]
    }
    if exponent > 0, exponent <= 22 {
      return Double(digits) * DecimalForm.powersOfTen[exponent]
    }
    return Double("\(digits)e\(exponent)") ?? .infinity
  }

  /// The powers of ten that doubles represent exactly.
  static let powersOfTen: [Double] = [
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
  ]
}
