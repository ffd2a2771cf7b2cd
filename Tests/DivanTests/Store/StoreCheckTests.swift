import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

extension Database {
  /// Changes the store's state directly, without a commit.
  func tamper(_ change: (inout Version) -> Void) {
    store.withLockedState { writer in writer.changeNewest(change) }
  }

  /// Returns the index entry of a document.
  func entry(of id: String) throws -> DocumentEntry {
    try #require(try snapshot().view.entry(id))
  }

  /// Stores a record without any checks.
  func adopt(_ record: DocumentRecord) throws {
    try write { try $0.addNewestRecord(record, id: record.id ?? "", over: nil) }
  }
}

extension Version {
  mutating func set(_ entry: DocumentEntry, for id: [UInt8]) {
    var writer = ByteWriter()
    entry.encode(to: &writer)
    documents.set(id.span, writer.array.span)
  }

  mutating func set(_ locator: RecordLocator, forSequence sequence: UInt64) {
    var writer = ByteWriter()
    locator.encode(to: &writer)
    let bytes = writer.array
    sequence.withBigEndianBytes { sequences.set($0, bytes.span) }
  }
}

extension DocumentRecord {
  /// Returns the record of a first revision, to be made invalid by a test.
  static func forged(_ id: String, sequence: UInt64, _ revision: RevisionID) throws
    -> DocumentRecord
  {
    DocumentRecord(
      idBytes: SharedBytes(utf8: id), sequence: sequence, revision: revision, isDeleted: false,
      ancestors: .none, superseded: nil, body: try (["n": 1] as Value).stored)
  }
}

/// Tests that `check()` finds each way in which the log, the index and the counts can disagree.
struct StoreCheckTests {
  private let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))

  private func store(_ change: (inout Configuration) -> Void = { _ in }) throws -> Database {
    let database = try fixture.open {
      $0.maintenance = .manual
      change(&$0)
    }
    for id in ["a", "b", "c"] {
      try database.write { try $0.replace(id, with: ["id": .string(id)]) }
    }
    return database
  }

  private func problems(
    _ database: Database, after tampering: (inout Version) -> Void
  ) throws -> [String] {
    database.tamper(tampering)
    let report = try database.check()
    #expect(report.isSound == report.problems.isEmpty)
    for problem in report.problems { #expect(problem.code == .damaged) }
    return report.problems.map(\.message)
  }

  @Test func `a check of a sound store finds no problems and reports its progress`() throws {
    let database = try store()
    let progress = Recorder<Double>()
    let report = try database.check {
      progress.append($0)
    }
    #expect(report.isSound)
    #expect(report.documentCount == 3)
    #expect(report.recordCount == 3)
    #expect(progress.all == progress.all.sorted())
    #expect(progress.all.last == 1)
  }

  @Test func `a check can be cancelled at any progress`() throws {
    let database = try store()
    for limit in [0, 0.4, 0.8, 0.95] {
      #expect(throws: CancellationError.self) {
        try database.check { if $0 > limit - 0.1 { throw CancellationError() } }
      }
    }
  }

  @Test func `a check reports unreadable records with the path of their segment`() throws {
    let database = try store { $0.readMode = .buffered }
    let path = "\(CrashFixture.path)/0000000001.segment"
    try fixture.fileSystem.corrupt(
      path, atOffset: SegmentHeader.size + FrameHeader.size + 20, mask: 1)
    let report = try database.check()
    #expect(report.problems.count >= 2)
    #expect(report.problems.allSatisfy { $0.code == .damaged && $0.path == path })
    #expect(report.problems.contains { $0.documentID == "a" })
    fixture.fileSystem.fail(.read, with: .inputOutput, isLasting: true)
    #expect(try database.check().problems.contains { $0.code == .inputOutput })
  }

  @Test func `a failed read of an index page ends the check and is not reported as damage`()
    throws
  {
    let stored = try store()
    try stored.writeCheckpoint()
    try stored.close()
    let database = try fixture.open {
      $0.maintenance = .manual
      $0.readMode = .buffered
    }
    let disk = fixture.fileSystem
    disk.observeCalls { call in
      if call.verb == .read, call.path.hasSuffix(".checkpoint") {
        disk.fail(.read, with: .inputOutput)
      }
    }
    let error = #expect(throws: DatabaseError.self) { try database.check() }
    #expect(error?.code == .inputOutput)
    disk.observeCalls(nil)
    disk.stopFailing()
    #expect(try database.check().isSound)
  }

  @Test func `a check finds index entries that lead to another record`() throws {
    let database = try store()
    let (a, b) = (try database.entry(of: "a"), try database.entry(of: "b"))
    #expect(
      try problems(database) { $0.set(b, for: Array("a".utf8)) }
        .contains { $0.contains("the record is not the one that the index names") })
    var changed = a
    changed.revision = b.revision
    #expect(
      try problems(database) { $0.set(changed, for: Array("a".utf8)) }
        .contains("the index and the log disagree about a revision"))
    changed = a
    changed.locator.fileID = 77
    #expect(
      try problems(database) { $0.set(changed, for: Array("a".utf8)) }
        .contains { $0.contains("segment file 77 is missing") })
    #expect(throws: DatabaseError.self) { try database.snapshot().document("a") }
    #expect(throws: DatabaseError.self) { try database.snapshot().revisions(of: "a") }
    #expect(try problems(database) { $0.set(a, for: Array("a".utf8)) }.isEmpty)
  }

  @Test func `a check finds index entries that cannot be decoded`() throws {
    let database = try store()
    let a = try database.entry(of: "a")
    let garbage: [UInt8] = [0xFF, 1]
    #expect(
      try problems(database) { $0.documents.set(Array("a".utf8).span, garbage.span) }
        .contains { $0.contains("an index entry") })
    #expect(throws: DatabaseError.self) { try database.snapshot().document("a") }
    #expect(try problems(database) { $0.set(a, for: Array("a".utf8)) }.isEmpty)
    #expect(
      try problems(database) { state in
        a.sequence.withBigEndianBytes { state.sequences.set($0, garbage.span) }
      }.contains { $0.contains("an index entry") })
    var feed = try database.snapshot().changes()
    #expect(throws: DatabaseError.self) { try feed.next() }
    #expect(try problems(database) { $0.set(a.locator, forSequence: a.sequence) }.isEmpty)
    // Generation 0, which no revision has.
    var writer = ByteWriter()
    writer.append([0])
    writer.append([UInt8](repeating: 7, count: 16))
    writer.append([0, 1, 1, 1, 1])
    #expect(
      try problems(database) { $0.documents.set(Array("a".utf8).span, writer.array.span) }
        .contains { $0.contains("a revision of generation 0") })
  }

  @Test func `a check finds IDs that are not UTF-8, and cursors continue after them`() throws {
    let database = try store()
    let a = try database.entry(of: "a")
    #expect(
      try problems(database) { $0.set(a, for: [0xFF]) }
        .contains("a document ID that is not UTF-8"))
    var ids = try database.snapshot().ids("c"...)
    #expect(try ids.next() == "c")
    #expect(throws: DatabaseError.self) { try ids.next() }
    #expect(try ids.next() == nil)
    let revision = try RevisionID(parsing: "1-x")
    var record = try DocumentRecord.forged("x", sequence: 9, revision)
    record.idBytes = SharedBytes(copying: [0xFF, 0xFE])
    try database.adopt(record)
    var feed = try database.snapshot().changes(since: 3)
    #expect(throws: DatabaseError.self) { try feed.next() }
    #expect(try feed.next() == nil)
  }

  @Test func `a check finds document counts and change orders that contradict the index`() throws {
    let database = try store()
    let (a, b) = (try database.entry(of: "a"), try database.entry(of: "b"))
    #expect(
      try problems(database) { $0.documentCount = 9 }
        == ["the index has 3 documents, and the count is 9"])
    #expect(
      try problems(database) {
        $0.documentCount = 3
        $0.set(b.locator, forSequence: a.sequence)
      } == ["the index by sequence number names a record that is not the document's newest one"])
    #expect(
      try problems(database) { state in
        a.sequence.withBigEndianBytes { state.sequences.remove($0) }
      } == ["the index by sequence number has 2 entries for 3 documents"])
    // A sequence number without a document is a problem, too.
    database.tamper { state in
      state.set(a.locator, forSequence: a.sequence)
      state.documents = LayeredTree()
    }
    #expect(try !database.check().isSound)
    // Deleting a document that was never counted does not make the count negative.
    database.tamper {
      $0.documentCount = 0
      $0.set(a, for: Array("a".utf8))
    }
    try database.write { try $0.delete("a") }
    #expect(try database.snapshot().count == 0)
  }

  @Test func `a check finds a retained revision that no document's entry leads to`() throws {
    let database = try store()
    let a = try database.entry(of: "a")
    var locator = ByteWriter()
    a.locator.encode(to: &locator)
    let key = RetainedKey.bytes(SharedBytes(utf8: "a"), a.sequence)
    #expect(
      try problems(database) { $0.retained.set(key.span, locator.array.span) }
        == ["the index has 1 retained revisions, but its documents lead to 0"])
  }

  @Test func `a check verifies content against the revision digest where it can be computed`()
    throws
  {
    let database = try store()
    let wrong = RevisionID(generation: 1, digest: .own(1, 2))
    try database.adopt(DocumentRecord.forged("wrong", sequence: 10, wrong))
    try database.adopt(
      DocumentRecord.forged("foreign", sequence: 11, RevisionID(parsing: "3-elsewhere")))
    try database.adopt(
      DocumentRecord.forged("orphan", sequence: 12, RevisionID(generation: 4, digest: .own(3, 4))))
    let report = try database.check()
    #expect(report.problems.map(\.message) == ["the content does not match the revision ID"])
    #expect(report.problems.map(\.documentID) == ["wrong"])
    #expect(report.documentCount == 6)
  }

  @Test func `a record that cannot be decoded as a document damages only that document`() throws {
    let database = try store()
    var record = try DocumentRecord.forged(
      "odd", sequence: 10, RevisionID(generation: 0, digest: .own(1, 2)))
    try database.adopt(record)
    let segments = try database.snapshot().view.state.segments.segments
    #expect(segments.count == 1)
    // The index entry is readable and leads to the record.
    var scan = RecordScan(segments[0])
    var locator: RecordLocator?
    while case .some(let item) = Optional(try scan.next()) {
      if case .end = item { break }
      if case .record(let entry) = item { locator = entry.locator }
    }
    record.revision = RevisionID(generation: 1, digest: .own(1, 2))
    let entry = DocumentEntry(
      revision: record.revision,
      location: DocumentLocation(
        locator: try #require(locator), sequence: 10, winningSequence: nil, isDeleted: false))
    database.tamper { $0.set(entry, for: Array("odd".utf8)) }
    let error = #expect(throws: DatabaseError.self) { try database.snapshot().document("odd") }
    #expect(error?.code == .damaged)
    #expect(error?.documentID == "odd")
    #expect(error?.path == segments[0].file.path)
    #expect(error?.offset == Int(entry.locator.offset))
    #expect(try database.snapshot().document("a") != nil)
    // After another commit, an opening reports the damage and reads the other documents.
    try database.write { try $0.replace("d", with: [:]) }
    try database.close()
    let reopened = try fixture.open { $0.maintenance = .manual }
    #expect(reopened.openingReport.damage.first?.path == segments[0].file.path)
    #expect(try reopened.snapshot().document("a") != nil)
  }
}
