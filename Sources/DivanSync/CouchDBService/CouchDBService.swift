public import Divan

/// Answers the requests of CouchDB's protocol for databases of this process, without sockets.
///
/// A server reads requests from its connections, and writes the responses of this value:
///
/// ```swift
/// let service = CouchDBService(["films": database])
/// let response = await service.respond(to: request, body: HTTPBody(data))
/// for try await piece in response.body { try await connection.write(piece) }
/// ```
///
/// CouchDB, PouchDB and a ``Replicator`` with a ``CouchDBPeer`` can then replicate with the
/// databases. Without ``Configuration/users`` every request may read and write, which is for tests
/// and for connections from the same machine.
///
/// It answers concurrently. The bodies of requests take ``Limits/bodyMemory`` at most, all
/// together, and the JSON of answers takes ``Limits/answerMemory``. Attachments and long answers
/// are streamed, and so are attachments that are sent in the JSON of their document. What is not
/// counted is the document that a request reads or stores just then.
public struct CouchDBService: Sendable {
  let databases: [String: Database]
  let configuration: Configuration
  let state: ServiceState

  /// Creates a service.
  ///
  /// - Parameters:
  ///   - databases: The databases by their names in paths.
  ///   - configuration: The users, the limits and more.
  public init(_ databases: [String: Database], configuration: Configuration = Configuration()) {
    self.databases = databases
    self.configuration = configuration
    state = ServiceState(configuration)
  }

  /// The settings of a service.
  ///
  /// ```swift
  /// var configuration = CouchDBService.Configuration()
  /// configuration.users = [ada, byron]
  /// configuration.limits.documentSize = 1 << 20
  /// ```
  public struct Configuration: Sendable {
    /// The users; nil lets every request read and write everything.
    public var users: [User]?
    /// The limits.
    public var limits = Limits()
    /// How long a session lasts after its last request.
    public var sessionDuration = Duration.seconds(600)
    /// Whether cookies are sent over encrypted connections only.
    public var hasSecureCookies = false
    /// The origins of web pages that may use the service, such as `https://app.example.com`.
    ///
    /// With `*` any page may, but without the session of a user.
    public var allowedOrigins: Set<String> = []
    /// Whether `$regex` in the filters of requests has all of Swift's syntax.
    ///
    /// Such expressions are matched by trying, which takes exponential time for some: a single
    /// request can then occupy a processor permanently. Set it only if you trust all users.
    ///
    /// Otherwise expressions are matched in linear time. They have characters, classes, groups,
    /// `|`, `*`, `+`, `?`, `{2,4}`, `^`, `$`, `.`, `\b`, `\d`, `\w`, `\s` and `(?i)` or `(?s)` at
    /// the beginning, and 300 steps. A filter with any other expression is refused with the status
    /// 400.
    public var allowsBacktracking = false
    /// Receives an event for each request, after its response was made.
    ///
    /// It is called on the thread of the request, so it must not block.
    public var eventHandler: (@Sendable (Event) -> Void)?

    /// Creates the default settings, without users.
    public init() {}
  }

  /// Answers a request.
  ///
  /// It never fails: what cannot be answered has an error as its answer. An error while the body of
  /// a response is read means that the connection is to be cut.
  ///
  /// - Parameters:
  ///   - request: The request, with an absolute URL. Its own body is not used.
  ///   - body: The body of the request, which is read at most once, and a piece at a time.
  ///   - address: The address that the connection comes from, such as `192.0.2.1`. With it,
  ///     requests without a user and wrong passwords are limited for each address. Addresses of one
  ///     network of IPv6, of 64 bits, count as one. Those of this machine count as if no address
  ///     were given.
  /// - Returns: The response. Its body has no more memory than a piece, unless it is short.
  public func respond(
    to request: HTTPRequest, body: HTTPBody, from address: String? = nil
  ) async -> HTTPResponse {
    let start = ContinuousClock.now
    var event = Event(request)
    var response: HTTPResponse
    var crossOrigin: CrossOrigin?
    do {
      let call = try ServiceCall(request, body, from: address, self)
      let origin = try CrossOrigin(request, configuration.allowedOrigins)
      crossOrigin = origin
      response =
        call.method == "OPTIONS" && call.headers["origin"] != nil
        ? origin.preflight : try await answer(call, &event, start)
      if call.method == "HEAD" { response.body = HTTPBody() }
      // The request counts until its body was sent.
      event.status = response.status
      response.body = response.body.keeping(
        [call.slot, call.memory, call.answerMemory], report(event, since: start))
    } catch {
      let error = ServiceError(error)
      event.error = error.code
      response = error.response
      if request.method == "HEAD" { response.body = HTTPBody() }
    }
    response.headers.merge(crossOrigin?.headers ?? [:]) { $1 }
    response.headers["cache-control"] = "must-revalidate"
    response.headers["server"] = "Divan"
    event.status = response.status
    event.duration = ContinuousClock.now - start
    configuration.eventHandler?(event)
    return response
  }

  /// Ends the feeds that wait for changes, as if their time was over.
  ///
  /// Feeds that begin later do not wait. A server calls this before it stops, so that no connection
  /// has to be cut.
  public func endFeeds() { state.stop.open() }

  private func report(
    _ event: Event, since start: ContinuousClock.Instant
  ) -> ServiceReport {
    ServiceReport(event: event, start: start, handler: configuration.eventHandler)
  }

  private func answer(
    _ call: ServiceCall, _ event: inout Event, _ start: ContinuousClock.Instant
  ) async throws -> HTTPResponse {
    // What watches the server is answered however much there is to do.
    if call.path.first == "_up" {
      try call.allow("GET", "HEAD")
      return try await health()
    }
    let authentication = try await authenticate(call, &event)
    do {
      try state.count(call, authentication)
      var response = try await answer(call, authentication, &event, start)
      if let cookie = authentication.renewedCookie, response.headers["set-cookie"] == nil {
        response.headers["set-cookie"] = cookie
      }
      return response
    } catch {
      var error = ServiceError(error)
      error.headers["set-cookie"] = authentication.renewedCookie
      throw error
    }
  }

  private func answer(
    _ call: ServiceCall, _ authentication: Authentication, _ event: inout Event,
    _ start: ContinuousClock.Instant
  ) async throws -> HTTPResponse {
    switch call.path.first {
    case nil:
      try call.allow("GET", "HEAD")
      return .json(200, ["couchdb": "Welcome", "vendor": ["name": "Divan"]])
    case "_session": return try await session(call, authentication, &event)
    case "_all_dbs":
      try call.allow("GET", "HEAD")
      try authentication.requireUser()
      return .json(200, .array(databaseNames(for: authentication).map { .string($0) }))
    case let name? where name.hasPrefix("_"):
      throw ServiceError(501, "not_implemented", "This service does not answer such requests.")
    case let name?:
      let permission = try authentication.permission(for: name)
      guard let database = databases[name] else { throw Self.absence(of: name, call) }
      return try await DatabaseService(
        name: name, database, limits: configuration.limits,
        access: .init(permission, authentication.user?.name), state: state,
        report: report(event, since: start)
      ).respond(to: call)
    }
  }

  private func databaseNames(for authentication: Authentication) -> [String] {
    databases.keys.filter { (try? authentication.permission(for: $0)) != nil }
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// Whether all databases can be read.
  private func health() async throws -> HTTPResponse {
    for database in databases.values {
      do {
        _ = try await database.read { $0.sequence }
      } catch {
        return .json(503, ["status": "unavailable"])
      }
    }
    return .json(200, ["status": "ok"])
  }

  private static func absence(of name: String, _ call: ServiceCall) -> ServiceError {
    guard call.method == "PUT", call.path.count == 1 else {
      return ServiceError(404, "not_found", "Database does not exist.")
    }
    let others = "_$()+-/".utf8
    let isLegal = name.utf8.allSatisfy {
      (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || others.contains($0)
    }
    guard isLegal, name.utf8.first.map({ (0x61...0x7A).contains($0) }) ?? false else {
      return ServiceError(
        400, "illegal_database_name",
        "Name: '\(name)'. Only lowercase characters (a-z), digits (0-9), and any of the characters _, "
          + "$, (, ), +, -, and / are allowed. Must begin with a letter.")
    }
    return ServiceError(403, "forbidden", "Databases are not created over HTTP here.")
  }
}
