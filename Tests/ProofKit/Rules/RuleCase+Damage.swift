import DivanLog
import DivanTesting

import Divan

/// Promise 5: if something may be missing, the store does not claim that it is absent.
extension RuleCase {
  static let damage: [RuleCase] = [
    RuleCase(name: "damage: a flipped byte in a transaction of 300 documents loses one of them") {
      let fixture = try DamageBench.filled(300)
      try fixture.damage("150 of 300")
      let snapshot = try fixture.openForReading().snapshot()
      for number in 0..<300 where number != 150 {
        let found = try snapshot.document("document \(number).")?["text"]
        try expect(found == .string("\(number) of 300"), "document \(number): \(found as Any)")
      }
      try expectUnknown("the damaged one") { try snapshot.document("document 150.") }
      try expectUnknown("whether it exists") { try snapshot.exists("document 150.") }
      try expectUnknown("one that was not stored") { try snapshot.document("none") }
      try expectUnknown("several") { try snapshot.documents(["document 1.", "none"]) }
      try expectUnknown("a query by ID") {
        try snapshot.count(
          Query<Document>().filter { $0.id == "document 1." || $0.id == "none" })
      }
      try expectUnknown("the count") { try snapshot.count }
      try expectUnknown("the count of a query") { try snapshot.count(Query<Document>()) }
      try expectUnknown("a local document") { try snapshot.localDocument("none") }
      try expectUnknown("a view") {
        try snapshot.rowCount(
          of: MapReduceView("all", version: "1") { document, emit in emit(.string(document.id)) })
      }
    },
    RuleCase(name: "damage: a scan that may lack documents is refused") {
      let fixture = try DamageBench.filled(40)
      try fixture.damage("20 of 40")
      let snapshot = try fixture.openForReading().snapshot()
      try expectUnknown("IDs") {
        let cursor = snapshot.ids(.prefix("document 1"))
        return try cursor.collect()
      }
      try expectUnknown("documents") {
        let cursor = snapshot.documents(descending: true)
        return try cursor.collect()
      }
      try expectUnknown("changes") {
        let cursor = snapshot.changes(since: 3)
        return try cursor.collect()
      }
      try expectUnknown("an index") { try snapshot.count(by: "by number") }
      try expectUnknown("IDs of an index") {
        let cursor = try snapshot.ids(by: "by number")
        return try cursor.collect()
      }
    },
    RuleCase(name: "damage: a lost record may be a change of any document stored before it") {
      let fixture = try DamageBench.filled(6)
      do {
        let database = try fixture.fixture.openQuiet()
        try database.write { transaction in
          for number in 1..<4 {
            _ = try transaction.replace(
              "document \(number).", with: ["text": .string("changed \(number)")])
          }
        }
        try database.close()
      }
      try fixture.damage("changed 2")
      let snapshot = try fixture.openForReading().snapshot()
      let found = try snapshot.document("document 3.")?["text"]
      try expect(found == "changed 3", "document 3: \(found as Any)")
      for number in [0, 1, 2, 5] {
        try expectUnknown("document \(number)") { try snapshot.document("document \(number).") }
      }
    },
    RuleCase(name: "damage: a lost new document may be one that was deleted before") {
      let fixture = try DamageBench.filled(3)
      do {
        let database = try fixture.fixture.openQuiet()
        try database.write { _ = try $0.delete("document 1.") }
        try database.write { _ = try $0.replace("document 1.", with: ["text": "revived"]) }
        try database.close()
      }
      try fixture.damage("revived")
      let snapshot = try fixture.openForReading().snapshot()
      try expect(try snapshot.document("document 2.") != nil, "document 2 is not there")
      try expectUnknown("the deleted one") { try snapshot.document("document 1.") }
    },
    RuleCase(name: "damage: a trailer that is damaged too proves nothing") {
      let fixture = try DamageBench.filled(6)
      do {
        let database = try fixture.fixture.openQuiet()
        try database.write { transaction in
          for number in 1..<4 {
            _ = try transaction.replace(
              "document \(number).", with: ["text": .string("changed \(number)")])
          }
        }
        try database.close()
      }
      try fixture.damage("changed 2")
      // The log ends with the number of documents, which is six: this makes the lost record look
      // like a new one.
      let (name, _) = try fixture.endOfLog()
      let path = fixture.fixture.path(of: name)
      let bytes = try fixture.fixture.fileSystem.contents(of: path, limit: 1 << 20).array
      let place = try require(bytes.lastIndex { $0 != 0 }, "log")
      try expect(bytes[place] == 6, "\(bytes[place]) documents")
      try fixture.fixture.fileSystem.corrupt(path, atOffset: place, mask: 6 ^ 7)
      let snapshot = try fixture.openForReading().snapshot()
      for number in 0..<6 {
        try expectUnknown("document \(number)") { try snapshot.document("document \(number).") }
      }
    },
    RuleCase(name: "damage: a damaged store is neither written to nor copied") {
      let fixture = try DamageBench.filled(9)
      try fixture.damage("5 of 9")
      try expectUnknown("opening for writing") {
        try fixture.fixture.openQuiet { $0.damage = .reject }
      }
      for policy in [DamagePolicy.reject, .salvage] {
        let database = try fixture.fixture.openQuiet {
          $0.isReadOnly = true
          $0.damage = policy
        }
        try expectUnknown("a backup") { try database.backup(to: "/copy.divan") }
        let isThere = try fixture.fixture.fileSystem.exists("/copy.divan")
        try expect(!isThere, "a copy was made")
      }
      let left = try fixture.fixture.openQuiet { $0.damage = .salvage }
      let count = try left.snapshot().count
      try expect(count == 8, "\(count) documents are left")
      try expectRefused(left)
    },
    RuleCase(name: "damage: if the end of the log is missing, no document is certain") {
      // Within the last transaction; and at its beginning, so that the rest is whole.
      for isWithin in [true, false] {
        let fixture = try DamageBench.filled(5)
        do {
          let database = try fixture.fixture.openQuiet()
          try database.write { _ = try $0.replace("last", with: ["n": 1]) }
          try database.close()
        }
        let (name, end) = try fixture.endOfLog()
        try fixture.fixture.fileSystem.truncate(
          fixture.fixture.path(of: name), toSize: isWithin ? end - 8 : SegmentHeader.size)
        let snapshot = try fixture.openForReading().snapshot()
        for number in 0..<5 {
          try expectUnknown("document \(number)") { try snapshot.document("document \(number).") }
        }
        try expectUnknown("the last one") { try snapshot.document("last") }
      }
    },
  ]
}

/// A store with a damaged log that no checkpoint covers.
struct DamageBench {
  let fixture: CrashFixture

  /// Creates a closed store with an index, and one transaction of `count` documents.
  static func filled(_ count: Int) throws -> DamageBench {
    let fixture = CrashFixture.fresh()
    let database = try fixture.openQuiet()
    try database.addIndex(DocumentIndex("by number", path: ["n"]))
    try database.write { transaction in
      for number in 0..<count {
        _ = try transaction.replace(
          "document \(number).",
          with: ["text": .string("\(number) of \(count)"), "n": .int(Int64(number))])
      }
    }
    try database.close()
    return DamageBench(fixture: fixture)
  }

  private var segments: [String] {
    get throws {
      try fixture.fileSystem.list(CrashFixture.path).filter { $0.hasSuffix(".segment") }.sorted()
    }
  }

  /// Flips a bit of a text in the log.
  func damage(_ text: String) throws {
    for name in try segments {
      let path = fixture.path(of: name)
      let bytes = try fixture.fileSystem.contents(of: path, limit: 1 << 20).array
      let wanted = Array(text.utf8)
      guard let place = bytes.indices.first(where: { bytes[$0...].starts(with: wanted) }) else {
        continue
      }
      return try fixture.fileSystem.corrupt(path, atOffset: place, mask: 1)
    }
    throw CrashOracle.Mismatch("\(text) is not in the log")
  }

  /// Returns the last segment, and the offset at which its last transaction ends.
  func endOfLog() throws -> (name: String, end: Int) {
    let name = try require(try segments.last, "segment")
    return (name, try fixture.endOfLog(in: name))
  }

  func openForReading() throws -> Database {
    try fixture.openQuiet {
      $0.isReadOnly = true
      $0.damage = .reject
    }
  }
}

/// Throws unless damage is reported, with the file.
private func expectUnknown<R>(_ what: String, _ body: () throws -> R) throws {
  do {
    let answer = try body()
    throw CrashOracle.Mismatch("\(what) is claimed to be \(answer)")
  } catch let error as DatabaseError {
    try expect(error.code == .damaged && error.path != nil, "\(what): \(error)")
  }
}
