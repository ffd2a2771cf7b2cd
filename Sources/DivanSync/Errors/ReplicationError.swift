import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The error of a replication.
///
/// ```swift
/// do {
///   try await replicator.replicate()
/// } catch let error as ReplicationError where error.isTemporary {
///   print("Later:", error)
/// }
/// ```
public struct ReplicationError: Error, Sendable {
  /// What happened.
  ///
  /// ```swift
  /// do {
  ///   try await replicator.replicate()
  /// } catch let error as ReplicationError where error.code == .unauthorized {
  ///   print("Check the name and the password:", error)
  /// }
  /// ```
  public enum Code: Sendable {
    /// The peer cannot be reached, or the connection was cut.
    case unreachable
    /// The peer has too much to do at present.
    case busy
    /// The peer does not know a position in its changes.
    case unknownPosition
    /// The peer does not accept the credentials.
    case unauthorized
    /// The peer does not allow this.
    case forbidden
    /// The peer has no such database.
    case notFound
    /// The peer refuses a revision, for instance by a validation.
    case refused
    /// The content of an attachment was not sent, because the receiver was expected to have it.
    case missingContent
    /// The peer does not send the content of an attachment, though it answers other requests.
    ///
    /// The document is one of the ``ReplicationStatus/failures``. The next session asks for it
    /// again: the next replication, or a continuous one after
    /// ``Replicator/Options/retryDelayLimit``.
    case unavailableContent
    /// The peer fails to store a document, though it accepts others.
    ///
    /// The document is one of the ``ReplicationStatus/failures``. The next session sends it again:
    /// the next replication, or a continuous one after ``Replicator/Options/retryDelayLimit``.
    case notStored
    /// An earlier session could not copy a revision, which is not asked for again.
    ///
    /// It is only the error of one of the ``ReplicationStatus/failures``. The message has the
    /// reason.
    case failedBefore
    /// The peer sent something that the protocol does not allow.
    case invalidAnswer
    /// The JSON of a selector has no meaning.
    case invalidSelector
  }

  /// What happened.
  public let code: Code
  /// What happened, for people.
  public let message: String
  /// How long to wait before the next attempt, if the peer said so.
  public var retryDelay: Duration?
  /// The status of the response over HTTP that caused it.
  public var status: Int?
  /// The error that caused this one.
  public var underlying: (any Error)?
  /// Whether too many bytes wait in temporary files for their readers.
  var isOfFullSpool = false

  /// Creates an error.
  public init(
    _ code: Code, _ message: String, retryDelay: Duration? = nil,
    underlying: (any Error)? = nil
  ) {
    self.code = code
    self.message = message
    self.retryDelay = retryDelay
    self.underlying = underlying
  }

  /// Whether the same call may succeed later.
  public var isTemporary: Bool {
    switch code {
    case .unreachable, .busy: true
    case .unknownPosition, .unauthorized, .forbidden, .notFound, .refused, .missingContent,
      .unavailableContent, .notStored, .failedBefore, .invalidAnswer, .invalidSelector:
      false
    }
  }
}

extension ReplicationError: CustomStringConvertible {
  /// The message and the underlying error.
  public var description: String {
    guard let underlying else { return message }
    // The description of an error of a connection lists the properties of an `NSError`.
    let reason = (underlying as? URLError)?.localizedDescription ?? "\(underlying)"
    return "\(message): \(reason)"
  }
}
