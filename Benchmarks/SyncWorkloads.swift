import Divan
import DivanSync
import Foundation

/// A transport whose server is a service in this process, without sockets.
private struct ServiceTransport: HTTPTransport {
  let service: CouchDBService

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    let body: HTTPBody =
      switch request.body {
      case .none: HTTPBody()
      case .data(let data): HTTPBody(data)
      case .file(let file): HTTPBody(try Data(contentsOf: file))
      }
    return await service.respond(to: request, body: body)
  }
}

extension Workload {
  /// Replications with a server in this process.
  static let replicating = [
    Workload(
      name: "sync-pull", title: "pull all documents from a server into an empty store",
      unit: .microsecondsPerDocument, warmsUp: false, prepare: prepareStores
    ) { bench in try copyAll(bench, .pull).seconds * 1e6 / Double(bench.count) },
    Workload(
      name: "sync-push", title: "push all documents to a server with an empty store",
      unit: .microsecondsPerDocument, warmsUp: false, prepare: prepareStores
    ) { bench in try copyAll(bench, .push).seconds * 1e6 / Double(bench.count) },
    Workload(
      name: "sync-again", title: "replicate both ways when both sides have everything",
      unit: .milliseconds, warmsUp: false, prepare: prepareStores
    ) { bench in
      _ = try copyAll(bench, .both)
      return try copyAll(bench, .both).seconds * 1e3
    },
    Workload(
      name: "memory-sync-pull", title: "growth of anonymous memory during a pull of all documents",
      unit: .megabytes, isApart: true, limit: memoryLimit, warmsUp: false, prepare: prepareStores
    ) { bench in try copyAll(bench, .pull, measuresMemory: true).bytes / 1e6 },
    Workload(
      name: "memory-sync-push", title: "growth of anonymous memory during a push of all documents",
      unit: .megabytes, isApart: true, limit: memoryLimit, warmsUp: false, prepare: prepareStores
    ) { bench in try copyAll(bench, .push, measuresMemory: true).bytes / 1e6 },
    Workload(
      name: "sync-idle",
      title: "processor time of a continuous replication in a second without changes",
      unit: .milliseconds, warmsUp: false, prepare: prepareStores
    ) { bench in
      try continuously(bench) { _, _ in
        let before = processorSeconds()
        try await Task.sleep(for: .seconds(1))
        return (processorSeconds() - before) * 1e3
      }
    },
    Workload(
      name: "sync-arrival",
      title: "from a commit until a continuous pull has stored the change here",
      unit: .milliseconds, warmsUp: false, prepare: prepareStores
    ) { bench in
      try continuously(bench) { here, there in
        var arrivals = here.changeFeed(since: try here.snapshot().sequence).makeAsyncIterator()
        let clock = ContinuousClock()
        let start = clock.now
        try await there.write { try _ = $0.put(Document(id: "arrival", ["n": 1])) }
        guard try await arrivals.next() != nil else { throw BenchmarkError("the feed ended") }
        return (clock.now - start).inSeconds * 1e3
      }
    },
  ]

  /// 32 MiB.
  private static let memoryLimit = 33.6

  private static func prepareStores(_ bench: Bench) throws {
    try bench.load()
    try bench.remove("synced")
  }

  /// The processor time of this process.
  private static func processorSeconds() -> Double { Double(clock()) / 1e6 }

  private static func replicator(
    _ here: Database, _ there: Database, _ direction: Replicator.Direction
  ) throws -> Replicator {
    guard let url = URL(string: "http://localhost/db") else { throw BenchmarkError("no URL") }
    var configuration = CouchDBService.Configuration()
    configuration.limits.requestsPerSecond = 1e9
    let service = CouchDBService(["db": there], configuration: configuration)
    let transport = ServiceTransport(service: service)
    return Replicator(here, CouchDBPeer(url: url, transport: transport), direction: direction)
  }

  /// Copies the loaded store into another one, and returns the time and the growth of memory.
  private static func copyAll(
    _ bench: Bench, _ direction: Replicator.Direction, measuresMemory: Bool = false
  ) throws -> (seconds: Double, bytes: Double) {
    let (loaded, other) = (try bench.open("loaded"), try bench.open("synced"))
    let (here, there) = direction == .pull ? (other, loaded) : (loaded, other)
    let replicator = try replicator(here, there, direction)
    // Pages of the loaded store that a copy reads are in memory before.
    let watch = measuresMemory ? MemoryWatch() : nil
    let elapsed = try waitFor {
      let clock = ContinuousClock()
      let start = clock.now
      let status = try await replicator.replicate()
      guard status.failures.isEmpty else { throw BenchmarkError("\(status.failures)") }
      return (clock.now - start).inSeconds
    }
    let growth = try watch?.growth() ?? 0
    guard try other.snapshot().count == bench.count else {
      throw BenchmarkError("documents are missing")
    }
    try loaded.close()
    try other.close()
    return (elapsed, growth)
  }

  /// Measures something while an empty store pulls continuously from another one.
  private static func continuously(
    _ bench: Bench,
    _ measure: @escaping @Sendable (_ here: Database, _ there: Database) async throws -> Double
  ) throws -> Double {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try there.write { try _ = $0.put(Document(id: "first", ["n": 1])) }
    let replicator = try replicator(here, there, .pull)
    return try waitFor {
      let run = replicator.start()
      for try await status in run.statuses where status.isUpToDate { break }
      // It waits for changes soon after it is up to date.
      try await Task.sleep(for: .milliseconds(100))
      let value = try await measure(here, there)
      await run.cancel()
      return value
    }
  }
}
