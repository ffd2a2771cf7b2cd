import Divan
import DivanLog
import Foundation

/// Who makes a request.
struct Authentication: Sendable {
  /// The user; nil without credentials.
  var user: CouchDBService.User?
  /// CouchDB's word for the kind of credentials.
  var method: String?
  /// Whether there are users at all.
  var isRequired: Bool
  /// The header with a new cookie for a session that was used.
  var renewedCookie: String?

  /// Refuses requests without a user if there are users.
  func requireUser() throws {
    guard isRequired, user == nil else { return }
    throw ServiceError(401, "unauthorized", "You are not authorized to access this db.")
  }

  /// Returns what the request may do with a database.
  ///
  /// A user without permission learns nothing about whether the database exists.
  func permission(for database: String) throws -> CouchDBService.Permission {
    try requireUser()
    guard let user else { return .write }
    guard let permission = user.permission(for: database) else {
      throw ServiceError(403, "forbidden", "You are not allowed to access this db.")
    }
    return permission
  }
}

extension CouchDBService {
  /// Finds the user of a request by its credentials.
  ///
  /// A cookie that is no longer valid counts as none, and wrong Basic credentials are refused.
  func authenticate(_ call: ServiceCall, _ event: inout Event) async throws -> Authentication {
    var result = Authentication(isRequired: configuration.users != nil)
    guard result.isRequired else { return result }
    if let (name, password) = try Self.basicCredentials(call) {
      event.user = String(name.prefix(100))
      result.user = try await state.passwords.user(name, password, from: call.address)
      result.method = "default"
    } else if let text = SessionCookie.text(in: call.headers["cookie"] ?? ""),
      let session = SessionCookie(text, state), isValid(session)
    {
      event.user = session.user.name
      result.user = session.user
      result.method = "cookie"
      let rest = session.expiry.timeIntervalSinceNow
      if rest < 0.9 * configuration.sessionDuration.inSeconds {
        result.renewedCookie = cookie(for: session.user)
      }
    }
    return result
  }

  /// Whether a session is not over.
  ///
  /// A clock that was set back would lengthen sessions: those that end much too late are over, too.
  private func isValid(_ session: SessionCookie) -> Bool {
    let rest = session.expiry.timeIntervalSinceNow
    return rest > 0 && rest < 1.1 * configuration.sessionDuration.inSeconds
  }

  private static func basicCredentials(
    _ call: ServiceCall
  ) throws -> (name: String, password: String)? {
    guard let header = call.headers["authorization"] else { return nil }
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "basic" else {
      throw ServiceError(401, "unauthorized", "Only Basic credentials and sessions are accepted.")
    }
    guard let data = Data(base64Encoded: parts[1].trimmingCharacters(in: .whitespaces)),
      let text = String(validating: data, as: UTF8.self),
      // A combining mark at the beginning of the password makes one character with the colon.
      let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
    else { throw ServiceError.badRequest("The Basic credentials are malformed.") }
    return (String(text[..<colon]), String(text[text.utf8.index(after: colon)...]))
  }

  private func cookie(for user: User) -> String {
    let duration = configuration.sessionDuration
    let expiry = Date().addingTimeInterval(duration.inSeconds)
    return cookie(SessionCookie(user: user, expiry: expiry).text(state), duration)
  }

  private func cookie(_ text: String, _ duration: Duration) -> String {
    "AuthSession=\(text); Version=1; Max-Age=\(Int(duration.inSeconds)); Path=/; HttpOnly; "
      + "SameSite=Strict" + (configuration.hasSecureCookies ? "; Secure" : "")
  }

  /// Answers the requests for a session: to begin one, to see it, to end it.
  func session(
    _ call: ServiceCall, _ authentication: Authentication, _ event: inout Event
  ) async throws -> HTTPResponse {
    try call.allow("GET", "HEAD", "POST", "DELETE")
    switch call.method {
    case "POST":
      let (name, password) = try await within(
        configuration.limits.loginTime,
        ServiceError(408, "request_timeout", "The password came too slowly.")
      ) { try await Self.sentCredentials(call) }
      event.user = String(name.prefix(100))
      guard authentication.isRequired else {
        throw ServiceError(401, "unauthorized", "Name or password is incorrect.")
      }
      let user = try await state.passwords.user(name, password, from: call.address)
      return .json(
        200, ["ok": true, "name": .string(user.name), "roles": []],
        headers: ["set-cookie": cookie(for: user)])
    case "DELETE":
      return .json(200, ["ok": true], headers: ["set-cookie": cookie("", .zero)])
    default:
      var information: Value.Object = ["authentication_handlers": ["cookie", "default"]]
      if let method = authentication.method { information["authenticated"] = .string(method) }
      let name = authentication.user.map { Value.string($0.name) } ?? .null
      return .json(
        200,
        ["ok": true, "userCtx": ["name": name, "roles": []], "info": .object(information)])
    }
  }

  /// The name and the password of a form or of JSON.
  private static func sentCredentials(
    _ call: ServiceCall
  ) async throws -> (name: String, password: String) {
    let data = try await call.data(sizeLimit: 4096)
    var name: String?
    var password: String?
    if call.headers["content-type"]?.hasPrefix("application/x-www-form-urlencoded") ?? false {
      for item in String(decoding: data, as: UTF8.self).split(separator: "&") {
        let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let value = try pair.dropFirst().first.map { try ServiceCall.decoded($0) }
        switch pair.first {
        case "name": name = value
        case "password": password = value
        default: break
        }
      }
    } else {
      let value = try ServiceCall.json(data)
      (name, password) = (value["name"]?.stringValue, value["password"]?.stringValue)
    }
    guard let name, let password else {
      throw ServiceError.badRequest("request body must contain a name and a password")
    }
    return (name, password)
  }
}

/// A session: a name and an expiry, signed by this process.
struct SessionCookie {
  let user: CouchDBService.User
  let expiry: Date

  /// The seconds from 1970 to the year 10000.
  private static let expiryLimit: Int64 = 253_402_300_800

  init(user: CouchDBService.User, expiry: Date) {
    self.user = user
    self.expiry = expiry
  }

  /// Reads a cookie; nil if it is not one of this service or its user is gone.
  init?(_ text: String, _ state: ServiceState) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let name = Self.decoded(parts[0]),
      // Other numbers were never signed, and most of them are no date.
      let seconds = Int64(parts[1], radix: 16), (0..<Self.expiryLimit).contains(seconds),
      let user = String(validating: name, as: UTF8.self).flatMap({ state.passwords.user($0) })
    else { return nil }
    self.init(user: user, expiry: Date(timeIntervalSince1970: Double(seconds)))
    // The whole text, because Base64 may have other forms of the same bytes.
    guard PasswordHash.areEqual(Array(text.utf8), Array(self.text(state).utf8)) else { return nil }
  }

  func text(_ state: ServiceState) -> String {
    [Self.encoded(Array(user.name.utf8)), seconds, Self.encoded(code(state))]
      .joined(separator: ".")
  }

  private var seconds: String { String(Int64(expiry.timeIntervalSince1970), radix: 16) }

  /// The signature, which a new password makes invalid.
  private func code(_ state: ServiceState) -> [UInt8] {
    let message = "\(seconds):\(user.password):\(user.name)"
    return HMAC256.code(of: Array(message.utf8), state.cookieKey).bytes
  }

  /// Returns the value of the cookie in a header.
  static func text(in header: String) -> String? {
    for part in header.split(separator: ";") {
      let pair = part.split(separator: "=", maxSplits: 1)
      guard pair.count == 2, pair[0].trimmingCharacters(in: .whitespaces) == "AuthSession" else {
        continue
      }
      return pair[1].trimmingCharacters(in: CharacterSet(charactersIn: " \""))
    }
    return nil
  }

  /// Base64 with the alphabet of URLs and without padding.
  private static func encoded(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
      .replacing("=", with: "")
  }

  private static func decoded(_ text: Substring) -> [UInt8]? {
    var base64 = text.replacing("-", with: "+").replacing("_", with: "/")
    base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
    return Data(base64Encoded: String(base64)).map { Array($0) }
  }
}

/// Does something within a time.
///
/// - Throws: An error of the work, or `failure` if it takes longer.
private func within<Result: Sendable>(
  _ time: Duration, _ failure: ServiceError,
  _ work: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  try await withThrowingTaskGroup(of: Result.self) { group in
    group.addTask(operation: work)
    group.addTask {
      try await Task.sleep(for: time)
      throw failure
    }
    defer { group.cancelAll() }
    guard let result = try await group.next() else { throw failure }
    return result
  }
}

extension Duration {
  var inSeconds: Double { self / .seconds(1) }
}
