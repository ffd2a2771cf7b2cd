/// The natural logarithm, computed with the four operations only.
///
/// The functions of C libraries differ in their last bits, and with them the order of documents
/// whose scores are nearly equal. This one gives the same bits on every system. The number is
/// positive and finite.
func naturalLogarithm(_ value: Double) -> Double {
  precondition(value > 0 && value.isFinite, "no logarithm of \(value)")
  var (fraction, exponent) = (value.significand, Double(value.exponent))
  if fraction > 1.414_213_562_373_095_1 {
    fraction /= 2
    exponent += 1
  }
  // ln f = 2 artanh((f − 1) / (f + 1)), whose series converges for |x| < 0.172 within 11 terms.
  let x = (fraction - 1) / (fraction + 1)
  let square = x * x
  var sum = 0.0
  for divisor in stride(from: 21.0, through: 1, by: -2) { sum = sum * square + 1 / divisor }
  return 2 * x * sum + exponent * 0.693_147_180_559_945_3
}
