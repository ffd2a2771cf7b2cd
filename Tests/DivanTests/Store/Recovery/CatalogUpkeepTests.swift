import DivanLog
import DivanTesting
import TestSupport
import Testing

@testable import Divan

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Tests of local documents and expiries across compactions, checkpoints, backups and openings.
///
/// Openings happen with and without a checkpoint.
struct CatalogUpkeepTests {
  /// The expected contents.
  private struct Plain {
    var local: [String: Value.Object] = [:]
    /// The documents, each with the number of its last change and its expiry.
    var documents: [String: (number: Int64, expiry: UInt64?)] = [:]

    mutating func purge(through time: UInt64) -> Int {
      let due = documents.filter { $0.value.expiry.map { $0 <= time } ?? false }
      for id in due.keys { documents[id] = nil }
      return due.count
    }

    func compare(with snapshot: Snapshot, _ comment: Comment) throws {
      #expect(try snapshot.localDocumentIDs() == local.keys.sorted(), comment)
      for (id, properties) in local {
        #expect(try snapshot.localDocument(id) == properties, comment)
      }
      #expect(try snapshot.count == documents.count, comment)
      for (id, document) in documents {
        #expect(try snapshot.document(id)?["n"] == .int(document.number), comment)
        let expiry = try snapshot.expiry(of: id).map {
          UInt64(($0.timeIntervalSince1970 * 1000).rounded())
        }
        #expect(expiry == document.expiry, comment)
      }
      let changes = snapshot.changes()
      let feed = try changes.collect()
      #expect(feed.map(\.id).sorted() == documents.keys.sorted(), comment)
    }
  }

  /// Returns a first revision that no document has.
  private func newRevision(_ random: inout SeededGenerator) throws -> RevisionID {
    let digest = String(UInt64.random(in: 0..<1 << 40, using: &random), radix: 16)
    return try #require(
      RevisionID(generation: 1, digest: String(repeating: "0", count: 32 - digest.count) + digest))
  }

  @Test(arguments: 1...8)
  func `local documents and expiries survive compaction, checkpoints, backups and reopening`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let disk = MemoryFileSystem()
    let clock = SimulatedClock(stepMilliseconds: 0)
    var configuration = Configuration.small(on: disk)
    configuration.maintenance = .manual
    configuration.now = clock.read
    var database = try Database(at: "/s", configuration: configuration)
    var plain = Plain()
    var backups = 0
    for step in 0..<200 {
      let comment: Comment = "seed \(seed), step \(step)"
      let id = "d\(Int.random(in: 0..<8, using: &random))"
      let n = Int64(step)
      switch Int.random(in: 0..<16, using: &random) {
      case 0, 1:
        let text = String(repeating: "x", count: Int.random(in: 0..<600, using: &random))
        plain.local[id] = ["n": .int(n), "text": .string(text)]
        try database.write { try $0.putLocal(id, ["n": .int(n), "text": .string(text)]) }
      case 2:
        #expect(try database.write { try $0.removeLocal(id) } == (plain.local[id] != nil), comment)
        plain.local[id] = nil
      case 3, 4, 5:
        plain.documents[id] = (n, plain.documents[id]?.expiry)
        try database.write { _ = try $0.replace(id, with: ["n": .int(n)]) }
      case 6:
        // A losing branch: its generation is 1, and that of the other branch is at least 2.
        guard plain.documents[id] != nil else { continue }
        plain.documents[id]?.number = n
        let loser = try newRevision(&random)
        try database.write { transaction in
          try transaction.replace(id, with: ["n": .int(n)])
          try transaction.insert(Document(id: id, ["n": -1]), history: [loser])
        }
      case 7, 8, 9:
        guard plain.documents[id] != nil else {
          #expect(throws: DatabaseError.self, comment) {
            try database.write { try $0.setExpiry(Date(), of: id) }
          }
          continue
        }
        let time =
          Int.random(in: 0..<4, using: &random) == 0
          ? nil : clock.nextReading + UInt64.random(in: 0..<5000, using: &random)
        plain.documents[id]?.expiry = time
        let sequence = try database.snapshot().sequence
        try database.write {
          try $0.setExpiry(time.map { Date(timeIntervalSince1970: Double($0) / 1000) }, of: id)
        }
        #expect(try database.snapshot().sequence == sequence, comment)
      case 10: clock.advance(by: .milliseconds(Int.random(in: 0..<2000, using: &random)))
      case 11:
        let count = plain.purge(through: clock.nextReading)
        #expect(try database.purgeExpiredDocuments() == count, comment)
      case 12: try database.writeCheckpoint()
      case 13: try database.compact()
      case 14 where backups < 3:
        backups += 1
        try database.backup(to: "/b\(backups)")
        var reading = configuration
        reading.isReadOnly = true
        let copy = try Database(at: "/b\(backups)", configuration: reading)
        try plain.compare(with: copy.snapshot(), comment)
        #expect(try copy.check().problems.map(\.message) == [], comment)
      default:
        try database.close()
        if Bool.random(using: &random) {
          for name in try disk.list("/s") where name.hasSuffix(".checkpoint") {
            try disk.remove("/s/\(name)")
          }
        }
        database = try Database(at: "/s", configuration: configuration)
      }
      try plain.compare(with: database.snapshot(), comment)
    }
    #expect(try database.check().problems.map(\.message) == [], "seed \(seed)")
  }

  @Test func `local documents and expiries are consistent after a crash at any call`() throws {
    func open(_ disk: SimulatedDisk) throws -> Database {
      try Database(at: "/s.divan", configuration: disk.configuration())
    }
    let trials = try SimulatedDisk(seed: 3).forEachCrash { disk in
      let database = try open(disk)
      try database.write { transaction in
        try transaction.put(Document(id: "a"))
        try transaction.setExpiry(Date(timeIntervalSince1970: 10), of: "a")
        try transaction.putLocal("state", ["n": 1])
      }
      try database.write { transaction in
        try transaction.setExpiry(Date(timeIntervalSince1970: 20), of: "a")
        try transaction.putLocal("state", ["n": 2])
      }
      try database.purgeExpiredDocuments()
      try database.write { _ = try $0.removeLocal("state") }
      try database.close()
    } check: { disk in
      let database = try open(disk)
      let snapshot = try database.snapshot()
      let n = try snapshot.localDocument("state")?["n"]?.intValue
      let expiry = try snapshot.expiry(of: "a")?.timeIntervalSince1970
      let states: [(Int?, Double?)] = [(nil, nil), (1, 10), (2, 20), (2, nil)]
      #expect(states.contains { $0.0 == n && $0.1 == expiry }, "\(n as Any), \(expiry as Any)")
      #expect(try snapshot.count == (expiry == nil ? 0 : 1))
      #expect(try database.check().isSound)
    }
    #expect(trials.runCount > 20)
  }
}
