import DivanTesting
import Foundation
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests that each kind of event is reported when the thing happens, with what happened.
struct DatabaseEventTests {
  private static let path = "/Notes.divan"
  private let disk = SimulatedDisk(seed: 11)
  private let recorder = EventRecorder()

  private func open(
    on disk: SimulatedDisk? = nil, hasSmallFiles: Bool = true,
    _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> Database {
    let disk = disk ?? self.disk
    var configuration = disk.configuration(hasSmallFiles: hasSmallFiles)
    configuration.maintenance = .manual
    configuration.eventHandler = recorder.handler
    configuration.slowCommitThreshold = nil
    configuration.slowQueryThreshold = nil
    change(&configuration)
    return try Database(at: DatabaseEventTests.path, configuration: configuration)
  }

  private func put(_ range: Range<Int>, in database: Database, size: Int = 20) throws {
    for number in range {
      try database.write { transaction in
        let text = Value.string(String(repeating: "x", count: size))
        _ = try transaction.replace(
          "note-\(number)", with: ["number": .int(Int64(number)), "text": text])
      }
    }
  }

  /// The sizes of the store's files with an extension.
  private func sizes(_ suffix: String) throws -> [String: Int] {
    var sizes: [String: Int] = [:]
    for path in disk.filePaths where path.hasSuffix(suffix) {
      sizes[path] = try disk.contents(of: path).count
    }
    return sizes
  }

  /// The offset at which a text begins in a file.
  private func offset(of text: String, in path: String) throws -> Int? {
    try disk.contents(of: path).firstRange(of: Array(text.utf8))?.lowerBound
  }

  // MARK: From opening to closing

  @Test func `opening is the first event and closing the last`() throws {
    for ending in [OpeningReport.Ending.created, .closed] {
      let database = try open()
      try put(0..<3, in: database)
      let first = try #require(recorder.all(from: database).last)
      #expect(first.kind == .opened && first.level == .info)
      #expect(first.openingReport?.ending == ending)
      #expect(first.duration == database.openingReport.duration)
      #expect(first.path == DatabaseEventTests.path)
      try database.close()
      let last = try #require(recorder.all.last)
      #expect(last.kind == .closed && last.error == nil && last.duration != nil)
      try database.close()
    }
    #expect(recorder.all.map(\.kind) == [.opened, .closed, .opened, .closed])
    let dates = recorder.all.map(\.date)
    #expect(dates == dates.sorted() && dates[0].timeIntervalSince1970 > 1_700_000_000)
  }

  @Test func `a store that was not closed is reported with the commits that were read again`()
    throws
  {
    let database = try open(hasSmallFiles: false)
    try put(0..<7, in: database)
    #expect(recorder.all(from: database).map(\.kind) == [.opened])
    let after = disk.restarted(.processEnd)
    let again = try open(on: after, hasSmallFiles: false)
    let recovered = try #require(recorder.of(.recovered, from: again).first)
    #expect(recovered.level == .notice)
    #expect(recovered.openingReport?.replayedCommits == 7)
    #expect(recovered.openingReport?.ending == .interrupted)
    #expect(recovered.message.contains(" 7 commits were read from the log"))
    #expect(recorder.all(from: again).map(\.kind) == [.opened, .opened, .recovered])
  }

  @Test func `an opening that fails is reported with the error that is thrown`() throws {
    let database = try open()
    let error = #expect(throws: DatabaseError.self) { try open() }
    let event = try #require(recorder.of(.openingFailed, from: database).first)
    #expect(event.level == .error && error?.code == .storeInUse)
    #expect((event.error as? DatabaseError)?.code == .storeInUse)
  }

  // MARK: Maintenance

  @Test func `a checkpoint is reported with its commit and the size of its file`() throws {
    let database = try open()
    try put(0..<5, in: database)
    #expect(try sizes(".checkpoint").isEmpty)
    try database.writeCheckpoint()
    try database.writeCheckpoint()  // Nothing has changed, so there is none.
    let events = recorder.of(.checkpointWritten, from: database)
    let size = try #require(try sizes(".checkpoint").values.first)
    #expect(events.map(\.checkpoint) == [DatabaseEvent.CheckpointDetails(commit: 5, size: size)])
    #expect(events.allSatisfy { $0.level == .info && $0.duration ?? .zero > .zero })
    #expect(database.metrics.checkpoints == 1 && database.metrics.checkpointBytes == size)
  }

  @Test func `compactions are reported with the sizes of the files before and after`() throws {
    let database = try open()
    // Several segments of 8 KiB, of which most is superseded.
    for _ in 0..<6 { try put(0..<12, in: database, size: 600) }
    let before = try sizes(".segment")
    try database.compact()
    let after = try sizes(".segment")
    let events = recorder.of(.compacted, from: database).compactMap(\.compaction)
    let difference = before.values.reduce(0, +) - after.values.reduce(0, +)
    #expect(difference > 20_000 && before.count > after.count)
    // Zeros may follow the end of a segment, and are not counted.
    let reclaimed = events.reduce(0) { $0 + $1.sizeBefore - $1.sizeAfter }
    #expect((0...before.count * (2 << 10)).contains(difference - reclaimed))
    #expect(events.reduce(0) { $0 + $1.segmentCount - 1 } == before.count - after.count)
    #expect(database.metrics.reclaimedBytes == reclaimed)
    #expect(database.metrics.compactedBytes == events.reduce(0) { $0 + $1.sizeAfter })
    #expect(database.metrics.compactions == events.count)
  }

  @Test func `maintenance that finds the disk full is reported, and so is its success later`()
    throws
  {
    let database = try open(hasSmallFiles: false) {
      $0.maintenance = .inline
      $0.checkpointInterval = 4 << 10
    }
    try put(0..<20, in: database)
    var failures: [DatabaseEvent] = []
    // Room for commits, and none for a checkpoint, which takes several pages.
    disk.capacityBytes = disk.usedBytes + 7000
    var number = 20
    while failures.isEmpty, number < 80 {
      try put(number..<number + 1, in: database)
      number += 1
      failures = recorder.of(.maintenanceFailed, from: database)
    }
    let failure = try #require(failures.first)
    #expect(failure.level == .warning)
    #expect((failure.error as? DatabaseError)?.code == .diskFull)
    #expect(try database.statistics.maintenanceProblem?.code == .diskFull)
    #expect(database.metrics.maintenanceFailures == failures.count)
    disk.capacityBytes = nil
    while recorder.of(.maintenanceSucceeded, from: database).isEmpty, number < 200 {
      try put(number..<number + 1, in: database)
      number += 1
    }
    #expect(recorder.of(.maintenanceSucceeded, from: database).count == 1)
    #expect(try database.statistics.maintenanceProblem == nil)
    #expect(try database.snapshot().count == number)
  }

  // MARK: Failures

  @Test func `damage that opening finds is reported with its position`() throws {
    var database = try open()
    try put(0..<5, in: database)
    try database.close()
    let segment = try #require(disk.filePaths.first { $0.hasSuffix(".segment") })
    let position = try #require(try offset(of: "note-3", in: segment))
    try disk.corrupt(segment, atOffset: position + 2, mask: 1)
    database = try open { $0.damage = .salvage }
    let events = recorder.of(.damageFound, from: database)
    #expect(events.count == 1 && events.first?.level == .error, "\(events)")
    let error = try #require(events.first?.error as? DatabaseError)
    let found = try #require(database.openingReport.damage.first)
    #expect(error.code == .damaged && error.path == segment && error.offset == found.offset)
    #expect((4096...position).contains(try #require(error.offset)))
    #expect(database.metrics.damageReports == database.openingReport.damage.count)
  }

  @Test func `a damaged record before the checkpoint is reported when it is read`() throws {
    var database = try open()
    try put(0..<5, in: database)
    try database.writeCheckpoint()
    try database.close()
    let segment = try #require(disk.filePaths.first { $0.hasSuffix(".segment") })
    let position = try #require(try offset(of: "note-3", in: segment))
    try disk.corrupt(segment, atOffset: position + 8, mask: 1)
    database = try open()
    #expect(recorder.of(.damageFound, from: database).isEmpty)
    let snapshot = try database.snapshot()
    for _ in 0..<3 {
      #expect(throws: DatabaseError.self) { try snapshot.document("note-3") }
    }
    let events = recorder.of(.damageFound, from: database)
    #expect(events.count == 1, "\(events)")
    let error = try #require(events.first?.error as? DatabaseError)
    #expect(error.documentID == "note-3" && error.path == segment && error.offset != nil)
    #expect(database.metrics.damageReports == 3)
    #expect(try !database.check().isSound)
    // The check also finds the position in the log, and reports none twice.
    let offsets = recorder.of(.damageFound, from: database).compactMap {
      ($0.error as? DatabaseError)?.offset
    }
    #expect(offsets.count <= 2 && Set(offsets).count == offsets.count)
  }

  @Test func `a page of the index that was rebuilt is reported`() throws {
    var database = try open(hasSmallFiles: false)
    try database.write { transaction in
      for number in 0..<2000 { _ = try transaction.replace("note-\(number)", with: [:]) }
    }
    try database.writeCheckpoint()
    try database.close()
    let checkpoint = try #require(disk.filePaths.first { $0.hasSuffix(".checkpoint") })
    // The first page is a leaf of the documents' tree.
    try disk.corrupt(checkpoint, atOffset: 4096 + 1000, mask: 4)
    database = try open(hasSmallFiles: false)
    #expect(try database.snapshot().ids().collect().count == 2000)
    let events = recorder.of(.pageRebuilt, from: database)
    #expect(events.count == 1 && events.first?.level == .warning)
    #expect(database.metrics.rebuiltPages == 1)
  }

  @Test func `a flush that fails is reported once: nothing more is written`() throws {
    let database = try open()
    try put(0..<2, in: database)
    disk.fail(.flush, with: .inputOutput, isLasting: true)
    for _ in 0..<3 { #expect(throws: DatabaseError.self) { try put(2..<3, in: database) } }
    let events = recorder.of(.writingStopped, from: database)
    #expect(events.count == 1 && events.first?.level == .error)
    #expect((events.first?.error as? DatabaseError)?.code == .outcomeUnknown)
    #expect(throws: DatabaseError.self) { try database.close() }
    #expect(recorder.all.last?.kind == .closed && recorder.all.last?.error != nil)
  }

  private final class Strict: Model {
    @Persisted var text: String
    override func validate(_ validation: inout ModelValidation) {
      validation.require(!text.isEmpty, "there is no text", property: "text")
    }
    override class var documentType: String? { nil }
  }

  @MainActor @Test func `a model that cannot be saved automatically is reported`() async throws {
    let database = try open()
    let context = database.makeContext()
    var errorCount = 0
    let strict = Strict(in: context, id: "a")
    let saving = Task {
      await context.autosave(after: .milliseconds(5)) { _ in errorCount += 1 }
    }
    for _ in 0..<2000 where errorCount == 0 { try await Task.sleep(for: .milliseconds(5)) }
    strict.text = "x"
    for _ in 0..<2000 where strict.needsSave { try await Task.sleep(for: .milliseconds(5)) }
    saving.cancel()
    await saving.value
    let events = recorder.of(.autosaveFailed, from: database)
    #expect(!strict.needsSave && errorCount > 0 && events.count == errorCount)
    #expect((events.first?.error as? DatabaseError)?.code == .invalidModel)
  }
}
