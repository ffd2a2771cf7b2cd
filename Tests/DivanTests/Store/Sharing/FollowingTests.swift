import DivanLog
import DivanTesting
import Foundation
import ProofKit
import Synchronization
import TestSupport
import Testing

@testable import Divan

/// Tests of a database that is open for reading only and follows the process that writes.
@Suite(.timeLimit(.minutes(30)))
struct FollowingTests {
  private let disk = SimulatedDisk(seed: 1)
  private let path = "/s.divan"

  private func open(
    isReadOnly: Bool = true, on fileSystem: (any FileSystem)? = nil,
    _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> Database {
    var configuration = disk.configuration()
    configuration.isReadOnly = isReadOnly
    configuration.fileSystem = fileSystem ?? disk.files
    change(&configuration)
    return try Database(at: path, configuration: configuration)
  }

  private func put(_ ids: String..., to database: Database) throws {
    try database.write { transaction in
      for id in ids { try transaction.replace(id, with: ["n": 1]) }
    }
  }

  private func ids(_ database: Database) throws -> [String] {
    try database.snapshot().ids().collect()
  }

  @Test func `a refresh shows the newest commit, and snapshots stay as they are`() throws {
    let writer = try open(isReadOnly: false)
    try put("a", to: writer)
    let reader = try open()
    let before = try reader.snapshot()
    #expect(try !reader.refresh())
    try put("b", to: writer)
    try writer.write { try _ = $0.purge("a") }
    #expect(try ids(reader) == ["a"])
    #expect(try reader.refresh())
    #expect(try ids(reader) == ["b"])
    #expect(try before.ids().collect() == ["a"] && before.document("b") == nil)
    #expect(try !reader.refresh())
    #expect(try !writer.refresh())
    // The reader's numbers are those of the writer, whatever it has reserved.
    #expect(try reader.snapshot().sequence == writer.snapshot().sequence)
    try reader.close()
    let error = #expect(throws: DatabaseError.self) { try reader.refresh() }
    #expect(error?.code == .closed)
  }

  @Test func `a store without a commit is followed from the first one on`() throws {
    let writer = try open(isReadOnly: false)
    let reader = try open()
    #expect(try !reader.refresh() && ids(reader).isEmpty)
    try put("a", to: writer)
    #expect(try reader.refresh() && ids(reader) == ["a"])
  }

  @Test func `observers see a refresh as if the changes were made here`() async throws {
    let writer = try open(isReadOnly: false)
    try put("a", "b", to: writer)
    let reader = try open()
    var results = reader.liveResults(of: Query<Document>().sorted(by: "n")).makeAsyncIterator()
    #expect(try await results.next()?.map(\.id) == ["a", "b"])
    var feed = reader.changeFeed(since: 2).makeAsyncIterator()
    try put("c", to: writer)
    try await writer.write { try _ = $0.purge("b") }
    try await reader.refresh()
    #expect(try await results.next()?.map(\.id) == ["a", "c"])
    #expect(try await feed.next()?.id == "c")
    // A position that another process has kept is not refused because this one is behind.
    try put("d", to: writer)
    var later = try reader.changeFeed(since: writer.snapshot().feedPosition).makeAsyncIterator()
    try put("e", to: writer)
    try await reader.refresh()
    #expect(try await later.next()?.id == "e")
  }

  @Test func `an index that the writer adds or removes is followed`() throws {
    let writer = try open(isReadOnly: false)
    for number in 0..<20 {
      try writer.write { try _ = $0.replace("\(number)", with: ["n": .int(Int64(number % 3))]) }
    }
    let reader = try open()
    try writer.addIndex(DocumentIndex("n", on: "n"))
    try put("x", to: writer)
    try reader.refresh()
    #expect(try reader.indexes() == writer.indexes())
    let query = Query<Document>().filter { $0["n"] == 1 }
    #expect(try reader.snapshot().find(query) == writer.snapshot().find(query))
    #expect(try reader.snapshot().find(query).count == 8)
    try writer.removeIndex(named: "n")
    try reader.refresh()
    #expect(try reader.indexes().isEmpty)
    #expect(try reader.snapshot().find(query).count == 8)
  }

  @Test func `a refresh reads what is new, and nothing else`() throws {
    let counting = CountingFileSystem(disk.files)
    let writer = try open(isReadOnly: false) {
      $0.segmentSizeGoal = 1 << 20
      $0.maintenance = .manual
    }
    try writer.write { transaction in
      for number in 0..<2000 {
        try transaction.replace(
          "\(number)", with: ["text": .string(String(repeating: "x", count: 100))])
      }
    }
    let reader = try open(on: counting) { $0.readMode = .buffered }
    counting.reset()
    #expect(try !reader.refresh())
    // HEAD and the marks in FLUSHED.
    let idle = counting.readCount
    for _ in 0..<5 {
      try put("a", to: writer)
      counting.reset()
      #expect(try reader.refresh())
      // One frame, read once to find its end and once to replay it, and the zeros after it.
      let limit = idle + 4096 + Segment.preallocationLimit
      #expect(counting.readCount < limit, "\(counting.readCount) bytes, \(idle) when idle")
    }
    #expect(idle < 16_384, "\(idle) bytes")
    // A new segment costs its header, not the old ones.
    try writer.close()
    let next = try open(isReadOnly: false) { $0.maintenance = .manual }
    try put("b", to: next)
    counting.reset()
    #expect(try reader.refresh())
    #expect(counting.readCount < idle + 8192, "\(counting.readCount) bytes, \(idle) when idle")
  }

  @Test func `a follower uses new checkpoints, and lets replaced files go`() throws {
    let writer = try open(isReadOnly: false)
    let reader = try open { $0.readMode = .buffered }
    let before = disk.files.openFileCount
    for round in 0..<300 {
      try writer.write { try _ = $0.replace("\(round % 20)", with: ["n": .int(Int64(round))]) }
      if round % 10 == 0 { try reader.refresh() }
      if round % 100 == 50 { try writer.compact() }
    }
    try writer.compact()
    try reader.refresh()
    #expect(try reader.snapshot().document("19")?["n"] == 299)
    #expect(disk.files.openFileCount < before + 20, "\(before), \(disk.files.openFileCount)")
    #expect(reader.openingReport.damage.isEmpty)
  }

  @Test func `an older copy of the store is not shown`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/s.divan"
    let copy = directory.path + "/copy.divan"
    var configuration = Configuration()
    let writer = try Database(at: path)
    try put("a", to: writer)
    try writer.suspend()
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    try writer.resume()
    try put("b", to: writer)
    try writer.close()
    configuration.isReadOnly = true
    let reader = try Database(at: path, configuration: configuration)
    try FileManager.default.removeItem(atPath: path)
    let gone = #expect(throws: DatabaseError.self) { try reader.refresh() }
    #expect(gone?.code == .notFound)
    try FileManager.default.moveItem(atPath: copy, toPath: path)
    let older = #expect(throws: DatabaseError.self) { try reader.refresh() }
    #expect(older?.code == .damaged)
    #expect(try ids(reader) == ["a", "b"])
  }

  @Test func `a follower that refreshes by itself sees commits soon, until it is closed`()
    async throws
  {
    let writer = try open(isReadOnly: false)
    try put("a", to: writer)
    let reader = try open { $0.followsWriter = .automatically(every: .milliseconds(2)) }
    var results = reader.liveResults(of: Query<Document>()).makeAsyncIterator()
    #expect(try await results.next()?.count == 1)
    for number in 2...5 {
      try put("\(number)", to: writer)
      #expect(try await results.next()?.count == number)
    }
    try await reader.suspend()
    try put("x", to: writer)
    try await reader.resume()
    #expect(try await results.next()?.count == 6)
    try put("y", to: writer)
    #expect(try await results.next()?.count == 7)
    try await reader.close()
  }

  @Test func `a follower that is released ends its timer`() throws {
    let writer = try open(isReadOnly: false)
    try put("a", to: writer)
    var reader: Database? = try open {
      $0.followsWriter = .automatically(every: .milliseconds(1))
    }
    let store = reader?.store
    reader = nil
    #expect(store?.isClosed == true)
  }
}

/// A file system that counts the bytes that are read from files.
private final class CountingFileSystem: FileSystem {
  private let base: SimulatedFileSystem
  private let count = Atomic(0)

  init(_ base: SimulatedFileSystem) { self.base = base }

  var readCount: Int { count.load(ordering: .relaxed) }
  func reset() { count.store(0, ordering: .relaxed) }

  private final class File: OpenFile {
    let base: any OpenFile
    let owner: CountingFileSystem

    init(_ base: any OpenFile, _ owner: CountingFileSystem) {
      self.base = base
      self.owner = owner
    }

    var path: String { base.path }
    func read(
      into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(SystemError) -> Int {
      let read = unsafe try base.read(into: buffer, at: offset)
      owner.count.wrappingAdd(read, ordering: .relaxed)
      return read
    }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
      unsafe try base.write(bytes, at: offset)
    }
    func size() throws(SystemError) -> Int { try base.size() }
    func dataOffset(from offset: Int) throws(SystemError) -> Int? {
      try base.dataOffset(from: offset)
    }
    func flush() throws(SystemError) { try base.flush() }
    func map(_ count: Int) throws(SystemError) -> SharedBytes { try base.map(count) }
    func close() throws(SystemError) { try base.close() }
  }

  func open(_ path: String, _ access: FileAccess) throws(SystemError) -> any OpenFile {
    File(try base.open(path, access), self)
  }
  func rename(_ path: String, to newPath: String) throws(SystemError) {
    try base.rename(path, to: newPath)
  }
  func link(_ path: String, to newPath: String) throws(SystemError) {
    try base.link(path, to: newPath)
  }
  func remove(_ path: String) throws(SystemError) { try base.remove(path) }
  func makeDirectory(_ path: String) throws(SystemError) { try base.makeDirectory(path) }
  func removeDirectory(_ path: String) throws(SystemError) { try base.removeDirectory(path) }
  func list(_ path: String) throws(SystemError) -> [String] { try base.list(path) }
  func status(_ path: String) throws(SystemError) -> FileStatus { try base.status(path) }
  func flushDirectory(_ path: String) throws(SystemError) { try base.flushDirectory(path) }
  func canonicalPath(_ path: String) throws(SystemError) -> String { try base.canonicalPath(path) }
  func lock(_ path: String, note: String) throws(SystemError) -> FileLockOutcome {
    try base.lock(path, note: note)
  }
}
