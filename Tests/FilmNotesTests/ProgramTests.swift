import Divan
import DivanTesting
import Foundation
import TestSupport
import Testing

@testable import film_notes

/// Tests of the whole program, with a store in files.
@MainActor struct ProgramTests {
  private let directory: TemporaryDirectory
  private let screen = Screen()

  init() throws { directory = try TemporaryDirectory() }

  private var store: String { directory.path + "/S.divan" }

  /// Runs the program with one command.
  private func run(_ command: String, store: String? = nil) async throws -> (Int32, [String]) {
    let arguments = ["--store", store ?? self.store] + (try Command.split(command))
    let status = await FilmNotes.run(arguments, on: screen.terminal) {
      AsyncStream { $0.finish() }
    }
    return (status, screen.takeLines())
  }

  @Test func `commands in arguments change the same store`() async throws {
    #expect(try await run("add film Metropolis 1927").0 == 0)
    #expect(try await run("note Metropolis Good. --rating 4").0 == 0)
    #expect(try await run("list").1 == ["Metropolis (1927), rated 4.0", "1 work"])
    #expect(try await run("undo").1 == ["There is nothing to undo"])
    #expect(try await run("check").1.last == "The store is sound")
  }

  @Test func `a mistake in the arguments makes no store`() async throws {
    #expect(try await run("list --colour red").0 == 64)
    #expect(!Database.exists(at: store))
    #expect(await FilmNotes.run(["--store"], on: screen.terminal) { AsyncStream { _ in } } == 64)
    #expect(await FilmNotes.run(["--help"], on: screen.terminal) { AsyncStream { _ in } } == 0)
  }

  @Test func `films are imported once, with their cast, and watched lists report them`()
    async throws
  {
    let file = directory.path + "/films.json"
    let films = """
      [{"title": "Metropolis", "year": 1927, "cast": ["Brigitte Helm"], "genres": ["Drama"],
        "href": "Metropolis_(1927_film)", "extract": "A city."},
       {"title": "Alraune", "year": 1928, "cast": ["Brigitte Helm", ""], "genres": [], "href": null}]
      """
    try Data(films.utf8).write(to: URL(filePath: file))
    let library = try await Library.open(at: store)
    let session = Session(library, screen.terminal)
    _ = await session.run(["watch"])
    #expect(await session.run(["import", file]) == 0)
    #expect(
      screen.takeLines() == [
        "+ Alraune (1928)", "+ Metropolis (1927)", "Imported 2 films, 0 were there already",
      ])
    _ = await session.run(["person", "Brigitte Helm"])
    #expect(screen.takeLines().count == 3)
    #expect(try library.work("Metropolis").document?["extract"] == "A city.")
    _ = await session.run(["import", file])
    #expect(screen.takeLines() == ["Imported 0 films, 2 were there already"])
    try await library.database.close()
  }

  /// The films of Wikipedia, if the machine has them.
  private nonisolated static let data = ProcessInfo.processInfo.environment["DIVAN_DATA"]

  @Test(.enabled(if: data != nil)) func `real films are imported and found`() async throws {
    let file = try #require(ProgramTests.data) + "/movies/movies-1900s.json"
    #expect(try await run("import \(file)").1[0].hasPrefix("Imported"))
    let (status, lines) = try await run("list --from 1902 --to 1903 --genre Silent --sort year")
    #expect(status == 0 && lines.count > 5)
  }

  @Test func `a backup is a store, and an export can be imported`() async throws {
    _ = try await run("add film Metropolis 1927")
    _ = try await run("note Metropolis Good. --rating 4")
    let (copy, file) = (directory.path + "/Copy.divan", directory.path + "/all.jsonl")
    #expect(try await run("backup \(copy)").0 == 0)
    #expect(try await run("backup \(copy)").0 == 1)
    #expect(try await run("history Metropolis", store: copy).1.count == 2)
    #expect(try await run("export \(file)").1 == ["Wrote 2 documents"])
    // A database without a schema, because the export has the record of the migrations, too.
    let imported = directory.path + "/Imported.divan"
    try Database(at: imported).importAndClose(file)
    let list = try await run("list", store: imported).1
    #expect(list == ["Metropolis (1927), rated 4.0", "1 work"])
  }

  @Test func `a store of version 1 is previewed and migrated`() async throws {
    try Database(at: store).importAndClose(MigrationTests.fixture)
    #expect(try await run("migrate --preview").1.last == "2-ratings-and-notes changes 3 documents")
    #expect(try await run("migrate").1.count == 4)
    #expect(try await run("migrate").1 == ["2-ratings-and-notes changes 0 documents"])
    #expect(try await run("list --sort rating --limit 1").1[0] == "Metropolis (1927), rated 4.5")
    let database = try Database(at: store)
    let before = try database.snapshot(named: "before 2-ratings-and-notes")
    #expect(try before.document("metropolis")?["stars"] == 9)
  }

  @Test func `every other command migrates a store when it opens it`() async throws {
    try Database(at: store).importAndClose(MigrationTests.fixture)
    #expect(
      try await run("notes").1 == ["Metropolis, 2019-05-04: Seen with an orchestra. Rated 4.5."])
  }

  @Test func `a session reads commands from standard input`() async throws {
    let input = URL(filePath: directory.path + "/input")
    try Data(
      """
      watch --genre Drama
      add film Metropolis 1927 --genre Drama
      note Metropolis "Seen with an orchestra." --on 2026-09-01 --rating 4.5

      show nothing
      undo
      list
      quit
      list
      """.utf8
    ).write(to: input)
    let process = Process()
    let program = try #require(ProgramTests.program)
    process.executableURL = program
    process.arguments = ["--store", store]
    process.standardInput = try FileHandle(forReadingFrom: input)
    let (output, problems) = (Pipe(), Pipe())
    (process.standardOutput, process.standardError) = (output, problems)
    let status = try await withCheckedThrowingContinuation { done in
      process.terminationHandler = { done.resume(returning: $0.terminationStatus) }
      do { try process.run() } catch { done.resume(throwing: error) }
    }
    #expect(status == 1)
    let lines = ProgramTests.lines(output)
    #expect(lines.count == 8 && lines.first == "+ Metropolis (1927)", "\(lines)")
    #expect(lines.suffix(4) == ["~ Metropolis (1927)", "Undone", "Metropolis (1927)", "1 work"])
    #expect(ProgramTests.lines(problems).first?.hasPrefix("film-notes: notFound: ") == true)
  }

  private static func lines(_ pipe: Pipe) -> [String] {
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    return text.split(separator: "\n").map(String.init)
  }

  /// The program, beside the bundle of tests or in it.
  private static let program: URL? =
    [Bundle.main.bundleURL, URL(filePath: CommandLine.arguments[0])]
    .flatMap { [$0, $0.deletingLastPathComponent()] }
    .map { $0.appending(path: "film-notes") }
    .first { FileManager.default.isExecutableFile(atPath: $0.path) }
}

extension Database {
  /// Imports a file, as the store of an earlier version of the program.
  fileprivate func importAndClose(_ path: String) throws {
    try importJSONLines(from: path)
    try close()
  }
}
