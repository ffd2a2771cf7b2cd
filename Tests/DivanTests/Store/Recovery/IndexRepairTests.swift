import Divan
import DivanLog
import DivanTesting
import ProofKit
import Synchronization
import Testing

/// Tests of damaged leaves of the index, which are rebuilt from the log when they are first read.
///
/// Readers see no difference, whichever layer the leaves belong to and whichever operation reads
/// them first.
struct IndexRepairTests {
  private typealias Page = (path: String, number: Int)

  /// Returns all pages of all checkpoints, except the headers.
  private static func pages(of disk: SimulatedFileSystem) throws -> [Page] {
    try disk.names(in: CrashFixture.path).filter { $0.hasSuffix(".checkpoint") }.flatMap { name in
      let path = "\(CrashFixture.path)/\(name)"
      return (1..<(try disk.status(path).size / 4096)).map { (path: path, number: $0) }
    }
  }

  /// A rebuilt leaf of a delta must again hide the base's entries for superseded numbers.
  ///
  /// Otherwise the feed would give a document twice.
  @Test(arguments: [true, false])
  func `a rebuilt leaf of a delta still hides superseded entries of the base`(isMapped: Bool) throws
  {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<150, size: 20)
      try fixture.checkpoint(database)
      try fixture.fill(database, 10..<14, size: 30)
      try fixture.commit(database, [.delete("doc-20"), .put("doc-99", size: 10)])
      try fixture.checkpoint(database)
      try fixture.commit(database, [.put("doc-10", size: 31), .put("doc-30", size: 10)])
      try fixture.checkpoint(database)
      try fixture.close(database)
    }
    let oracle = fixture.writer.oracle.withLock { $0 }
    var repaired = 0
    for page in try Self.pages(of: fixture.fileSystem) {
      let disk = fixture.fileSystem.restarted(.processEnd)
      try disk.corrupt(page.path, atOffset: 4096 * page.number + 1000, mask: 4)
      let damaged = CrashFixture(disk, CrashWriter(seed: 0), isMapped: isMapped, life: 70)
      let database = try damaged.open { $0.maintenance = .manual }
      if database.openingReport.notes.isEmpty { repaired += 1 }
      #expect(try oracle.identify(database) == oracle.versions.count - 1, "\(page)")
    }
    #expect(repaired >= 5)
  }

  /// A query looks up several candidates at a time, in leaves that are read together.
  @Test(arguments: [true, false])
  func `a batched lookup finds all documents even if a leaf must be rebuilt`(
    isMapped: Bool
  ) throws {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<300, size: 20)
      try fixture.checkpoint(database)
      try fixture.commit(database, [.put("doc-7", size: 30), .delete("doc-8")])
      try fixture.close(database)
    }
    let ids = stride(from: 0, to: 300, by: 8).map { "doc-\($0)" } + ["missing"]
    let query = Query<Document>().filter { $0.id.isIn(ids) }
    for page in try Self.pages(of: fixture.fileSystem) {
      let disk = fixture.fileSystem.restarted(.processEnd)
      try disk.corrupt(page.path, atOffset: 4096 * page.number + 1000, mask: 4)
      let damaged = CrashFixture(disk, CrashWriter(seed: 0), isMapped: isMapped, life: 70)
      let database = try damaged.open { $0.maintenance = .manual }
      let found = try database.snapshot().find(query)
      #expect(Set(found.map(\.id)) == Set(ids).subtracting(["doc-8", "missing"]), "\(page)")
      #expect(try database.snapshot().explain(query).access.contains("documents by ID"))
    }
  }

  /// Regression: older snapshots used a leaf that was rebuilt for the newest version.
  ///
  /// They missed the documents that had been changed and compacted since.
  @Test func `a snapshot is unchanged if a newer version rebuilds a leaf first`() throws {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<40, size: 200)
      try fixture.checkpoint(database)
      try fixture.close(database)
    }
    var repaired = 0
    for page in try Self.pages(of: fixture.fileSystem) {
      let disk = fixture.fileSystem.restarted(.processEnd)
      try disk.corrupt(page.path, atOffset: 4096 * page.number + 1000, mask: 4)
      let oracle = fixture.writer.oracle.withLock { $0 }
      let later = CrashFixture(disk, CrashWriter(oracle, seed: 2), life: 70)
      let database = try later.open { $0.maintenance = .manual }
      guard database.openingReport.notes.isEmpty else { continue }
      repaired += 1
      let old = try database.snapshot()
      try later.fill(database, 0..<20, size: 100)
      try later.commit(database, [.delete("doc-30")])
      try later.compact(database)
      let now = later.writer.oracle.withLock { $0 }
      #expect(try now.identify(database) == now.versions.count - 1, "\(page)")
      #expect(try oracle.identify(old) == oracle.versions.count - 1, "\(page)")
    }
    #expect(repaired >= 2)
  }
}
