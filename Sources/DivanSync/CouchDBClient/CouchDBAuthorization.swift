import Foundation

/// How a peer proves who it is.
///
/// ```swift
/// let authorization = CouchDBAuthorization.bearer { isRenewal in
///   try await account.token(isNew: isRenewal)
/// }
/// let server = CouchDBPeer(url: url, authorization: authorization)
/// ```
///
/// Credentials are sent to the peer's host only. They are in no error, log, checkpoint or store.
public struct CouchDBAuthorization: Sendable {
  enum Kind: Sendable {
    case none
    case basic(name: String, password: String)
    case session(name: String, password: String)
    case token(@Sendable (_ isRenewal: Bool) async throws -> String)
  }

  let kind: Kind

  /// Sends no credentials.
  public static let none = CouchDBAuthorization(kind: .none)

  /// Sends a name and a password with each request.
  public static func basic(name: String, password: String) -> CouchDBAuthorization {
    CouchDBAuthorization(kind: .basic(name: name, password: password))
  }

  /// Logs in with a name and a password, and sends the cookie of the session.
  ///
  /// A session that has expired is renewed.
  public static func session(name: String, password: String) -> CouchDBAuthorization {
    CouchDBAuthorization(kind: .session(name: name, password: password))
  }

  /// Sends a token, such as a JSON Web Token.
  public static func bearer(_ token: String) -> CouchDBAuthorization {
    CouchDBAuthorization(kind: .token { _ in token })
  }

  /// Sends a token that a closure returns.
  ///
  /// - Parameter token: Returns the token; its argument is true if the peer refused the last one.
  /// - Returns: The authorization.
  public static func bearer(
    _ token: @escaping @Sendable (_ isRenewal: Bool) async throws -> String
  ) -> CouchDBAuthorization {
    CouchDBAuthorization(kind: .token(token))
  }
}

extension CouchDBAuthorization: CustomStringConvertible {
  /// The kind of authorization, without credentials.
  public var description: String {
    switch kind {
    case .none: "none"
    case .basic: "basic"
    case .session: "session"
    case .token: "bearer"
    }
  }
}
