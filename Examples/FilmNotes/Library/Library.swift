import Divan
import Foundation

/// A store of films and notes, with the context in which the user works.
@MainActor final class Library {
  let database: Database
  let context: ModelContext

  init(_ database: Database) {
    self.database = database
    context = database.mainContext
    context.undoLimit = 100
  }

  /// Opens a store, and creates it if there is none.
  ///
  /// With `migrates`, opening runs the migrations that the store needs. The command `migrate` runs
  /// them itself.
  static func open(at path: String, migrates: Bool = true) async throws -> Library {
    Library(
      try await Database.open(
        at: path, schema: schema(migrates: migrates), configuration: configuration))
  }

  nonisolated static func schema(migrates: Bool = true) -> Schema {
    Schema(
      Work.self, Film.self, Series.self, Person.self, Note.self,
      migrations: migrates ? Migrations.all : [])
  }

  /// A library keeps ten earlier revisions of each document, for a year.
  nonisolated static var configuration: Configuration {
    var configuration = Configuration()
    configuration.history = HistoryRetention(revisions: 10, age: .seconds(365 * 86_400))
    return configuration
  }

  /// Returns the work with an ID or a title.
  ///
  /// Case and accents of the title make no difference.
  func work(_ name: String) throws -> Work {
    if let work = try context.model(Work.self, id: name) { return work }
    let works = try context.find(
      Query<Work>().filter { $0.title.equals(name, ignoring: .caseAndDiacritics) })
    guard let work = works.first else {
      throw DatabaseError(
        .notFound, "no film or series has this title or ID: \(name)",
        hint: "Use `list` to find it")
    }
    guard works.count == 1 else {
      throw DatabaseError(
        .notFound, "\(works.count) films and series have this title: \(name)",
        hint: "Use an ID: " + works.map { "\($0.id) is of \($0.year ?? 0)" }.joined(separator: ", ")
      )
    }
    return work
  }
}
