import DivanLog
import DivanTesting
import ProofKit
import Synchronization
import TestSupport
import Testing

@testable import Divan

/// Tests of damaged leaves of the catalog, in checkpoints that build on each other.
///
/// Opening reads the first and the last leaf of each layer, which have the list of indexes and the
/// remains of removed ones. If one of these leaves is damaged, opening does not use the checkpoint.
struct CatalogRepairTests {
  private let store = IndexFixture()

  /// Returns the pages of the catalog's leaves for each layer, newest first.
  private func leaves(of database: Database) throws -> [(path: String, pages: [UInt32])] {
    let checkpoint = try #require(
      database.store.maintenance.state.withLock { $0.checkpoint })
    let runs = try database.store.view().state.catalog.runs
    #expect(runs.count == checkpoint.trees[3].count)
    return try zip(checkpoint.trees[3], runs).map { tree, run in
      let path = database.store.directory.path(of: .checkpoint(tree.checkpoint))
      let count = try CheckpointFile.open(
        tree.checkpoint, in: database.store.directory, isMapped: false
      ).header.pageCount
      let pages = try (0..<UInt32(count)).filter { try run.coverage(ofPage: $0)?.level == 0 }
      return (path, pages)
    }
  }

  /// Reopens the store after damaging pages.
  private func reopened(
    damaging pages: [(path: String, page: UInt32)]
  ) throws -> (database: Database, disk: SimulatedFileSystem) {
    let disk = store.reopened(70).fileSystem
    for (path, page) in pages {
      try disk.corrupt(path, atOffset: CheckpointHeader.offset(ofPage: page) + 1000, mask: 4)
    }
    let fixture = CrashFixture(disk, CrashWriter(seed: 1), isMapped: false, life: 70)
    return (try store.open(fixture), disk)
  }

  // MARK: Local documents

  private func id(_ number: Int) -> String {
    "local-\(1000 + number)-\(String(repeating: "x", count: 60))"
  }

  private func put(
    _ database: Database, _ numbers: some Sequence<Int>, _ round: Int64
  ) throws {
    try database.write { transaction in
      for number in numbers { try transaction.putLocal(id(number), ["n": .int(round)]) }
    }
  }

  /// Creates 600 local documents and a checkpoint that replaces every fifth and lacks one.
  private func storeOfLocalDocuments() throws -> Database {
    let database = try store.open()
    try put(database, 0..<600, 0)
    try database.writeCheckpoint()
    try put(database, stride(from: 0, to: 600, by: 5), 1)
    try database.write { _ = try $0.removeLocal(id(599)) }
    try database.writeCheckpoint()
    return database
  }

  private func expectAll(_ database: Database, _ comment: Comment) throws {
    let snapshot = try database.snapshot()
    for number in 0..<599 {
      let found = try snapshot.localDocument(id(number))
      #expect(found?["n"] == (number % 5 == 0 ? 1 : 0), comment)
    }
    #expect(try snapshot.localDocument(id(599)) == nil, comment)
    #expect(try snapshot.localDocumentIDs().count == 599, comment)
  }

  /// Together with the contents of the layer below, it would not fit a page.
  @Test func `a leaf of a delta checkpoint is rebuilt without the entries of the one below`()
    throws
  {
    let database = try storeOfLocalDocuments()
    let layers = try leaves(of: database)
    #expect(layers.count == 2)
    try database.close()
    for (path, pages) in layers {
      #expect(pages.count > 2)
      for page in pages {
        let (again, _) = try reopened(damaging: [(path, page)])
        let isInner = page != pages.first && page != pages.last
        #expect(again.openingReport.notes.isEmpty == isInner, "\(page) of \(path)")
        try expectAll(again, "\(page) of \(path)")
        #expect(try again.check().isSound)
      }
    }
  }

  @Test func `a catalog leaf is not rebuilt from a damaged log`() throws {
    let database = try storeOfLocalDocuments()
    let newest = try #require(try leaves(of: database).first)
    let key = CatalogKey.local(SharedBytes(utf8: id(0)))
    let view = try database.store.view()
    let locator = try #require(try view.locator(in: \.catalog, key))
    let log = try #require(view.state.segments[locator.fileID]).file.path
    try database.close()
    let (again, disk) = try reopened(damaging: [(newest.path, newest.pages[1])])
    try disk.corrupt(log, atOffset: Int(locator.offset) + 12, mask: 1)
    #expect(again.openingReport.damage.isEmpty)
    // The damaged record is another one, whose entry is in another leaf.
    let error = #expect(throws: DatabaseError.self) {
      try again.snapshot().localDocument(id(300))
    }
    #expect(error?.code == .damaged && error?.path == log)
    try disk.corrupt(log, atOffset: Int(locator.offset) + 12, mask: 1)
    try expectAll(again, "sound again")
  }

  // MARK: Indexes

  /// Creates an index in three layers, where later changes are compacted.
  private func storeOfIndex() throws -> Database {
    let database = try store.open()
    try database.addIndex(store.byYear)
    func put(_ numbers: some Sequence<Int>, _ change: Double) throws {
      try database.write { transaction in
        for number in numbers {
          let year = Value.double(1500 + Double(number) + change)
          _ = try transaction.replace(id(number), with: ["year": year])
        }
      }
    }
    try put(0..<600, 0)
    try database.writeCheckpoint()
    try put(stride(from: 0, to: 600, by: 10), 0.5)
    try database.writeCheckpoint()
    try database.compact()
    return database
  }

  @Test func `an index leaf is rebuilt even if a leaf of the layer above is damaged, too`() throws {
    let database = try storeOfIndex()
    let layers = try leaves(of: database)
    #expect(layers.count == 3)
    try database.close()
    let (above, base) = (layers[1], layers[2])
    #expect(above.pages.count > 2)
    for lower in base.pages.dropFirst().dropLast() {
      let (again, _) = try reopened(damaging: [(above.path, above.pages[1]), (base.path, lower)])
      #expect(again.openingReport.notes.isEmpty)
      try store.expectAll(
        again.snapshot(), "page \(lower)", nil, [.all, .init(from: 1600, upTo: 1850)])
      #expect(try again.check().isSound, "page \(lower)")
    }
  }

  @Test
  func `counting index entries includes those of leaves that must be rebuilt`()
    throws
  {
    let database = try storeOfIndex()
    let base = try #require(try leaves(of: database).last)
    try database.close()
    for page in base.pages.dropFirst().dropLast().prefix(3) {
      let (again, _) = try reopened(damaging: [(base.path, page)])
      let snapshot = try again.snapshot()
      #expect(try snapshot.count(by: "by year") == 600, "page \(page)")
      #expect(try snapshot.count(by: "by year", 1500..<1800) == 300, "page \(page)")
    }
  }

  @Test func `an index leaf is not rebuilt while its sources cannot be read`() throws {
    let database = try storeOfIndex()
    let layers = try leaves(of: database)
    try database.close()
    let (above, base) = (layers[1].path, layers[2])
    var failures: [String: Int] = [:]
    for page in base.pages.dropFirst().dropLast() {
      let (again, disk) = try reopened(damaging: [(base.path, page)])
      let view = try again.store.view()
      let run = try #require(view.state.catalog.runs.last)
      let repair = LeafRepair(view, \.catalog)
      let coverage = try #require(try run.coverage(ofPage: page))
      // A page above, the first part of the log, and the record of a document.
      for (file, number) in [(above, 1), (".segment", 1), (".segment", 200)] {
        let count = Atomic(0)
        disk.observeCalls { call in
          guard call.verb == .read, call.path.hasSuffix(file) else { return }
          if count.wrappingAdd(1, ordering: .relaxed).newValue == number {
            disk.fail(.read, with: .inputOutput)
          }
        }
        do throws(DatabaseError) {
          _ = try repair.rebuild(page, coverage, of: run)
        } catch {
          #expect(error.code == .inputOutput)
          failures["\(file) \(number)", default: 0] += 1
        }
        disk.observeCalls(nil)
        disk.stopFailing()
      }
      try store.expectAll(again.snapshot(), "page \(page)", nil, [.init(from: 1600, upTo: 1850)])
    }
    #expect(failures.count == 3, "\(failures)")
  }
}
