import DivanLog
import DivanTesting
import Foundation
import ProofKit
import Synchronization
import Testing

@testable import Divan

/// Tests of the rows of views that are retained in memory and in files.
struct ViewFileTests {
  private let disk = SimulatedDisk()
  private static let path = "/films.divan"

  /// Opens the store with a configuration that saves rows however few there are.
  private func open(
    on disk: SimulatedDisk? = nil, _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> Database {
    var configuration = (disk ?? self.disk).configuration()
    configuration.viewSavingMinimum = 0
    change(&configuration)
    return try Database(at: Self.path, configuration: configuration)
  }

  private func files(_ path: String = path) throws -> [String] {
    let names = try disk.configuration().fileSystem?.list(path) ?? []
    return names.filter { $0.hasSuffix(".view") }
  }

  /// Returns the store's files with their contents, for `restore(_:)`.
  private func copyOfFiles() throws -> [(path: String, bytes: [UInt8])] {
    try disk.filePaths.map { ($0, try disk.contents(of: $0)) }
  }

  /// Replaces all files except those of views with the given ones.
  private func restore(_ files: [(path: String, bytes: [UInt8])]) throws {
    for path in disk.filePaths where !path.hasSuffix(".view") { try disk.vanish(path) }
    for file in files { try disk.addFile(file.path, contents: file.bytes) }
  }

  private final class Counter: Sendable {
    private let number = Atomic(0)

    func add() { number.wrappingAdd(1, ordering: .relaxed) }

    /// Returns the number of additions since the last call.
    func take() -> Int { number.exchange(0, ordering: .relaxed) }
  }

  private let mapped = Counter()

  private func byYear(_ version: String = "1", type: String? = nil) -> MapReduceView {
    MapReduceView("by year", version: version, documentType: type) { [mapped] film, emit in
      mapped.add()
      emit(film["year"], .string(film.id))
    }
  }

  private func makeFilms(_ database: Database) throws {
    try database.write { transaction in
      for number in 0..<12 {
        _ = try transaction.replace(
          "\(number)", with: ["year": .int(Int64(1920 + number)), "type": "film"])
      }
    }
  }

  /// Creates a closed store with twelve films and a view's file with their rows.
  private func prepare() throws {
    let database = try open()
    try makeFilms(database)
    #expect(try database.rows(of: byYear()).count == 12 && mapped.take() == 12)
    try database.close()
    #expect(try files() == ["\(FileName.view(named: "by year"))"])
  }

  // MARK: Reading

  @Test func `saved rows are not mapped again after opening`() throws {
    try prepare()
    let database = try open()
    let rows = try database.rows(of: byYear())
    #expect(rows.map(\.key) == (0..<12).map { .int(1920 + $0) } && mapped.take() == 0)
    #expect(rows.map(\.value) == (0..<12).map { .string("\($0)") })
    try database.write { _ = try $0.replace("3", with: ["year": 1999]) }
    #expect(try database.rows(of: byYear()).last?.value == "3" && mapped.take() == 1)
  }

  @Test func `saved rows are updated for changed, deleted and purged documents`() throws {
    try prepare()
    var database = try open()
    try database.write { transaction in
      try transaction.purge("0")
      try transaction.delete("1")
      _ = try transaction.replace("2", with: ["year": 1888])
      try transaction.purge("4")
    }
    try database.write { _ = try $0.replace("4", with: ["year": 1777]) }
    try database.close()
    database = try open()
    let rows = try database.rows(of: byYear())
    #expect(rows.compactMap(\.sourceID) == ["4", "2", "3", "5", "6", "7", "8", "9", "10", "11"])
    #expect(mapped.take() == 2)
  }

  @Test func `keys and values of every type survive a round trip through the file`() throws {
    let values: [Value] = [
      .null, true, 1, 1.5, .double(2), .int(.min), .unsigned(.max), "", "caf\u{E9}", "cafe\u{301}",
      [1, ["a": .null]], ["b": [], "a": 1],
    ]
    let view = MapReduceView("values", version: "1") { document, emit in
      for value in values { emit(value, ["of": value]) }
    }
    var database = try open()
    try makeFilms(database)
    func rows() throws -> [ViewRow] { Array(try database.rows(of: view)) }
    let before = try rows()
    try database.close()
    #expect(try files().count == 1)
    database = try open()
    #expect(try rows() == before && before.count == 12 * values.count)
    #expect(try database.rows(of: view, .key(2)).allSatisfy { $0.key.doubleValue == 2 })
  }

  @Test func `rows of another version or document type are rebuilt and replace the file`()
    throws
  {
    try prepare()
    var database = try open()
    #expect(try database.rows(of: byYear("2")).count == 12 && mapped.take() == 12)
    try database.close()
    database = try open()
    #expect(try database.rows(of: byYear("2")).count == 12 && mapped.take() == 0)
    #expect(try database.rows(of: byYear("2", type: "film")).count == 12 && mapped.take() == 12)
    #expect(try database.rows(of: byYear("2", type: "song")).isEmpty && mapped.take() == 0)
    try database.close()
    #expect(try files().count == 1)
  }

  @Test func `removing a view deletes its file`() throws {
    try prepare()
    let database = try open()
    #expect(database.removeView(named: "by year"))
    #expect(try files().isEmpty && !database.removeView(named: "by year"))
    #expect(try database.rows(of: byYear()).count == 12 && mapped.take() == 12)
  }

  @Test func `a read-only database uses a view's file and never writes it`() throws {
    try prepare()
    var database = try open()
    try database.write { _ = try $0.replace("new", with: ["year": 2000]) }
    try database.close()
    let before = try disk.contents(of: "\(Self.path)/\(files()[0])")
    database = try open { $0.isReadOnly = true }
    #expect(try database.rows(of: byYear()).count == 13 && mapped.take() == 1)
    #expect(database.removeView(named: "by year"))
    try database.close()
    #expect(try disk.contents(of: "\(Self.path)/\(files()[0])") == before)
  }

  @Test func `backups contain no view files`() throws {
    try prepare()
    var database = try open()
    try database.backup(to: "/copy.divan")
    try database.close()
    try Database.restore(
      from: "/copy.divan", to: "/restored.divan", configuration: disk.configuration())
    for path in ["/copy.divan", "/restored.divan"] {
      #expect(try files(path).isEmpty)
      database = try Database(at: path, configuration: disk.configuration())
      #expect(try database.rows(of: byYear()).count == 12 && mapped.take() == 12)
      try database.close()
    }
  }

  @Test func `compaction and checking keep view files`() throws {
    try prepare()
    var database = try open()
    for round in 0..<3 {
      try makeFilms(database)
      try database.writeCheckpoint()
      try database.compact()
      #expect(try files().count == 1, "round \(round)")
    }
    #expect(try database.check().problems.isEmpty)
    try database.close()
    database = try open()
    #expect(database.openingReport.notes.isEmpty && database.openingReport.damage.isEmpty)
    #expect(try database.rows(of: byYear()).count == 12)
  }

  // MARK: Rows of another log

  /// Creates a closed store with twelve films that has lost its last commit.
  ///
  /// The view's file includes the lost commit.
  private func prepareLoss() throws {
    var database = try open { $0.maintenance = .manual }
    try makeFilms(database)
    try database.close()
    let earlier = try copyOfFiles()
    database = try open { $0.maintenance = .manual }
    try database.write { _ = try $0.replace("3", with: ["year": 1800]) }
    #expect(try database.rows(of: byYear()).first?.key == 1800 && mapped.take() == 12)
    try database.close()
    #expect(try files().count == 1)
    try restore(earlier)
  }

  /// Commits more transactions than were lost, none of which changes an existing film.
  private func commitMore(_ database: Database) throws {
    for number in 0..<4 {
      try database.write { _ = try $0.replace("new \(number)", with: ["year": 2000]) }
    }
  }

  @Test func `rows of lost commits are deleted before new commits reuse their numbers`() throws {
    try prepareLoss()
    for round in 0..<2 {
      let database = try open { $0.maintenance = .manual }
      #expect(try files().isEmpty && database.openingReport.notes.isEmpty, "round \(round)")
      try commitMore(database)
      try database.compact()
      try database.close()
    }
    let database = try open()
    let merged = try database.snapshot().view.state.segments.segments.filter {
      $0.header.compaction != nil
    }
    #expect(merged.contains { $0.header.numbers.contains(2) })
    #expect(try database.rows(of: byYear()).first?.key == 1920 && mapped.take() == 16)
  }

  @Test func `a read-only database ignores and keeps a view file of another log`() throws {
    try prepareLoss()
    let name = "\(Self.path)/\(try files()[0])"
    let bytes = try disk.contents(of: name)
    var database = try open { $0.maintenance = .manual }
    try commitMore(database)
    try database.close()
    try disk.addFile(name, contents: bytes)
    database = try open { $0.isReadOnly = true }
    #expect(try database.rows(of: byYear()).first?.key == 1920 && mapped.take() == 16)
    try database.close()
    #expect(try disk.contents(of: name) == bytes)
    database = try open()
    #expect(try files().isEmpty)
  }

  @Test func `an unreadable view file does not prevent opening`() throws {
    try prepare()
    let name = "\(Self.path)/\(try files()[0])"
    let bytes = try disk.contents(of: name)
    // The header belongs to no store, or the file ends within it.
    for end in [0, 100, ViewFileHeader.size, bytes.count - 1] {
      try disk.vanish(name)
      try disk.addFile(name, contents: Array(bytes.prefix(end)))
      let database = try open()
      #expect(try files().isEmpty && database.openingReport.notes.isEmpty, "\(end) bytes")
      try database.close()
      try disk.addFile(name, contents: bytes)
    }
    // The file has no rows of this log, and stays because it cannot be removed.
    try disk.vanish(name)
    try disk.addFile(name, contents: [])
    disk.fail(.remove, with: .inputOutput, completion: .nothing, isLasting: true)
    let database = try open()
    disk.stopFailing()
    #expect(database.openingReport.notes.count == 1)
    #expect(try files().count == 1)
    #expect(try database.rows(of: byYear()).count == 12 && mapped.take() == 12)
  }

  @Test func `rows of commits that recovery appended again stay valid`()
    throws
  {
    let database = try open()
    try makeFilms(database)
    #expect(try database.rows(of: byYear()).count == 12 && mapped.take() == 12)
    #expect(try files().count == 1)
    // After the first round, the segment that contained the commits ends before them, and the next
    // one contains them.
    var left = disk
    for round in 0..<2 {
      left = left.restarted(.strict)
      let again = try open(on: left)
      if round == 0 { #expect(again.openingReport.securedCommits == 1) }
      #expect(try again.rows(of: byYear()).count == 12 && mapped.take() == 0, "round \(round)")
    }
  }

  @Test func `rows stay valid after their segments are compacted`() throws {
    try prepare()
    var database = try open()
    for year in 1950..<1953 {
      try database.write { _ = try $0.replace("3", with: ["year": .int(Int64(year))]) }
    }
    try database.compact()
    try database.close()
    database = try open()
    let first = try database.snapshot().view.state.segments.segments.first {
      $0.header.numbers.contains(1)
    }
    #expect(first?.header.compaction != nil)
    #expect(try database.rows(of: byYear()).last?.key == 1952 && mapped.take() == 1)
  }

  @Test func `a file's origin is identified by its commit, sequence number and segment`() throws {
    for _ in 0..<2 {
      let database = try open { $0.maintenance = .manual }
      try makeFilms(database)
      try database.close()
    }
    let database = try open { $0.maintenance = .manual }
    let state = try database.snapshot().view.state
    let segments = state.segments.segments.map(\.header)
    try #require(segments.map(\.numbers) == [1...1, 2...2] && segments[0].compaction == nil)
    func isBefore(_ change: (inout ViewFileHeader.Origin) -> Void) -> Bool {
      var origin = ViewFileHeader.Origin(
        commit: state.commit, sequence: state.lastSequence, segmentNumber: 2,
        segmentSalt: segments[1].preamble.salt)
      change(&origin)
      return origin.isBefore(state)
    }
    #expect(isBefore { _ in })
    #expect(!isBefore { $0.commit += 1 })
    #expect(!isBefore { $0.sequence += 1 })
    #expect(!isBefore { $0.segmentNumber = 3 })
    #expect(!isBefore { $0.segmentSalt ^= 1 })
    // Positions in the first segment: one that exists, and one that neither existed there nor was
    // logged again.
    func isInFirst(commit: UInt64) -> Bool {
      isBefore {
        ($0.commit, $0.segmentNumber) = (commit, 1)
        $0.segmentSalt = segments[0].preamble.salt
      }
    }
    #expect(isInFirst(commit: 1) && !isInFirst(commit: 2))
  }

  // MARK: Invalid files

  /// Returns the number of documents with rows in a view's file.
  ///
  /// The file has rows of one document at each of `positions`.
  ///
  /// The header gives `rowCount` rows and `fileSize` bytes, and the system reports the same size.
  /// The last `lostCount` bytes are missing although the system reports them.
  private func readRows(
    at positions: [Int], rowCount: UInt64, fileSize: Int? = nil, lostCount: Int = 0
  ) throws -> Int {
    let disk = MemoryFileSystem()
    try disk.makeDirectory(ByteFiles.directory)
    let name = FileName.view(named: "by year")
    let path = "\(ByteFiles.directory)/\(name)"
    var writer = ViewFileWriter(
      try disk.open(path, .creating),
      preamble: FilePreamble(
        kind: .view, storeID: StoreID(high: 1, low: 2), salt: 3, createdAt: 0),
      origin: ViewFileHeader.Origin(commit: 1, sequence: 1, segmentNumber: 1, segmentSalt: 1))
    var frame = ByteWriter(capacity: 256)
    ViewIdentity(byYear()).encode(to: &frame)
    try writer.append(frame)
    frame.removeAll()
    frame.appendPrefixed("film")
    frame.appendVarint(positions.count)
    var scratch = ByteWriter()
    var encoder = ValueEncoder()
    for (index, position) in positions.enumerated() {
      frame.appendVarint(position)
      for value in [.int(Int64(index)), .null] as [Value] {
        scratch.removeAll()
        try encoder.encode(value, into: &scratch)
        frame.appendVarint(scratch.count)
        scratch.withSpan { frame.append($0) }
      }
    }
    try writer.append(frame)
    try writer.finish(collation: UInt64(Collation.version), rowCount: rowCount)
    var bytes = try disk.contents(of: path, limit: 1 << 16).array
    if let fileSize {
      var header = try ViewFileHeader.decode(
        SharedBytes(copying: Array(bytes.prefix(ViewFileHeader.size))), path: path)
      header.fileSize = UInt64(fileSize)
      bytes.replaceSubrange(0..<ViewFileHeader.size, with: header.encode().array)
    }
    var files = ByteFiles([name.description: bytes.dropLast(lostCount)])
    files.statedSize = fileSize ?? bytes.count
    let directory = StoreDirectory(ByteFiles.directory, on: files)
    return try ViewFile(name, in: directory).contents { false }.documents.count
  }

  @Test func `row positions in a file must be distinct and match the header's count`() throws {
    #expect(try readRows(at: [0, 1, 2], rowCount: 3) == 1)
    for (positions, rowCount) in [
      ([0, 1, 2], 2), ([0, 1, 2], 4), ([0, 1, 1], 3), ([0, 1, 3], 3), ([0, 2, 1], 3), ([0], 0),
      ([], 0), ([], 1),
    ] as [([Int], UInt64)] {
      #expect(throws: LogError.self, "\(positions) of \(rowCount)") {
        try readRows(at: positions, rowCount: rowCount)
      }
    }
  }

  @Test func `a file that shrinks while it is read is refused`() throws {
    #expect(try readRows(at: [0], rowCount: 1) == 1)
    for lostCount in [1, 8, 40, 200] {
      #expect(throws: LogError.self, "\(lostCount)") {
        try readRows(at: [0], rowCount: 1, lostCount: lostCount)
      }
    }
  }

  @Test func `a file that claims a huge size is refused without allocating memory for its rows`() {
    #expect(throws: LogError.self) {
      try readRows(at: [0, 1, 2], rowCount: 1 << 40, fileSize: 1 << 43)
    }
  }

  // MARK: Writing

  @Test func `views with few rows and in-memory databases have no view files`() throws {
    let database = try open { $0.viewSavingMinimum = Configuration().viewSavingMinimum }
    try makeFilms(database)
    #expect(try database.rows(of: byYear()).count == 12)
    try database.close()
    #expect(try files().isEmpty)
    let fileSystem = MemoryFileSystem()
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    let memory = try Database.inMemory(configuration: configuration)
    try memory.write { transaction in
      for number in 0..<1100 { _ = try transaction.replace("\(number)", with: ["year": 1]) }
    }
    #expect(try memory.rows(of: byYear()).count == 1100)
    try memory.close()
    #expect(try fileSystem.list("/memory.divan").allSatisfy { !$0.hasSuffix(".view") })
  }

  @Test(arguments: [SimulatedDisk.Verb.write, .rename])
  func `failing to write a view file neither fails the query nor leaves a file`(
    verb: SimulatedDisk.Verb
  ) throws {
    let database = try open()
    try makeFilms(database)
    disk.fail(verb, with: .inputOutput)
    #expect(try database.rows(of: byYear()).count == 12)
    disk.stopFailing()
    #expect(database.store.maintenance.problem?.code == .inputOutput)
    #expect(try files().isEmpty)
    #expect(try disk.configuration().fileSystem?.list("\(Self.path)/tmp") == [])
    // Closing retries it.
    try database.close()
    #expect(try files().count == 1)
  }

  @Test func `rows of any length are saved in the background`() throws {
    let database = try open { $0.maintenance = .background }
    let long = Value.string(String(repeating: "x", count: 300_000))
    try database.write { _ = try $0.replace("long", with: ["text": long]) }
    let view = MapReduceView("texts", version: "1") { document, emit in emit(document["text"], nil)
    }
    #expect(try database.rows(of: view).first?.key == long)
    while try files().isEmpty { Thread.sleep(forTimeInterval: 0.001) }
    try database.close()
    let again = try open()
    #expect(try again.rows(of: view).first?.key == long)
  }

  @Test func `a single change does not rewrite the file`() throws {
    try prepare()
    let database = try open()
    let before = try disk.contents(of: "\(Self.path)/\(files()[0])")
    try database.write { _ = try $0.replace("3", with: ["year": 1999]) }
    #expect(try database.rows(of: byYear()).count == 12 && mapped.take() == 1)
    #expect(try disk.contents(of: "\(Self.path)/\(files()[0])") == before)
  }

  // MARK: In memory

  @Test func `cancelling stops the search for purged documents`() throws {
    let database = try Database.inMemory()
    try makeFilms(database)
    let view = byYear()
    #expect(try database.rows(of: view).count == 12)
    try database.write { try $0.purge("3") }
    let snapshot = try database.snapshot()
    let error = #expect(throws: DatabaseError.self) {
      _ = try database.store.environment.views.contents(of: view, in: snapshot) { true }
    }
    #expect(error?.code == .cancelled)
    #expect(try database.rows(of: view).count == 11)
  }

  @Test func `rows of a snapshot are released with it, and all rows by closing the database`()
    throws
  {
    var configuration = Configuration()
    configuration.maintenance = .manual
    let database = try Database.inMemory(configuration: configuration)
    try makeFilms(database)
    let view = byYear()
    let index = database.store.environment.views.index(of: view)
    func changeAndQuery() throws {
      for year in 0..<5 {
        try database.write { _ = try $0.replace("3", with: ["year": .int(Int64(year))]) }
        #expect(try database.rows(of: view).count == 12)
      }
    }
    do {
      let before = try database.snapshot()
      #expect(try before.rows(of: view).count == 12)
      try changeAndQuery()
      withExtendedLifetime(before) { #expect(index.cachedCount == 2) }
      _ = mapped.take()
      #expect(try before.rows(of: view).map(\.key) == (0..<12).map { .int(1920 + $0) })
      #expect(mapped.take() == 0)
    }
    #expect(index.cachedCount == 1)
    let last = try database.snapshot()
    try database.close()
    withExtendedLifetime(last) { #expect(index.cachedCount == 0) }
  }
}
