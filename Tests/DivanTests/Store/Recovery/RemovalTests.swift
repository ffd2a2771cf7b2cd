import DivanLog
import DivanTesting
import Foundation
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of purges, and of removals of local documents and names, across compactions.
///
/// A removal record stays while an older segment may have the records that it removes.
struct RemovalTests {
  private let disk = SimulatedFileSystem()

  private func open(
    _ path: String = "/s.divan", _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> Database {
    var configuration = Configuration.small(on: disk)
    configuration.maintenance = .manual
    configuration.compactedSegmentSizeLimit = 20 << 10
    configuration.readMode = .buffered
    change(&configuration)
    return try Database(at: path, configuration: configuration)
  }

  /// Fills a segment and begins the next one.
  private func fill(_ database: Database, _ name: String, count: Int = 16) throws {
    let text = Value.string(String(repeating: "x", count: 1000))
    try database.write { transaction in
      for number in 0..<count { try transaction.replace("\(name)-\(number)", with: ["t": text]) }
    }
  }

  /// Returns the kinds of removals in the log.
  private func removals(_ database: Database) throws -> Set<Record.Kind> {
    var kinds: Set<Record.Kind> = []
    for segment in try database.store.view().state.segments.segments {
      var scan = RecordScan(segment)
      while true {
        let item = try scan.next()
        if case .end = item { break }
        if case .record(let entry) = item, try RemovalKey(removedBy: LogRecord(entry.record)) != nil
        {
          kinds.insert(entry.record.kind)
        }
      }
    }
    return kinds
  }

  /// Stores the records that `removeRecords` removes.
  private func putRecords(_ database: Database) throws {
    try database.write { transaction in
      for number in 0..<60 { try transaction.put(Document(id: "gone-\(number)")) }
      try transaction.putLocal("gone", ["n": 1])
    }
    try database.saveSnapshot(named: "gone")
  }

  private func removeRecords(_ database: Database) throws {
    try database.write { transaction in
      for number in 0..<60 { try transaction.purge("gone-\(number)") }
      try transaction.removeLocal("gone")
    }
    try database.deleteSnapshot(named: "gone")
  }

  /// Returns a store whose second segment removes records of the first one.
  ///
  /// The first segment also has many current records; the second one has few others.
  private func makeStore() throws -> Database {
    let database = try open()
    try putRecords(database)
    try fill(database, "first", count: 40)
    try removeRecords(database)
    try fill(database, "second")
    for number in 0..<13 {
      try database.write { _ = try $0.replace("second-\(number)", with: [:]) }
    }
    #expect(try removals(database) == [.purge, .localDocument, .snapshotName])
    return database
  }

  private func expectRemoved(_ database: Database) throws {
    try RebuiltIndex(of: database).expectSame("")
    #expect(try database.snapshot().revision(of: "gone-7") == nil)
    #expect(try database.snapshot().localDocument("gone") == nil)
    #expect(try database.namedSnapshots().isEmpty)
    #expect(try database.check().problems.map(\.description) == [])
  }

  @Test func `removed records do not come back if their segment is compacted after the removal`()
    throws
  {
    var database = try makeStore()
    try database.writeCheckpoint()
    try database.compactWhatPays()
    #expect(try removals(database) == [.purge, .localDocument, .snapshotName])
    try expectRemoved(database)
    // After the first segment is compacted, the second one has nothing left to remove.
    try database.compact()
    try expectRemoved(database)
    try database.write { _ = try $0.replace("second-14", with: [:]) }
    try database.compact()
    #expect(try removals(database).isEmpty)
    try expectRemoved(database)
    try database.close()
    for name in disk.names(in: "/s.divan") where name.hasSuffix(".checkpoint") {
      try disk.vanish("/s.divan/\(name)")
    }
    database = try open()
    try expectRemoved(database)
  }

  @Test func `removals stay in effect while an input file of a compaction cannot be deleted`()
    throws
  {
    let database = try open { $0.compactedSegmentSizeLimit = 200 << 10 }
    try putRecords(database)
    for name in ["first", "second"] { try fill(database, name) }
    try database.write { _ = try $0.replace("first-1", with: [:]) }
    disk.observeCalls { [disk] call in
      if call.verb == .remove, call.path.hasSuffix(".segment") {
        disk.fail(.remove, with: .noAccess, completion: .nothing)
      }
    }
    let error = #expect(throws: DatabaseError.self) { try database.compact() }
    #expect(error?.code == .accessDenied)
    #expect(disk.names(in: "/s.divan").contains("0000000001.segment"))
    try removeRecords(database)
    try fill(database, "third")
    for number in 0..<13 {
      try database.write { _ = try $0.replace("third-\(number)", with: [:]) }
    }
    #expect(throws: DatabaseError.self) { try database.writeCheckpoint() }
    let size = try database.statistics.segments.reduce(0) { $0 + $1.size }
    #expect(throws: DatabaseError.self) { try database.compactWhatPays() }
    #expect(try database.statistics.segments.reduce(0) { $0 + $1.size } < size)
    #expect(try removals(database) == [.purge, .localDocument, .snapshotName])
    disk.observeCalls(nil)
    disk.stopFailing()
    try expectRemoved(database)
    try database.compact()
    try expectRemoved(database)
  }

  /// The compaction failed each time, and nothing else was compacted any more.
  @Test(arguments: [false, true])
  func `compaction keeps removal records while older segments cannot be read`(
    isDamaged: Bool
  ) throws {
    let database = try makeStore()
    try database.writeCheckpoint()
    let first = "0000000001.segment"
    if isDamaged {
      try disk.corrupt("/s.divan/\(first)", atOffset: SegmentHeader.size + 200, mask: 1)
    } else {
      disk.observeCalls { [disk] call in
        if call.verb == .read, call.path.hasSuffix(first) {
          disk.fail(.read, with: .inputOutput)
        }
      }
    }
    let size = try database.statistics.segments.reduce(0) { $0 + $1.size }
    try database.compactWhatPays()
    disk.observeCalls(nil)
    disk.stopFailing()
    #expect(try database.statistics.segments.reduce(0) { $0 + $1.size } < size)
    #expect(try removals(database) == [.purge, .localDocument, .snapshotName])
    if !isDamaged { try expectRemoved(database) }
  }

  @Test func `compaction does not read older segments for a few removal records`() throws {
    let database = try open()
    try database.write { _ = try $0.put(Document(id: "gone-7")) }
    try fill(database, "first", count: 40)
    try database.write { _ = try $0.purge("gone-7") }
    try fill(database, "second")
    for number in 0..<13 {
      try database.write { _ = try $0.replace("second-\(number)", with: [:]) }
    }
    try database.writeCheckpoint()
    let reads = Recorder<String>()
    disk.observeCalls { call in
      if call.verb == .read, call.path.hasSuffix("/0000000001.segment") { reads.append(call.path) }
    }
    let count = try database.statistics.segments.reduce(0) { $0 + $1.size }
    try database.compactWhatPays()
    disk.observeCalls(nil)
    #expect(try database.statistics.segments.reduce(0) { $0 + $1.size } < count)
    #expect(reads.all.isEmpty)
    #expect(try removals(database) == [.purge])
    try expectRemoved(database)
  }

  @Test func `compaction refuses an unreadable record of any kind and reports its segment`() throws
  {
    for kind in [Record.Kind.purge, .localDocument, .snapshotName, .attachment, .commitPoint] {
      let database = try open("/kind-\(kind.rawValue).divan")
      try database.write { transaction in
        try transaction.put(Document(id: "a", ["n": 1]))
        _ = try transaction.appendRecord(kind, id: nil) { $0.append([0xFF] as [UInt8]) }
      }
      try fill(database, "more")
      try database.write { _ = try $0.replace("a", with: ["n": 2]) }
      let error = #expect(throws: DatabaseError.self) { try database.compact() }
      #expect(error?.code == .damaged, "\(kind)")
      #expect(error?.path?.hasSuffix(".segment") == true, "\(kind)")
      #expect(try database.snapshot().document("a")?["n"] == 2)
      // After that, the segment is skipped.
      try database.compact()
    }
  }

  /// Regression test: compaction dropped the record without an expiry before the one with it.
  @Test func `a removed expiry does not come back with an older segment`() throws {
    let database = try open()
    try database.write { transaction in
      try transaction.put(Document(id: "a"))
      try transaction.setExpiry(Date(timeIntervalSince1970: 5e9), of: "a")
    }
    try fill(database, "first")
    try database.write { try $0.setExpiry(nil, of: "a") }
    try fill(database, "second")
    try database.write { transaction in
      try transaction.replace("a", with: ["n": 2])
      for number in 0..<14 { try transaction.replace("second-\(number)", with: [:]) }
    }
    try database.writeCheckpoint()
    try database.compactWhatPays()
    try RebuiltIndex(of: database).expectSame("")
    #expect(try database.check().problems.map(\.description) == [])
    #expect(try database.snapshot().expiry(of: "a") == nil)
  }
}
