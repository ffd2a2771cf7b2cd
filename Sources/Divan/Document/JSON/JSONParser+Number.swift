import DivanLog

extension JSONParser {
  /// Moves past a number and adds it to the sink.
  mutating func parseNumber(
    _ bytes: Span<UInt8>, into sink: inout some ValueSink & ~Copyable
  ) throws(DatabaseError) {
    let start = position
    let isNegative = skip(UInt8(ascii: "-"), bytes)
    let wholeStart = position
    var digits: UInt64 = 0
    var isExact = true
    parseDigits(bytes, &digits, &isExact)
    let wholeCount = position - wholeStart
    guard wholeCount > 0, wholeCount == 1 || bytes[wholeStart] != UInt8(ascii: "0") else {
      position = start
      throw error("A number has no digits, or begins with a needless zero", bytes)
    }
    var exponent = 0
    var isWhole = true
    if skip(UInt8(ascii: "."), bytes) {
      isWhole = false
      let fractionStart = position
      parseDigits(bytes, &digits, &isExact)
      exponent = fractionStart - position
      guard exponent < 0 else { throw error("A digit is missing after the point", bytes) }
    }
    if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
      isWhole = false
      exponent += try parseExponent(bytes)
    }
    if isWhole {
      try addInteger(
        digits, isExact: isExact, isNegative: isNegative, start: start, bytes, into: &sink)
    } else {
      let number = try double(
        digits, exponent, isExact: isExact, isNegative: isNegative, start: start, bytes)
      sink.add(number)
    }
  }

  /// Moves past digits and appends them to `digits`, if they still fit.
  @inline(__always)
  private mutating func parseDigits(
    _ bytes: Span<UInt8>, _ digits: inout UInt64, _ isExact: inout Bool
  ) {
    while position < bytes.count {
      let digit = bytes[position] &- UInt8(ascii: "0")
      guard digit <= 9 else { return }
      let (tenfold, overflow) = digits.multipliedReportingOverflow(by: 10)
      let (sum, carry) = tenfold.addingReportingOverflow(UInt64(digit))
      if overflow || carry { isExact = false }
      digits = sum
      position += 1
    }
  }

  private mutating func parseExponent(_ bytes: Span<UInt8>) throws(DatabaseError) -> Int {
    position += 1
    let isNegative = skip(UInt8(ascii: "-"), bytes)
    if !isNegative { _ = skip(UInt8(ascii: "+"), bytes) }
    let start = position
    var exponent = 0
    while position < bytes.count {
      let digit = bytes[position] &- UInt8(ascii: "0")
      guard digit <= 9 else { break }
      // Greater exponents are cut, but stay beyond what the digits of any text make up for.
      if exponent < Int.max / 100 { exponent = exponent * 10 + Int(digit) }
      position += 1
    }
    guard position > start else { throw error("A digit is missing in an exponent", bytes) }
    return isNegative ? -exponent : exponent
  }

  private mutating func addInteger(
    _ digits: UInt64, isExact: Bool, isNegative: Bool, start: Int, _ bytes: Span<UInt8>,
    into sink: inout some ValueSink & ~Copyable
  ) throws(DatabaseError) {
    if isExact, let small = Int64(exactly: digits) {
      // JSON's -0 is a number whose sign only a double keeps.
      if isNegative, small == 0 { sink.add(-0.0) } else { sink.add(isNegative ? -small : small) }
    } else if isExact, !isNegative {
      sink.add(unsigned: digits)
    } else if isExact, digits == 1 << 63 {
      sink.add(Int64.min)
    } else {
      position = start
      throw error(
        "An integer is outside the ranges of Int64 and UInt64", bytes,
        hint: "Write it with a fraction (1.0) or as a text.")
    }
  }

  private mutating func double(
    _ digits: UInt64, _ exponent: Int, isExact: Bool, isNegative: Bool, start: Int,
    _ bytes: Span<UInt8>
  ) throws(DatabaseError) -> Double {
    if isExact, digits < 1 << 53, exponent >= -22, exponent <= 22 {
      // Both factors are exact, so the one operation rounds correctly.
      let power = DecimalForm.powersOfTen[abs(exponent)]
      let number = exponent < 0 ? Double(digits) / power : Double(digits) * power
      return isNegative ? -number : number
    }
    let text = String(utf8: bytes.extracting(start..<position)) ?? ""
    guard let number = Double(text), number.isFinite else {
      position = start
      throw error("A number is too large for a double", bytes)
    }
    return number
  }
}
