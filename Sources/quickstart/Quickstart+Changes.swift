import Divan

/// Changes to the results of a query.
extension Quickstart {
  /// Marks silent films, and deletes documentaries without a cast: both, or nothing.
  func changeByQuery(in database: Database) throws {
    let silent = Query<Film>().filter { $0.genres.contains("Silent") }
    let empty = Query<Film>().filter { $0.genres.contains("Documentary") && $0.cast.isEmpty }
    let (marked, deleted) = try database.write { transaction in
      let marked = try transaction.update(silent) { $0["sound"] = false }
      return (marked, try transaction.delete(empty))
    }
    print(
      "\nMarked \(marked) silent films and deleted \(deleted) documentaries without a cast, in one "
        + "transaction.")
    let snapshot = try database.snapshot()
    let unmarked = Query<Document>().filter {
      $0["genres"].contains("Silent") && $0["sound"] != false
    }
    guard try snapshot.count(empty) == 0, try snapshot.count(unmarked) == 0 else {
      throw Failure("a query has not changed all that it means")
    }
  }
}
