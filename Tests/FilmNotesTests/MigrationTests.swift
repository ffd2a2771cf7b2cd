import Divan
import DivanTesting
import Foundation
import Testing

@testable import film_notes

/// Tests of the migration of a store that version 1 of the program made.
struct MigrationTests {
  /// The documents of such a store.
  static let fixture = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "Fixtures/FilmNotes-1.jsonl").path

  @Test func `stars become ratings, and texts become notes`() throws {
    let trial = try MigrationTrial(jsonLinesFile: MigrationTests.fixture, schema: Library.schema())
    #expect(trial.migrationIDs == ["2-ratings-and-notes"])
    #expect(trial.changes.map(\.id) == ["metropolis", "nosferatu", "note:metropolis"])
    try DocumentText(of: trial.database, leavingOut: ["genres", "title", "year"]).requireEqual(
      to: """
        m
          stars: "many"
          type: "Film"

        metropolis
          rating: 4.5
          type: "Film"

        nosferatu
          rating: 3.5
          type: "Film"

        note:metropolis
          date: "2019-05-04T00:00:00.000Z"
          rating: 4.5
          text: "Seen with an orchestra."
          type: "Note"
          work: "metropolis"

        "person:Fritz Lang"
          name: "Fritz Lang"
          type: "Person"
        """)
  }

  @Test func `the classes read what the migration made`() throws {
    let trial = try MigrationTrial(jsonLinesFile: MigrationTests.fixture, schema: Library.schema())
    let context = trial.database.makeContext()
    context.isStrict = true
    let film = try #require(try context.model(Film.self, id: "metropolis"))
    #expect(
      film.rating == 4.5
        && film.notes.map(\.line) == [
          "2019-05-04: Seen with an orchestra. Rated 4.5."
        ])
    #expect(try context.find(Query<Work>().filter { $0.rating >= 3.5 }).count == 2)
  }

  @Test func `a migration that runs a second time changes nothing`() throws {
    let trial = try MigrationTrial(jsonLinesFile: MigrationTests.fixture, schema: Library.schema())
    // `m` still has stars that are no number, and gets no new revision.
    let effects = try trial.database.dryRun(Migrations.ratingsAndNotes)
    #expect(effects.changes.isEmpty)
  }
}
