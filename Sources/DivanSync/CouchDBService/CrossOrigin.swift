import Divan

/// Decides which web pages may make requests, by the origin that browsers send with them.
///
/// A page of another origin could otherwise use the session of a user, or a service without users
/// on the user's machine.
struct CrossOrigin: Sendable {
  /// The headers that a page may read the response with; none for requests of other clients.
  var headers: [String: String] = [:]

  private static let methods = "GET, HEAD, POST, PUT, DELETE"
  private static let allowedHeaders =
    "accept, authorization, content-type, if-match, if-none-match, range"
  private static let exposedHeaders =
    "content-length, content-range, content-type, etag, location, retry-after"

  /// Checks the origin of a request.
  ///
  /// - Throws: ``ServiceError`` with the status 403.
  init(_ request: HTTPRequest, _ allowedOrigins: Set<String>) throws {
    func header(_ name: String) -> String? {
      request.headers.first { $0.key.lowercased() == name }?.value
    }
    guard let origin = header("origin") else { return }
    if let host = header("host"), ["http://" + host, "https://" + host].contains(origin) { return }
    guard allowedOrigins.contains(origin) || allowedOrigins.contains("*") else {
      throw ServiceError(403, "forbidden", "Web pages of this origin are not allowed here.")
    }
    headers = [
      "access-control-allow-origin": origin, "vary": "origin",
      "access-control-expose-headers": Self.exposedHeaders,
    ]
    // Any page may not use the session of a user.
    if allowedOrigins.contains(origin) { headers["access-control-allow-credentials"] = "true" }
  }

  /// The answer to a browser that asks before it makes a request.
  var preflight: HTTPResponse {
    HTTPResponse(
      status: 204,
      headers: [
        "access-control-allow-methods": Self.methods,
        "access-control-allow-headers": Self.allowedHeaders, "access-control-max-age": "600",
      ])
  }
}
