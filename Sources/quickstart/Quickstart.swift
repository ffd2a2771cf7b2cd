import Divan

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The tour: each function shows one feature, and prints what it did.
struct Quickstart {
  let options: Options
  /// The ID of the document that marks a store of quickstart, which it may replace.
  private static let markID = "quickstart"
  static let batchSize = 1000

  func run() throws {
    let sources =
      options.files.isEmpty
      ? [FilmSource()]
      : try options.files.map { path throws(Failure) in try FilmSource(file: path) }
    try removeOldStore()

    var database = try Database(at: options.storePath)
    print("Made the store \(options.storePath)")
    try database.write { try $0.put(Document(id: Quickstart.markID, ["made": true])) }

    let count = try importFilms(from: sources, into: database)
    try verify(sources, in: database, count: count)
    guard count > 0 else { return try database.close() }
    try readSome(from: database)
    try askForFilms(in: database)
    try showDecades(in: database)
    try connectFilms(in: database)
    try showPeople(in: database)
    try compactAndUndo(in: database)
    let changed = try changeSome(in: database)
    try changeByQuery(in: database)

    let last = try database.snapshot().sequence
    try database.close()
    let opening = try duration { database = try Database(at: options.storePath) }
    print("\nClosed the store, and opened it again in \(milliseconds(opening)).")
    guard try database.snapshot().sequence == last else {
      throw Failure("the store came back at another sequence number than \(last)")
    }
    try showHistory(of: changed, in: database)
    try showStatistics(of: database)
    try database.close()
    print("\nTo look further:\n  swift run logdump \(options.storePath) doc \(changed) --revs")
  }
}

// MARK: - Steps

extension Quickstart {
  private func removeOldStore() throws {
    guard FileManager.default.fileExists(atPath: options.storePath) else { return }
    do {
      // Opened without writing anything, because it may be another program's store.
      var configuration = Configuration()
      configuration.isReadOnly = true
      let old = try Database(at: options.storePath, configuration: configuration)
      let isOurs = try old.snapshot().exists(Quickstart.markID)
      try old.close()
      guard isOurs else {
        throw Failure(
          "\(options.storePath) was not made by quickstart, and is left alone. Give another --store"
        )
      }
      // Opened for writing, because a store that is in use must stay.
      try Database(at: options.storePath).close()
      try Database.delete(at: options.storePath)
    } catch let error as DatabaseError {
      throw Failure("\(options.storePath) is there already, and is left alone: \(error)")
    }
  }

  /// Makes a model of each film and saves them, a thousand in each transaction.
  private func importFilms(from sources: [FilmSource], into database: Database) throws -> Int {
    let context = database.makeContext()
    var count = 0
    let time = try duration {
      var batch: [Film] = []
      for source in sources {
        let start = count
        try source.forEachFilm { properties in
          count += 1
          // All properties of the source are kept, whether `Film` declares them or not.
          batch.append(
            try context.insert(Film.self, document: Document(id: Film.id(count), properties)))
          if batch.count == Quickstart.batchSize {
            try context.saveModels(batch)
            batch.removeAll(keepingCapacity: true)
          }
        }
        print("  \(count - start) films from \(source.name)")
      }
      try context.saveModels(batch)
    }
    print("Imported \(count) films in \(milliseconds(time)).")
    return count
  }

  /// Compares each document with the source: all its properties, and the type that `Film` adds.
  private func verify(_ sources: [FilmSource], in database: Database, count: Int) throws {
    let snapshot = try database.snapshot()
    var number = 0
    var equal = 0
    for source in sources {
      try source.forEachFilm { film in
        number += 1
        var expected = film
        expected["type"] = "Film"
        if try snapshot.document(Film.id(number))?.properties == expected { equal += 1 }
      }
    }
    print("\(count) films in, \(equal) back out equal.")
    guard number == count, equal == count else {
      throw Failure("\(count - equal) films came back changed, or not at all")
    }
  }

  private func readSome(from database: Database) throws {
    let context = database.makeContext()
    print("\nSome of them, as models:")
    var films = try context.models(Film.self, in: .prefix(Film.prefix))
    for _ in 0..<5 {
      guard let film = try films.next() else { break }
      print("  \(film.line)")
    }
  }

  /// Changes a film twice and deletes another; returns the ID of the former.
  private func changeSome(in database: Database) throws -> String {
    let context = database.makeContext()
    let id = Film.id(1)
    guard let film = try context.model(Film.self, id: id) else {
      throw Failure("\(id) is not there")
    }
    film.genres.append("Seen")
    try film.save()
    film.title += " (restored)"
    film.thumbnailWidth = 320
    print("\nChanged \(film.changedProperties.joined(separator: " and ")) of \(id).")
    try film.save()
    film.title = "Something else"
    film.revert()
    print("Reverted a change that was not saved: it is \"\(film.title)\".")
    if let other = try context.model(Film.self, id: Film.id(2)) {
      try other.delete()
      print("Deleted \(other.id), \"\(other.title)\", which can still be read.")
    }
    return id
  }

  private func showHistory(of id: String, in database: Database) throws {
    let snapshot = try database.snapshot()
    print("The revisions of \(id), newest first:")
    for revision in try snapshot.revisions(of: id) { print("  \(revision)") }
    if let tombstone = try snapshot.tombstone(Film.id(2)) {
      print("\(tombstone.id) is deleted as of change \(tombstone.sequence).")
    }
  }

  private func showStatistics(of database: Database) throws {
    let statistics = try database.statistics
    // One document is quickstart's own mark.
    print(
      "The store has \(statistics.documentCount - 1) films, people and genres, and has seen "
        + "\(statistics.sequence) changes.")
    print(
      "It takes \(statistics.directorySize / 1024) KiB: \(statistics.liveSize / 1024) KiB of current "
        + "revisions, \(statistics.deadSize / 1024) KiB of old ones; the rest is the index and a reserve."
    )
  }
}

// MARK: - Helpers

extension Quickstart {
  func duration(_ body: () throws -> Void) rethrows -> Duration {
    try ContinuousClock().measure(body)
  }

  func milliseconds(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    return "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000) ms"
  }
}
