import DivanLog
import DivanTesting
import Foundation
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of the zeros that are written after the end of the log. FILE_FORMAT.md §3
struct PreallocationTests {
  private let disk = SimulatedDisk(seed: 1)
  private let path = "/s.divan"
  private let limit = Segment.preallocationLimit

  private func open(_ change: (inout Configuration) -> Void = { _ in }) throws -> Database {
    var configuration = disk.configuration()
    configuration.maintenance = .manual
    configuration.segmentSizeGoal = 64 << 20
    change(&configuration)
    return try Database(at: path, configuration: configuration)
  }

  private func put(
    _ id: Int, to database: Database, textSize: Int = 100, _ durability: Durability = .full
  ) throws {
    try database.write(durability: durability) {
      try $0.replace("\(id)", with: ["text": .string(String(repeating: "x", count: textSize))])
    }
  }

  /// The bytes of the segment that is appended to, and the end of its last transaction.
  private func log(_ database: Database) throws -> (path: String, bytes: [UInt8], end: Int) {
    try database.store.withLockedState { writer in
      let found = writer.activeSegment
      let active = try #require(found)
      let path = active.file.path
      return (path, try disk.files.bytes(of: path), Int(active.end.offset))
    }
  }

  @Test func `durable transactions replace zeros and leave the file's size as it is`() throws {
    let database = try open()
    var sizes: Set<Int> = []
    for id in 0..<500 {
      try put(id, to: database)
      let (_, bytes, end) = try log(database)
      if id >= 100 { sizes.insert(bytes.count) }
      #expect(bytes.count - end <= min(limit, end))
      #expect(bytes[end...].allSatisfy { $0 == 0 })
    }
    // Nearly every transaction would give the file another size.
    #expect(sizes.count < 10, "\(sizes.sorted())")
  }

  @Test func `transactions that are not flushed one by one write no zeros`() throws {
    let database = try open()
    for id in 0..<100 { try put(id, to: database, .none) }
    try database.flush()
    // So much at once that the last flush is far behind.
    try put(100, to: database, textSize: 2 * limit)
    let (_, bytes, end) = try log(database)
    #expect(bytes.count == end)
  }

  @Test func `a few transactions of a session write no zeros`() throws {
    let database = try open()
    for id in 0..<20 { try put(id, to: database) }
    let (_, bytes, end) = try log(database)
    #expect(bytes.count == end)
  }

  @Test func `a disk without space for zeros takes transactions`() throws {
    let database = try open()
    for id in 0..<100 { try put(id, to: database) }
    disk.files.capacityBytes = disk.files.usedBytes + 4000
    var count = 100
    do {
      while true {
        try put(count, to: database)
        count += 1
      }
    } catch let error as DatabaseError {
      #expect(error.code == .diskFull)
    }
    #expect(count > 110)
    disk.files.capacityBytes = nil
    try put(count, to: database)
    #expect(try database.snapshot().count == count + 1)
  }

  @Test(arguments: [0, 1, 777])
  func `only bytes that are not zeros are a part of a transaction after the end`(
    _ tornSize: Int
  ) throws {
    let database = try open()
    for id in 0..<100 { try put(id, to: database) }
    let (file, bytes, end) = try log(database)
    #expect(bytes.count > end + tornSize)
    try disk.files.overwrite(
      file, atOffset: end, with: [UInt8](repeating: 7, count: tornSize))
    disk.files.endProcess()
    let reopened = try open()
    #expect(reopened.openingReport.discardedBytes == tornSize)
    #expect(reopened.openingReport.damage.isEmpty)
    #expect(try reopened.snapshot().count == 100)
    try put(100, to: reopened)
    withExtendedLifetime(database) {}
  }

  @Test func `zeros in the place of transactions that were flushed are damage`() throws {
    let database = try open()
    for id in 0..<100 { try put(id, to: database) }
    let (file, _, end) = try log(database)
    try database.close()
    try disk.files.overwrite(
      file, atOffset: end - 500, with: [UInt8](repeating: 0, count: 500))
    let error = #expect(throws: DatabaseError.self) { try open() }
    #expect(error?.code == .damaged)
  }

  @Test func `a write that fails among zeros has not happened, and writing continues`() throws {
    let database = try open()
    for id in 0..<100 { try put(id, to: database) }
    let (_, bytes, end) = try log(database)
    // The transaction would fit, so the size of the file shows nothing.
    #expect(bytes.count > end + 1000)
    disk.files.fail(.write, with: .inputOutput)
    let error = #expect(throws: DatabaseError.self) { try put(100, to: database) }
    #expect(error?.code == .inputOutput)
    try put(101, to: database)
    disk.files.endProcess()
    let reopened = try open()
    #expect(try reopened.snapshot().document("100") == nil)
    #expect(try reopened.snapshot().document("101") != nil)
    withExtendedLifetime(database) {}
  }

  /// A file system may copy the bytes that it maps.
  @Test(arguments: [ReadMode.mapped, .buffered])
  func `a reader of another process sees the transactions that replace zeros`(
    _ mode: ReadMode
  ) throws {
    let writer = try open()
    // More than a reader needs to map the segment again.
    try put(-1, to: writer, textSize: 3 << 20)
    for id in 0..<50 { try put(id, to: writer) }
    let reader = try open {
      $0.isReadOnly = true
      $0.readMode = mode
    }
    #expect(try !reader.refresh())
    for id in 50..<600 {
      try put(id, to: writer)
      let isRead = id % 7 == 0
      guard isRead else { continue }
      #expect(try reader.refresh())
      #expect(try reader.snapshot().count == id + 2)
      #expect(try reader.snapshot().document("\(id)")?["text"]?.stringValue?.count == 100)
      #expect(try !reader.refresh())
    }
    let late = try open { $0.isReadOnly = true }
    #expect(try late.snapshot().count == 601)
    #expect(late.openingReport.discardedBytes == 0)
  }
}
