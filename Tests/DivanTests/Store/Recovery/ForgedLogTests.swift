import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of logs with valid checksums and contents that no writer produces.
///
/// The readable records are read, and the rest is damage with a location.
struct ForgedLogTests {
  private let directory = StoreDirectory(CrashFixture.path, on: SimulatedFileSystem())
  private var fixture: CrashFixture {
    get throws {
      CrashFixture(
        try #require(directory.fileSystem as? SimulatedFileSystem), CrashWriter(seed: 1))
    }
  }

  private func document(_ id: String, sequence: UInt64) throws -> [UInt8] {
    let revision = try RevisionID.compute(
      parent: nil, isDeleted: false, body: (["n": 1] as Value).stored)
    var writer = ByteWriter()
    try DocumentRecord.forged(id, sequence: sequence, revision).encode(to: &writer)
    return ForgedSegment.record(1, writer.array)
  }

  /// Opens a log of one transaction, with these records between two documents.
  private func open(_ records: [UInt8]) throws -> Database {
    var forged = ForgedSegment()
    forged.appendTransaction(
      commit: 1,
      try document("first", sequence: 1) + records + document("last", sequence: 90),
      lastSequence: 90, documentCount: 2)
    try forged.write(to: directory)
    return try fixture.open { $0.maintenance = .manual }
  }

  /// Regression: compaction of such records never ended.
  @Test(.timeLimit(.minutes(20)))
  func `records of unknown optional kinds are skipped, and survive compaction`()
    throws
  {
    let database = try open(ForgedSegment.record(128, [1, 2, 3]) + ForgedSegment.record(255, []))
    #expect(database.openingReport.damage.isEmpty)
    // A read through an index entry that leads there does not take the record for a document.
    let first = try database.entry(of: "first")
    var misdirected = first
    misdirected.locator.offset += UInt64(first.locator.size)
    misdirected.locator.size = UInt32(ForgedSegment.record(128, [1, 2, 3]).count)
    database.tamper { $0.set(misdirected, for: Array("first".utf8)) }
    let error = #expect(throws: DatabaseError.self) { try database.snapshot().document("first") }
    #expect(error?.message.contains("not the one that the index names") == true)
    database.tamper { $0.set(first, for: Array("first".utf8)) }
    try database.write { try $0.replace("first", with: [:]) }
    try database.compact()
    #expect(try database.snapshot().count == 2)
    let report = try database.check()
    #expect(report.isSound)
    try database.close()
    let reopened = try fixture.open()
    #expect(try reopened.snapshot().document("last") != nil)
    // A later version of the library that wrote these records still needs them.
    var kinds: [UInt8] = []
    for segment in try reopened.store.view().state.segments.segments {
      var scan = RecordScan(segment)
      while true {
        let item = try scan.next()
        if case .end = item { break }
        if case .record(let entry) = item { kinds.append(entry.record.kind.rawValue) }
      }
    }
    #expect(kinds.filter { $0 >= 128 } == [128, 255])
  }

  /// Regression: the older record became the newest one.
  ///
  /// Other retained records could then not be released: the index led to compacted segments.
  /// Found by the fuzzers `store` and `segment`.
  @Test func `sequence numbers that go back are damage, and the newest record counts`()
    throws
  {
    let database = try open(document("a", sequence: 5) + document("a", sequence: 4))
    #expect(database.openingReport.damage.map(\.code) == [.damaged])
    #expect(database.openingReport.damage.first?.message.contains("does not rise") == true)
    #expect(try database.snapshot().document("a")?.sequence == 5)
    #expect(throws: DatabaseError.self) {
      try database.write { _ = try $0.replace("a", with: [:]) }
    }
  }

  @Test func `records that contradict themselves are damage`() throws {
    func forged(_ change: (inout DocumentRecord) -> Void) throws -> [UInt8] {
      let revision = try RevisionID.compute(
        parent: nil, isDeleted: false, body: (["n": 1] as Value).stored)
      var record = try DocumentRecord.forged("a", sequence: 5, revision)
      change(&record)
      var writer = ByteWriter()
      record.encode(to: &writer)
      return ForgedSegment.record(1, writer.array)
    }
    let locator = RecordLocator(fileID: 1, offset: 4128, size: 40)
    var keeping = DocumentDetails()
    keeping.keepsSuperseded = true
    var holding = keeping
    holding.mayRetainOlder = true
    for record in [
      // It supersedes a later record.
      try forged { $0.superseded = .init(sequence: 6, locator: locator) },
      // It retains itself as an older record.
      try forged {
        $0.superseded = .init(sequence: 5, locator: locator)
        $0.details = holding
      },
      // It retains the superseded record, but says that the document has no retained records.
      try forged { $0.details = keeping },
      // A purge after which a document's history begins with commit 0.
      ForgedSegment.record(4, [16, 1, 0x61, 0]),
    ] {
      let database = try ForgedLogTests().open(record)
      #expect(database.openingReport.damage.map(\.code) == [.damaged])
      #expect(try database.snapshot().document("a") == nil)
      #expect(try database.snapshot().document("last") != nil)
    }
  }

  @Test func `a record with the last sequence number makes the store read-only`()
    throws
  {
    // Only reading the records shows it. The trailer and HEAD, from which a writer continues, do
    // not.
    let database = try open(try document("far", sequence: LogWriter.startLimit + 1))
    #expect(database.openingReport.damage.isEmpty)
    #expect(try database.snapshot().count == 3)
    #expect(try database.snapshot().document("far")?.sequence == LogWriter.startLimit + 1)
    let error = #expect(throws: DatabaseError.self) { try database.write { _ in } }
    #expect(error?.code == .readOnly)
    #expect(error?.message.contains("numbers are used up") == true)
  }

  @Test func `records of unknown mandatory kinds are damage, and the other records are read`()
    throws
  {
    let database = try open(ForgedSegment.record(127, [1, 2, 3]))
    let damage = try #require(database.openingReport.damage.first)
    #expect(damage.code == .damaged)
    #expect(damage.path == directory.path(of: .segment(1...1)))
    #expect(damage.offset.map { $0 > SegmentHeader.size } == true)
    #expect(damage.message.contains("127"))
    #expect(try database.snapshot().count == 2)
    let error = #expect(throws: DatabaseError.self) { try database.write { _ in } }
    #expect(error?.code == .readOnly)
  }

  /// All data that reads return must be durable, and so must every damage report.
  ///
  /// Commits that a crash left in doubt are therefore reappended by frames, before their records
  /// are decoded.
  @Test func `commits in doubt are reappended before their records are decoded`() throws {
    let invalid = ForgedSegment.record(1, [32, 1, 97, 5, 1] + ForgedLogTests.digest)
    var forged = ForgedSegment()
    forged.appendTransaction(
      commit: 1, try document("first", sequence: 1), lastSequence: 1, documentCount: 1)
    forged.appendTransaction(
      commit: 2, invalid + (try document("last", sequence: 90)), lastSequence: 90,
      documentCount: 2)
    // Only the header is known to have been flushed.
    let header = rechecksummed(SharedBytes(copying: Array(forged.bytes.prefix(SegmentHeader.size))))
    {
      put(UInt64(SegmentHeader.size), in: &$0, at: 136)
    }
    let fixture = try fixture
    let disk = fixture.fileSystem
    try disk.makeDirectory(directory.path)
    try disk.flushDirectory("/")
    try disk.appear(
      directory.path(of: .segment(1...1)),
      header.array + forged.bytes.dropFirst(SegmentHeader.size))
    let database = try fixture.open { $0.maintenance = .manual }
    #expect(database.openingReport.securedCommits == 2)
    let again = directory.path(of: .segment(2...2))
    #expect(database.openingReport.damage.map(\.path) == [again])
    #expect(try database.snapshot().document("last") != nil)
    #expect(throws: DatabaseError.self) { try database.write { _ in } }
    // After a power loss the damage is reported again, and nothing is left in doubt.
    let after = CrashFixture(disk.restarted(.strict), fixture.writer, life: 9)
    let reopened = try after.open { $0.maintenance = .manual }
    #expect(reopened.openingReport.securedCommits == 0)
    #expect(reopened.openingReport.damage.map(\.path) == [again])
    #expect(try reopened.snapshot().document("last") != nil)
  }

  /// A segment's successor says where it ends, and bytes after that are ignored permanently.
  ///
  /// Regression: records there could be read as long as a checkpoint led to them. `check` found
  /// nothing wrong, and a compaction left them out. Found by the fuzzer `store`.
  @Test(arguments: [0, UInt64(SegmentHeader.size)])
  func `a segment that does not end where its successor says is damaged`(claim: UInt64) throws {
    let fixture = try fixture
    let disk = fixture.fileSystem
    func open() throws -> Database {
      try fixture.open {
        $0.maintenance = .manual
        $0.segmentSizeGoal = 512
      }
    }
    let database = try open()
    for number in 0..<8 {
      try database.write {
        _ = try $0.replace("doc-\(number)", with: ["n": .int(Int64(number))])
      }
    }
    try database.writeCheckpoint()
    try database.close()
    let second = directory.path(of: .segment(2...2))
    let header = try disk.contents(of: second, limit: 1 << 20).prefix(SegmentHeader.size)
    try disk.overwrite(
      second, atOffset: 0, with: rechecksummed(header) { put(claim, in: &$0, at: 96) }.array)

    let reopened = try open()
    #expect(try reopened.snapshot().count == 8)
    let problems = try reopened.check().problems
    #expect(problems.map(\.path) == [directory.path(of: .segment(1...1))])
    #expect(problems.first?.message.contains("ends with commit") == true)
    #expect(throws: DatabaseError.self) { try reopened.compact() }
    #expect(try reopened.snapshot().document("doc-0")?["n"] == 0)
    try reopened.close()
    // Without the checkpoint nothing leads there, and opening reports it.
    for name in disk.names(in: CrashFixture.path) where name.hasSuffix(".checkpoint") {
      try disk.vanish("\(CrashFixture.path)/\(name)")
    }
    #expect(try open().openingReport.damage.isEmpty == false)
  }

  private static let digest = [UInt8](repeating: 7, count: 16)

  /// Payloads that no document record has.
  static let refused: [(what: String, bytes: [UInt8])] = [
    ("an empty payload", []),
    ("unknown flags", [32, 1, 97, 5, 1] + digest),
    ("no ID", [0, 0, 5, 1] + digest),
    ("an ID that is cut off", [0, 9, 97]),
    ("a sequence beyond all limits", [0, 1, 97] + [UInt8](repeating: 0xFF, count: 8) + [0x7F, 1]),
    ("generation 0", [0, 1, 97, 5, 0] + digest),
    ("a digest that is cut off", [0, 1, 97, 5, 1, 7, 7]),
    ("an external digest that is not UTF-8", [2, 1, 97, 5, 1, 2, 0xFF, 0xFE]),
    ("an external digest that is cut off", [2, 1, 97, 5, 1, 9, 97]),
    (
      "an external digest that is too long",
      [2, 1, 97, 5, 1, 0x88, 0x0F] + [UInt8](repeating: 97, count: 1928)
    ),
    ("no locator of the superseded record", [4, 1, 97, 5, 1] + digest + [1]),
    (
      "an impossible size of the superseded record",
      [4, 1, 97, 5, 1] + digest + [1, 1, 1, 0xFF, 0xFF, 0xFF, 0x7F]
    ),
    ("more ancestors than bytes", [8, 1, 97, 5, 9] + digest + [99, 1]),
    ("ancestors that are cut off", [8, 1, 97, 5, 9] + digest + [1, 7, 7, 7]),
    ("external ancestors that are cut off", [24, 1, 97, 5, 9] + digest + [2, 1, 97, 9, 9]),
  ]

  @Test(arguments: refused.indices)
  func `an invalid document record is damage, and the other records are read`(index: Int) throws {
    let (what, bytes) = ForgedLogTests.refused[index]
    #expect(throws: ByteError.self, "\(what)") {
      _ = try DocumentRecord.decode(SharedBytes(copying: bytes))
    }
    let database = try open(ForgedSegment.record(1, bytes))
    let damage = try #require(database.openingReport.damage.first, "\(what)")
    #expect(damage.path == directory.path(of: .segment(1...1)))
    #expect(try database.snapshot().count == 2)
    #expect(try !database.check().isSound || damage.code == .damaged)
  }

  @Test func `revisions of other stores keep their history`() throws {
    var record = try DocumentRecord.forged("a", sequence: 5, RevisionID(parsing: "4-dd"))
    record.ancestors = .init([.foreign("cc"), .own(1, 2), .foreign("aa")])
    var writer = ByteWriter()
    record.encode(to: &writer)
    let database = try open(ForgedSegment.record(1, writer.array))
    #expect(database.openingReport.damage.isEmpty)
    let kept = ["4-dd", "3-cc", "2-00000000000000010000000000000002", "1-aa"]
    #expect(try database.snapshot().revisions(of: "a").map(\.description) == kept)
    let document = try #require(try database.snapshot().document("a"))
    #expect(document.revision?.description == "4-dd")
    #expect(try database.check().isSound)
    // They survive a checkpoint, a compaction, a change and a backup.
    try database.write { try $0.put(document) }
    try database.compact()
    try database.backup(to: "/copy.divan")
    try database.close()
    for path in [CrashFixture.path, "/copy.divan"] {
      let configuration = try fixture.configuration()
      let reopened = try Database(at: path, configuration: configuration)
      let revisions = try reopened.snapshot().revisions(of: "a").map(\.description)
      #expect(Array(revisions.dropFirst()) == kept)
      #expect(try reopened.check().isSound)
      let inspected = try InspectedDocument(writer.sharedCopy)
      #expect(inspected.ancestors.map(\.description) == Array(kept.dropFirst()))
      #expect(inspected.problem == nil)
    }
  }

  @Test func `ancestors in excess of the generation are ignored`() throws {
    var record = try DocumentRecord.forged("a", sequence: 5, RevisionID(parsing: "2-dd"))
    record.ancestors = .init([.foreign("cc"), .foreign("bb"), .foreign("aa")])
    var writer = ByteWriter()
    record.encode(to: &writer)
    let database = try open(ForgedSegment.record(1, writer.array))
    #expect(try database.snapshot().revisions(of: "a").map(\.description) == ["2-dd", "1-cc"])
    let inspected = try InspectedDocument(writer.sharedCopy)
    #expect(inspected.ancestors.map(\.description) == ["1-cc"])
    #expect(inspected.problem?.contains("more ancestors") == true)
    // Ancestors without a single byte count as none.
    let withoutAncestors = try DocumentRecord.decode(
      SharedBytes(copying: [8, 1, 97, 5, 2] + ForgedLogTests.digest + [0]))
    #expect(withoutAncestors.parent == nil)
    #expect(withoutAncestors.ancestors.digests.isEmpty)
  }

  @Test func `inspection describes invalid documents with a valid checksum`() throws {
    func problem(_ change: (inout DocumentRecord) throws -> Void) throws -> String? {
      var record = try DocumentRecord.forged(
        "a", sequence: 5,
        RevisionID.compute(parent: nil, isDeleted: false, body: (["n": 1] as Value).stored))
      try change(&record)
      var writer = ByteWriter()
      record.encode(to: &writer)
      return try InspectedDocument(writer.sharedCopy).problem
    }
    #expect(try problem { _ in } == nil)
    #expect(try problem { $0.body = try (7 as Value).stored } == "the properties are not an object")
    #expect(try problem { $0.body = SharedBytes(copying: [0xEF]) } != nil)
    #expect(try problem { $0.idBytes = SharedBytes(utf8: "_a") } != nil)
    #expect(try problem { $0.isDeleted = true }?.contains("does not match the content") == true)
    #expect(try problem { $0.revision = RevisionID(generation: 7, digest: .own(1, 2)) } == nil)
    let superseded = DocumentRecord.Superseded(
      sequence: 3, locator: RecordLocator(fileID: 1, offset: 2, size: 3))
    var record = try DocumentRecord.forged("a", sequence: 5, RevisionID(parsing: "1-a"))
    record.superseded = superseded
    var writer = ByteWriter()
    record.encode(to: &writer)
    #expect(try InspectedDocument(writer.sharedCopy).superseded?.sequence == 3)
    record.idBytes = SharedBytes(copying: [0xFF])
    writer.removeAll()
    record.encode(to: &writer)
    let bytes = writer.sharedCopy
    #expect(throws: ByteError.self) { _ = try InspectedDocument(bytes) }
  }

  @Test func `opening a long log reports progress and can be cancelled`() throws {
    var forged = ForgedSegment()
    for commit in 1...3 as ClosedRange<UInt64> {
      var records: [UInt8] = []
      for number in 0..<3000 {
        records += try document("\(number)", sequence: 3000 * commit + UInt64(number))
      }
      forged.appendTransaction(
        commit: commit, records, lastSequence: 3000 * (commit + 1), documentCount: 3000)
    }
    try forged.write(to: directory)
    let progress = Recorder<Double>()
    let database = try fixture.open {
      $0.isReadOnly = true
      $0.openingProgress = {
        progress.append($0)
      }
    }
    #expect(try database.snapshot().count == 3000)
    #expect(progress.all.count == 3)
    #expect(progress.all == progress.all.sorted())
    #expect(throws: CancellationError.self) {
      try fixture.open {
        $0.isReadOnly = true
        $0.openingProgress = { _ in throw CancellationError() }
      }
    }
    let silent = try fixture.open { $0.isReadOnly = true }
    #expect(try silent.snapshot().count == 3000)
    var index = InspectedIndex()
    for segment in try silent.snapshot().view.state.segments.segments { try index.add(segment) }
    #expect(index.documentCount == 3000)
  }
}
