import DivanLog
import DivanTesting

import Divan

/// Indexes: they must match the documents, whatever happens to the store.
extension RuleCase {
  static let secondaryIndexes: [RuleCase] = [
    RuleCase(name: "an index follows every kind of change") {
      let session = CrashSession(.fresh())
      try session.addIndexes()
      try session.enrich(closing: false)
      try session.expectIndexed()
      let changes: [[StoreChange]] = [
        [.put("rich-1", size: 5), .branch("rich-1", size: 6), .branch("rich-3", size: 9)],
        [.savepoint([.put("rich-4", size: 1), .put("new", size: 2)], throwing: true)],
        [.savepoint([.put("rich-4", size: 1), .put("new", size: 2)], throwing: false)],
        [.insert("rich-5", size: 4, isOnto: false, isDeleted: true), .delete("new")],
        [.purge("rich-2"), .purgeLeaf("rich-3", 0), .deleteAll("rich-1")],
        [.expire("rich-4", seconds: 10), .put("new", size: 2)],
        [.put("new", size: 200), .put("rich-5", size: 2)],
        [.put("new", size: 3), .put("rich-5", size: 20)],
      ]
      for steps in changes {
        try session.fixture.commit(session.database(), steps)
        try session.expectIndexed()
      }
      try session.fixture.purgeExpired(session.database(), afterSeconds: 20)
      try session.expectIndexed()
    },
    RuleCase(name: "an index is updated by the log after the checkpoint") {
      for loss in [SimulatedDisk.Loss.processEnd, .strict] {
        let session = CrashSession(.fresh())
        try session.enrich(closing: false)
        try session.addIndexes()
        try session.fixture.checkpoint(session.database())
        try session.commit(.put("rich-1", size: 5), .put("new", size: 7), .delete("rich-2"))
        try session.commit(.purge("rich-4"), .branch("rich-3", size: 9), .put("new", size: 8))
        for _ in 0..<2 {
          try session.lose(loss)
          try session.expectIndexed()
          try session.commit(.put("rich-5", size: 3))
        }
      }
    },
    RuleCase(name: "an index that a checkpoint contains half-built is rebuilt") {
      let fixture = CrashFixture.fresh()
      let session = CrashSession(fixture)
      try session.fill(0..<1, size: 10)
      let database = try session.database()
      try database.write { transaction in
        for number in 0..<1500 {
          _ = try transaction.replace("few-\(number)", with: ["year": .int(Int64(number % 50))])
        }
      }
      let index = DocumentIndex("by year", on: "year")
      let half = Recorder<CrashFixture>()
      try database.addIndex(index) { share in
        guard share < 1 else { return }
        try? database.writeCheckpoint()
        half.append(fixture.restarted(.strict))
        // So that the checkpoint written here remains the last one.
        fixture.fileSystem.fail(.create, atCall: 1, with: .inputOutput)
      }
      fixture.fileSystem.stopFailing()
      let early = try require(half.all.first, "state in which half of it is built").openQuiet()
      try expect(early.indexes().isEmpty, "an index is there that was not finished")
      let late = try fixture.restarted(.strict, life: 600).openQuiet()
      try expect(late.indexes() == [index], "the index is gone")
      try expect(late.snapshot().count(by: "by year") == 1500, "the index lacks documents")
      for opened in [early, late] {
        if let problem = try opened.check().problems.first { throw problem }
      }
    },
    RuleCase(
      name: "rule 5: indexes survive compaction, and removed indexes do not return"
    ) {
      for isCompacted in [false, true] {
        let session = CrashSession(.fresh())
        try session.addIndexes()
        try session.fill(0..<6, size: 1500)
        try session.fixture.checkpoint(session.database())
        try session.fixture.removeIndex(session.database(), "each number")
        for round in 0..<3 {
          // The first segment keeps its place: most of it is live.
          try session.fill(10..<16, size: 1500 + round)
          try session.fixture.checkpoint(session.database())
          try session.fixture.merge(session.database())
        }
        if isCompacted { try session.fixture.compact(session.database()) }
        try session.expectIndexed()
        try session.close()
        // Without a checkpoint, everything is read from the log.
        try session.fixture.vanish { $0.hasSuffix(".checkpoint") }
        try session.expectIndexed()
      }
    },
    RuleCase(name: "a damaged leaf of an index is rebuilt after compaction") {
      let fixture = CrashFixture.fresh()
      let session = CrashSession(fixture)
      let index = DocumentIndex("by year", on: "year")
      let database = try session.database()
      try database.addIndex(index)
      for round in 0..<2 {
        try database.write { transaction in
          for number in 0..<400 {
            _ = try transaction.replace(
              "few-\(number)",
              with: ["year": .int(Int64(number % 50)), "round": .int(Int64(round))])
          }
        }
        // The second round has nothing about the index, and nothing is left of the first.
        if round == 0 { try database.writeCheckpoint() } else { try database.compact() }
      }
      try database.close()
      let names = fixture.fileSystem.names(in: CrashFixture.path).filter {
        $0.hasSuffix(".checkpoint")
      }
      let path = fixture.path(of: try require(names.min(), "checkpoint"))
      var rebuilt = 0
      for page in 1..<(try fixture.fileSystem.status(path).size / 4096) {
        let left = fixture.restarted(.everything)
        try left.fileSystem.corrupt(path, atOffset: 4096 * page + 1000, mask: 4)
        let opened = try left.openQuiet()
        try expect(opened.snapshot().count(by: "by year") == 400, "page \(page): some are lost")
        if opened.openingReport.notes.isEmpty { rebuilt += 1 }
      }
      try expect(rebuilt > 2, "\(rebuilt) leaves were rebuilt")
    },
    RuleCase(name: "a unique index has each value once, at the end of every transaction") {
      let database = try CrashFixture.fresh().openQuiet()
      try database.addIndex(DocumentIndex("by name", on: "name", isUnique: true))
      func put(_ names: [String: Value]) throws {
        try database.write { transaction in
          for (id, name) in names.sorted(by: { $0.key < $1.key }) {
            _ = try transaction.replace(id, with: ["name": name])
          }
        }
      }
      try expectCode(.notUnique) { try put(["a": 1, "b": 1.0]) }
      try put(["a": 1, "b": 2])
      try put(["a": 2, "b": 1])
      try expectCode(.notUnique) { try put(["c": 1]) }
      try put(["c": .null, "d": .null])
      try expect(database.snapshot().count(by: "by name") == 4, "not all are there")
    },
    RuleCase(
      name: "an index of several properties distinguishes documents that differ in any of them"
    ) {
      let database = try CrashFixture.fresh().openQuiet()
      let index = DocumentIndex("by list and date", on: "list", "due", isUnique: true)
      try database.addIndex(index)
      let long = String(repeating: "x", count: 300)
      func put(_ list: Value, _ dues: [String: Value]) throws {
        try database.write { transaction in
          for (id, due) in dues.sorted(by: { $0.key < $1.key }) {
            let properties: Value.Object = due.isNull ? ["list": list] : ["list": list, "due": due]
            _ = try transaction.replace(id, with: properties)
          }
        }
      }
      func expectIDs(_ range: IndexRange, _ expected: [String]) throws {
        let found = try database.snapshot().ids(by: index.name, range)
        let ids = try found.collect()
        try expect(ids == expected, "\(range): \(ids) and not \(expected)")
        let count = try database.snapshot().count(by: index.name, range)
        try expect(count == expected.count, "\(range): \(count) and not \(expected.count)")
      }
      try put("home", ["a": 3, "b": 1, "c": .null, "d": .null, "e": .string(long + "1")])
      try put("work", ["f": 3, "g": 1, "h": .string(long + "2")])
      try put("play", ["i": .string(long + "2")])
      try expectCode(.notUnique) { try put("home", ["j": 3]) }
      try expectIDs(.equal(to: "home"), ["c", "d", "b", "a", "e"])
      try expectIDs(.equal(to: "home").then(1..<3), ["b"])
      try expectIDs(.equal(to: "work").then(.equal(to: 3)), ["f"])
      try expectIDs(.equal(to: "home").then(.greater(than: .string(long + "1"))), [])
      try expectIDs(.equal(to: "work").then(.greater(than: .string(long + "1"))), ["h"])
    },
    RuleCase(name: "a document is in a partial index while it satisfies the conditions") {
      let database = try CrashFixture.fresh().openQuiet()
      try database.addIndex(
        DocumentIndex("open", on: "due", where: [.isPresent("due"), .equal("done", false)]))
      let steps: [(Value.Object, Bool)] = [
        (["due": 3, "done": false], true), (["due": 3, "done": true], false),
        (["due": 4, "done": false], true), (["due": .null, "done": false], false),
        (["due": 5, "done": false], true), (["due": 5], false),
      ]
      for (properties, isThere) in steps {
        try database.write { _ = try $0.replace("a", with: properties) }
        let count = try database.snapshot().count(by: "open")
        try expect(count == (isThere ? 1 : 0), "\(properties): there are \(count)")
        if let problem = try database.check().problems.first { throw problem }
      }
    },
    RuleCase(name: "an index includes what is written during its build") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet { $0.readMode = .buffered }
      try database.write { transaction in
        for number in 0..<40 { _ = try transaction.replace("\(number)", with: ["year": 1900]) }
      }
      let reads = Recorder<String>()
      fixture.fileSystem.observeCalls { call in
        guard call.verb == .read, call.path.hasSuffix(".segment") else { return }
        reads.append(call.path)
        if reads.all.count == 30 {
          _ = try? database.write { transaction in
            _ = try transaction.replace("1", with: ["year": 2000])
            // The index has this one unchanged; its creation must not wait for that.
            _ = try transaction.replace("2", with: ["year": 1900, "seen": true])
          }
        }
      }
      try database.addIndex(DocumentIndex("by year", on: "year"))
      fixture.fileSystem.observeCalls(nil)
      try expect(reads.all.count >= 40, "the documents were not read")
      try expect(database.snapshot().count(by: "by year", .equal(to: 1900)) == 39, "another value")
      if let problem = try database.check().problems.first { throw problem }
    },
    RuleCase(name: "an index build with several workers and small batches misses no document") {
      let database = try CrashFixture.fresh().openQuiet {
        $0.indexBuildWorkerCount = 2
        $0.indexBuildBatchSize = 100
      }
      try database.write { transaction in
        for number in 0..<600 {
          _ = try transaction.replace("\(number)", with: ["year": .int(Int64(number))])
        }
      }
      try database.addIndex(DocumentIndex("by year", on: "year"))
      try expect(database.snapshot().count(by: "by year") == 600, "not all of them")
      if let problem = try database.check().problems.first { throw problem }
    },
    RuleCase(name: "a unique index refuses duplicates during its build") {
      let database = try CrashFixture.fresh().openQuiet()
      try database.write { transaction in
        for number in 0..<1500 {
          _ = try transaction.replace("few-\(number)", with: ["name": .int(Int64(number))])
        }
      }
      let codes = Recorder<DatabaseError.Code?>()
      try database.addIndex(DocumentIndex("by name", on: "name", isUnique: true)) { share in
        guard share < 1 else { return }
        do {
          // Both this document and the one with its value are behind the position that was reached.
          try database.write { _ = try $0.replace("a", with: ["name": 0]) }
          codes.append(nil)
        } catch { codes.append((error as? DatabaseError)?.code) }
      }
      try expect(codes.all == [.notUnique], "\(codes.all)")
    },
  ]
}

extension CrashSession {
  /// Adds the indexes that the oracle knows.
  fileprivate func addIndexes() throws {
    for name in ["by number", "each number", "number, text", "short by number"] {
      try fixture.addIndex(database(), name)
    }
  }

  /// Throws unless the store is the newest version and sound, and its indexes match its documents.
  fileprivate func expectIndexed() throws {
    try fixture.expectNewest(database())
    if let problem = try database().check().problems.first { throw problem }
  }
}
