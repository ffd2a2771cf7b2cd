import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests that the change feed has no stale changes after the compaction of a single segment.
///
/// Regression: the compacted segment took the name of a segment that the newest checkpoint listed.
/// Then the checkpoint before it was used, and the log after that was replayed without consulting
/// the index. The compaction had dropped the records that name the ones they supersede. The feed
/// then returned superseded changes, and failed once their segment was removed.
///
/// Found by random runs, seeds 17, 37 and 136.
struct StaleFeedTests {
  private func open(_ disk: SimulatedFileSystem, life: Int) throws -> Database {
    var configuration = Configuration.crashing(on: disk, life: life)
    configuration.maintenance = .manual
    configuration.segmentSizeGoal = 1024
    return try Database(at: "/store.divan", configuration: configuration)
  }

  /// Returns a store whose newest checkpoint builds on an older one.
  ///
  /// The last segment before the newest checkpoint has only superseded records.
  private func overwritten(_ disk: SimulatedFileSystem) throws -> Database {
    let database = try open(disk, life: 1)
    func put(_ id: String, _ size: Int) throws {
      let text = Value.string(String(repeating: "x", count: size))
      try database.write { try $0.replace(id, with: ["text": text]) }
    }
    for number in 0..<30 { try put("other-\(number)", 40) }
    try put("a", 10)
    try database.writeCheckpoint()
    try put("a", 20)
    try put("a", 30)
    try database.writeCheckpoint()
    return database
  }

  private func check(_ database: Database) throws {
    let snapshot = try database.snapshot()
    let feed = snapshot.changes()
    let changes = try feed.collect()
    #expect(changes.count == 31)
    #expect(Set(changes.map(\.id)).count == 31)
    #expect(try snapshot.document("a")?["text"]?.stringValue?.count == 30)
  }

  @Test func `an older checkpoint is not used with segments that were compacted after it`() throws {
    let disk = SimulatedFileSystem()
    let database = try overwritten(disk)
    let listener = Recorder<Int>()
    // Simulates the end of the process at each call of the compaction and after it.
    disk.observeChangingCalls { [unowned disk] call in
      do {
        let again = try open(disk.restarted(.processEnd), life: 1 + call)
        try check(again)
        try again.compact()
        try check(again)
        listener.append(call)
      } catch {
        Issue.record("call \(call): \(error)")
      }
    }
    try database.compactWhatPays()
    try database.compact()
    disk.observeChangingCalls(nil)
    #expect(listener.all.count > 10)
    try check(database)
  }

  @Test func `after the compaction of a single segment there is a usable checkpoint`() throws {
    let disk = SimulatedFileSystem()
    let database = try overwritten(disk)
    try database.compactWhatPays()
    try database.close()
    let again = try open(disk, life: 2)
    #expect(again.openingReport.notes.isEmpty, "\(again.openingReport)")
    try check(again)
  }

  @Test(arguments: [1, 2, 3])
  func `if a checkpoint is lost, an older one is not used with segments compacted since`(
    compactedCount: Int
  ) throws {
    let disk = SimulatedFileSystem()
    let database = try open(disk, life: 1)
    // Regression: the position of several compacted segments counted as empty, and this as damage.
    // Each transaction fills a segment.
    func put(_ id: String, _ number: Int) throws {
      let text = Value.string(String(repeating: "x", count: 400))
      try database.write {
        try $0.replace(id, with: ["text": text, "number": .int(Int64(number))])
      }
    }
    for number in 0..<30 { try put("other-\(number)", number) }
    try database.writeCheckpoint()
    for number in 0...compactedCount { try put("a", number) }
    try database.writeCheckpoint()
    try database.compactWhatPays()
    try database.close()
    func names(_ suffix: String) -> [String] {
      disk.names(in: "/store.divan").filter { $0.hasSuffix(suffix) }
    }
    // The segments with only superseded records were compacted into one, or remained a single one.
    #expect(names(".segment").count == 32)
    let checkpoints = names(".checkpoint")
    #expect(checkpoints.count > 1)
    for name in checkpoints.dropFirst() { try disk.vanish("/store.divan/\(name)") }
    let again = try open(disk, life: 2)
    #expect(again.openingReport.damage.isEmpty, "\(again.openingReport)")
    #expect(again.openingReport.notes.contains { $0.contains("was not used") })
    #expect(try again.snapshot().count == 31)
    #expect(try again.snapshot().document("a")?["number"] == .int(Int64(compactedCount)))
    let feed = try again.snapshot().changes()
    #expect(try feed.collect().count == 31)
    #expect(try again.check().isSound)
    try again.write { _ = try $0.replace("new", with: [:]) }
  }
}
