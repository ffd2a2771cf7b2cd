import Divan
import Foundation

/// Sends requests to one database of a CouchDB server, with credentials.
///
/// ``CouchDBPeer`` and its extensions make the requests.
actor CouchDBConnection {
  /// The URL of the database, without credentials and without a slash at its end.
  nonisolated let database: String
  private let transport: any HTTPTransport
  private let authorization: CouchDBAuthorization
  /// The credentials that are sent.
  private var credentials: Credentials?
  /// Closed while a request makes credentials, for which the others wait.
  private let authorizing = Gate(isOpen: true)
  private var isAuthorizing = false

  init(
    _ url: URL, _ authorization: CouchDBAuthorization, _ transport: any HTTPTransport
  ) {
    var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
    // A name and a password in the URL count if there are no others.
    if case .none = authorization.kind, let name = parts?.user, let password = parts?.password {
      self.authorization = .basic(name: name, password: password)
    } else {
      self.authorization = authorization
    }
    parts?.user = nil
    parts?.password = nil
    parts?.query = nil
    parts?.fragment = nil
    // A URL that cannot be taken apart may have credentials anywhere.
    var text = parts?.string ?? "invalid:"
    while text.hasSuffix("/") { text.removeLast() }
    database = text
    self.transport = transport
  }

  /// The part of a request that is not its body.
  struct Target: Sendable {
    var method: String
    var path: [String]
    var query: [(String, String)] = []
    var headers: [String: String] = [:]
    /// Receives the number of bytes of the body that were sent.
    var progress: (@Sendable (Int) -> Void)?

    init(_ method: String, _ path: String..., query: [(String, String)] = []) {
      self.method = method
      self.path = path
      self.query = query
    }
  }

  /// Sends a request, and returns a response of any status but 401, which is an error.
  ///
  /// If the peer refuses the credentials, they are renewed once.
  func send(_ target: Target, _ body: HTTPRequest.Body = .none) async throws -> HTTPResponse {
    let sent = try await presentCredentials()
    let response = try await send(target, body, sent)
    guard response.status == 401 else { return response }
    guard try await authorize(replacing: sent) else {
      try await Self.check(response, of: target)
      return response
    }
    let second = try await send(target, body, credentials)
    if second.status == 401 { try await Self.check(second, of: target) }
    return second
  }

  private func send(
    _ target: Target, _ body: HTTPRequest.Body, _ credentials: Credentials?
  ) async throws -> HTTPResponse {
    var request = HTTPRequest(target.method, try url(of: target), body: body)
    request.headers = ["Accept": "application/json", "Accept-Encoding": "identity"]
    if case .data = body { request.headers["Content-Type"] = "application/json" }
    for (name, value) in target.headers { request.headers[name] = value }
    if let credentials { request.headers[credentials.name] = credentials.value }
    request.progress = target.progress
    let response = try await transport.send(request)
    // The server continues a session that is used with another cookie.
    if case .session = authorization.kind, response.status < 400,
      let cookie = LoginCookie(setCookie: response.headers["set-cookie"])
    {
      self.credentials = Credentials(cookie)
    }
    return response
  }

  /// Returns the credentials to send, which are made or renewed if necessary.
  private func presentCredentials() async throws -> Credentials? {
    guard let present = credentials else {
      _ = try await authorize(replacing: nil)
      return credentials
    }
    if let renewal = present.renewal, renewal <= .now {
      do {
        _ = try await authorize(replacing: present)
      } catch is ReplicationError {
        // The session may be valid for a while. If it is not, the response says so.
      }
    }
    return credentials
  }

  /// Makes the credentials to send; returns false if there are none, or no other ones.
  ///
  /// Requests that need others at the same time wait for the first one of them.
  private func authorize(replacing refused: Credentials?) async throws -> Bool {
    while isAuthorizing { try await authorizing.wait() }
    guard credentials == refused else { return true }
    isAuthorizing = true
    authorizing.close()
    defer {
      isAuthorizing = false
      authorizing.open()
    }
    switch authorization.kind {
    case .none: return false
    case .basic(let name, let password):
      guard refused == nil else { return false }
      let text = Data("\(name):\(password)".utf8).base64EncodedString()
      credentials = Credentials("Authorization", "Basic \(text)")
    case .session(let name, let password):
      credentials = Credentials(try await logIn(name, password))
    case .token(let token):
      credentials = Credentials("Authorization", "Bearer \(try await token(refused != nil))")
    }
    return true
  }

  /// Returns the cookie of a new session.
  private func logIn(_ name: String, _ password: String) async throws -> LoginCookie {
    // Beside the database, as the server may be below a path.
    let server = database.prefix(upTo: database.lastIndex(of: "/") ?? database.endIndex)
    // The host must be that of the database, which a URL without a database does not have here.
    guard let url = URL(string: server + "/_session"), let host = url.host(),
      host == URL(string: database)?.host()
    else { throw invalidURL }
    let body: Value = ["name": .string(name), "password": .string(password)]
    let response = try await transport.send(
      HTTPRequest(
        "POST", url, headers: ["Content-Type": "application/json"],
        body: .data(Data(body.json.utf8))))
    do {
      try await Self.check(response, of: Target("POST", "_session"))
    } catch let error as ReplicationError where !error.isTemporary {
      throw Self.loginError(error, at: String(server))
    }
    guard !response.isPage else { throw Self.page(response, Target("POST", "_session")) }
    guard let cookie = LoginCookie(setCookie: response.headers["set-cookie"]) else {
      throw ReplicationError(
        .invalidAnswer, "the login at \(server) was answered without a session")
    }
    return cookie
  }

  /// Returns the error of a login that was refused.
  ///
  /// It has no status, so that it is not taken for the answer to the request that needs the login.
  private static func loginError(_ error: ReplicationError, at server: String) -> ReplicationError {
    // CouchDB keeps a user out for some minutes after several wrong passwords.
    let code: ReplicationError.Code = error.status == 403 ? .busy : .unauthorized
    return ReplicationError(code, "the login at \(server) was refused", underlying: error)
  }

  private var invalidURL: ReplicationError {
    ReplicationError(.notFound, "“\(database)” is not the URL of a database")
  }

  private func url(of target: Target) throws -> URL {
    var text = database
    for part in target.path { text += "/" + part }
    for (index, (name, value)) in target.query.enumerated() {
      text += (index == 0 ? "?" : "&") + name + "=" + Self.encoded(value)
    }
    guard let url = URL(string: text) else { throw invalidURL }
    return url
  }

  /// Encodes each byte that is not a letter, a digit or one of `-._~`.
  ///
  /// CouchDB reads a `+` as a space, also in a path, and a `/` as the end of an ID. Where a part of
  /// a path is `..`, libcurl removes it with the one before it.
  static func encoded(_ text: String) -> String {
    if text == "." || text == ".." { return String(repeating: "%2E", count: text.utf8.count) }
    var result = ""
    for byte in text.utf8 {
      let character = Character(Unicode.Scalar(byte))
      if byte < 0x80, character.isLetter || character.isNumber || "-._~".contains(character) {
        result.append(character)
      } else {
        result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    return result
  }
}

extension CouchDBConnection {
  /// A header that says who sends a request.
  private struct Credentials: Equatable {
    let name: String
    let value: String
    /// When they are renewed, without waiting until the server refuses them.
    var renewal: ContinuousClock.Instant?

    init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }

    init(_ cookie: LoginCookie) {
      self.init("Cookie", cookie.text)
      renewal = cookie.renewal
    }
  }
}
