import Dispatch
import DivanLog
import DivanTesting
import ProofKit
import Synchronization
import TestSupport
import Testing

@testable import Divan

/// Tests of queries by the values of a property, compared with a search through all documents.
struct DocumentIndexTests {
  private let store = IndexFixture()

  // MARK: Contents

  @Test func `documents are ordered by their values, and equal values by their IDs`()
    throws
  {
    let database = try store.open()
    try store.fill(database, 0..<40)
    for index in store.all { try database.addIndex(index) }
    #expect(
      try database.indexes()
        == [store.byCity, store.byCityAndYear, store.byTag, store.byYear, store.lateByCity])
    try store.expectAll(database.snapshot(), "built over documents")
    try store.fill(database, 20..<60)
    try store.expectAll(database.snapshot(), "written since")
    #expect(try database.check().isSound)
    let years = try database.snapshot().documents(by: "by year", 1926..<1931)
    #expect(
      try years.collect().compactMap { $0["year"] }.allSatisfy {
        [1926, 1927, 1927.5].contains($0)
      })
  }

  @Test func `indexes follow every kind of change and rollback`() throws {
    let database = try store.open()
    for index in store.all { try database.addIndex(index) }
    try store.fill(database, 0..<30)
    try database.write { transaction in
      try transaction.delete("doc-3")
      try transaction.purge("doc-4")
      _ = try transaction.update("doc-5") { $0["year"] = 2000 }
      try? transaction.savepoint {
        _ = try transaction.replace("doc-6", with: ["year": 3000])
        throw CancellationError()
      }
      let found = try transaction.ids(by: "by year", .equal(to: 2000))
      #expect(try found.collect() == ["doc-5"])
      #expect(try transaction.count(by: "by year", .equal(to: 3000)) == 0)
      var newest = try transaction.documents(by: "by year", 1931..., descending: true)
      #expect(try newest.next()?.id == "doc-27")
      #expect(try newest.collect().map(\.id).last == "doc-26")
    }
    try? database.write { transaction in
      _ = try transaction.replace("doc-7", with: ["year": 3000])
      throw CancellationError()
    }
    try store.expectAll(database.snapshot(), "changed")
    // In a conflict the winner is indexed, and after its purge the next winner.
    func revision(_ generation: UInt64, _ digest: String) throws -> RevisionID {
      try #require(RevisionID(generation: generation, digest: digest))
    }
    for (digest, year) in [("b", 1), ("c", 2)] as [(String, Int64)] {
      try database.write { transaction in
        try transaction.insert(
          Document(id: "both", ["year": .int(year)]),
          history: [try revision(2, digest), try revision(1, "a")])
      }
      try store.expectAll(database.snapshot(), "in conflict")
    }
    #expect(try database.snapshot().count(by: "by year", .equal(to: 2)) == 1)
    try database.write { _ = try $0.purge("both", revision: try revision(2, "c")) }
    #expect(try database.snapshot().count(by: "by year", .equal(to: 1)) == 1)
    try store.expectAll(database.snapshot(), "after the conflict")
    #expect(try database.check().isSound)
  }

  @Test func `an open snapshot has its own state of an index, and past versions are searched`()
    throws
  {
    let database = try store.open() { $0.history = HistoryRetention(revisions: 100) }
    for index in store.all { try database.addIndex(index) }
    try store.fill(database, 0..<20)
    let old = try database.snapshot()
    try database.saveSnapshot(named: "then")
    try store.fill(database, 10..<40)
    try database.remove("doc-1")
    try store.expectAll(old, "open snapshot")
    try store.expectAll(try database.snapshot(named: "then"), "named")
    try store.expectAll(database.snapshot(), "newest")
  }

  @Test func `a missing property is not in an index, and null is`() throws {
    let database = try store.open()
    try database.addIndex(store.byYear)
    try database.addIndex(store.byCity)
    try database.put("null", #"{"year": null, "made": {"city": null}}"#)
    try database.put("none", #"{"made": {}}"#)
    try database.put("text", #"{"year": "1927", "made": "Berlin"}"#)
    try database.put("zero", #"{"year": -0.0, "made": {"city": []}}"#)
    let snapshot = try database.snapshot()
    func ids(_ range: IndexRange) throws -> [String] {
      try snapshot.ids(by: "by year", range).collect()
    }
    #expect(try ids(.all) == ["null", "zero", "text"])
    #expect(try ids(.equal(to: .null)) == ["null"])
    #expect(try ids(.equal(to: 0)) == ["zero"])
    #expect(try snapshot.ids(by: "by city").collect() == ["null", "zero"])
    // Comparisons with null, with another type and with NaN are false.
    for range in [
      .init(from: .null), .init(upTo: .null), .equal(to: .double(.nan)), .init(upTo: .double(.nan)),
      .greater(than: .double(-.nan)), .init(from: 0, upTo: "z"),
      .init(from: 0, through: .double(.nan)),
    ] as [IndexRange] {
      #expect(try ids(range) == [], "\(range)")
      #expect(!range.contains(.int(0)) && !range.contains(.null), "\(range)")
    }
    #expect(try ids(IndexRange(from: .double(-.infinity), through: .double(.infinity))) == ["zero"])
  }

  // MARK: Unique values

  @Test func `a unique index refuses equal values, but documents can exchange theirs`() throws {
    let database = try store.open()
    try database.addIndex(DocumentIndex("names", on: "name", isUnique: true))
    try database.put("a", #"{"name": "one"}"#)
    try database.put("b", #"{"name": "two"}"#)
    let error = #expect(throws: DatabaseError.self) { try database.put("c", #"{"name": "one"}"#) }
    #expect(error?.code == .notUnique)
    #expect(error?.message.contains(#""a""#) == true && error?.message.contains(#""c""#) == true)
    #expect(try database.snapshot().document("c") == nil)
    try database.write { transaction in
      _ = try transaction.replace("a", with: ["name": "two"])
      _ = try transaction.replace("b", with: ["name": "one"])
    }
    for id in ["n", "m"] { try database.put(id, #"{"name": null}"#) }
    for id in ["x", "y"] { try database.put(id, "{}") }
    try database.remove("a")
    try database.put("c", #"{"name": "two"}"#)
    #expect(try database.snapshot().ids(by: "names", .equal(to: "two")).collect() == ["c"])
    #expect(try database.check().isSound)
  }

  @Test func `a unique index is checked against the documents at the end of a transaction`()
    throws
  {
    let database = try store.open()
    try database.addIndex(DocumentIndex("name", on: "name", isUnique: true))
    try database.addIndex(DocumentIndex("tag", on: "tags", isUnique: true, eachElement: true))
    func code(_ body: (WriteTransaction) throws -> Void) -> DatabaseError.Code? {
      do { try database.write { try body($0) } } catch { return (error as? DatabaseError)?.code }
      return nil
    }
    // Twice in one transaction.
    #expect(
      code {
        _ = try $0.replace("a", with: ["name": 1])
        _ = try $0.replace("b", with: ["name": 1.0])
      } == .notUnique)
    #expect(try database.snapshot().count == 0)
    // The duplicate is undone before the transaction ends, or purged.
    #expect(
      code { transaction in
        _ = try transaction.replace("a", with: ["name": 1, "tags": ["x", "y", "x"]])
        try? transaction.savepoint {
          _ = try transaction.replace("b", with: ["name": 1])
          throw CancellationError()
        }
        _ = try transaction.replace("c", with: ["name": 1])
        try transaction.purge("c")
      } == nil)
    #expect(code { _ = try $0.replace("b", with: ["tags": ["z", "y"]]) } == .notUnique)
    #expect(code { _ = try $0.replace("b", with: ["tags": "x"]) } == .notUnique)
    #expect(
      code { _ = try $0.replace("b", with: ["tags": ["z", .null], "name": .null]) } == nil)
    #expect(code { _ = try $0.replace("c", with: ["tags": .null, "name": .null]) } == nil)
    // The same holds for a replicated revision that wins; a losing revision is in no index.
    let high = try #require(RevisionID(generation: 9, digest: "f"))
    #expect(
      code { _ = try $0.insert(Document(id: "c", ["name": 1]), history: [high]) } == .notUnique)
    let low = try #require(RevisionID(generation: 1, digest: "0"))
    #expect(code { _ = try $0.insert(Document(id: "a", ["name": 2]), history: [low]) } == nil)
    #expect(code { _ = try $0.replace("c", with: ["name": 2]) } == nil)
    // Now the losing revision would win.
    let first = try #require(try database.snapshot().document("a")?.revision)
    #expect(code { _ = try $0.purge("a", revision: first) } == .notUnique)
    #expect(try database.check().isSound)
  }

  @Test func `a unique index refuses duplicates while it is built`() throws {
    let database = try store.open()
    try database.write { transaction in
      for index in 0..<2500 {
        _ = try transaction.replace("doc-\(index)", with: ["name": .int(Int64(index))])
      }
    }
    var codes: [DatabaseError.Code?] = []
    try database.addIndex(DocumentIndex("name", on: "name", isUnique: true)) { share in
      guard codes.isEmpty, share < 1 else { return }
      do {
        try database.put("another", #"{"name": 0}"#)
        codes.append(nil)
      } catch { codes.append((error as? DatabaseError)?.code) }
    }
    #expect(codes == [.notUnique])
    #expect(try database.snapshot().count(by: "name") == 2500)
    // A duplicate that the build has not reached yet is found when the build reaches it.
    try database.removeIndex(named: "name")
    var isPut = false
    let error = #expect(throws: DatabaseError.self) {
      try database.addIndex(DocumentIndex("name", on: "name", isUnique: true)) { share in
        guard !isPut, share < 1 else { return }
        isPut = true
        do { try database.put("another", #"{"name": 2400}"#) } catch { Issue.record(error) }
      }
    }
    #expect(error?.code == .notUnique)
    #expect(try database.indexes() == [])
  }

  /// Regression: found by reading; the build skips documents that changed, and their writers
  /// compared only values that the documents did not have before.
  @Test func `a unique index is not built if documents with equal values change meanwhile`() throws
  {
    let database = try store.open()
    try database.write { transaction in
      for index in 0..<2500 {
        let name = index == 2450 ? 2400 : index
        _ = try transaction.replace("doc-\(index)", with: ["name": .int(Int64(name))])
      }
    }
    var codes: [DatabaseError.Code?] = []
    let error = #expect(throws: DatabaseError.self) {
      try database.addIndex(DocumentIndex("name", on: "name", isUnique: true)) { share in
        guard codes.isEmpty, share < 1 else { return }
        for id in ["doc-2400", "doc-2450"] {
          codes.append(code { _ = try database.update(id) { $0["other"] = 1 } })
        }
      }
    }
    #expect(codes == [nil, .notUnique] && error?.code == .notUnique)
    #expect(try database.indexes() == [])
  }

  @Test func `a unique index is not built over documents with equal values, and nothing is left`()
    throws
  {
    let database = try store.open()
    try database.put("a", #"{"name": "one"}"#)
    try database.put("b", #"{"name": "one"}"#)
    let names = DocumentIndex("names", on: "name", isUnique: true)
    let error = #expect(throws: DatabaseError.self) { try database.addIndex(names) }
    #expect(error?.code == .notUnique)
    #expect(try database.indexes() == [])
    try database.put("c", #"{"name": "one"}"#)
    try database.remove("a")
    try database.remove("b")
    try database.addIndex(names)
    #expect(try database.snapshot().count(by: "names") == 1)
    #expect(try database.check().isSound)
  }

  @Test func `a unique multikey index is not built over documents that share an element`() throws {
    let database = try store.open()
    try database.put("a", #"{"tags": ["x", "y", "x"]}"#)
    try database.put("b", #"{"tags": ["z", null, "y"]}"#)
    try database.put("c", #"{"tags": [null, "w"]}"#)
    let tags = DocumentIndex("tags", on: "tags", isUnique: true, eachElement: true)
    let error = #expect(throws: DatabaseError.self) { try database.addIndex(tags) }
    #expect(error?.code == .notUnique && error?.documentID == "b")
    #expect(try database.indexes() == [])
    try database.put("b", #"{"tags": ["z", null]}"#)
    try database.addIndex(tags)
    #expect(try database.snapshot().ids(by: "tags", "a"...).collect() == ["c", "a", "b"])
    #expect(try database.check().isSound)
  }

  // MARK: Concurrent creation

  @Test func `an index that is being built cannot be added a second time`() throws {
    let database = try store.open()
    try store.fill(database, 0..<30)
    var errors: [DatabaseError?] = []
    try database.addIndex(store.byYear) { _ in
      for index in [store.byYear, DocumentIndex("by year", on: "other")] {
        do {
          try database.addIndex(index)
          errors.append(nil)
        } catch { errors.append(error as? DatabaseError) }
      }
    }
    #expect(errors.map(\.?.code) == [.alreadyExists, .alreadyExists])
    #expect(errors.first??.message.contains("being built") == true)
    #expect(errors.last??.message.contains("another index") == true)
    #expect(try database.indexes() == [store.byYear])
    try store.expectAll(database.snapshot(), "built once")
  }

  /// Readers do not see the index yet, so it can be requested again.
  @Test func `two threads that add the same index build it once`() throws {
    let database = try store.open()
    try store.fill(database, 0..<30)
    let (index, writerLock, disk) = (
      store.byYear, database.store.writerLock, store.fixture.fileSystem
    )
    let isFirst = Atomic(true)
    let outcome = Recorder<DatabaseError.Code?>()
    let done = DispatchSemaphore(value: 0)
    try database.addIndex(index) { _ in
      // The record that marks the index as ready is written while the other thread waits for the
      // writer lock.
      disk.observeCalls { call in
        guard call.verb == .write, call.path.hasSuffix(".segment"),
          isFirst.exchange(false, ordering: .relaxed)
        else { return }
        DispatchQueue(label: "adds").async {
          do {
            try database.addIndex(index)
            outcome.append(nil)
          } catch { outcome.append((error as? DatabaseError)?.code) }
          done.signal()
        }
        waitUntil { writerLock.waiterCount > 0 || !outcome.all.isEmpty }
      }
    }
    #expect(done.wait(timeout: .now() + 100) == .success)
    disk.observeCalls(nil)
    #expect(outcome.all == [nil])
    #expect(try database.indexes() == [index])
    try store.expectSound(database, "built once")
  }

  /// Other threads write between reading documents and adding their entries.
  @Test func `changes during an index build are in the index`() throws {
    let database = try store.open { $0.readMode = .buffered }
    try store.fill(database, 0..<60)
    try database.writeCheckpoint()
    let disk = store.fixture.fileSystem
    for number in [1, 30, 59] {
      let reads = Atomic(0)
      disk.observeCalls { call in
        guard call.verb == .read, call.path.hasSuffix(".segment"),
          reads.add(1, ordering: .relaxed).newValue == number
        else { return }
        do {
          try database.write { transaction in
            for (id, year) in [("doc-1", 1), ("doc-3", 2), ("doc-57", 3), ("new", 4)] {
              _ = try transaction.replace(id, with: ["year": .int(Int64(year * number))])
            }
            for id in ["doc-2", "doc-40"] {
              // These updates change nothing in the index.
              _ = try transaction.update(id) { $0["seen"] = .int(Int64(number)) }
            }
            _ = try transaction.delete("doc-5")
            try transaction.purge("doc-55")
          }
        } catch { Issue.record(error) }
      }
      try database.addIndex(store.byYear)
      disk.observeCalls(nil)
      #expect(reads.load(ordering: .relaxed) >= number)
      try store.expectSound(database, "changed at read \(number)")
      #expect(try database.snapshot().count(by: "by year", .equal(to: .int(Int64(number)))) == 1)
      try database.removeIndex(named: "by year")
      try store.fill(database, 0..<60)
    }
  }

  // MARK: Batches

  @Test(arguments: [1, 7, 60])
  func `an index is the same whatever the size of its build batches`(batchSize: Int) throws {
    let database = try store.open { $0.indexBuildBatchSize = batchSize }
    try store.fill(database, 0..<60)
    for index in store.all {
      var shares: [Double] = []
      try database.addIndex(index) { share in
        shares.append(share)
      }
      #expect(shares == shares.sorted() && shares.last == 1)
    }
    try store.expectSound(database, "\(batchSize) at once")
  }

  @Test func `build batches respect their size limit and leave nothing out`() throws {
    let database = try store.open()
    try store.fill(database, 0..<200)
    try database.write { transaction in
      let tags = (0..<500).map { Value.int($0) }
      _ = try transaction.replace("doc-150a", with: ["tags": .array(tags)])
    }
    try database.addIndex(store.byTag)
    let definition = try #require(try database.store.view().state.indexes.first)
    let view = try database.store.view()
    let whole = SequencePartition(start: 0, end: view.state.lastSequence)
    for sizeLimit in [0, 1000, 8000, .max] {
      var batch = IndexBuildBatch(definition, IndexBuildBatch.Limits(size: sizeLimit))
      var slice = IndexBuildSlice()
      var tree = LayeredTree()
      var share: SequencePartition? = whole
      var (batches, documents, oversized) = (0, 0, 0)
      repeat {
        try batch.read(view, expectedCount: 201, takePartition: { share.take() }) { _ in }
        // The last document may exceed the limit by less than 2,000 bytes; one has 500 entries.
        if sizeLimit < .max, batch.size > sizeLimit + 2000 { oversized += 1 }
        batches += 1
        documents += batch.documentCount
        slice.begin(view)
        while batch.hasEntry { batch.takeEntry(into: &slice, reader: 0) }
        let count = slice.count
        try slice.keepUnchanged(in: view) { batch.sequence($0.source) }
        #expect(slice.count == count)
        slice.add(to: &tree)
      } while batch.partition != nil
      #expect(documents == 201)
      #expect(
        sizeLimit == .max ? batches == 1 : batches > 2 && oversized <= 1,
        "\(sizeLimit): \(batches), \(oversized)")
      let prefix = IndexEntries.prefix(definition.number)
      var scan = view.state.catalog.scan(from: .inclusive(prefix), to: .end(ofPrefix: prefix))
      var (made, followed) = (tree.scan(), 0)
      while let entry = try scan.next() {
        let other = try made.next()
        #expect(other?.key == entry.key && other?.value == entry.value)
        followed += 1
      }
      #expect(try made.next() == nil && followed > 1000)
    }
  }

  @Test func `index keys of encoded properties equal those of decoded values`() throws {
    let indexes = [
      DocumentIndex("whole", on: "a"), DocumentIndex("each", on: "a", eachElement: true),
      DocumentIndex("inner", on: "o.a", isUnique: true, eachElement: true),
      DocumentIndex("two", on: "a", "o.a", isUnique: true, eachElement: true),
      DocumentIndex("none", on: "b"), DocumentIndex("with none", on: "a", "b", isUnique: true),
    ]
    let id = SharedBytes(utf8: "the document")
    let values =
      IndexFixture.values + [[1, [2, ["x": .null]], "y", 1], [.null, .null], [[]], [:]]
    for value in values {
      let document: Value = ["a": value, "o": ["a": value]]
      let body = EncodedValue(try document.stored)
      for (number, index) in indexes.enumerated() {
        let definition = IndexDefinition(index: index, number: UInt64(number), isReady: true)
        var expected: Set<[UInt8]> = []
        var unique: Set<[UInt8]> = []
        for values in IndexEntries.values(index, of: body) {
          let start = IndexEntries.prefix(definition.number) + IndexedValue(joining: values).bytes
          expected.insert(start + id.array)
          if index.isUnique, !values.contains(where: \.isNull) { unique.insert(start) }
        }
        let made = IndexEntries.entries(definition, of: body, id: id)
        #expect(Set(made.all) == expected && made.all.count == expected.count, "\(value)")
        #expect(Set(made.unique) == unique && made.unique.count == unique.count, "\(value)")
      }
    }
  }

  @Test func `a truncated document has no index entries, and the next document has all`() throws {
    let deep = (0..<40).reduce(1 as Value) { value, _ in [value] }
    let document: Value = ["a": [deep, "x", ["y": deep]], "b": deep]
    let whole = try document.stored
    let id = SharedBytes(utf8: "the document")
    let indexes = [
      DocumentIndex("each", on: "a", eachElement: true), DocumentIndex("two", on: "b", "a"),
    ]
    for index in indexes {
      var maker = IndexKeyMaker(IndexDefinition(index: index, number: 1, isReady: false))
      func keys(_ body: SharedBytes) -> Set<[UInt8]> {
        var batch = EntryBatch()
        id.withSpan { maker.addEntries(of: EncodedValue(body), id: $0, source: 0, to: &batch) }
        return Set((0..<batch.count).map { batch.withEntry($0) { key, _ in key.array } })
      }
      let expected = keys(whole)
      #expect(expected.count == (index.eachElement ? 3 : 1))
      for size in 1..<whole.count {
        let body = whole.prefix(size)
        let values = IndexEntries.values(index, of: EncodedValue(body))
        #expect(keys(body).count == values.count, "\(size) bytes")
      }
      #expect(keys(whole) == expected)
    }
  }

  // MARK: Invalid values and damage

  @Test func `a document whose property cannot be decoded is not in its index`() throws {
    let database = try store.open()
    try store.fill(database, 0..<20)
    try database.addIndex(store.byYear)
    // An object whose one property, "year", is a text of one byte that is not UTF-8.
    let body: [UInt8] = [0xC5, 4] + Array("year".utf8) + [0x41, 0xFF]
    var record = try DocumentRecord.forged("odd", sequence: 90, RevisionID(parsing: "3-x"))
    record.body = SharedBytes(copying: body)
    #expect(throws: DatabaseError.self) { try EncodedValue(record.body).property("year")?.decode() }
    try database.adopt(record)
    try store.expectAll(database.snapshot(), "beside it", nil, [.all, .equal(to: 1927)])
    #expect(try !database.snapshot().ids(by: "by year").collect().contains("odd"))
    // Nor is it in an index with that as its second property.
    let titled = Array(try (["title": "x", "year": "y"] as Value).stored.array.dropLast()) + [0xFF]
    let byTitleAndYear = DocumentIndex("two", on: "title", "year")
    let found = IndexEntries.values(byTitleAndYear, of: EncodedValue(SharedBytes(copying: titled)))
    #expect(found.isEmpty)
    // Nor is anything found in a truncated object.
    let beginning = EncodedValue(SharedBytes(copying: [0xC5, 4]))
    #expect(throws: DatabaseError.self) { try beginning.property("year") }
    #expect(IndexEntries.values(store.byYear, of: beginning).isEmpty)
    // Whatever the cause, another index can be built, too.
    try database.addIndex(DocumentIndex("again", path: store.byYear.path))
    #expect(try database.snapshot().count(by: "again") == database.snapshot().count(by: "by year"))
  }

  @Test func `invalid names and paths of indexes are refused`() throws {
    let database = try store.open()
    let long = String(repeating: "n", count: 241)
    for index in [
      DocumentIndex("", on: "a"), DocumentIndex(long, on: "a"), DocumentIndex("a", path: []),
      DocumentIndex("a", paths: []), DocumentIndex("a", path: Array(repeating: "p", count: 17)),
      DocumentIndex("a", on: String(repeating: "p", count: 1001)),
    ] {
      let error = #expect(throws: DatabaseError.self) { try database.addIndex(index) }
      #expect(error?.code == .invalidIndex)
    }
    #expect(DocumentIndex("a", paths: []).path == [])
    try database.addIndex(store.byYear)
    try database.addIndex(store.byYear)
    let error = #expect(throws: DatabaseError.self) {
      try database.addIndex(DocumentIndex("by year", on: "other"))
    }
    #expect(error?.code == .alreadyExists)
    #expect(throws: DatabaseError.self) { try database.snapshot().ids(by: "none") }
  }

  @Test func `an index build can be cancelled and leaves nothing`() throws {
    let database = try store.open()
    try store.fill(database, 0..<1500)
    #expect(throws: CancellationError.self) {
      try database.addIndex(store.byYear) { _ in throw CancellationError() }
    }
    #expect(try database.indexes() == [])
    let view = try database.store.view()
    var scan = view.state.catalog.scan(from: .inclusive([0x78]), to: .exclusive([0x79]))
    #expect(try view.step(&scan) == nil)
  }

  @Test(arguments: [true, false])
  func `an index that is removed during its build stays removed, and its successor stays`(
    isReplaced: Bool
  ) throws {
    let database = try store.open()
    try store.fill(database, 0..<1500)
    for atEnd in [false, true] {
      var isRemoved = false
      let error = #expect(throws: DatabaseError.self) {
        try database.addIndex(store.byYear) { share in
          guard !isRemoved, (share >= 1) == atEnd else { return }
          isRemoved = true
          do {
            try database.removeIndex(named: "by year")
            if isReplaced { try database.addIndex(store.byYear) }
          } catch { Issue.record(error) }
        }
      }
      #expect(error?.code == .cancelled && isRemoved)
      #expect(try database.indexes() == (isReplaced ? [store.byYear] : []))
      #expect(try database.check().isSound)
      try store.fill(database, 1490..<1500)
      if isReplaced { #expect(try database.snapshot().count(by: "by year") == 1200) }
      try database.removeIndex(named: "by year")
      let view = try database.store.view()
      var scan = view.state.catalog.scan(from: .inclusive([0x78]), to: .exclusive([0x79]))
      #expect(try view.step(&scan) == nil)
    }
  }

  /// Regression: the build began a second checkpoint while the database wrote one, which trapped.
  @Test
  func `an index build waits for running maintenance before it writes its checkpoint`()
    throws
  {
    let database = try store.open()
    try store.fill(database, 0..<40)
    let (isBusy, mayGoOn, isBuilt) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    let order = Mutex<[String]>([])
    DispatchQueue.global().async {
      try? database.store.maintenance.exclusively(database.store) {
        isBusy.signal()
        mayGoOn.wait()
        order.withLock { $0.append("step") }
      }
    }
    isBusy.wait()
    let byYear = store.byYear
    DispatchQueue.global().async {
      try? database.addIndex(byYear)
      order.withLock { $0.append("index") }
      isBuilt.signal()
    }
    try waitUntil { try !database.indexes().isEmpty }
    #expect(isBuilt.wait(timeout: .now() + .milliseconds(30)) == .timedOut)
    mayGoOn.signal()
    isBuilt.wait()
    #expect(order.withLock { $0 } == ["step", "index"])
    #expect(try database.check().isSound)
  }

  @Test func `an invalid index declaration does not replace an existing index`() throws {
    let database = try store.open()
    try database.addIndex(store.byYear)
    let wide = DocumentIndex("by year", paths: (0..<9).map { ["property \($0)"] })
    let error = #expect(throws: DatabaseError.self) {
      try database.addDeclaredIndex(wide, of: .none)
    }
    #expect(error?.code == .invalidIndex)
    #expect(try database.indexes() == [store.byYear])
  }
}
