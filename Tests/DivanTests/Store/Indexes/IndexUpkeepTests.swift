import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of indexes across openings, checkpoints, compactions and damage, compared with a search.
struct IndexUpkeepTests {
  private let store = IndexFixture()

  // MARK: Reopening

  @Test(arguments: [SimulatedDisk.Loss.processEnd, .strict])
  func `an index is complete after a crash, with or without a checkpoint of it`(
    loss: SimulatedDisk.Loss
  ) throws {
    let database = try store.open()
    try store.fill(database, 0..<20)
    for index in store.all { try database.addIndex(index) }
    try store.fill(database, 10..<30)
    try database.writeCheckpoint()
    // These changes are in the log after the checkpoint.
    try store.fill(database, 25..<50)
    try database.remove("doc-2")
    try database.write { try $0.purge("doc-3") }
    let expected = try database.snapshot().ids(by: "by year").collect()
    for isWithoutCheckpoint in [false, true] {
      let fixture = store.reopened(50, loss)
      if isWithoutCheckpoint { try store.forgetCheckpoints(fixture) }
      let again = try store.open(fixture)
      #expect(again.openingReport.damage.isEmpty)
      #expect(try again.snapshot().ids(by: "by year").collect() == expected)
      try store.expectSound(again, "opened again")
      try again.compact()
      try again.close()
      let compacted = CrashFixture(fixture.fileSystem, CrashWriter(seed: 3), life: 60)
      try store.forgetCheckpoints(compacted)
      let rebuilt = try store.open(compacted)
      try store.expectSound(rebuilt, "after compaction, from the log alone")
    }
  }

  @Test func `an unfinished index is dropped on opening, and can be built again`() throws {
    let database = try store.open()
    try store.fill(database, 0..<2500)
    var isCopied = false
    try database.addIndex(store.byYear) { share in
      if share < 1, !isCopied {
        isCopied = true
        // The process ends here, with and without a checkpoint of the current state.
        for isCheckpointed in [false, true] {
          if isCheckpointed { try? database.writeCheckpoint() }
          do {
            let again = try store.open(store.reopened(50))
            #expect(try again.indexes() == [])
            #expect(throws: DatabaseError.self) { try again.snapshot().ids(by: "by year") }
            #expect(try again.check().isSound)
            try store.fill(again, 0..<5)
            try again.addIndex(store.byYear)
            #expect(try again.check().isSound)
            #expect(
              try again.snapshot().count(by: "by year") == 2500 - 500)
          } catch {
            Issue.record(error)
          }
        }
      }
    }
    #expect(isCopied)
    #expect(try database.snapshot().count(by: "by year") == 2000)
  }

  @Test func `a removed index stays removed after reopening`() throws {
    let database = try store.open()
    try store.fill(database, 0..<10)
    for index in store.all { try database.addIndex(index) }
    try database.writeCheckpoint()
    #expect(try database.removeIndex(named: "by year"))
    #expect(try !database.removeIndex(named: "by year"))
    let again = try store.open(store.reopened(50))
    #expect(
      try again.indexes() == [store.byCity, store.byCityAndYear, store.byTag, store.lateByCity])
    #expect(try again.check().isSound)
    // Another index may have its name.
    let other = DocumentIndex("by year", on: "made.year")
    try again.addIndex(other)
    try store.expectAll(again.snapshot(), "another one")
  }

  // MARK: Damage

  @Test func `a check finds missing and extra index entries`() throws {
    let database = try store.open()
    try database.addIndex(store.byYear)
    try store.fill(database, 0..<5)
    #expect(try database.check().isSound)
    let number = try #require(try database.store.view().state.indexes.first?.number)
    let prefix = IndexEntries.prefix(number)
    let key = prefix + IndexedValue(.null).bytes + Array("doc-0".utf8)
    database.tamper { $0.catalog.remove(key.span) }
    #expect(try database.check().problems.contains { $0.message.contains("lacks") })
    database.tamper { $0.catalog.set(key.span, [5 as UInt8].span) }
    #expect(try database.check().isSound)
    let extra = prefix + IndexedValue(77).bytes + Array("doc-0".utf8)
    database.tamper { $0.catalog.set(extra.span, [5 as UInt8].span) }
    #expect(
      try database.check().problems.contains { $0.message.contains("entries, and should have") })
  }

  /// Unique values cannot be checked then.
  @Test
  func
    `a damaged index definition makes the store read-only, and all documents can be read`()
    throws
  {
    let database = try store.open()
    try store.fill(database, 0..<30)
    try database.addIndex(store.byYear)
    try database.addIndex(DocumentIndex("only", on: "only", isUnique: true))
    let key = CatalogKey.index(SharedBytes(utf8: "only"))
    let view = try database.store.view()
    let locator = try #require(try view.locator(in: \.catalog, key))
    let path = try #require(view.state.segments[locator.fileID]).file.path
    try database.close()
    let garbage: [UInt8] = [0xFF]
    for isPageWrong in [false, true] {
      let fixture = store.reopened(50)
      if isPageWrong {
        // The page is sound, but one of its entries is invalid.
        let before = try store.open(fixture)
        before.tamper { $0.catalog.set(key.span, garbage.span) }
        try store.fill(before, 0..<1)
        try before.writeCheckpoint()
        try before.close()
      } else {
        try fixture.fileSystem.corrupt(path, atOffset: Int(locator.offset) + 12, mask: 1)
      }
      let again = try store.open(fixture)
      let damage = try #require(again.openingReport.damage.first)
      #expect(damage.code == .damaged && damage.message.contains("index of documents"))
      let checkpoints = store.checkpoints(fixture)
      #expect(isPageWrong ? checkpoints.contains(damage.path ?? "") : damage.path == path)
      #expect(damage.offset == (isPageWrong ? 0 : Int(locator.offset)))
      let error = #expect(throws: DatabaseError.self) { try store.fill(again, 0..<1) }
      #expect(error?.code == .readOnly)
      try store.expectAll(again.snapshot(), "beside it")
      let unread = #expect(throws: DatabaseError.self) { try again.snapshot().ids(by: "only") }
      #expect(unread?.code == .damaged)
    }
  }

  @Test func `leftover entries of removed indexes are deleted, whatever their numbers`() throws {
    let database = try store.open()
    try store.fill(database, 0..<30)
    try database.addIndex(store.byYear)
    let one: [UInt8] = [1]
    for number in [0, 1 << 40, .max] as [UInt64] {
      for value in [Value.null, 1, "a"] {
        let key = IndexEntries.prefix(number) + IndexedValue(value).bytes + [0x61]
        database.tamper { $0.catalog.set(key.span, one.span) }
      }
    }
    try store.fill(database, 30..<31)
    try database.writeCheckpoint()
    let again = try store.open(store.reopened(50))
    try store.expectSound(again, "opened again")
    var scan = try again.store.view().state.catalog.scan(
      from: .inclusive([0x78]), to: .exclusive([0x79]))
    var numbers: Set<UInt64?> = []
    while let item = try scan.next() { numbers.insert(IndexEntries.number(of: item.key)) }
    #expect(try numbers == [again.store.view().state.indexes.first?.number])
  }

  /// The index entries of such a document are unknown, so the whole index is searched.
  @Test func `replay updates an index even if the checkpoint has invalid document entries`()
    throws
  {
    let database = try store.open()
    for index in store.all { try database.addIndex(index) }
    try store.fill(database, 0..<30)
    let ids = ["doc-1", "doc-2", "doc-3", "doc-5"]
    let sound = try ids.map { try database.entry(of: $0) }
    let garbage: [UInt8] = [0xFF]
    database.tamper { state in
      state.documents.set(Array(ids[0].utf8).span, garbage.span)
      var entry = sound[1]
      entry.locator.fileID = 77
      state.set(entry, for: Array(ids[1].utf8))
      entry = sound[2]
      entry.locator.offset += 1
      state.set(entry, for: Array(ids[2].utf8))
      entry = sound[3]
      entry.locator.size = .max
      state.set(entry, for: Array(ids[3].utf8))
    }
    try database.writeCheckpoint()
    database.tamper { state in
      for (id, entry) in zip(ids, sound) { state.set(entry, for: Array(id.utf8)) }
    }
    try database.write { transaction in
      for id in ids { _ = try transaction.replace(id, with: ["year": 5000]) }
    }
    let again = try store.open(store.reopened(50))
    try store.expectSound(again, "opened again")
    #expect(try again.snapshot().ids(by: "by year", .equal(to: 5000)).collect() == ids)
  }

  /// Damages each page of each checkpoint, and expects complete results; returns the page count.
  private func damageEachPage(_ names: [String]) throws -> Int {
    var pages = 0
    for path in store.checkpoints(store.fixture) {
      for number in 1..<(try store.fixture.fileSystem.status(path).size / 4096) {
        let fixture = store.reopened(70)
        try fixture.fileSystem.corrupt(path, atOffset: 4096 * number + 1000, mask: 4)
        let again = try store.open(fixture)
        if again.openingReport.notes.isEmpty { pages += 1 }
        try store.expectAll(
          again.snapshot(), "page \(number) of \(path)", names, [.all, .equal(to: 1927)])
      }
    }
    return pages
  }

  @Test func `a damaged leaf of an index is rebuilt from the documents`() throws {
    let database = try store.open()
    try database.addIndex(store.byYear)
    try store.fill(database, 0..<400)
    try database.writeCheckpoint()
    try store.fill(database, 390..<410)
    try database.writeCheckpoint()
    try database.close()
    #expect(try damageEachPage(["by year"]) > 3)
  }

  @Test func `an index leaf is rebuilt even if compaction dropped the original revisions`() throws {
    let database = try store.open()
    for index in store.all { try database.addIndex(index) }
    try store.fill(database, 0..<300)
    try database.writeCheckpoint()
    // The new revisions have the same values, so the index entries have no newer version.
    try database.write { transaction in
      for index in 0..<300 {
        _ = try transaction.update("doc-\(index)") { $0["seen"] = true }
      }
    }
    try store.fill(database, 290..<310)
    try database.compact()
    try database.write { try $0.purge("doc-7") }
    try database.close()
    let old = try #require(store.checkpoints(store.fixture).min())
    #expect(store.checkpoints(store.fixture).count > 1, "\(old) would not be read")
    #expect(try damageEachPage(store.all.map(\.name)) > 6)
  }

  /// Damages the record of a document.
  private func damage(_ id: String, in database: Database) throws {
    let view = try database.store.view()
    let locator = try #require(try view.entry(id)).locator
    let path = try #require(view.state.segments[locator.fileID]).file.path
    try store.fixture.fileSystem.corrupt(path, atOffset: Int(locator.offset) + 20, mask: 1)
  }

  @Test func `replacing a damaged document removes its old index entries`() throws {
    let database = try store.open()
    for index in store.all { try database.addIndex(index) }
    try store.fill(database, 0..<30)
    for id in ["doc-3", "doc-8", "doc-10"] { try damage(id, in: database) }
    // A check reports the documents, but none of the consequences.
    let problems = try database.check().problems
    #expect(problems.contains { $0.documentID == "doc-3" })
    #expect(!problems.contains { $0.message.contains("entries, and should have") })
    try database.write { transaction in
      _ = try transaction.replace("doc-3", with: ["year": 5000])
      try transaction.purge("doc-8")
      try transaction.delete("doc-10")
    }
    try store.expectAll(database.snapshot(), "replaced")
    #expect(try !database.check().problems.contains { $0.message.contains("ndex") })
  }

  @Test func `an index is not built over a document that cannot be read`() throws {
    let database = try store.open()
    try store.fill(database, 0..<30)
    try damage("doc-3", in: database)
    let error = #expect(throws: DatabaseError.self) { try database.addIndex(store.byYear) }
    #expect(error?.code == .damaged && error?.documentID == "doc-3")
    #expect(try database.indexes() == [])
    try database.write { try $0.purge("doc-3") }
    try database.addIndex(store.byYear)
    try store.expectAll(database.snapshot(), "without it")
  }

  @Test
  func `an index build reads winning revisions only, no tombstones or losing revisions`()
    throws
  {
    let database = try store.open()
    try store.fill(database, 0..<30)
    let first = try #require(try database.snapshot().document("doc-7"))
    for year in [1, 2] as [Int64] {
      try database.write { _ = try $0.update("doc-7") { $0["year"] = .int(year) } }
    }
    var losing = first
    losing["year"] = 7000
    try database.write { _ = try $0.put(losing, onConflict: .branch) }
    try database.remove("doc-3")
    try database.addIndex(store.byYear)
    try store.expectSound(database, "after a conflict")
    #expect(try database.snapshot().ids(by: "by year", .equal(to: 2)).collect() == ["doc-7"])
    try database.removeIndex(named: "by year")
    // The newest records of both documents, none of which has entries in an index.
    for id in ["doc-3", "doc-7"] { try damage(id, in: database) }
    try database.addIndex(store.byYear)
    try store.expectAll(database.snapshot(), "beside damaged documents")
    #expect(try database.snapshot().ids(by: "by year", .equal(to: 2)).collect() == ["doc-7"])
  }

  // MARK: Copies and readers

  @Test func `a backup has the same indexes with its own index numbers`() throws {
    let database = try store.open()
    try store.fill(database, 0..<40)
    for index in store.all { try database.addIndex(index) }
    try database.backup(to: "/copy.divan")
    var configuration = store.fixture.configuration()
    configuration.maintenance = .manual
    let copy = try Database(at: "/copy.divan", configuration: configuration)
    #expect(try copy.indexes() == database.indexes())
    try store.expectSound(copy, "copied")
    for number in 0..<12 {
      try copy.addIndex(DocumentIndex("index \(number)", on: "year"))
      try copy.removeIndex(named: "index \(number - 3)")
      let numbers = try copy.store.view().state.indexes.map(\.number)
      #expect(Set(numbers).count == numbers.count)
    }
    try store.expectSound(copy, "with others")
  }

  @Test func `a read-only database has the indexes, and accepts adding existing ones`() throws {
    let database = try store.open()
    try store.fill(database, 0..<40)
    for index in store.all { try database.addIndex(index) }
    try store.fill(database, 35..<45)
    let reader = try store.open { $0.isReadOnly = true }
    try store.fill(database, 45..<50)
    try store.expectAll(reader.snapshot(), "read only")
    for index in store.all { try reader.addIndex(index) }
    let error = #expect(throws: DatabaseError.self) {
      try reader.addIndex(DocumentIndex("other", on: "year"))
    }
    #expect(error?.code == .readOnly)
  }

  // MARK: Random changes

  @Test(arguments: 0..<4)
  func `indexes match a search after random changes, checkpoints, compactions and crashes`(
    round: Int
  ) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededGenerator(seed: seed)
    var fixture = store.fixture
    var database = try store.open()
    var life = 10
    for step in 0..<60 {
      switch Int.random(in: 0..<12, using: &random) {
      case 0: try database.addIndex(store.all[Int.random(in: 0..<5, using: &random)])
      case 1: try database.removeIndex(named: store.all[Int.random(in: 0..<5, using: &random)].name)
      case 2: try database.writeCheckpoint()
      case 3: try database.compact()
      case 4:
        life += 10
        let disk = fixture.fileSystem.restarted(.processEnd)
        fixture = CrashFixture(disk, CrashWriter(seed: UInt64(life)), life: life)
        if Bool.random(using: &random) { try store.forgetCheckpoints(fixture) }
        database = try store.open(fixture)
      default:
        try database.write { transaction in
          for _ in 0..<Int.random(in: 1...8, using: &random) {
            let id = "doc-\(Int.random(in: 0..<40, using: &random))"
            switch Int.random(in: 0..<6, using: &random) {
            case 0: try transaction.delete(id)
            case 1: try transaction.purge(id)
            default:
              let number = Int.random(in: 0..<1000, using: &random)
              _ = try transaction.replace(id, with: store.properties(number))
            }
          }
        }
      }
      if step % 10 == 9 {
        try store.expectSound(database, "step \(step) of seed \(seed)")
      }
    }
  }
}
