import Foundation

/// The cookie of a session with a server, and when it is renewed.
struct LoginCookie: Sendable {
  /// The name and the value, as they are sent.
  let text: String
  /// The time at which a request asks for another one first, before this one expires.
  let renewal: ContinuousClock.Instant

  private static let name = "AuthSession="
  /// How long CouchDB keeps a session in seconds, unless it is configured otherwise.
  private static let usualAge = 600

  /// Reads the header `Set-Cookie`, which may have several cookies; nil if none is a session.
  ///
  /// - Parameters:
  ///   - header: The value of the header.
  ///   - now: The time at which it arrived.
  init?(setCookie header: String?, now: ContinuousClock.Instant = .now) {
    guard let header, let start = header.range(of: Self.name) else { return nil }
    let value = header[start.upperBound...].prefix { $0 != ";" && $0 != "," }
    // An empty one ends the session.
    guard !value.isEmpty else { return nil }
    text = Self.name + value
    let age = Self.age(in: header[value.endIndex...]) ?? Self.usualAge
    // A tenth earlier, so that a long request does not outlast the session.
    renewal = now + Duration.seconds(min(max(0, age), 31 * 86_400)) * 0.9
  }

  /// Returns the seconds of `Max-Age` among the attributes of the first cookie.
  private static func age(in attributes: Substring) -> Int? {
    for attribute in attributes.split(separator: ";") {
      let text = attribute.trimmingCharacters(in: .whitespaces).lowercased()
      if text.hasPrefix("max-age=") { return Int(text.dropFirst(8).prefix(while: \.isNumber)) }
      // Another cookie follows a comma, and a date has one.
      if text.filter({ $0 == "," }).count > (text.hasPrefix("expires=") ? 1 : 0) { return nil }
    }
    return nil
  }
}
