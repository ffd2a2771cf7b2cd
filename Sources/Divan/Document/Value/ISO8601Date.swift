import DivanLog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Date {
  /// The nearest date in whole milliseconds, the precision of the stored form.
  var roundedToMilliseconds: Date {
    let milliseconds = (timeIntervalSince1970 * 1000).rounded()
    // A date that is not finite is unchanged; saving it reports the error.
    return milliseconds.isFinite ? Date(timeIntervalSince1970: milliseconds / 1000) : self
  }
}

/// Dates as texts in ISO 8601, in UTC with milliseconds: `2026-03-01T12:00:00.000Z`.
///
/// Implemented here because a formatter takes five to ten times as long, and truncates milliseconds
/// instead of rounding them.
enum ISO8601Date {
  private static let millisecondsPerDay = 86_400_000
  /// The years 0 through 9999, in milliseconds since 1970.
  private static let range = -62_167_219_200_000...253_402_300_799_999

  /// Returns the 24 bytes of a date's text; nil for a date before the year 0 or after 9999.
  static func text(of date: Date) -> [UInt8]? {
    let rounded = (date.timeIntervalSince1970 * 1000).rounded()
    guard let milliseconds = Int(exactly: rounded), range.contains(milliseconds) else { return nil }
    let (day, timeOfDay) = split(milliseconds, by: millisecondsPerDay)
    let date = civilDate(daysSince1970: day)
    var text: [UInt8] = []
    text.reserveCapacity(24)
    append(date.year, digits: 4, then: "-", to: &text)
    append(date.month, digits: 2, then: "-", to: &text)
    append(date.day, digits: 2, then: "T", to: &text)
    append(timeOfDay / 3_600_000, digits: 2, then: ":", to: &text)
    append(timeOfDay / 60_000 % 60, digits: 2, then: ":", to: &text)
    append(timeOfDay / 1000 % 60, digits: 2, then: ".", to: &text)
    append(timeOfDay % 1000, digits: 3, then: "Z", to: &text)
    return text
  }

  /// Returns the date that a text represents; nil if it is not a date with a time and a zone.
  ///
  /// Any number of digits may follow the seconds, and the zone may be `Z` or like `+01:00`.
  static func date(of text: Span<UInt8>) -> Date? {
    guard let year = number(text, 0, 4), let month = number(text, 5, 2),
      let day = number(text, 8, 2), let hour = number(text, 11, 2),
      let minute = number(text, 14, 2), let second = number(text, 17, 2),
      text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
      text[10] == UInt8(ascii: "T") || text[10] == UInt8(ascii: " "),
      text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"),
      (1...12).contains(month), day >= 1, day <= dayCount(ofMonth: month, year: year),
      hour <= 24, minute <= 59, second <= 60
    else { return nil }
    var position = 19
    var fraction = 0.0
    if position < text.count, text[position] == UInt8(ascii: ".") {
      var scale = 1.0
      position += 1
      let start = position
      while position < text.count, let digit = number(text, position, 1) {
        scale /= 10
        fraction += Double(digit) * scale
        position += 1
      }
      guard position > start else { return nil }
    }
    guard let offset = zoneOffset(text, at: position) else { return nil }
    let days = daysSince1970(year: year, month: month, day: day)
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
    let milliseconds = Double(seconds) * 1000 + (fraction * 1000).rounded()
    return Date(timeIntervalSince1970: milliseconds / 1000)
  }

  /// Returns the number of seconds by which the zone at the end of the text is ahead of UTC.
  private static func zoneOffset(_ text: Span<UInt8>, at position: Int) -> Int? {
    guard position < text.count else { return nil }
    let sign: Int
    switch text[position] {
    case UInt8(ascii: "Z"): return position + 1 == text.count ? 0 : nil
    case UInt8(ascii: "+"): sign = 1
    case UInt8(ascii: "-"): sign = -1
    default: return nil
    }
    guard let hours = number(text, position + 1, 2), hours <= 23 else { return nil }
    var minutesStart = position + 3
    if minutesStart < text.count, text[minutesStart] == UInt8(ascii: ":") { minutesStart += 1 }
    guard minutesStart + 2 == text.count, let minutes = number(text, minutesStart, 2),
      minutes <= 59
    else { return nil }
    return sign * (hours * 3600 + minutes * 60)
  }

  private static func number(_ text: Span<UInt8>, _ start: Int, _ count: Int) -> Int? {
    guard start + count <= text.count else { return nil }
    var value = 0
    for index in start..<start + count {
      let digit = text[index] &- UInt8(ascii: "0")
      guard digit <= 9 else { return nil }
      value = value * 10 + Int(digit)
    }
    return value
  }

  private static func append(
    _ number: Int, digits: Int, then separator: Unicode.Scalar, to text: inout [UInt8]
  ) {
    var divisor = digits == 4 ? 1000 : digits == 3 ? 100 : 10
    while divisor > 0 {
      text.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
      divisor /= 10
    }
    text.append(UInt8(ascii: separator))
  }

  // MARK: The calendar

  // Years begin in March here, so the leap day comes last; 400 of them have 146,097 days.

  private static let daysTo1970 = 719_468

  private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
    let marchYear = month > 2 ? year : year - 1
    let (era, yearOfEra) = split(marchYear, by: 400)
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - daysTo1970
  }

  private static func civilDate(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
    let (era, dayOfEra) = split(days + daysTo1970, by: 146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day)
  }

  private static func dayCount(ofMonth month: Int, year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Returns the quotient and the remainder, which is never negative.
  private static func split(_ number: Int, by divisor: Int) -> (Int, Int) {
    let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
