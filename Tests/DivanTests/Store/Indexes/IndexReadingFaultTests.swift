import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of documents that indexes must read, and that temporarily cannot be read.
///
/// The operation changes nothing, reports no damage, and succeeds when it is retried.
struct IndexReadingFaultTests {
  private let store = IndexFixture()

  /// Makes the n-th read of a segment fail; returns a recorder of the reads.
  @discardableResult
  private func fail(_ number: Int, on disk: SimulatedFileSystem) -> Recorder<String> {
    let reads = Recorder<String>()
    disk.observeCalls { call in
      guard call.verb == .read, call.path.hasSuffix(".segment") else { return }
      reads.append(call.path)
      if reads.all.count == number { disk.fail(.read, with: .inputOutput) }
    }
    return reads
  }

  private func stopFailing(_ disk: SimulatedFileSystem) {
    disk.observeCalls(nil)
    disk.stopFailing()
  }

  /// Creates a store with indexes that was not closed.
  ///
  /// Its log continues after the newest checkpoint.
  private func interrupted() throws -> SimulatedFileSystem {
    let database = try store.open()
    for index in store.all { try database.addIndex(index) }
    try store.fill(database, 0..<30)
    try database.writeCheckpoint()
    try store.fill(database, 20..<35)
    return store.reopened(50).fileSystem
  }

  private func fixture(_ disk: SimulatedFileSystem, _ life: Int) -> CrashFixture {
    CrashFixture(disk, CrashWriter(seed: 1), isMapped: false, life: life)
  }

  /// If a page of the checkpoint is damaged as well, opening reads the whole log and all documents.
  @Test(arguments: [false, true])
  func `an opening fails if it cannot read a document for an index, and can be retried`(
    isPageDamaged: Bool
  ) throws {
    let base = try interrupted()
    if isPageDamaged {
      let directory = StoreDirectory(CrashFixture.path, on: base)
      let number = try directory.listing().files.compactMap { name -> UInt64? in
        if case .checkpoint(let number) = name { number } else { nil }
      }.max()
      let newest = try #require(number)
      let path = directory.path(of: .checkpoint(newest))
      let file = try CheckpointFile.open(newest, in: directory, isMapped: false)
      let leaf = try Checkpoint.decode(file.directory(), number: newest).trees[0][0].summary
      #expect(leaf.height == 0)
      try base.corrupt(path, atOffset: CheckpointHeader.offset(ofPage: leaf.root) + 70, mask: 1)
    }
    var failureCount = 0
    for number in 1...200 {
      let disk = base.restarted(.processEnd)
      let reads = fail(number, on: disk)
      do {
        let opened = try store.open(fixture(disk, 60))
        stopFailing(disk)
        #expect(opened.openingReport.damage.isEmpty, "read \(number)")
        try opened.close()
      } catch let error as DatabaseError {
        stopFailing(disk)
        #expect(error.code == .inputOutput, "read \(number): \(error)")
        failureCount += 1
      }
      let again = try store.open(fixture(disk, 70))
      try store.expectAll(again.snapshot(), "read \(number)", nil, [.all, .equal(to: 1927)])
      if number % 20 == 0 { #expect(try again.check().isSound, "read \(number)") }
      if reads.all.count < number { break }
    }
    #expect(failureCount > (isPageDamaged ? 30 : 10))
    let opened = try store.open(fixture(base.restarted(.processEnd), 80))
    #expect(opened.openingReport.notes.isEmpty != isPageDamaged)
  }

  @Test func `a change is not made if the previous values of an index cannot be read`() throws {
    let disk = try interrupted()
    let database = try store.open(fixture(disk, 60))
    let changes: [(WriteTransaction) throws -> Void] = [
      { _ = try $0.replace("doc-1", with: ["year": 5000]) },
      { try $0.delete("doc-2") },
      { try $0.purge("doc-3") },
    ]
    for change in changes {
      let before = try database.snapshot()
      try database.write { transaction in
        fail(1, on: disk)
        let error = #expect(throws: DatabaseError.self) { try change(transaction) }
        stopFailing(disk)
        #expect(error?.code == .inputOutput)
        #expect(transaction.isEmpty)
      }
      #expect(try database.snapshot().sequence == before.sequence)
      try database.write { try change($0) }
      try store.expectSound(database, "retried")
    }
    #expect(try database.snapshot().ids(by: "by year", .equal(to: 5000)).collect() == ["doc-1"])
  }

  // MARK: Inspection

  private func inspect(_ disk: SimulatedFileSystem) throws -> InspectedCheckpoint {
    let directory = StoreDirectory(CrashFixture.path, on: disk)
    let files = try directory.listing().files
    return try #require(try InspectedCheckpoint.newest(among: files, in: directory).checkpoint)
  }

  @Test func `inspection throws if it cannot read a document for an index`() throws {
    let disk = try interrupted()
    let inspected = try inspect(disk)
    #expect(try inspected.differences() == [])
    var failureCount = 0
    for number in 1...60 {
      fail(number, on: disk)
      do throws(LogError) {
        #expect(try inspected.differences() == [], "read \(number)")
      } catch {
        failureCount += 1
        #expect(DatabaseError(error).code == .inputOutput, "read \(number)")
      }
      stopFailing(disk)
    }
    #expect(failureCount > 20)
    #expect(try inspected.differences() == [])
  }

  @Test func `an invalid entry of an index is reported as damage`() throws {
    let database = try store.open()
    try database.addIndex(store.byYear)
    try store.fill(database, 0..<5)
    let number = try #require(try database.store.view().state.indexes.first?.number)
    let key = IndexEntries.prefix(number) + IndexedValue("more").bytes
    // The size of an ID takes one byte.
    database.tamper { $0.catalog.set(key.span, [1, 2].span) }
    let snapshot = try database.snapshot()
    func expectDamage(_ query: () throws -> Int) {
      let error = #expect(throws: DatabaseError.self) { _ = try query() }
      #expect(error?.code == .damaged)
    }
    expectDamage { try snapshot.count(by: "by year") }
    expectDamage { try snapshot.ids(by: "by year").collect().count }
    #expect(try snapshot.count(by: "by year", ..<1930) > 0)
  }

  @Test func `inspection finds missing and extra index entries in checkpoint pages`() throws {
    let database = try store.open()
    try database.addIndex(store.byYear)
    try store.fill(database, 0..<5)
    let number = try #require(try database.store.view().state.indexes.first?.number)
    func key(_ number: UInt64, _ value: Value) -> [UInt8] {
      IndexEntries.prefix(number) + IndexedValue(value).bytes + Array("doc-0".utf8)
    }
    let size: [UInt8] = [5]
    database.tamper { state in
      state.catalog.remove(key(number, .null).span)
      state.catalog.set(key(number, "more").span, size.span)
      // The remains of a removed index are not read.
      state.catalog.set(key(number + 1000, "more").span, size.span)
    }
    try database.writeCheckpoint()
    try database.close()
    let found = try #require(try inspect(store.fixture.fileSystem).differences())
    #expect(found.count == 2)
    #expect(found.first?.contains("is in the log and not in the pages") == true)
    #expect(found.last?.contains("is in the pages and not in the log") == true)
  }
}
