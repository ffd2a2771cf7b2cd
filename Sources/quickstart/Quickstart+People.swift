import Divan

/// References from films to people and genres, and back.
extension Quickstart {
  /// Makes people and genres from the names in films, and lets the films refer to them.
  func connectFilms(in database: Database) throws {
    try database.addIndexes(for: Person.self)
    try database.addIndexes(for: Genre.self)
    let context = database.makeContext()
    var count = 0
    let time = try duration {
      var films = try context.models(Film.self, in: .prefix(Film.prefix))
      while let film = try films.next() {
        film.people = try film.cast.map { try person($0, in: context) }
        film.kinds = try film.genres.map { try genre($0, in: context) }
        count += 1
        if count % Quickstart.batchSize == 0 { try context.save() }
      }
      try context.save()
    }
    print(
      "\nConnected \(count) films with \(try context.count(Query<Person>())) people and "
        + "\(try context.count(Query<Genre>())) genres in \(milliseconds(time)).")
  }

  /// Returns the person with a name, and makes one if there is none.
  private func person(_ name: String, in context: ModelContext) throws -> Person {
    let id = Person.prefix + shortened(name)
    if let known = try context.model(Person.self, id: id) { return known }
    let person = Person(in: context, id: id)
    person.name = name
    return person
  }

  private func genre(_ name: String, in context: ModelContext) throws -> Genre {
    let id = Genre.prefix + shortened(name)
    if let known = try context.model(Genre.self, id: id) { return known }
    let genre = Genre(in: context, id: id)
    genre.name = name
    return genre
  }

  /// The part of a name that surely fits into an ID, which has at most 240 bytes.
  private func shortened(_ name: String) -> Substring { name.prefix(40) }

  /// Prints the films of genres and of a person.
  func showPeople(in database: Database) throws {
    let context = database.makeContext()
    var genres = try context.models(Genre.self, in: .prefix(Genre.prefix))
    var counts: [(name: String, count: Int)] = []
    while let genre = try genres.next() { counts.append((genre.name, genre.films.count)) }
    let largest = counts.sorted { ($1.count, $0.name) < ($0.count, $1.name) }.prefix(5)
    print("Most films: \(largest.map { "\($0.name) (\($0.count))" }.joined(separator: ", "))")
    guard let person = try mostSeen(in: context) else { return }
    print("\(person.name) plays in \(person.films.count) of them:")
    for film in person.films.prefix(3) { print("  \(film.line)") }
  }

  /// Returns the person with the most films among the first 200 people.
  private func mostSeen(in context: ModelContext) throws -> Person? {
    var people = try context.models(Person.self, in: .prefix(Person.prefix))
    var found: Person?
    for _ in 0..<200 {
      guard let person = try people.next() else { break }
      if person.films.count > found?.films.count ?? 0 { found = person }
    }
    return found
  }

  /// Merges the changes of two contexts to one film, and then undoes a deletion.
  func compactAndUndo(in database: Database) throws {
    let (mine, theirs) = (database.makeContext(), database.makeContext())
    mine.conflictHandler = { conflict in conflict.key == "title" ? .mine : .theirs }
    mine.undoLimit = 10
    guard let film = try mine.model(Film.self, id: Film.id(1)),
      let same = try theirs.model(Film.self, id: Film.id(1))
    else { return }
    let title = film.title
    same.title = "Theirs"
    same.extract = "Added elsewhere."
    try same.save()
    film.title = title + "!"
    try film.save()
    print("\nMerged two edits: \"\(film.title)\", \"\(film.extract ?? "")\"")
    guard film.title == title + "!", film.extract == "Added elsewhere." else {
      throw Failure("two edits of a film were not merged")
    }
    try film.delete()
    try mine.undo()
    print(
      "Deleted it and took that back: it is \(film.isDeleted ? "gone" : "there, with \(film.people.count) people")."
    )
    guard !film.isDeleted else { throw Failure("a deletion was not taken back") }
  }
}
