public import Foundation

/// What sends requests over HTTP.
///
/// ``URLSessionTransport`` is the usual one. Another one can send requests through a proxy, or to a
/// service in this process, as tests do. This one logs them:
///
/// ```swift
/// struct LoggedTransport: HTTPTransport {
///   let base: any HTTPTransport
///
///   func send(_ request: HTTPRequest) async throws -> HTTPResponse {
///     print(request.method, request.url.path)
///     return try await base.send(request)
///   }
/// }
/// ```
public protocol HTTPTransport: Sendable {
  /// Sends a request, and returns the response as soon as its headers are there.
  ///
  /// - Parameter request: The request.
  /// - Returns: The response, whose body follows. A transport does not follow redirects to other
  ///   hosts: the request may have credentials.
  /// - Throws: ``ReplicationError`` with the code `unreachable` if there is no response, and
  ///   `CancellationError` if the task is cancelled.
  func send(_ request: HTTPRequest) async throws -> HTTPResponse
}

/// A request over HTTP.
///
/// ```swift
/// var request = HTTPRequest("PUT", url, headers: ["Content-Type": "application/json"])
/// request.body = .data(Data(#"{"title": "Metropolis"}"#.utf8))
/// request.progress = { print($0, "bytes were sent") }
/// let response = try await transport.send(request)
/// ```
public struct HTTPRequest: Sendable {
  /// The method, such as `GET`.
  public var method: String
  /// The absolute URL.
  public var url: URL
  /// The headers by their names.
  public var headers: [String: String]
  /// The body.
  public var body: Body
  /// Receives the number of bytes of the body that were sent, as they are sent.
  ///
  /// A transport need not call it. It may be called on any thread, and begins with small numbers
  /// again if the body is sent again.
  public var progress: (@Sendable (_ sentCount: Int) -> Void)?

  /// The body of a request.
  ///
  /// ```swift
  /// let data: Data? =
  ///   switch request.body {
  ///   case .none: nil
  ///   case .data(let data): data
  ///   case .file(let file): try Data(contentsOf: file)
  ///   }
  /// ```
  public enum Body: Sendable {
    /// There is no body.
    case none
    /// The body is in memory.
    case data(Data)
    /// The body is the content of a file, which is read a piece at a time.
    case file(URL)
  }

  /// Creates a request.
  public init(
    _ method: String, _ url: URL, headers: [String: String] = [:], body: Body = .none
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

extension HTTPRequest {
  /// Creates a request from what a server reads, for ``CouchDBService/respond(to:body:from:)``.
  ///
  /// ```swift
  /// let request = HTTPRequest("GET", target: "/films/a?open_revs=[%221-8c%22]")
  /// ```
  ///
  /// Clients send characters that a URL does not have, such as brackets. They are encoded here.
  /// What is already encoded stays as it is, while `URL(string:)` would encode it again. It is nil
  /// if the target does not begin with a slash, or has a `%` without two digits.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - target: The path and the query, as they are in the first line of the request.
  ///   - headers: The headers.
  public init?(_ method: String, target: String, headers: [String: String] = [:]) {
    guard target.utf8.first == UInt8(ascii: "/") else { return nil }
    var text = "http://localhost"
    for byte in target.utf8 {
      let character = Character(Unicode.Scalar(byte))
      if byte < 0x80,
        character.isLetter || character.isNumber
          || "%/?-._~!$&'()*+,;=:@".contains(character)
      {
        text.append(character)
      } else {
        text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    guard let url = URL(string: text, encodingInvalidCharacters: false) else { return nil }
    self.init(method, url, headers: headers)
  }
}

/// A response over HTTP.
///
/// ```swift
/// struct BusyTransport: HTTPTransport {
///   func send(_ request: HTTPRequest) async throws -> HTTPResponse {
///     HTTPResponse(status: 503, headers: ["retry-after": "30"])
///   }
/// }
/// ```
public struct HTTPResponse: Sendable {
  /// The status, such as 200.
  public var status: Int
  /// The headers by their names in lower case.
  public var headers: [String: String]
  /// The body, in pieces of any size.
  public var body: HTTPBody

  /// Creates a response.
  public init(status: Int, headers: [String: String] = [:], body: HTTPBody = HTTPBody()) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}

/// The body of a response or of a request that is served, which can be read once.
///
/// ```swift
/// let body = HTTPBody(pieces: [Data(#"{"title": "#.utf8), Data(#""Metropolis"}"#.utf8)])
/// var data = Data()
/// for try await piece in body { data += piece }
/// ```
public struct HTTPBody: AsyncSequence, Sendable {
  /// Reads a body.
  ///
  /// ```swift
  /// var pieces = response.body.makeAsyncIterator()
  /// while let piece = try await pieces.next() {
  ///   try await connection.write(piece)
  /// }
  /// ```
  public struct AsyncIterator: AsyncIteratorProtocol {
    let next: () async throws -> Data?

    /// Returns the next piece, nil at the end.
    public mutating func next() async throws -> Data? { try await next() }
  }

  private let makeNext: @Sendable () -> () async throws -> Data?

  /// Creates an empty body.
  public init() { makeNext = { { nil } } }

  /// Creates a body from a function that makes a function which returns the next piece.
  init(_ makeNext: @escaping @Sendable () -> () async throws -> Data?) {
    self.makeNext = makeNext
  }

  /// Creates a body from bytes in memory.
  public init(_ data: Data) {
    self.init(pieces: data.isEmpty ? [] : [data])
  }

  /// Creates a body from pieces in memory.
  public init(pieces: [Data]) {
    makeNext = {
      var iterator = pieces.makeIterator()
      return { iterator.next() }
    }
  }

  /// Creates a body from a sequence.
  public init<Pieces: AsyncSequence & Sendable>(_ pieces: Pieces) where Pieces.Element == Data {
    makeNext = {
      var iterator = pieces.makeAsyncIterator()
      return { try await iterator.next() }
    }
  }

  /// Returns an iterator.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(next: makeNext()) }
}

extension HTTPBody {
  /// Returns the whole body.
  ///
  /// - Throws: ``HTTPBodyTooLarge`` if it has more bytes than `sizeLimit`.
  func collect(sizeLimit: Int) async throws -> Data {
    var data = Data()
    for try await piece in self {
      guard data.count + piece.count <= sizeLimit else { throw HTTPBodyTooLarge() }
      data.append(piece)
    }
    return data
  }
}

/// A body has more bytes than its reader accepts.
struct HTTPBodyTooLarge: Error {}
