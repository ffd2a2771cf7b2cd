import Divan
import DivanSync
import DivanSyncTesting
import DivanTesting
import Foundation
import Synchronization

/// Three stores that replicate with a fourth one through a network that fails.
struct ReplicationTrial {
  private var random: SeededGenerator
  private let stores: [ReplicatedStore]
  /// The store that the others replicate with.
  private let listener: ReplicatedStore
  /// The service for the listener's present database.
  private let service: ServiceBox
  private let networks: [SimulatedNetwork]
  private var model = PlainRevisions()
  private let editCount: Int
  private let documentCount: Int
  private let run: ProofRun
  /// The number of processes that were killed.
  private var killedCount = 0
  /// What happened, for the report of a failure.
  private(set) var told: [String] = []

  /// The service for a database that is replaced when its process is killed.
  private final class ServiceBox: Sendable {
    private let service: Mutex<CouchDBService>

    init(_ database: Database) { service = Mutex(CouchDBService.unlimited(["db": database])) }

    func replace(_ database: Database) {
      service.withLock { $0 = CouchDBService.unlimited(["db": database]) }
    }

    func respond(to request: HTTPRequest, _ body: HTTPBody) async -> HTTPResponse {
      let service = service.withLock { $0 }
      return await service.respond(to: request, body: body)
    }
  }

  init(seed: UInt64, editCount: Int, _ run: ProofRun) throws {
    var random = SeededGenerator(seed: seed)
    // Small files make a small store do all that a large one does, which costs too much for it.
    let isSmall = editCount <= 3000 && random.below(4) > 0
    var stores: [ReplicatedStore] = []
    for name in ["first", "second", "third", "listener"] {
      stores.append(
        try ReplicatedStore(
          name, seed: random.next(), hasSmallFiles: isSmall, isWeak: random.below(3) > 0))
    }
    let service = ServiceBox(stores[3].database)
    networks = stores.prefix(3).map { store in
      SimulatedNetwork(
        { request, body in await service.respond(to: request, body) }, seed: random.next(),
        clock: store.clock)
    }
    self.service = service
    listener = stores.removeLast()
    self.stores = stores
    self.editCount = editCount
    documentCount = max(20, editCount / 40)
    self.run = run
    self.random = random
  }

  private mutating func tell(_ what: String) {
    told.append(what)
    if told.count > 30 { told.removeFirst() }
  }

  mutating func play() throws {
    var left = editCount
    var round = 0
    while left > 0 {
      round += 1
      let count = min(left, 1 + random.below(60))
      left -= count
      try playRound(round, editCount: count, isLast: left == 0)
      if round % 200 == 0 { run.progress?("\(left) edits are left") }
    }
    try finish()
  }

  private mutating func playRound(_ round: Int, editCount: Int, isLast: Bool) throws {
    let before = random.below(editCount + 1)
    for _ in 0..<before { try edit(stores[random.below(3)]) }
    try maintain()
    let takingPart = (0..<3).filter { _ in random.below(2) == 0 }
    let victim = random.below(3) == 0 ? takingPart.randomElement(using: &random) : nil
    // A world ends with at least one process killed, however few rounds it has.
    let killsListener = random.below(6) == 0 || (isLast && victim == nil && killedCount == 0)
    if let victim { stores[victim].disk.losePower(atCall: 1 + random.below(80)) }
    if killsListener { listener.disk.losePower(atCall: 1 + random.below(120)) }
    tell(
      "round \(round): \(takingPart) replicate, \(victim.map { "\($0)" } ?? "none") "
        + "\(killsListener ? "and the listener " : "")killed")
    let runs = takingPart.map { start($0) }
    // The others go on meanwhile, also those that replicate.
    let living = (0..<3).filter { $0 != victim }
    for _ in before..<editCount { try edit(stores[living[random.below(living.count)]]) }
    for outcome in runs { outcome.wait(run) }
    if let victim { try kill(stores[victim]) }
    if killsListener { try kill(listener) }
    service.replace(listener.database)
  }

  private mutating func kill(_ store: ReplicatedStore) throws {
    let losses: [SimulatedDisk.Loss] = [
      .processEnd, .processEnd, .strict, .everything, .prefix(seed: random.next()),
      .random(seed: random.next()), .sizeFirst(seed: random.next()),
    ]
    let loss = losses[random.below(losses.count)]
    tell("\(store.name) is killed, \(loss)")
    killedCount += 1
    run.count("processes killed")
    run.count("of them in the middle of a replication", store.disk.hasLostPower ? 1 : 0)
    try store.kill(loss)
  }

  /// Does from time to time what a program does beside replications.
  private mutating func maintain() throws {
    switch random.below(24) {
    case 0: try stores[random.below(3)].database.compact()
    case 1: try listener.database.compact()
    case 2: listener.keepCopy()
    case 3 where random.below(4) == 0:
      guard try listener.returnToCopy() else { return }
      tell("the listener is an earlier copy of itself")
      run.count("times that an earlier copy took the listener's place")
      service.replace(listener.database)
    default: break
    }
  }

  /// Brings everything everywhere through a network without faults, and compares it.
  private mutating func finish() throws {
    for network in networks { network.stopFailing() }
    // The second time brings to the first stores what the last one had.
    for number in [0, 1, 2, 0, 1, 2] {
      let replicator = Replicator(stores[number].database, peer(number))
      let status = try waitFor { try await replicator.replicate() }
      guard status.failures.isEmpty else {
        throw CrashOracle.Mismatch("\(stores[number].name): \(status.failures)")
      }
    }
    for store in stores + [listener] { try model.compare(with: store.database, store.name) }
    run.count("documents compared in four stores", model.documents.count)
    run.count("of them in conflict", model.conflictCount)
    for network in networks { Self.count(network.counts, run) }
  }

  private static func count(_ counts: SimulatedNetwork.Counts, _ run: ProofRun) {
    for (name, count) in [
      ("exchanges", counts.exchanges), ("cuts", counts.cuts),
      ("lost requests and answers", counts.lostRequests + counts.lostAnswers),
      ("requests that arrived twice", counts.duplicates), ("stale answers", counts.staleAnswers),
      ("answers of a proxy", counts.proxyAnswers), ("jumps of a clock", counts.clockJumps),
      ("exchanges overtaken or slow", counts.reorderings + counts.drips),
    ] { run.count(name, count) }
  }

  /// What the networks say, for the report of a failure.
  var evidence: String { networks.map(\.description).joined(separator: "\n  ") }
}

// MARK: Replications

extension ReplicationTrial {
  private func peer(_ number: Int) -> CouchDBPeer {
    // Each store has a network of its own to the same server.
    CouchDBPeer(url: Self.serverURL, transport: networks[number])
  }

  /// The URL of the listener, which no name leads to.
  static let serverURL = URL(string: "http://listener.invalid/db") ?? URL(filePath: "/")

  /// A replication that runs.
  private struct Running {
    let task: Task<Bool, Never>

    /// Waits for its end, and counts it.
    func wait(_ run: ProofRun) {
      let task = task
      let wasComplete = (try? waitFor { await task.value }) ?? false
      run.count("replications")
      run.count("of them ended by a fault", wasComplete ? 0 : 1)
    }
  }

  private mutating func start(_ number: Int) -> Running {
    let network = networks[number]
    network.conditions =
      random.below(4) == 0
      ? .good : SimulatedNetwork.Conditions(each: Double(1 + random.below(80)) / 1000)
    network.conditions.latency = .zero ... .milliseconds(50)
    var options = Replicator.Options()
    options.batchCount = 1 + random.below(200)
    options.batchSize = 1 << (8 + random.below(14))
    options.retryLimit = random.below(3)
    options.retryDelay = .microseconds(200)
    options.retryDelayLimit = .milliseconds(2)
    let direction = Replicator.Direction.allCases[random.below(3)]
    let replicator = Replicator(
      stores[number].database, peer(number), direction: direction, options: options)
    guard random.below(5) == 0 else {
      return Running(
        task: Task.detached {
          do { try await replicator.replicate() } catch { return false }
          return true
        })
    }
    // A continuous one is cancelled somewhere.
    let end = network.counts.exchanges + 1 + random.below(60)
    return Running(
      task: Task.detached {
        let replication = replicator.start()
        for _ in 0..<100 where network.counts.exchanges < end {
          try? await Task.sleep(for: .milliseconds(1))
        }
        await replication.cancel()
        return false
      })
  }
}

// MARK: Edits

extension ReplicationTrial {
  /// Makes a random edit in a store: a new document, a change, a deletion or a resolution.
  ///
  /// It reads and writes in one transaction, since a replication may change the document meanwhile.
  private mutating func edit(_ store: ReplicatedStore) throws {
    let id = "document \(random.below(documentCount))"
    run.count("edits")
    let edits = try store.database.write(durability: .full) { try edit(id, in: $0) }
    for (made, revision) in edits { try model.add(made, revision, of: id) }
  }

  /// Returns the revisions that an edit made.
  private mutating func edit(_ id: String, in transaction: WriteTransaction) throws -> [Edit] {
    let branches = try transaction.branches(of: id)
    var made = PlainRevisions.Made(properties: Self.properties(&random))
    guard !branches.isEmpty else {
      var document = Document(id: id, made.properties)
      if random.below(4) == 0 { attach(&document, &made) }
      let stored = try transaction.put(document)
      made.parent = stored.parentRevision
      if let parent = made.parent { _ = try model.made(parent, of: id) }
      return [(made, stored.revision)]
    }
    var document = branches[random.below(branches.count)]
    let before = try model.made(document.revision, of: id)
    made.parent = document.revision
    document.properties = made.properties
    if random.below(10) == 0 {
      made.isDeleted = true
      return [(made, try transaction.delete(document).revision)]
    }
    made.attachments = before.attachments
    switch random.below(8) {
    case 0, 1: attach(&document, &made)
    case 2:
      guard let name = made.attachments.keys.sorted().first else { break }
      made.attachments[name] = nil
      document.attachments[name] = nil
    default: break
    }
    let resolved = branches.count > 1 && random.below(2) == 0 ? branches : []
    let stored = try transaction.put(document)
    return try [(made, stored.revision)]
      + end(resolved.filter { $0.revision != made.parent }, in: transaction)
  }

  private typealias Edit = (made: PlainRevisions.Made, revision: RevisionID?)

  /// Ends branches of a document, as its resolution does.
  private func end(_ branches: [Document], in transaction: WriteTransaction) throws -> [Edit] {
    run.count("branches ended by a resolution", branches.count)
    return try branches.map { branch in
      let before = try model.made(branch.revision, of: branch.id)
      let end = PlainRevisions.Made(
        parent: branch.revision, isDeleted: true, properties: before.properties)
      return (end, try transaction.delete(branch).revision)
    }
  }

  private mutating func attach(_ document: inout Document, _ made: inout PlainRevisions.Made) {
    let name = ["photo", "a/b +c", "é"][random.below(3)]
    let size = random.below(50) == 0 ? random.below(100_000) : random.below(400)
    // Some are equal, and stored once.
    let first = UInt8(random.below(random.below(4) == 0 ? 2 : 256))
    let bytes = (0..<size).map { first &+ UInt8(truncatingIfNeeded: $0 / 7) }
    made.attachments[name] = bytes
    document.attachments[name] = Document.Attachment(
      contentType: random.below(2) == 0 ? "text/plain" : "image/png", bytes)
    run.count("attachments added")
  }

  private static func properties(_ random: inout SeededGenerator) -> Value.Object {
    [
      "number": .int(Int64(random.below(1_000_000_000))),
      "text": .string(String(repeating: "tea ", count: random.below(40))),
      "list": [.double(Double(random.below(1000)) / 8), .null, .bool(random.below(2) == 0)],
    ]
  }
}
