import Divan

/// The store as a whole: import, export, backup, check and migration.
extension Session {
  func importFilms(_ command: Command) async throws {
    let result = try await FilmImporter(library.database).importFilms(from: command.words[0])
    // The context follows on its own, soon. The next command needs the films now.
    try library.context.refresh()
    print("Imported \(result.importedCount) films, \(result.knownCount) were there already")
  }

  func export(_ command: Command) async throws {
    let progress = try await library.database.exportJSONLines(to: command.words[0])
    print("Wrote \(progress.documentCount) documents")
  }

  func backup(_ command: Command) async throws {
    try await library.database.backup(to: command.words[0], keepingHistory: true)
    print("Copied the store. To look into the copy: film-notes --store \(command.words[0]) list")
  }

  func check() async throws {
    let report = try await library.database.check()
    print("Read \(report.recordCount) records of \(report.documentCount) documents")
    guard let problem = report.problems.first else { return print("The store is sound") }
    for each in report.problems.dropFirst() { print("\(each)") }
    throw problem
  }

  /// Shows what each migration changes, and runs it.
  ///
  /// Each other command migrates the store when it opens it: see ``Library/open(at:migrates:)``.
  func migrate(_ command: Command) async throws {
    let database = library.database
    for migration in Migrations.all {
      let effects = try await database.dryRun(migration)
      for change in effects.changes { print("\(change.id): \(change.document.json)") }
      print("\(migration.id) changes \(effects.changes.count) documents")
      guard !command.has("preview"), !effects.changes.isEmpty else { continue }
      // The name keeps the earlier version, until you delete it.
      try await database.saveSnapshot(named: "before \(migration.id)")
      try await database.migrate([migration])
    }
    try library.context.refresh()
  }
}
