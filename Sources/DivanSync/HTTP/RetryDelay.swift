import Foundation

extension HTTPResponse {
  /// The longest wait that a server can ask for, in seconds.
  private static var longestRetryDelay: Int { 3600 }

  /// How long to wait before the next attempt, if the header `Retry-After` says so (RFC 9110).
  ///
  /// It is a number of seconds or a date, which counts from the `Date` of the response: the clock
  /// of this machine may be another one.
  var retryDelay: Duration? {
    guard let text = headers["retry-after"]?.trimmingCharacters(in: .whitespaces) else {
      return nil
    }
    if let seconds = Int(text) {
      return .seconds(min(max(0, seconds), Self.longestRetryDelay))
    }
    guard let date = HTTPDate.seconds(text) else { return nil }
    let now = headers["date"].flatMap(HTTPDate.seconds) ?? Int(Date().timeIntervalSince1970)
    return .seconds(min(max(0, date - now), Self.longestRetryDelay))
  }
}

/// Dates of HTTP, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Returns the seconds since 1970; nil if the text is no date of this form.
  static func seconds(_ text: String) -> Int? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", let day = Int(words[1]), (1...31).contains(day),
      let month = months.firstIndex(of: String(words[2])), let year = Int(words[3]),
      (1970...9999).contains(year)
    else { return nil }
    let time = words[4].split(separator: ":").compactMap { Int($0) }
    guard time.count == 3, (0..<24).contains(time[0]), (0..<60).contains(time[1]),
      (0...60).contains(time[2])
    else { return nil }
    return days(year, month + 1, day) * 86_400 + time[0] * 3600 + time[1] * 60 + time[2]
  }

  /// Returns the days since 1 January 1970 of the Gregorian calendar.
  ///
  /// Years begin with March here, so that the leap day is the last one.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let monthFromMarch = (month + 9) % 12
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    let leapDays = year / 4 - year / 100 + year / 400
    return year * 365 + leapDays + dayOfYear - 719_468
  }
}
