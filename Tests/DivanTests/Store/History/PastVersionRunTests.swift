import DivanLog
import DivanTesting
import Foundation
import TestSupport
import Testing

@testable import Divan

/// A store under random changes, with the contents of its past versions.
private final class HistoryRun {
  let seed: UInt64
  var random: SeededGenerator
  let disk = MemoryFileSystem()
  let clock = SteppedClock()
  var retention: HistoryRetention
  /// Whether all history was retained from the beginning.
  var isComplete: Bool
  var database: Database
  var plain = PlainHistory()
  var names: [String: PlainVersion] = [:]
  var known: [String: [[RevisionID]]] = [:]
  var step = 0
  /// The number of past versions that were compared, and of those that were refused.
  var comparedCount = 0
  var refusedCount = 0
  let ids = ["d0", "d1", "d2", "d\u{0}1", "d", "x\u{0}\u{0}12345678"]

  init(seed: UInt64) throws {
    self.seed = seed
    random = SeededGenerator(seed: seed)
    retention = .unlimited
    isComplete = true
    database = try HistoryRun.open(retention, disk, clock)
  }

  static func open(
    _ retention: HistoryRetention, _ disk: MemoryFileSystem, _ clock: SteppedClock
  ) throws -> Database {
    var configuration = Configuration.small(on: disk)
    configuration.maintenance = .manual
    configuration.revisionDepth = 4
    configuration.history = retention
    configuration.now = { clock.now }
    return try Database(at: "/s", configuration: configuration)
  }

  func pick(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
  var comment: Comment { "seed \(seed), step \(step)" }
}

/// Tests of past versions under random changes, maintenance and openings, with a plain model.
struct PastVersionRunTests {
  @Test(arguments: 1...4)
  func `every retained version keeps its contents`(seed: UInt64) throws {
    let run = try HistoryRun(seed: seed)
    for step in 0..<140 {
      run.step = step
      run.clock.tick()
      try run.change()
      try run.plain.note(try run.database.snapshot(), time: run.clock.now)
      try run.compare()
      if step % 5 == 0 { try RebuiltIndex(of: run.database).expectSame(run.comment) }
    }
    #expect(try run.database.check().problems.map(\.message) == [], "seed \(seed)")
    #expect(run.comparedCount > 50, "seed \(seed)")
    #expect((run.refusedCount > 10) == (seed % 2 == 0), "seed \(seed): \(run.refusedCount)")
    for name in run.names.keys { try run.database.deleteSnapshot(named: name) }
    run.names = [:]
    try run.reopen(.disabled)
    try run.database.compact()
    try RebuiltIndex(of: run.database).expectSame(run.comment)
    try run.expectLeavesOnly()
  }
}

extension HistoryRun {
  func change() throws {
    let id = ids.randomElement(using: &random) ?? "d0"
    switch pick(20) {
    case 0...3:
      try database.write { transaction in
        for _ in 0...pick(3) {
          let id = ids.randomElement(using: &random) ?? "d0"
          _ = try transaction.replace(id, with: ["step": .int(Int64(step))])
        }
      }
    case 4...5: try insert(id)
    case 6: try database.write { _ = try $0.delete(id) }
    case 7:
      try database.write { _ = try $0.update(id) { $0["more"] = .int(Int64(step)) } }
    case 8: if pick(3) == 0 { try purge(id) }
    case 9: if pick(2) == 0 { try purgeLeaf(of: id) }
    case 10...11: try name()
    case 12:
      if let name = names.keys.sorted().randomElement(using: &random) {
        try database.deleteSnapshot(named: name)
        names[name] = nil
      }
    case 13...14: try database.writeCheckpoint()
    case 15: try database.compact()
    case 16: try database.store.pruneHistory()
    case 17: try database.compactWhatPays()
    default: try reopen(nextRetention())
    }
  }

  private func nextRetention() -> HistoryRetention {
    // Some runs retain everything, so that no version may ever be refused.
    guard seed % 2 == 0 else { return .unlimited }
    switch pick(6) {
    case 0: return .disabled
    case 1: return HistoryRetention(revisions: pick(4))
    case 2: return HistoryRetention(age: .seconds(pick(30)))
    case 3: return HistoryRetention(bytes: pick(4000))
    case 4: return HistoryRetention(revisions: 3, age: .seconds(20), bytes: 2000)
    default: return .unlimited
    }
  }

  func reopen(_ history: HistoryRetention) throws {
    retention = history
    if history != .unlimited { isComplete = false }
    try database.close()
    if pick(2) == 0 {
      for name in try disk.list("/s") where name.hasSuffix(".checkpoint") {
        try disk.remove("/s/\(name)")
      }
    }
    database = try HistoryRun.open(history, disk, clock)
  }

  private func insert(_ id: String) throws {
    let parent = known[id]?.randomElement(using: &random) ?? []
    let generation = (parent.first?.generation ?? 0) + 1
    let digest = String(UInt64.random(in: 0..<1 << 40, using: &random), radix: 16)
    let text = String(repeating: "0", count: 32 - digest.count) + digest
    guard let revision = RevisionID(generation: generation, digest: text) else { return }
    let history = [revision] + parent.prefix(3)
    known[id, default: []].append(history)
    let isDeleted = pick(5) == 0
    try database.write {
      _ = try $0.insert(
        Document(id: id, ["inserted": .int(Int64(step))]), history: history, isDeleted: isDeleted)
    }
  }

  private func purge(_ id: String) throws {
    try database.write { _ = try $0.purge(id) }
    plain.purge(id)
    for name in names.keys { names[name]?.lines.removeAll { $0.id == id } }
  }

  private func purgeLeaf(of id: String) throws {
    let leaves = try database.read { try $0.leaves(of: id) }
    guard leaves.count > 1, let revision = leaves.randomElement(using: &random)?.revision else {
      return
    }
    try database.write { _ = try $0.purge(id, revision: revision) }
    plain.purgeLeaf(of: id, at: try database.snapshot().sequence)
    for name in names.keys {
      let leaves = try database.snapshot(named: name).leaves(of: id)
      #expect(!leaves.contains { $0.revision == revision }, comment)
    }
  }

  private func name() throws {
    let name = "n\(pick(5))"
    guard names[name] == nil else { return }
    let snapshot = try database.snapshot()
    if pick(3) == 0, let wanted = plain.versions.randomElement(using: &random) {
      do {
        try database.saveSnapshot(named: name, of: try database.snapshot(at: wanted.sequence))
        names[name] = wanted
      } catch let error as DatabaseError where error.code == .versionNotRetained {
        #expect(!isComplete, comment)
      }
    } else if snapshot.sequence > 0 {
      try database.saveSnapshot(named: name)
      names[name] = plain.versions.last
    }
  }

  func compare() throws {
    for (name, version) in names {
      let snapshot = try database.snapshot(named: name)
      try version.check(
        snapshot, among: ids, except: plain.tainted(in: version), "named \(name), \(comment)")
    }
    #expect(
      try database.namedSnapshots().map { [$0.name, "\($0.sequence)"] }
        == names.sorted { $0.key < $1.key }.map { [$0.key, "\($0.value.sequence)"] }, comment)
    let last = try database.snapshot().sequence
    for _ in 0..<2 {
      let sequence = UInt64.random(in: 0...last, using: &random)
      try compare(plain.version(at: sequence), "at \(sequence), \(comment)") {
        try database.snapshot(at: sequence)
      }
      let time = clock.now - UInt64(pick(60)) * 1000
      try compare(plain.version(atTime: time), "at time \(time), \(comment)") {
        try database.snapshot(at: Date(timeIntervalSince1970: Double(time) / 1000))
      }
    }
  }

  private func compare(
    _ version: PlainVersion?, _ comment: Comment, _ read: () throws -> Snapshot
  ) throws {
    do {
      let snapshot = try read()
      guard let version else {
        #expect(snapshot.sequence == 0, comment)
        #expect(try snapshot.count == 0, comment)
        return
      }
      try version.check(snapshot, among: ids, except: plain.tainted(in: version), comment)
      if version != plain.versions.last { comparedCount += 1 }
    } catch let error as DatabaseError where error.code == .versionNotRetained {
      #expect(!isComplete, comment)
      refusedCount += 1
    }
  }

  /// Checks that only the retained revisions that leaves need are left.
  func expectLeavesOnly() throws {
    let view = try database.store.view()
    try view.forEachRetained { (retained) throws(DatabaseError) in
      let needed = try retained.needed(byVersions: [], in: view)
      #expect(retained.records.allSatisfy { needed.contains($0.sequence) }, comment)
      return true
    }
  }
}
