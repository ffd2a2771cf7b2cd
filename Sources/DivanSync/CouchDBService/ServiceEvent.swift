import Foundation

extension CouchDBService {
  /// A request that was answered, or something that happened later, for a program's log.
  ///
  /// ```swift
  /// configuration.eventHandler = { print($0) }
  /// // GET /films/_changes 200 ada 3 ms
  /// // GET /films/_changes 200 unreadable_change ada 4 ms: a wrong checksum (metropolis)
  /// ```
  ///
  /// Each request has an event without an ``incident``. Others follow if its answer is cut or
  /// leaves something out.
  ///
  /// It has the name of a user, and no password, cookie, query or body.
  public struct Event: Sendable, CustomStringConvertible {
    /// The method.
    public internal(set) var method: String
    /// The path as it was sent, without its query, cut to 200 bytes.
    public internal(set) var path: String
    /// The name that the request was made with; nil without credentials.
    ///
    /// The name is not proved if the status is 401.
    public internal(set) var user: String?
    /// The status of the response.
    public internal(set) var status = 0
    /// CouchDB's word for the error; nil if there is none.
    ///
    /// `unreadable_change` is a change that a feed leaves out because its record is damaged.
    public internal(set) var error: String?
    /// What happened after the response had begun, and was too late for the status; nil in the
    /// event of the request.
    public internal(set) var incident: String?
    /// How long it took until the response began, or until the incident.
    public internal(set) var duration = Duration.zero

    /// One line, with characters escaped that would break it.
    public var description: String {
      let words = [method, path, "\(status)", error, user ?? "-"].compactMap { $0 }
      let milliseconds = Int(duration / .milliseconds(1))
      let line = words.map(Self.escaped).joined(separator: " ") + " \(milliseconds) ms"
      return line + (incident.map { ": " + Self.escaped($0) } ?? "")
    }

    init(_ request: HTTPRequest) {
      method = String(decoding: request.method.utf8.prefix(20), as: UTF8.self)
      // Without a query and without a name and a password before the host.
      let text = request.url.absoluteString
      let afterScheme = text.range(of: "://")?.upperBound ?? text.startIndex
      let path = text[afterScheme...].drop { $0 != "/" }.prefix { $0 != "?" && $0 != "#" }
      self.path = String(decoding: path.utf8.prefix(200), as: UTF8.self)
    }

    private static func escaped(_ text: String) -> String {
      String(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? "?" : Character($0) })
    }
  }
}

/// Reports what happens after a response has begun.
struct ServiceReport: Sendable {
  let event: CouchDBService.Event
  let start: ContinuousClock.Instant
  let handler: (@Sendable (CouchDBService.Event) -> Void)?

  func send(_ error: String, _ incident: String) {
    guard let handler else { return }
    var event = event
    if event.status == 0 { event.status = 200 }
    event.error = error
    event.incident = incident
    event.duration = ContinuousClock.now - start
    handler(event)
  }

  /// Reports that an answer was cut.
  func send(_ error: any Error) {
    guard !(error is CancellationError) else { return }
    let error = ServiceError(error)
    send(error.code, "The answer was cut: " + error.reason)
  }
}
