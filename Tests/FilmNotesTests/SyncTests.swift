import Divan
import DivanSync
import DivanTesting
import Foundation
import SyncServer
import TestSupport
import Testing

@testable import film_notes

/// Tests of replications between the libraries of two devices.
@MainActor struct SyncTests {
  private let directory: TemporaryDirectory
  private let screen = Screen()

  init() throws { directory = try TemporaryDirectory() }

  private func path(_ name: String) -> String { "\(directory.path)/\(name).divan" }

  /// Runs the program with one command and a store, and returns the lines that it prints.
  @discardableResult
  private func run(_ name: String, _ command: String, status: Int32 = 0) async throws -> [String] {
    let arguments = ["--store", path(name)] + (try Command.split(command))
    let found = await FilmNotes.run(arguments, on: screen.terminal) { AsyncStream { $0.finish() } }
    let lines = screen.takeLines()
    #expect(found == status, "\(command): \(lines)")
    return lines
  }

  @Test func `two stores have the same notes after a sync, and both texts of a note`() async throws
  {
    try await run("phone", "add film Metropolis 1927 --by \"Fritz Lang\"")
    try await run("phone", "note Metropolis Good. --on 2026-09-01")
    try await run("desk", "list")
    try await run("phone", "sync \(path("desk"))")
    #expect(try await run("desk", "list") == ["Metropolis (1927)", "1 work"])
    for (store, text) in [("phone", "Seen again."), ("desk", "Seen with friends.")] {
      let library = try await Library.open(at: path(store))
      let note = try #require(try library.context.first(Query<Note>()))
      note.text = text
      if store == "desk" { note.tags = ["cinema"] }
      try await library.context.save()
      try await library.database.close()
    }
    let lines = try await run("phone", "sync \(path("desk"))")
    #expect(lines.count == 2 && lines[1].hasPrefix("Merged two versions of "), "\(lines)")
    let notes = try await run("phone", "notes")
    #expect(try await run("desk", "notes") == notes)
    for part in ["Seen again.", "Seen with friends.", "[cinema]"] {
      #expect(notes.joined().contains(part), "\(notes)")
    }
    #expect(
      try await run("phone", "sync \(path("desk"))") == ["Sent 0 revisions, received 0"])
  }

  @Test func `a library reaches another device over a server`() async throws {
    let server = try ServiceServer()
    server.add(try Database.inMemory(), named: "films")
    let url = "http://127.0.0.1:\(server.port)/films"
    try await run("phone", "add film Metropolis 1927 --by \"Fritz Lang\"")
    #expect(try await run("phone", "sync \(url)") == ["Sent 2 revisions, received 0"])
    #expect(try await run("desk", "sync \(url)") == ["Sent 0 revisions, received 2"])
    #expect(try await run("desk", "person \"Fritz Lang\"").last == "  directed Metropolis (1927)")
    let errors = try await run("desk", "sync \(url)-not-there", status: 1)
    #expect(errors.first?.contains("Database does not exist") == true, "\(errors)")
  }

  @Test func `a server that cannot be reached is reported in one line`() async throws {
    try await run("phone", "add film Metropolis 1927")
    let errors = try await run("phone", "sync http://127.0.0.1:1/films", status: 1)
    #expect(errors.count == 1 && errors[0].hasPrefix("film-notes: the connection failed: "))
    #expect(!errors[0].contains("NSURLError"), "\(errors)")
  }

  @Test func `a sync with a store that is not there makes none`() async throws {
    try await run("phone", "add film Metropolis 1927")
    let errors = try await run("phone", "sync \(path("desk"))", status: 1)
    #expect(errors.first?.hasPrefix("film-notes: notFound: ") == true, "\(errors)")
    #expect(!Database.exists(at: path("desk")))
  }
}
