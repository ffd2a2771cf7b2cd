import Divan
import DivanSync
import DivanSyncTesting
import DivanTesting
import Foundation
import Synchronization
import Testing

/// Tests of the simulated network.
struct SimulatedNetworkTests {
  private static let size = 3000

  /// A server that returns the body of each request, with the number of the request.
  private final class Echo: Sendable {
    let bodies = Mutex<[Data]>([])

    func answer(_ request: HTTPRequest, _ body: HTTPBody) async throws -> HTTPResponse {
      var data = Data()
      for try await piece in body { data += piece }
      let received = data
      let number = bodies.withLock { bodies in
        bodies.append(received)
        return bodies.count
      }
      return HTTPResponse(
        status: 200, headers: ["number": "\(number)", "content-length": "\(data.count)"],
        body: HTTPBody(data))
    }
  }

  private func network(_ echo: Echo, seed: UInt64 = 1, clock: SimulatedClock? = nil)
    -> SimulatedNetwork
  {
    SimulatedNetwork({ try await echo.answer($0, $1) }, seed: seed, clock: clock)
  }

  private func request(_ method: String = "PUT", size: Int = size) throws -> HTTPRequest {
    let url = try #require(URL(string: "http://server.invalid/a"))
    return HTTPRequest(method, url, body: .data(Data(repeating: 7, count: size)))
  }

  private func content(_ response: HTTPResponse) async throws -> Data {
    var data = Data()
    for try await piece in response.body { data += piece }
    return data
  }

  /// Returns what a client notices of an exchange: the size of the answer, or -1 for an error.
  private func outcome(_ network: SimulatedNetwork, _ request: HTTPRequest) async throws -> Int {
    do {
      return try await content(try await network.send(request)).count
    } catch let error as ReplicationError {
      #expect(error.code == .unreachable)
      return -1
    }
  }

  // MARK: Examples

  @Test func `a program has the same documents after a bad network`() async throws {
    let (database, remote) = (try Database.inMemory(), try Database.inMemory())
    try await database.write { try _ = $0.put(Document(id: "note", ["text": "Tea"])) }
    let server = ServiceTransport(CouchDBService(["db": remote]))
    let url = try #require(URL(string: "http://server.invalid/db"))

    let network = SimulatedNetwork(server, seed: 7)
    network.conditions = .bad
    let peer = CouchDBPeer(url: url, transport: network)
    _ = try? await Replicator(database, peer).replicate()
    network.conditions = .good
    try await Replicator(database, peer).replicate()

    #expect(try Contents(of: database) == Contents(of: remote), "\(network)")
  }

  @Test func `conditions are parts of exchanges`() async throws {
    let echo = Echo()
    let network = network(echo, clock: SimulatedClock())
    var conditions = SimulatedNetwork.Conditions()
    conditions.lostAnswers = 0.2
    conditions.latency = .milliseconds(30) ... .milliseconds(300)
    network.conditions = conditions
    for _ in 0..<200 { _ = try await outcome(network, request()) }
    #expect((20...60).contains(network.counts.lostAnswers), "\(network)")
    #expect(network.counts.exchanges == 200)
    #expect(echo.bodies.withLock { $0.count } == 200)
  }

  // MARK: Faults

  @Test func `a connection is cut at exactly the planned byte`() async throws {
    let whole = Echo()
    let total = network(whole)
    _ = try await outcome(total, request())
    #expect(total.counts.bytes > 2 * Self.size)
    for place in 0..<total.counts.bytes {
      let echo = Echo()
      let network = network(echo)
      network.cut(afterBytes: place)
      #expect(try await outcome(network, request()) == -1, "byte \(place)")
      #expect(network.counts.bytes == place)
      // It is cut once.
      #expect(try await outcome(network, request()) == Self.size, "byte \(place)")
      #expect(network.counts.cuts == 1)
    }
    let network = network(Echo())
    network.cut(afterBytes: total.counts.bytes)
    #expect(try await outcome(network, request()) == Self.size)
  }

  @Test func `a server gets the bytes before a cut`() async throws {
    let network = SimulatedNetwork(
      { request, body in
        var count = 0
        await #expect(throws: (any Error).self) {
          for try await piece in body { count += piece.count }
        }
        #expect((1..<Self.size).contains(count))
        return HTTPResponse(status: 200)
      }, seed: 1)
    network.cut(afterBytes: 2000)
    #expect(try await outcome(network, request()) == -1)
  }

  @Test func `a transport gets whole requests only`() async throws {
    let remote = try Database.inMemory()
    let server = ServiceTransport(CouchDBService(["db": remote]))
    let network = SimulatedNetwork(server, seed: 1)
    network.cut(afterBytes: 2000)
    #expect(try await outcome(network, request()) == -1)
    #expect(server.requests.isEmpty)
  }

  private typealias Fault = any WritableKeyPath<SimulatedNetwork.Conditions, Double> & Sendable

  private static let faults: [Fault] = [
    \.lostRequests, \.lostAnswers, \.duplicates, \.proxyAnswers, \.drips, \.staleAnswers,
    \.reorderings, \.clockJumps, \.cuts,
  ]

  @Test(arguments: faults.indices)
  func `each fault happens, and is counted`(_ index: Int) async throws {
    let echo = Echo()
    let clock = SimulatedClock()
    let network = network(echo, clock: clock)
    var conditions = SimulatedNetwork.Conditions()
    conditions[keyPath: Self.faults[index]] = 1
    network.conditions = conditions
    var outcomes: [Int] = []
    for _ in 0..<20 { outcomes.append(try await outcome(network, request("GET"))) }
    let (counts, served) = (network.counts, echo.bodies.withLock { $0.count })
    #expect(counts.faults >= 10, "\(counts)")
    switch index {
    case 0: #expect(outcomes.allSatisfy { $0 == -1 } && served == 0)
    case 1: #expect(outcomes.allSatisfy { $0 == -1 } && served == 20)
    case 2: #expect(outcomes.allSatisfy { $0 == Self.size } && served == 40)
    case 3: #expect(outcomes.allSatisfy { (1..<200).contains($0) } && (1..<20).contains(served))
    case 4: #expect(outcomes.allSatisfy { $0 == Self.size } && served == 20)
    case 5: #expect(outcomes.allSatisfy { $0 == Self.size } && served == 1)
    case 6: #expect(outcomes.allSatisfy { $0 == Self.size } && served == 20)
    case 7: #expect(counts.clockJumps == 20 && clock.nextReading != SimulatedClock().nextReading)
    default: #expect(counts.cuts == outcomes.count { $0 == -1 } && served > 0)
    }
    #expect("\(network)".contains("seed 1 after 20 exchanges"))
  }

  @Test func `nothing gets through while the network is down`() async throws {
    let network = network(Echo())
    let response = try await network.send(request())
    network.isDown = true
    await #expect(throws: ReplicationError.self) { try await content(response) }
    #expect(try await outcome(network, request()) == -1)
    network.stopFailing()
    #expect(try await outcome(network, request()) == Self.size)
  }

  @Test func `the same seed makes the same faults`() async throws {
    func outcomes(_ seed: UInt64) async throws -> ([Int], String) {
      let network = network(Echo(), seed: seed, clock: SimulatedClock())
      network.conditions = SimulatedNetwork.Conditions(each: 0.2)
      var outcomes: [Int] = []
      for _ in 0..<50 { outcomes.append(try await outcome(network, request("GET"))) }
      return (outcomes, "\(network)")
    }
    let (first, second, third) = (
      try await outcomes(5), try await outcomes(5), try await outcomes(6)
    )
    #expect(first == second)
    #expect(first.0 != third.0)
  }

  @Test func `time passes on the network's clock without waiting`() async throws {
    let clock = SimulatedClock(stepMilliseconds: 0)
    let network = network(Echo(), clock: clock)
    network.conditions.latency = .seconds(1000) ... .seconds(1000)
    let before = clock.nextReading
    _ = try await outcome(network, request())
    #expect(clock.nextReading == before + 2_000_000)
  }
}
