import DivanLog
import DivanTesting

import Divan

/// Full-text indexes: they must have the words of the documents, whatever happens to the store.
extension RuleCase {
  static let texts: [RuleCase] = [
    RuleCase(name: "a full-text index follows every kind of change") {
      let session = CrashSession(.fresh())
      try session.fixture.addIndex(session.database(), "words")
      try session.enrich(closing: false)
      try session.expectWords()
      let changes: [[StoreChange]] = [
        [.put("rich-1", size: 50), .branch("rich-1", size: 60), .branch("rich-3", size: 90)],
        [.savepoint([.put("rich-4", size: 41), .put("new", size: 32)], throwing: true)],
        [.savepoint([.put("rich-4", size: 41), .put("new", size: 32)], throwing: false)],
        [.insert("rich-5", size: 44, isOnto: false, isDeleted: true), .delete("new")],
        [.purge("rich-2"), .purgeLeaf("rich-3", 0), .deleteAll("rich-1")],
        [.expire("rich-4", seconds: 10), .put("new", size: 45)],
        [.put("new", size: 200), .put("rich-5", size: 46)],
        [.put("new", size: 46), .put("rich-5", size: 3)],
      ]
      for steps in changes {
        try session.fixture.commit(session.database(), steps)
        try session.expectWords()
      }
      try session.fixture.purgeExpired(session.database(), afterSeconds: 20)
      try session.expectWords()
    },
    RuleCase(name: "a full-text index is updated by the log after the checkpoint") {
      for loss in [SimulatedDisk.Loss.processEnd, .strict] {
        let session = CrashSession(.fresh())
        try session.enrich(closing: false)
        try session.fixture.addIndex(session.database(), "words")
        try session.fixture.checkpoint(session.database())
        try session.commit(.put("rich-1", size: 50), .put("new", size: 70), .delete("rich-2"))
        try session.commit(.purge("rich-4"), .branch("rich-3", size: 90), .put("new", size: 80))
        for _ in 0..<2 {
          try session.lose(loss)
          try session.expectWords()
          try session.commit(.put("rich-5", size: 31))
        }
        try session.close()
        try session.fixture.vanish { $0.hasSuffix(".checkpoint") }
        try session.expectWords()
      }
    },
    RuleCase(name: "a full-text index has what is written during its build") {
      for round in 0..<4 {
        let purges = round >= 2
        let database = try CrashFixture.fresh().open {
          $0.maintenance = .manual
          $0.indexBuildWorkerCount = 1 + round % 2
        }
        try database.write { transaction in
          for number in 0..<1500 {
            _ = try transaction.replace(
              "n\(number)", with: ["text": .string("oak \(number % 7) ash\(number % 50)")])
          }
        }
        var isChanged = false
        try database.addIndex(DocumentIndex("words", fullText: "text")) { _ in
          guard !isChanged else { return }
          isChanged = true
          try database.write { transaction in
            _ = try transaction.replace("n3", with: ["text": "elm"])
            _ = try transaction.replace("n1499", with: ["text": "oak fir"])
            _ = try transaction.delete("n5")
            if purges { try transaction.purge("n7") }
            _ = try transaction.replace("new", with: ["text": "oak ash3"])
          }
        }
        try expect(isChanged, "the build has reported nothing")
        if let problem = try database.check().problems.first { throw problem }
        try expectWords(["elm": ["n3"], "fir": ["n1499"]], database)
      }
    },
    RuleCase(name: "a term of many documents is found in each, after changes in any order") {
      let database = try CrashFixture.fresh().open { $0.maintenance = .manual }
      try database.addIndex(DocumentIndex("words", fullText: "text"))
      var random = SeededGenerator(seed: 5)
      for number in Array(0..<400).shuffled(using: &random) {
        try database.write {
          _ = try $0.replace("n\(number)", with: ["text": .string("oak ash\(number % 3)")])
        }
      }
      for number in Array(0..<400).shuffled(using: &random) where number % 2 == 0 {
        try database.write { _ = try $0.replace("n\(number)", with: ["text": "ash0 elm ash0"]) }
      }
      for number in Array(0..<400).shuffled(using: &random) where number % 5 == 0 {
        try database.write { _ = try $0.delete("n\(number)") }
      }
      if let problem = try database.check().problems.first { throw problem }
      let rest = (0..<400).filter { $0 % 5 != 0 }
      func ids(_ numbers: [Int]) -> [String] { numbers.map { "n\($0)" } }
      try expectWords(
        [
          "oak": ids(rest.filter { $0 % 2 != 0 }), "elm": ids(rest.filter { $0 % 2 == 0 }),
          "ash0": ids(rest.filter { $0 % 2 == 0 || $0 % 3 == 0 }),
        ], database)
    },
    RuleCase(name: "a phrase is found at any place of a text") {
      let database = try CrashFixture.fresh().open { $0.maintenance = .manual }
      try database.addIndex(DocumentIndex("words", fullText: "title", "text"))
      // The words are also at other places, which may share a bit with those that are looked for.
      let fillers = (0..<200).map { ["oak", "fir", "ash"][$0 * $0 % 7 % 3] }
      try database.write { transaction in
        for number in 0..<200 {
          var words = fillers
          words.insert(contentsOf: ["elm", "larch", "elm", "hazel", "cedar"], at: number)
          let text = Value.string(words.joined(separator: " "))
          _ = try transaction.replace(
            "n\(number)", with: number % 2 == 0 ? ["text": text] : ["title": text])
        }
        _ = try transaction.replace("far", with: ["title": "elm", "text": "oak larch oak elm"])
      }
      let all = (0..<200).map { "n\($0)" }
      try expectWords(
        [
          "\"elm larch\"": all, "\"larch elm\"": all, "\"elm larch elm\"": all,
          "\"hazel cedar\"": all, "\"larch larch\"": [], "\"cedar hazel\"": [],
        ], database)
      let near = ["cedar", fillers[70], fillers[71]].joined(separator: " ")
      let query = Query<Document>().filter(.matches(.fullText("\"\(near)\""), index: "words"))
      try expect(try database.snapshot().find(query).map(\.id).contains("n70"), near)
    },
    RuleCase(name: "words that begin alike are told apart in a build") {
      let database = try CrashFixture.fresh().open { $0.maintenance = .manual }
      try database.write { transaction in
        for number in 0..<3000 {
          let text = "internal\(number * 7919) internal\(number * 7919)x"
          _ = try transaction.replace("n\(number)", with: ["text": .string(text)])
        }
      }
      try database.addIndex(DocumentIndex("words", fullText: "text"))
      if let problem = try database.check().problems.first { throw problem }
    },
    RuleCase(name: "words of a document that could not be read are neither found nor counted") {
      let bench = try DamageBench.filled(300)
      // What is mapped in memory does not see the damage.
      let database = try bench.fixture.openQuiet { $0.readMode = .buffered }
      try database.addIndex(DocumentIndex("words", fullText: "text"))
      func expectCount(_ expected: Int) throws {
        let query = Query<Document>().filter(.matches(.fullText("300"), index: "words"))
        let count = try database.snapshot().count(query)
        try expect(count == expected, "\(count) of \(expected) are counted")
      }
      try expectCount(300)
      // Its record has another ID then, so what the index has of it is not known any more.
      try bench.damage("document 150.")
      try database.write { _ = try $0.replace("document 150.", with: ["text": "elm"]) }
      try expectCount(299)
      try expectWords(["elm": ["document 150."]], database)
      // The check also reports the record.
      for problem in try database.check().problems where problem.message.contains("full-text") {
        throw problem
      }
    },
    RuleCase(name: "relevance counts words, their lengths and how rare they are") {
      let database = try CrashFixture.fresh().open { $0.maintenance = .manual }
      var options = FullTextOptions()
      options.weights = ["title": 5]
      try database.addIndex(
        DocumentIndex("words", fullText: "title", "text", options: options))
      try database.write { transaction in
        _ = try transaction.replace("body", with: ["text": "elm ash ash ash ash ash"])
        _ = try transaction.replace("short", with: ["text": "elm"])
        _ = try transaction.replace("title", with: ["title": "elm", "text": "ash ash ash ash"])
        _ = try transaction.replace("twice", with: ["text": "elm elm"])
        for number in 0..<20 {
          _ = try transaction.replace("n\(number)", with: ["text": "ash ash oak"])
        }
      }
      func ranked(_ text: String) throws -> [String] {
        let query = Query<Document>().filter(.matches(.fullText(text), index: "words"))
        return try database.snapshot().find(query.sort(.relevance)).map(\.id)
      }
      func expectOrder(_ text: String, _ expected: [String]) throws {
        let found = try Array(ranked(text).prefix(expected.count))
        try expect(found == expected, "\(text) finds \(found) and not \(expected)")
      }
      try expectOrder("elm", ["title", "twice", "short", "body"])
      // The rare word decides.
      try expectOrder("elm OR oak", ["title"])
      try database.write { _ = try $0.delete("title") }
      try expectOrder("elm", ["twice", "short", "body"])
    },
  ]

  /// Throws unless each word finds exactly some documents.
  static func expectWords(
    _ words: [String: [String]], _ database: Database
  ) throws {
    for (word, ids) in words {
      let query = Query<Document>().filter(.matches(.fullText(word), index: "words"))
      let found = try database.snapshot().find(query).map(\.id)
      try expect(found == ids.sorted(), "\(word) is in \(found) and not in \(ids)")
    }
  }
}

extension CrashSession {
  /// Throws unless the store is the newest version and sound, and its index has all words.
  fileprivate func expectWords() throws {
    try fixture.expectNewest(database())
    if let problem = try database().check().problems.first { throw problem }
  }
}
