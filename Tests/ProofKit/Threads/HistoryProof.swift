import Dispatch
import Divan
import DivanLog
import DivanTesting
import Foundation
import Synchronization

/// Records histories of many threads on one store, and checks them against the guarantees.
package struct HistoryProof: Proof {
  package static let name = "histories"
  package static let claim =
    "concurrent transactions are equivalent to a serial execution in the order of commits"

  package init() {}

  package func gather(_ run: ProofRun) throws {
    let count = run.budget.choose(test: 1, ci: 16, night: 1000, release: 10_000)
    let places = [HistoryCase.Place.realFiles, .simulatedDisk, .lostPower]
    let cases = places.flatMap { place in
      (1...count).map { HistoryCase(place: place, number: $0, budget: run.budget) }
    }
    run.forEach(cases, name: \.name) { historyCase in
      for history in try historyCase.play(seed: run.seed) {
        for problem in HistoryChecker.problems(of: history).prefix(3) {
          run.fail(problem, caseName: historyCase.name)
        }
        run.count("histories")
        run.count("transactions", history.transactions.count)
        run.count("of them committed", history.transactions.count { $0.outcome == .committed })
        run.count("of them rolled back", history.transactions.count { $0.outcome == .aborted })
        run.count("of unknown outcome", history.transactions.count { $0.outcome == .unknown })
        run.count("snapshots", history.views.count)
        run.count("reads from snapshots", history.views.reduce(0) { $0 + $1.reads.count })
        run.count("losses of power", history.recovered == nil ? 0 : 1)
      }
    }
    run.require("histories", atLeast: cases.count)
    run.require("of them rolled back", atLeast: cases.count)
    run.require("snapshots", atLeast: cases.count * 10)
    run.require("losses of power", atLeast: count)
  }
}

/// A store, and some sessions of threads on it.
struct HistoryCase: Sendable {
  enum Place: String {
    case realFiles = "real files"
    case simulatedDisk = "a simulated disk"
    case lostPower = "a simulated disk that loses power"
  }

  let place: Place
  let number: Int
  let budget: Budget

  var name: String { "\(place.rawValue) \(number)" }

  /// Runs some sessions; returns the history of each.
  func play(seed: UInt64) throws -> [History] {
    var random = SeededGenerator(seed: seed &* 1000 &+ UInt64(number))
    let directory = try ScratchDirectory()
    var disk = SimulatedDisk(seed: random.next())
    var histories: [History] = []
    var spent: UInt64 = 0
    for _ in 0..<budget.choose(test: 2, ci: 3, night: 4, release: 4) {
      var configuration = Configuration()
      if place != .realFiles { configuration.fileSystem = disk.fileSystem }
      configuration.setFilesSmallForTests()
      configuration.segmentSizeGoal = 16 << 10
      configuration.checkpointInterval = 16 << 10
      configuration.readMode = random.next() % 2 == 0 ? .mapped : .buffered
      let path = place == .realFiles ? directory.path + "/store.divan" : "/store.divan"
      let database = try Database(at: path, configuration: configuration)
      if !histories.isEmpty, place == .lostPower {
        histories[histories.count - 1].recovered = try recovered(database)
      }
      let recorder = try HistoryRecorder(database, spentSequence: spent)
      if place == .lostPower { disk.losePower(atCall: 50 + Int(random.next() % 400)) }
      try HistoryThreads(recorder, seed: random.next(), transactions: budget.transactionCount).run()
      let history = recorder.recorded
      histories.append(history)
      spent = max(spent, history.highestToldSequence)
      if place == .lostPower {
        disk.losePower()
        disk = disk.restarted(random.next() % 2 == 0 ? .strict : .random(seed: random.next()))
      } else {
        if let problem = try database.check().problems.first { throw problem }
        try database.close()
      }
    }
    if place == .lostPower {
      var configuration = Configuration()
      configuration.fileSystem = disk.fileSystem
      let database = try Database(at: "/store.divan", configuration: configuration)
      histories[histories.count - 1].recovered = try recovered(database)
    }
    return histories
  }

  private func recovered(_ database: Database) throws -> History.View {
    guard database.openingReport.damage.isEmpty else {
      throw Mismatch("\(database.openingReport)")
    }
    let changes = try HistoryRecorder.changes(in: try database.snapshot(), since: 0)
    return History.View(
      "what was found", 0...0, sequence: changes.last?.sequence ?? 0,
      [.changes(since: 0, changes)])
  }
}

extension Budget {
  fileprivate var transactionCount: Int { choose(test: 60, ci: 200, night: 400, release: 400) }
}

extension History {
  /// The highest sequence number that was returned to a caller.
  fileprivate var highestToldSequence: UInt64 {
    let written = transactions.filter { $0.outcome == .committed }
      .compactMap { $0.writes.last?.sequence }
    return max(written.max() ?? 0, views.map(\.sequence).max() ?? 0)
  }
}

/// The threads of one session.
private final class HistoryThreads: Sendable {
  let recorder: HistoryRecorder
  let seed: UInt64
  let transactions: Int
  private let isOver = Atomic(false)
  private let problem = Guarded<(any Error)?>(nil)

  init(_ recorder: HistoryRecorder, seed: UInt64, transactions: Int) {
    self.recorder = recorder
    self.seed = seed
    self.transactions = transactions
  }

  func run() throws {
    let (writers, others) = (DispatchGroup(), DispatchGroup())
    for thread in 0..<3 { detach(writers) { try self.write(thread) } }
    for thread in 0..<2 { detach(others) { try self.read(thread) } }
    detach(others) { try self.follow() }
    detach(others) { try self.compact() }
    writers.wait()
    isOver.store(true, ordering: .releasing)
    others.wait()
    if let problem = problem.withLock({ $0 }) { throw problem }
  }

  private func detach(_ group: DispatchGroup, _ body: @escaping @Sendable () throws -> Void) {
    Thread.detach(in: group) {
      do {
        try body()
      } catch is DatabaseError {
        // A disk without power; any other error of a store shows in the data that the checker
        // misses.
      } catch {
        self.problem.withLock { $0 = error }
      }
    }
  }

  private static let registers = (0..<10).map { "register-\($0)" }
  private static let lists = (0..<3).map { "list-\($0)" }
  private static let counters = (0..<3).map { "counter-\($0)" }
  private static let keys = registers + lists + counters

  // MARK: Writing

  private func write(_ thread: Int) throws {
    var random = SeededGenerator(seed: seed &+ UInt64(thread))
    let levels: [Durability] = [.full, .full, .none, .relaxed(maxDelay: .milliseconds(1))]
    for number in 0..<transactions {
      let name = "w\(thread).\(number)"
      let goesOn = try recorder.write(name, levels[random.below(levels.count)]) { steps in
        let isReadOnly = random.below(10) == 0
        for step in 0...random.below(4) {
          if isReadOnly {
            _ = try steps.read(Self.keys[random.below(Self.keys.count)])
          } else if random.below(5) == 0 {
            try steps.savepoint {
              try self.change("\(name).\(step)n", steps, &random)
              try self.change("\(name).\(step)m", steps, &random)
              if random.below(2) == 0 { throw HistoryRecorder.ThrownByPlan() }
            }
          } else {
            try self.change("\(name).\(step)", steps, &random)
          }
        }
        if random.below(7) == 0 { throw HistoryRecorder.ThrownByPlan() }
      }
      guard goesOn else { return }
    }
  }

  /// Reads and writes one document; `unique` is part of the written value.
  private func change(
    _ unique: String, _ steps: HistoryRecorder.Steps, _ random: inout SeededGenerator
  ) throws {
    let padding = random.below(300)
    switch random.below(8) {
    case 0: try steps.delete(Self.registers[random.below(Self.registers.count)])
    case 1: _ = try steps.read(Self.keys[random.below(Self.keys.count)])
    case 2, 3:
      let key = Self.lists[random.below(Self.lists.count)]
      let list = try steps.read(key) ?? ""
      // A list that has grown long is restarted.
      try steps.write(key, list.utf8.count > 300 ? unique : list + "," + unique, padding: padding)
    case 4:
      let key = Self.counters[random.below(Self.counters.count)]
      let count = try steps.read(key).flatMap { Int($0) } ?? 0
      try steps.write(key, "\(count + 1)", padding: padding)
    case 5:
      // A write to one document that depends on another: write skew would show here.
      let (from, to) = (random.below(Self.registers.count), random.below(Self.registers.count))
      let value = try steps.read(Self.registers[from]) ?? "nothing"
      try steps.write(Self.registers[to], "\(unique) saw \(value.prefix(20))", padding: padding)
    default:
      try steps.write(
        Self.registers[random.below(Self.registers.count)], unique, padding: padding)
    }
  }

  // MARK: Reading

  private func read(_ thread: Int) throws {
    var random = SeededGenerator(seed: seed &+ UInt64(100 + thread))
    var held: [HistoryRecorder.Reader] = []
    var number = 0
    while !isOver.load(ordering: .acquiring) {
      number += 1
      let reader = try recorder.reader("r\(thread).\(number)")
      try read(reader, &random)
      // Some are kept, and read again much later.
      if random.below(4) == 0 { held.append(reader) }
      for old in held where random.below(3) == 0 { try read(old, &random) }
      if held.count > 5 { held.remove(at: random.below(held.count)) }
      Thread.sleep(forTimeInterval: 0.000_5)
    }
    for old in held { try old.readEverything(descending: false) }
  }

  private func read(_ reader: HistoryRecorder.Reader, _ random: inout SeededGenerator) throws {
    for _ in 0..<3 { try reader.read(Self.keys[random.below(Self.keys.count)]) }
    if random.below(3) == 0 { try reader.readEverything(descending: random.below(2) == 0) }
    if random.below(4) == 0 {
      try reader.readChanges(since: random.next() % (reader.sequence + 1))
    }
  }

  /// Reads the feed from the last position on.
  private func follow() throws {
    var place: UInt64 = 0
    var number = 0
    while !isOver.load(ordering: .acquiring) {
      number += 1
      let reader = try recorder.reader("f.\(number)")
      try reader.readChanges(since: place)
      place = reader.sequence
      Thread.sleep(forTimeInterval: 0.000_3)
    }
  }

  private func compact() throws {
    while !isOver.load(ordering: .acquiring) {
      try recorder.database.compact()
      Thread.sleep(forTimeInterval: 0.005)
    }
  }
}
