import Divan
import Foundation

/// The requests to one database of a CouchDB server.
actor CouchDBConnection {
  /// The URL of the database, without credentials and without a slash at its end.
  nonisolated let database: String
  private let transport: any HTTPTransport
  private let authorization: CouchDBAuthorization
  /// The credentials that are sent: a header's name and value.
  private var credentials: (name: String, value: String)?

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
    let response = try await sendOnce(target, body)
    guard response.status == 401 else { return response }
    guard try await authorize(isRenewal: true) else {
      try await Self.check(response, of: target)
      return response
    }
    let second = try await sendOnce(target, body)
    if second.status == 401 { try await Self.check(second, of: target) }
    return second
  }

  private func sendOnce(_ target: Target, _ body: HTTPRequest.Body) async throws -> HTTPResponse {
    if credentials == nil { _ = try await authorize(isRenewal: false) }
    var request = HTTPRequest(target.method, try url(of: target), body: body)
    request.headers = ["Accept": "application/json", "Accept-Encoding": "identity"]
    if case .data = body { request.headers["Content-Type"] = "application/json" }
    for (name, value) in target.headers { request.headers[name] = value }
    if let credentials { request.headers[credentials.name] = credentials.value }
    return try await transport.send(request)
  }

  /// Makes the credentials to send; returns false if there are none, or no other ones.
  private func authorize(isRenewal: Bool) async throws -> Bool {
    switch authorization.kind {
    case .none: return false
    case .basic(let name, let password):
      guard !isRenewal else { return false }
      let text = Data("\(name):\(password)".utf8).base64EncodedString()
      credentials = ("Authorization", "Basic \(text)")
    case .session(let name, let password):
      credentials = ("Cookie", try await logIn(name, password))
    case .token(let token):
      credentials = ("Authorization", "Bearer \(try await token(isRenewal))")
    }
    return true
  }

  /// Returns the cookie of a new session.
  private func logIn(_ name: String, _ password: String) async throws -> String {
    // Beside the database, as the server may be below a path.
    let server = database.prefix(upTo: database.lastIndex(of: "/") ?? database.endIndex)
    guard let url = URL(string: server + "/_session") else { throw invalidURL }
    let body: Value = ["name": .string(name), "password": .string(password)]
    let response = try await transport.send(
      HTTPRequest(
        "POST", url, headers: ["Content-Type": "application/json"],
        body: .data(Data(body.json.utf8))))
    try await Self.check(response, of: Target("POST", "_session"))
    guard !response.isPage else { throw Self.page(response, Target("POST", "_session")) }
    let cookies = response.headers["set-cookie"] ?? ""
    guard let start = cookies.range(of: "AuthSession=")?.lowerBound else {
      throw ReplicationError(
        .invalidAnswer, "the login at \(server) was answered without a session")
    }
    return String(cookies[start...].prefix { $0 != ";" && $0 != "," })
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
  /// CouchDB reads a `+` as a space, also in a path, and a `/` as the end of an ID.
  static func encoded(_ text: String) -> String {
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
  /// Sends a request, and returns the JSON of a successful response.
  func json(
    _ target: Target, _ body: Value? = nil, sizeLimit: Int = 64 << 20
  ) async throws -> Value {
    let response = try await send(target, body.map { .data(Data($0.json.utf8)) } ?? .none)
    return try await Self.json(response, of: target, sizeLimit: sizeLimit)
  }

  static func json(
    _ response: HTTPResponse, of target: Target, sizeLimit: Int
  ) async throws -> Value {
    try await check(response, of: target)
    guard !response.isPage else { throw page(response, target) }
    do {
      return try Value(json: try await response.body.collect(sizeLimit: sizeLimit))
    } catch is HTTPBodyTooLarge {
      throw ReplicationError(
        .invalidAnswer, "the answer to \(target.name) is larger than \(sizeLimit) bytes")
    } catch let error as DatabaseError {
      throw ReplicationError(
        .invalidAnswer, "the answer to \(target.name) is not JSON that can be read",
        underlying: error)
    }
  }

  /// Throws the error of a response that is not successful.
  static func check(_ response: HTTPResponse, of target: Target) async throws {
    guard !(200..<300).contains(response.status) else { return }
    // These two mean the same from a proxy as from the server.
    guard !response.isPage || [401, 413].contains(response.status) else {
      throw page(response, target)
    }
    let body = try? await response.body.collect(sizeLimit: 1 << 16)
    let answer = body.flatMap { try? Value(json: $0) }
    var message = "\(target.name) was answered with the status \(response.status)"
    if let error = answer?["error"]?.stringValue {
      message += ", \(error): \(answer?["reason"]?.stringValue ?? "")"
    }
    let code: ReplicationError.Code =
      switch response.status {
      case 401: .unauthorized
      case 403: .forbidden
      case 404: .notFound
      case 400, 409, 412, 413, 415: .refused
      case 408, 425, 429, 500...599: .busy
      default: .invalidAnswer
      }
    let delay = response.headers["retry-after"].flatMap { Int($0) }.map {
      Duration.seconds(min(max(0, $0), 3600))
    }
    var error = ReplicationError(code, message, retryDelay: delay)
    error.status = response.status
    throw error
  }
}

extension CouchDBConnection {
  /// The error of a page for people in the place of an answer.
  ///
  /// A proxy or a network that wants a login sends it, with any status. So it says nothing of the
  /// server: not that a document is gone, and not that a request was done.
  static func page(_ response: HTTPResponse, _ target: Target) -> ReplicationError {
    ReplicationError(
      .busy,
      "\(target.name) was answered with the status \(response.status) and a page in HTML, "
        + "which is not the server's answer")
  }
}

extension HTTPResponse {
  /// Whether the body is a page in HTML.
  var isPage: Bool { headers["content-type"]?.lowercased().contains("html") == true }
}

extension CouchDBConnection.Target {
  /// The method and the path, for messages.
  var name: String { method + " /" + path.joined(separator: "/") }
}
