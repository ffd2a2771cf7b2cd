import DivanLog
import DivanTesting
import Synchronization
import Testing

@testable import Divan

/// What is kept of views, in memory and from one opening to the next.
struct ViewFileTests {
  private let disk = SimulatedDisk()
  private static let path = "/films.divan"

  /// Opens the store so that every row is worth a file.
  private func open(_ change: (inout Configuration) -> Void = { _ in }) throws -> Database {
    var configuration = disk.configuration()
    configuration.viewSavingMinimum = 0
    change(&configuration)
    return try Database(at: Self.path, configuration: configuration)
  }

  private func files(_ path: String = path) throws -> [String] {
    let names = try disk.configuration().fileSystem?.list(path) ?? []
    return names.filter { $0.hasSuffix(".view") }
  }

  private final class Counter: Sendable {
    private let number = Atomic(0)

    func add() { number.wrappingAdd(1, ordering: .relaxed) }

    /// How often it was added to since this was asked last.
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
        _ = try transaction.overwrite(
          "\(number)", with: ["year": .int(Int64(1920 + number)), "type": "film"])
      }
    }
  }

  /// A store with twelve films, of which rows are kept, closed.
  private func prepare() throws {
    let database = try open()
    try makeFilms(database)
    #expect(try database.rows(of: byYear()).count == 12 && mapped.take() == 12)
    try database.close()
    #expect(try files() == ["\(FileName.view(named: "by year"))"])
  }

  // MARK: Reading

  @Test func `what was mapped is not mapped again after opening`() throws {
    try prepare()
    let database = try open()
    let rows = try database.rows(of: byYear())
    #expect(rows.map(\.key) == (0..<12).map { .int(1920 + $0) } && mapped.take() == 0)
    #expect(rows.map(\.value) == (0..<12).map { .string("\($0)") })
    try database.write { _ = try $0.overwrite("3", with: ["year": 1999]) }
    #expect(try database.rows(of: byYear()).last?.value == "3" && mapped.take() == 1)
  }

  @Test func `what was changed, deleted and purged since is not in the rows`() throws {
    try prepare()
    var database = try open()
    try database.write { transaction in
      try transaction.purge("0")
      try transaction.delete(id: "1")
      _ = try transaction.overwrite("2", with: ["year": 1888])
      try transaction.purge("4")
    }
    try database.write { _ = try $0.overwrite("4", with: ["year": 1777]) }
    try database.close()
    database = try open()
    let rows = try database.rows(of: byYear())
    #expect(rows.compactMap(\.sourceID) == ["4", "2", "3", "5", "6", "7", "8", "9", "10", "11"])
    #expect(mapped.take() == 2)
  }

  @Test func `keys and values come back as they were emitted`() throws {
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

  @Test func `rows of another version or another type are made anew, and take the file's place`()
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

  @Test func `a view that is removed has no file any more`() throws {
    try prepare()
    let database = try open()
    #expect(database.removeView(named: "by year"))
    #expect(try files().isEmpty && !database.removeView(named: "by year"))
    #expect(try database.rows(of: byYear()).count == 12 && mapped.take() == 12)
  }

  @Test func `who only reads takes rows from the file, and writes none`() throws {
    try prepare()
    var database = try open()
    try database.write { _ = try $0.overwrite("new", with: ["year": 2000]) }
    try database.close()
    let before = try disk.contents(of: "\(Self.path)/\(files()[0])")
    database = try open { $0.isReadOnly = true }
    #expect(try database.rows(of: byYear()).count == 13 && mapped.take() == 1)
    #expect(database.removeView(named: "by year"))
    try database.close()
    #expect(try disk.contents(of: "\(Self.path)/\(files()[0])") == before)
  }

  @Test func `copies have no files of views`() throws {
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

  @Test func `cleaning and checking leave the files of views alone`() throws {
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

  // MARK: Writing

  @Test func `few rows are worth no file, and rows in memory neither`() throws {
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
      for number in 0..<1100 { _ = try transaction.overwrite("\(number)", with: ["year": 1]) }
    }
    #expect(try memory.rows(of: byYear()).count == 1100)
    try memory.close()
    #expect(try fileSystem.list("/memory.divan").allSatisfy { !$0.hasSuffix(".view") })
  }

  @Test func `a file that cannot be written is no error for who asks, and leaves nothing`() throws {
    let database = try open()
    try makeFilms(database)
    disk.fail(.rename, with: .inputOutput)
    #expect(try database.rows(of: byYear()).count == 12)
    disk.stopFailing()
    #expect(database.store.maintenance.problem?.code == .inputOutput)
    #expect(try files().isEmpty)
    #expect(try disk.configuration().fileSystem?.list("\(Self.path)/tmp") == [])
    // Closing tries it again.
    try database.close()
    #expect(try files().count == 1)
  }

  @Test func `one change does not write many rows again`() throws {
    try prepare()
    let database = try open()
    let before = try disk.contents(of: "\(Self.path)/\(files()[0])")
    try database.write { _ = try $0.overwrite("3", with: ["year": 1999]) }
    #expect(try database.rows(of: byYear()).count == 12 && mapped.take() == 1)
    #expect(try disk.contents(of: "\(Self.path)/\(files()[0])") == before)
  }

  // MARK: In memory

  @Test func `rows of older snapshots go with these, and all of them with the database`() throws {
    var configuration = Configuration()
    configuration.maintenance = .manual
    let database = try Database.inMemory(configuration: configuration)
    try makeFilms(database)
    let view = byYear()
    let index = database.store.views.index(of: view)
    func changeAndAsk() throws {
      for year in 0..<5 {
        try database.write { _ = try $0.overwrite("3", with: ["year": .int(Int64(year))]) }
        #expect(try database.rows(of: view).count == 12)
      }
    }
    do {
      let before = try database.snapshot()
      #expect(try before.rows(of: view).count == 12)
      try changeAndAsk()
      withExtendedLifetime(before) { #expect(index.keptCount == 2) }
      _ = mapped.take()
      #expect(try before.rows(of: view).map(\.key) == (0..<12).map { .int(1920 + $0) })
      #expect(mapped.take() == 0)
    }
    #expect(index.keptCount == 1)
    let last = try database.snapshot()
    try database.close()
    withExtendedLifetime(last) { #expect(index.keptCount == 0) }
  }
}
