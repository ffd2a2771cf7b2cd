import Foundation

extension CouchDBConnection {
  /// The waits before a request is made again that failed for one document or attachment.
  static let retryDelays: [Duration] = [.milliseconds(100), .milliseconds(500)]
  /// The longest of these waits that a server can ask for.
  ///
  /// One that wants more is asked later, by the next session.
  private static let longestRetryDelay = Duration.seconds(2)

  /// Waits before a request is made again: for `delay`, or longer if the error says so.
  static func wait(_ delay: Duration, after error: ReplicationError) async throws {
    try await Task.sleep(for: max(delay, min(error.retryDelay ?? .zero, longestRetryDelay)))
  }

  /// Asks for the content of an attachment.
  ///
  /// - Parameters:
  ///   - target: The request.
  ///   - isPage: Whether the attachment itself is a page in HTML.
  /// - Returns: The content, whose pieces are read as they arrive.
  /// - Throws: ``ReplicationError`` with the code `unavailableContent` if the server answers other
  ///   requests, and not this one. If it does not answer those either, the error is theirs.
  func attachment(_ target: Target, isPage: Bool) async throws -> HTTPBody {
    var delays = Self.retryDelays[...]
    while true {
      let response = try await send(target)
      do {
        try await Self.check(response, of: target)
        guard isPage || !response.isPage else { throw Self.page(response, target) }
        return response.body
      } catch let error as ReplicationError where error.mayConcernOneAttachment {
        try await checkIsAnswering()
        guard error.isTemporary, let delay = delays.popFirst() else {
          var unavailable = ReplicationError(.unavailableContent, error.message)
          unavailable.status = response.status
          throw unavailable
        }
        try await Self.wait(delay, after: error)
      }
    }
  }
}

extension CouchDBConnection {
  /// Throws an error that may pass if the server does not answer a request that needs nothing.
  private func checkIsAnswering() async throws {
    do {
      _ = try await json(Target("GET"))
    } catch let error as ReplicationError where !error.isTemporary && error.code != .unauthorized {
      // It answers. What it refuses so is refused to the calls that follow, too, which say so.
    }
  }
}

extension ReplicationError {
  /// Whether an answer in the place of an attachment can be about that attachment only.
  ///
  /// A server that was asked too often, or too early, says so of all requests.
  fileprivate var mayConcernOneAttachment: Bool {
    // A page has no status.
    code == .invalidAnswer || code == .refused || code == .busy && status == nil
      || isFailureOfServer
  }
}

/// The content of an attachment that a peer sends.
struct AttachmentBody: AsyncSequence {
  let body: HTTPBody

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: HTTPBody.AsyncIterator

    mutating func next() async throws -> Data? { try await next(isolation: nil) }

    mutating func next(isolation: isolated (any Actor)?) async throws -> Data? {
      do {
        return try await base.next()
      } catch let error as ReplicationError where error.isOfFullSpool {
        // Content that arrives too fast may do so in each session, and must not end them.
        throw ReplicationError(.unavailableContent, error.message)
      }
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: body.makeAsyncIterator()) }
}
