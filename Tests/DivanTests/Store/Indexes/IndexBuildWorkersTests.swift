import DivanLog
import DivanTesting
import ProofKit
import Synchronization
import Testing

@testable import Divan

/// Tests of index builds in which several threads read the documents.
///
/// The index, its progress and its errors are the same as with one thread.
struct IndexBuildWorkersTests {
  private let store = IndexFixture()

  private func open(
    _ count: Int, _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> Database {
    try store.open {
      $0.indexBuildWorkerCount = count
      change(&$0)
    }
  }

  private func id(_ number: Int) -> String { "doc-\(number)" }

  /// Stores `count` documents, several thousand per transaction.
  private func fill(_ database: Database, _ count: Int) throws {
    for start in stride(from: 0, to: count, by: 4000) {
      try store.fill(database, start..<min(start + 4000, count))
    }
  }

  /// Damages the record of a document.
  private func damage(_ id: String, in database: Database) throws {
    let view = try database.store.view()
    let locator = try #require(try view.entry(id)).locator
    let path = try #require(view.state.segments[locator.fileID]).file.path
    try store.fixture.fileSystem.corrupt(path, atOffset: Int(locator.offset) + 20, mask: 1)
  }

  /// Returns the entries of all indexes, without the index numbers.
  private func entries(_ database: Database) throws -> [[[UInt8]]] {
    let state = try database.store.view().state
    return try state.indexes.map { definition in
      let prefix = IndexEntries.prefix(definition.number)
      var scan = state.catalog.scan(from: .inclusive(prefix), to: .end(ofPrefix: prefix))
      var keys: [[UInt8]] = []
      while let entry = try scan.next() {
        keys.append(Array(entry.key.array.dropFirst(prefix.count)))
      }
      return keys
    }
  }

  // MARK: The same index

  /// Makes random changes, so that the order of changes has gaps.
  ///
  /// Some documents have several records in it afterwards.
  private func changeAtRandom(_ database: Database, _ random: inout SeededGenerator) throws {
    let count = 1500
    try fill(database, count)
    for _ in 0..<12 {
      try database.write { transaction in
        for _ in 0..<200 {
          let id = id(Int.random(in: 0..<count + 100, using: &random))
          switch Int.random(in: 0..<10, using: &random) {
          case 0: try transaction.delete(id)
          case 1: try transaction.purge(id)
          case 2...3:
            guard let old = try transaction.document(id) else { continue }
            var other = old
            _ = try transaction.update(id) { $0["year"] = 1 }
            other["year"] = 2
            _ = try transaction.put(other, onConflict: .branch)
          default:
            let number = Int.random(in: 0..<10_000, using: &random)
            _ = try transaction.replace(id, with: store.properties(number))
          }
        }
      }
    }
  }

  @Test(arguments: [1 << 20, 700, 9])
  func `an index is the same however many threads read the documents`(batchSize: Int) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededGenerator(seed: seed)
    let database = try store.open()
    try changeAtRandom(database, &random)
    try database.writeCheckpoint()
    let number = Int.random(in: 0..<1000, using: &random)
    try store.fill(database, number..<number + 100)
    try database.close()
    var expected: [[[UInt8]]] = []
    for count in [1, 2, 3, 4, 20] {
      let again = CrashFixture(
        store.fixture.fileSystem.restarted(.processEnd), CrashWriter(seed: 1), life: 50)
      let database = try store.open(again) {
        $0.indexBuildWorkerCount = count
        $0.indexBuildBatchSize = batchSize
      }
      for index in store.all { try database.addIndex(index) }
      let found = try entries(database)
      if count == 1 {
        expected = found
        try store.expectSound(database, "seed \(seed)")
      }
      #expect(found == expected, "seed \(seed), \(count) readers")
      #expect(try database.check().isSound, "seed \(seed), \(count) readers")
    }
    #expect(expected.count == store.all.count && expected.allSatisfy { $0.count > 100 })
  }

  @Test func `several readers respect the memory limit of one reader and leave nothing out`() throws
  {
    let database = try open(4)
    try fill(database, 3000)
    try database.addIndex(store.byTag)
    let definition = try #require(try database.store.view().state.indexes.first)
    let expected = try entries(database)[0]
    for sizeLimit in [20_000, 100_000] {
      let readers = try IndexBuildWorkers(definition, database.store, sizeLimit: sizeLimit, nil)
      var slice = IndexBuildSlice()
      var tree = LayeredTree()
      repeat {
        try readers.read(&slice)
        var count = 0
        while readers.take(100, into: &slice) {
          count += slice.count
          slice.add(to: &tree)
        }
        // Each entry has at least a location, a prefix and an ID. A reader may exceed its share by
        // one document of four entries.
        #expect(count * 45 <= sizeLimit + 4 * 4 * 400)
      } while !readers.isAtEnd
      var scan = tree.scan()
      for key in expected {
        let entry = try scan.next()
        #expect(entry.map { Array($0.key.array.dropFirst(IndexEntries.prefixSize)) } == key)
      }
      #expect(try scan.next() == nil)
    }
  }

  /// An index has no records in the log, by whose size checkpoints are due: it was all in memory.
  @Test func `a large index is written to checkpoints while it is built and removed`() throws {
    let limit = 256 << 10
    let database = try open(2) {
      $0.indexBuildBatchSize = 1400
      $0.memtableSizeLimit = limit
      $0.maintenance = .manual
    }
    try fill(database, 12_000)
    try database.writeCheckpoint()
    let first = database.metrics.checkpoints
    var largest = 0
    func note() throws { largest = max(largest, try database.store.view().state.memtableSize) }
    try database.addIndex(store.byTag) { _ in try note() }
    let built = database.metrics.checkpoints
    // A round adds 1,400 documents of four entries.
    #expect(largest > limit / 2 && largest < 4 * limit, "\(largest)")
    #expect(built > first + 2)
    #expect(try database.check().isSound)
    try database.removeIndex(named: "by tag")
    #expect(try database.store.view().state.memtableSize < 2 * limit)
    #expect(try database.check().isSound)
    let again = try store.open(store.reopened(50))
    #expect(try again.indexes() == [])
    #expect(try again.check().isSound)
  }

  /// Makes all checkpoints fail until another observer is set; returns their paths.
  private func failCheckpoints() -> Recorder<String> {
    let (disk, attempts) = (store.fixture.fileSystem, Recorder<String>())
    disk.observeCalls { call in
      guard call.verb == .create, call.path.hasSuffix(".checkpoint") else { return }
      attempts.append(call.path)
      disk.fail(.create, with: .noSpace)
    }
    return attempts
  }

  /// It was tried again after every few documents, with all that the memtables contained.
  @Test func `a checkpoint that fails during an index build is tried again at twice the size`()
    throws
  {
    let limit = 256 << 10
    let database = try open(2) {
      $0.indexBuildBatchSize = 350
      $0.memtableSizeLimit = limit
      $0.maintenance = .manual
    }
    try fill(database, 12_000)
    try database.writeCheckpoint()
    let attempts = failCheckpoints()
    try database.addIndex(store.byTag)
    store.fixture.fileSystem.observeCalls(nil)
    // There are more than 30 rounds, and the last attempt follows the build.
    #expect((2..<10).contains(attempts.all.count), "\(attempts.all.count)")
    #expect(try database.store.view().state.memtableSize > 2 * limit)
    // Once any checkpoint is written, the limit applies again.
    try database.writeCheckpoint()
    try database.removeIndex(named: "by tag")
    let before = database.metrics.checkpoints
    try database.addIndex(store.byTag)
    #expect(database.metrics.checkpoints > before + 2)
    #expect(try database.check().isSound)
  }

  /// The index has no records in the log, by whose size closing decides otherwise.
  @Test func `closing writes a checkpoint of a large index, so the next opening need not build it`()
    throws
  {
    let database = try open(1)
    let text = String(repeating: "x", count: 140)
    for start in stride(from: 0, to: 600, by: 50) {
      try database.write { transaction in
        for number in start..<start + 50 {
          let tags = (0..<100).map { Value.string("\(number) \($0) \(text)") }
          _ = try transaction.replace(id(number), with: ["tags": .array(tags)])
        }
      }
    }
    try database.writeCheckpoint()
    let attempts = failCheckpoints()
    try database.addIndex(store.byTag)
    store.fixture.fileSystem.observeCalls(nil)
    #expect(attempts.all.count == 1)
    #expect(try database.store.view().state.memtableSize >= 8 << 20)
    try database.close()
    let again = try store.open(store.reopened(50))
    #expect(try again.indexes() == [store.byTag])
    #expect(try again.store.view().state.memtableSize < 1 << 20)
    #expect(try again.snapshot().count(by: "by tag") == 600)
  }

  // MARK: Progress

  @Test func `progress is reported on the thread that builds the index, and increases`() throws {
    let database = try open(3) { $0.indexBuildBatchSize = 2800 }
    try fill(database, 8000)
    let thread = ThreadID.current
    var shares: [Double] = []
    try database.addIndex(store.byYear) { share in
      #expect(ThreadID.current == thread)
      shares.append(share)
    }
    #expect(shares.count >= 3 && shares == shares.sorted() && shares.last == 1, "\(shares)")
    #expect(try database.snapshot().count(by: "by year") == 6400)
  }

  @Test(arguments: 1...5)
  func `cancelling an index build with several readers leaves nothing`(
    number: Int
  ) throws {
    let database = try open(3) { $0.indexBuildBatchSize = 1400 }
    try fill(database, 8000)
    var count = 0
    #expect(throws: CancellationError.self) {
      try database.addIndex(store.byYear) { _ in
        count += 1
        if count == number { throw CancellationError() }
      }
    }
    #expect(count == number)
    #expect(try database.indexes() == [])
    try database.addIndex(store.byYear)
    #expect(try database.snapshot().count(by: "by year") == 6400)
    #expect(try database.check().isSound)
  }

  // MARK: Failures

  /// A reader that meets a later one first must wait for the documents before it.
  @Test(arguments: [1, 2, 4], [1 << 20, 300])
  func `of several damaged documents, the one with the earliest change is reported`(
    readerCount: Int, batchSize: Int
  ) throws {
    let database = try open(readerCount) { $0.indexBuildBatchSize = batchSize }
    try fill(database, 1600)
    // It is now the last change.
    try store.fill(database, 100..<101)
    let damaged = [750, 800, 1599, 100]
    for number in damaged { try damage(id(number), in: database) }
    for number in damaged {
      let error = #expect(throws: DatabaseError.self) { try database.addIndex(store.byYear) }
      #expect(error?.code == .damaged && error?.documentID == id(number))
      #expect(try database.indexes() == [])
      try database.write { try $0.purge(id(number)) }
    }
    try database.addIndex(store.byYear)
    try store.expectAll(database.snapshot(), "without them", nil, [.all])
  }

  @Test func `an index is not built if the change order cannot be read`() throws {
    let database = try open(3)
    try fill(database, 3000)
    let garbage: [UInt8] = [0xFF]
    let entry = try database.entry(of: id(2000))
    let sound = try #require(
      try database.store.view().state.sequences.find(entry.sequence.bigEndianBytes.span)
    ).array
    database.tamper { $0.sequences.set(entry.sequence.bigEndianBytes.span, garbage.span) }
    let error = #expect(throws: DatabaseError.self) { try database.addIndex(store.byYear) }
    #expect(error?.code == .damaged && error?.message.contains("an index entry") == true)
    #expect(try database.indexes() == [])
    database.tamper { $0.sequences.set(entry.sequence.bigEndianBytes.span, sound.span) }
    try database.addIndex(store.byYear)
    #expect(try database.check().isSound)
  }

  @Test func `a document that is twice in the change order is in the index once`() throws {
    let database = try open(2)
    try fill(database, 3000)
    let (first, last) = (try database.entry(of: id(5)), try database.entry(of: id(2990)))
    database.tamper { $0.set(last.locator, forSequence: first.sequence) }
    try database.addIndex(store.byYear)
    let found = try database.snapshot().ids(by: "by year")
    let ids = try found.collect()
    #expect(Set(ids).count == ids.count && ids.contains(id(2990)))
    database.tamper { $0.set(first.locator, forSequence: first.sequence) }
    #expect(try database.check().problems.allSatisfy { $0.documentID == id(5) })
  }

  /// The builder compared revisions, and added the entry of the content that was purged.
  @Test func `a document purged and inserted again during a build is indexed as it is now`() throws
  {
    let database = try open(1)
    // Another store made the revision: its digest does not follow from the properties.
    let revision = try RevisionID(parsing: "1-\(String(repeating: "a", count: 32))")
    func insert(_ year: Value, _ transaction: WriteTransaction) throws {
      _ = try transaction.insert(Document(id: "foreign", ["year": year]), history: [revision])
    }
    try database.write { try insert(31_900, $0) }
    try fill(database, 8000)
    var isReplaced = false
    try database.addIndex(store.byYear) { _ in
      if isReplaced { return }
      isReplaced = true
      try database.write { transaction in
        try transaction.purge("foreign")
        try insert(31_901, transaction)
      }
    }
    #expect(isReplaced)
    let snapshot = try database.snapshot()
    #expect(try snapshot.ids(by: "by year", .equal(to: 31_900)).collect() == [])
    #expect(try snapshot.ids(by: "by year", .equal(to: 31_901)).collect() == ["foreign"])
    #expect(try database.check().isSound)
  }

  @Test func `an index build with several readers throws closed if the store is closed`() throws {
    let database = try open(3)
    try fill(database, 8000)
    var isClosed = false
    let error = #expect(throws: DatabaseError.self) {
      try database.addIndex(store.byYear) { _ in
        if !isClosed {
          isClosed = true
          do { try database.close() } catch { Issue.record(error) }
        }
      }
    }
    #expect(isClosed && error?.code == .closed)
    let again = try store.open(store.reopened(50))
    #expect(try again.indexes() == [])
    #expect(try again.check().isSound)
  }
}
