public import DivanSync
public import DivanTesting
import Synchronization

/// A network in this process, with the faults of real ones.
///
/// Put it between a peer and a server, replicate while it misbehaves, and check that both sides
/// have the same documents in the end:
///
/// ```swift
/// let network = SimulatedNetwork(server, seed: 7)
/// network.conditions = .bad
/// let peer = CouchDBPeer(url: url, transport: network)
/// _ = try? await Replicator(database, peer).replicate()
/// network.conditions = .good
/// try await Replicator(database, peer).replicate()
/// // … compare the documents, and print `network` if they differ …
/// ```
///
/// Each exchange, a request with its answer, takes its faults from the seed and from its number. If
/// requests are sent one after the other, the same test does the same every time. Several
/// requests at once are numbered in the order in which they come.
///
/// A network copies each piece of a body. It keeps answers only while
/// ``Conditions/staleAnswers`` is above 0.
public final class SimulatedNetwork: HTTPTransport {
  /// A server: it returns a response for a request and its body.
  ///
  /// The body throws an error where the connection is cut. The body of the request itself is not
  /// to be read.
  public typealias Server =
    @Sendable (_ request: HTTPRequest, _ body: HTTPBody) async throws -> HTTPResponse

  struct State {
    var conditions = Conditions.good
    var isDown = false
    var counts = Counts()
    /// The number of bytes after which the connection is cut once.
    var cutByteCount: Int?
    /// The number of requests that have reached the server.
    var passedCount = 0
    /// The latest faults, for the description.
    var faults: [String] = []
    var saved: [String: SavedAnswer] = [:]
  }

  let server: Server
  let seed: UInt64
  let clock: SimulatedClock?
  let state = Mutex(State())

  /// Creates a network in front of a server in this process, without faults.
  ///
  /// A request that is cut reaches the server, up to the cut.
  ///
  /// - Parameters:
  ///   - server: The server.
  ///   - seed: The seed of everything that happens at random.
  ///   - clock: The clock on which time passes. Nothing waits then. If it is nil, latency and
  ///     pauses are real.
  public init(_ server: @escaping Server, seed: UInt64, clock: SimulatedClock? = nil) {
    self.server = server
    self.seed = seed
    self.clock = clock
  }

  /// Creates a network in front of another transport, without faults.
  ///
  /// A request that is cut is not passed on, since a transport sends whole requests.
  ///
  /// - Parameters:
  ///   - transport: What sends the requests that get through.
  ///   - seed: The seed of everything that happens at random.
  ///   - clock: The clock on which time passes. Nothing waits then. If it is nil, latency and
  ///     pauses are real.
  public convenience init(
    _ transport: some HTTPTransport, seed: UInt64, clock: SimulatedClock? = nil
  ) {
    self.init(
      { request, body in
        for try await _ in body {}
        return try await transport.send(request)
      }, seed: seed, clock: clock)
  }

  /// Sends a request through the network.
  ///
  /// - Throws: `ReplicationError` with the code `unreachable` for each fault that a client notices,
  ///   and what the server throws.
  public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    try Task.checkCancellation()
    var exchange = SimulatedExchange(request, self)
    return try await exchange.run()
  }
}

// MARK: Faults

extension SimulatedNetwork {
  /// The faults from now on.
  public var conditions: Conditions {
    get { state.withLock { $0.conditions } }
    set { state.withLock { $0.conditions = newValue } }
  }

  /// Whether nothing gets through.
  ///
  /// Setting it also cuts the exchanges that are on their way.
  public var isDown: Bool {
    get { state.withLock { $0.isDown } }
    set { state.withLock { $0.isDown = newValue } }
  }

  /// Cuts the connection that transfers a certain byte, once.
  ///
  /// All bytes count, of requests and answers and of all connections. A request begins with its
  /// method, URL and headers, and an answer with its status and headers.
  ///
  /// ```swift
  /// network.cut(afterBytes: 1000)
  /// ```
  ///
  /// - Parameter count: The number of bytes from now on that still arrive.
  public func cut(afterBytes count: Int) {
    state.withLock { $0.cutByteCount = $0.counts.bytes + max(0, count) }
  }

  /// Removes all faults, also the planned ones.
  public func stopFailing() {
    state.withLock { state in
      state.conditions = .good
      state.isDown = false
      state.cutByteCount = nil
    }
  }
}

// MARK: Evidence

extension SimulatedNetwork {
  /// What happened so far.
  public var counts: Counts { state.withLock { $0.counts } }
}

extension SimulatedNetwork: CustomStringConvertible {
  /// The seed of the network, the number of exchanges and the latest faults.
  ///
  /// Print it when a check fails.
  public var description: String {
    let (count, faults) = state.withLock { ($0.counts.exchanges, $0.faults) }
    let list = faults.isEmpty ? "no faults" : faults.joined(separator: ", ")
    return "a simulated network of seed \(seed) after \(count) exchanges: \(list)"
  }
}

extension SimulatedNetwork {
  /// How many faults the description names.
  private static let faultLimit = 12

  /// Counts a fault, and keeps it for the description.
  func note(
    _ fault: WritableKeyPath<Counts, Int>, _ text: @autoclosure () -> String
  ) {
    state.withLock { state in
      state.counts[keyPath: fault] += 1
      state.faults.append(text())
      if state.faults.count > Self.faultLimit { state.faults.removeFirst() }
    }
  }

  /// Lets time pass.
  func pass(_ duration: Duration) async throws {
    guard duration > .zero else { return }
    if let clock {
      clock.advance(by: duration)
    } else {
      try await Task.sleep(for: duration)
    }
  }

  /// Counts bytes; returns how many of them arrive before the planned cut, nil if all do.
  func transfer(_ count: Int) throws -> Int? {
    try state.withLock { state in
      guard !state.isDown else { throw SimulatedNetwork.cutError("the network is down") }
      let before = state.counts.bytes
      state.counts.bytes += count
      guard let limit = state.cutByteCount, before + count > limit else { return nil }
      state.cutByteCount = nil
      state.counts.bytes = max(before, limit)
      return max(0, limit - before)
    }
  }

  static func cutError(_ reason: String) -> ReplicationError {
    ReplicationError(.unreachable, "the connection failed: \(reason)")
  }
}
