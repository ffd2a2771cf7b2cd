import Divan
import Foundation

/// Imports films from JSON files, in a context of its own, without blocking the main actor.
actor FilmImporter {
  struct Result: Equatable {
    var importedCount = 0
    var knownCount = 0
  }

  private let context: ModelContext

  init(_ database: Database) {
    context = database.makeContext()
    // No view shows these models.
    context.isObservable = false
  }

  /// Imports the films of a file in one transaction: all of them, or none.
  ///
  /// The file is an array of objects with `title`, `year`, `cast` and `genres`. A film that was
  /// imported before is left as it is.
  func importFilms(from path: String) async throws -> Result {
    var elements = JSONElements(try Data(contentsOf: URL(filePath: path)))
    var result = Result()
    var films: [Film] = []
    var people: [String: Person] = [:]
    while let element = try elements.next() {
      guard var properties = element.objectValue, let title = properties["title"]?.stringValue
      else {
        throw DatabaseError(
          .invalidJSON, "element \(films.count + result.knownCount + 1) is not a film with a title",
          hint: "Import an array of objects", path: path)
      }
      let id = FilmImporter.id(title, properties)
      guard try context.model(Film.self, id: id) == nil else {
        result.knownCount += 1
        continue
      }
      let cast = properties.removeValue(forKey: "cast")?.arrayValue?.compactMap(\.stringValue) ?? []
      // The document keeps properties that `Film` does not declare, such as `extract`.
      let film = try context.insert(Film.self, document: Document(id: id, properties))
      for name in cast where !name.isEmpty {
        let person = try people[name] ?? context.person(named: name)
        people[name] = person
        film.cast.append(person)
      }
      films.append(film)
    }
    try await context.saveModels(films + people.values.filter(\.isNew))
    result.importedCount = films.count
    return result
  }

  /// The page in Wikipedia identifies a film; otherwise, the title and the year do.
  private static func id(_ title: String, _ film: Value.Object) -> String {
    "film:" + (film["href"]?.stringValue ?? "\(title) (\(film["year"]?.intValue ?? 0))")
  }
}
