import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests with Foundation's `URLSession`.
///
/// Certificates are checked as the system does. Bodies of responses are read a piece at a time.
/// What arrives faster than it is read waits in a temporary file that has no name, so nothing is
/// left of it after the response was read or released, or the process has ended.
///
/// ```swift
/// let transport = URLSessionTransport(spoolSizeLimit: 500 << 20)
/// let server = CouchDBPeer(url: url, transport: transport)
/// ```
public final class URLSessionTransport: HTTPTransport {
  private let session: URLSession
  private let exchanges: Exchanges
  private let spool: Spool

  /// Creates a transport with a session of its own, without cookies and cache.
  ///
  /// - Parameter spoolSizeLimit: The size in bytes of what was received and not read yet, and waits
  ///   in temporary files, of all responses together. A response that needs more fails with the
  ///   code `busy`, which may pass; the document of an attachment, with `unavailableContent`. Files
  ///   have a 64th of it, and 1 MiB at least. On the disk, each response can take one such file
  ///   more, whose first bytes were read.
  public init(spoolSizeLimit: Int64 = 4 << 30) {
    spool = Spool(sizeLimit: spoolSizeLimit)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpCookieStorage = nil
    configuration.httpShouldSetCookies = false
    configuration.urlCache = nil
    configuration.timeoutIntervalForRequest = 120
    // A request for changes has a connection until there is one. With Foundation's six, as many
    // replications that share a transport would keep all their other requests waiting.
    configuration.httpMaximumConnectionsPerHost = 64
    exchanges = Exchanges()
    session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
  }

  deinit { session.invalidateAndCancel() }

  /// Sends a request, and returns the response as soon as its headers are there.
  public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    var outgoing = URLRequest(url: request.url)
    outgoing.httpMethod = request.method
    for (name, value) in request.headers { outgoing.setValue(value, forHTTPHeaderField: name) }
    let task: URLSessionTask
    switch request.body {
    case .none: task = session.dataTask(with: outgoing)
    case .data(let data): task = session.uploadTask(with: outgoing, from: data)
    case .file(let file): task = session.uploadTask(with: outgoing, fromFile: file)
    }
    let exchange = Exchange(task, spool, request.progress)
    exchanges.add(exchange)
    return try await exchange.response(of: self)
  }
}

/// The exchanges of a session, which its delegate finds by their tasks.
private final class Exchanges: NSObject, URLSessionDataDelegate {
  private let running = Mutex<[Int: Exchange]>([:])

  func add(_ exchange: Exchange) {
    running.withLock { $0[exchange.task.taskIdentifier] = exchange }
    exchange.task.resume()
  }

  private func exchange(of task: URLSessionTask) -> Exchange? {
    running.withLock { $0[task.taskIdentifier] }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    exchange(of: dataTask)?.receive(response)
    completionHandler(.allow)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64,
    totalBytesSent: Int64, totalBytesExpectedToSend: Int64
  ) {
    exchange(of: task)?.progress?(Int(clamping: totalBytesSent))
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange(of: dataTask)?.receive(data)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    running.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.end(error)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    let (from, to) = (task.originalRequest?.url, request.url)
    let isSameHost =
      from?.host == to?.host && from?.port == to?.port && from?.scheme == to?.scheme
    completionHandler(isSameHost ? request : nil)
  }
}

/// A request whose response is on its way.
private final class Exchange: Sendable {
  private struct State {
    var response: Result<HTTPURLResponse, any Error>?
    var buffer: PieceBuffer
    var end: Result<Void, any Error>?
    var waiter: CheckedContinuation<Void, Never>?
  }

  let task: URLSessionTask
  let progress: (@Sendable (_ sentCount: Int) -> Void)?
  private let state: Mutex<State>

  init(_ task: URLSessionTask, _ spool: Spool, _ progress: (@Sendable (Int) -> Void)?) {
    self.task = task
    self.progress = progress
    state = Mutex(State(buffer: PieceBuffer(spool)))
  }

  /// Changes the state, and wakes the reader.
  private func update(_ change: (inout State) -> Void) {
    let waiter = state.withLock { state in
      change(&state)
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  func receive(_ response: URLResponse) {
    update { state in
      if let response = response as? HTTPURLResponse { state.response = .success(response) }
    }
  }

  // A task is not suspended while its reader is slow: on Linux, resuming sends the request again.
  func receive(_ data: Data) {
    update { state in
      guard state.end == nil else { return }
      do {
        try state.buffer.append(data)
      } catch let error as ReplicationError {
        state.end = .failure(error)
        task.cancel()
      } catch {
        state.end = .failure(
          ReplicationError(.busy, "a response cannot be kept for its reader", underlying: error))
        task.cancel()
      }
    }
  }

  func end(_ error: (any Error)?) {
    let failure = error.map { error -> any Error in
      (error as? URLError)?.code == .cancelled
        ? CancellationError()
        : ReplicationError(.unreachable, "the connection failed", underlying: error)
    }
    update { state in
      if state.end == nil { state.end = failure.map { .failure($0) } ?? .success(()) }
      if state.response == nil {
        state.response = .failure(
          failure ?? ReplicationError(.invalidAnswer, "there is no response"))
      }
    }
  }

  /// Waits until the state is as wanted.
  ///
  /// A cancelled task cancels the request, which ends it.
  private func wait(until isReady: @Sendable (borrowing State) -> Bool) async {
    await withTaskCancellationHandler {
      while !state.withLock({ isReady($0) }) {
        await withCheckedContinuation { continuation in
          let passes = state.withLock { state in
            if isReady(state) { return true }
            state.waiter = continuation
            return false
          }
          if passes { continuation.resume() }
        }
      }
    } onCancel: {
      task.cancel()
    }
  }

  /// Returns the response, whose pieces keep the transport: releasing it would end its session.
  func response(of transport: URLSessionTransport) async throws -> HTTPResponse {
    await wait { $0.response != nil }
    let response = try state.withLock { try $0.response.map { try $0.get() } }
    guard let response else { throw ReplicationError(.invalidAnswer, "there is no response") }
    var headers: [String: String] = [:]
    for (name, value) in response.allHeaderFields {
      if let name = name as? String, let value = value as? String {
        headers[name.lowercased()] = value
      }
    }
    return HTTPResponse(
      status: response.statusCode, headers: headers, body: HTTPBody(ResponsePieces(self, transport))
    )
  }

  func nextPiece() async throws -> Data? {
    await wait { !$0.buffer.isEmpty || $0.end != nil }
    return try state.withLock { state in
      if let piece = try state.buffer.popFirst() { return piece }
      try state.end?.get()
      return nil
    }
  }
}

/// The pieces of a response.
///
/// Releasing them cancels the request.
private final class ResponsePieces: AsyncSequence, Sendable {
  private let exchange: Exchange
  private let transport: URLSessionTransport

  init(_ exchange: Exchange, _ transport: URLSessionTransport) {
    (self.exchange, self.transport) = (exchange, transport)
  }

  deinit { exchange.task.cancel() }

  struct AsyncIterator: AsyncIteratorProtocol {
    let pieces: ResponsePieces

    mutating func next() async throws -> Data? { try await pieces.exchange.nextPiece() }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pieces: self) }
}
