public import Divan

/// What a database of a test contains at first.
///
/// ```swift
/// let database = try Database.inMemory(
///   schema: Schema(Trip.self),
///   fixtures: .jsonLines(
///     """
///     {"_id": "elbe", "type": "Trip", "title": "Along the Elbe", "nights": 3}
///     {"_id": "lisbon", "type": "Trip", "title": "Lisbon"}
///     """),
///   .models { context in Trip(in: context, id: "rome").title = "Rome" })
/// ```
///
/// Fixtures are loaded one after the other. A document whose ID is taken is an error, and nothing
/// is replaced.
public struct Fixture {
  fileprivate let load: (Database) throws -> Void

  private init(load: @escaping (Database) throws -> Void) { self.load = load }

  /// Documents as JSON Lines: one object a line, with the document's ID under `_id`.
  ///
  /// It is the text that `Database.exportJSONLines(to:)` writes. Spaces around a line make no
  /// difference. An error names the line.
  public static func jsonLines(_ text: String) -> Fixture {
    Fixture { database in
      var pieces = [text.utf8].makeIterator()
      try database.importJSONLines { pieces.next() }
    }
  }

  /// A file of JSON Lines, such as one that `Database.exportJSONLines(to:)` wrote.
  public static func jsonLines(file path: String) -> Fixture {
    Fixture { try $0.importJSONLines(from: path) }
  }

  /// Documents.
  public static func documents(_ documents: Document...) -> Fixture {
    Fixture { database in try database.write { _ = try $0.put(contentsOf: documents) } }
  }

  /// Models, which the closure makes in a context.
  ///
  /// Those that it leaves unsaved are saved.
  public static func models(_ make: @escaping (_ context: ModelContext) throws -> Void) -> Fixture {
    Fixture { database in
      let context = database.makeContext()
      try make(context)
      try context.save()
    }
  }
}

extension Database {
  /// Creates a store in memory for a test, prepared for a schema, with the contents of fixtures.
  ///
  /// ```swift
  /// let database = try Database.inMemory(fixtures: .documents(Document(id: "a", ["n": 1])))
  /// ```
  ///
  /// The schema's migrations are run first, while the store is empty, so fixtures are not migrated.
  /// To migrate documents of an earlier version, use a ``MigrationTrial``.
  ///
  /// - Parameters:
  ///   - schema: The kinds of documents.
  ///   - configuration: How the database behaves, for instance with IDs and times of the test.
  ///   - first: The contents.
  ///   - others: More contents, which are added in this order.
  /// - Returns: The database, which ends with its last reference.
  /// - Throws: The errors of `Database.inMemory(schema:configuration:)` and of loading.
  public static func inMemory(
    schema: Schema = Schema(), configuration: Configuration = Configuration(),
    fixtures first: Fixture, _ others: Fixture...
  ) throws -> Database {
    let database = try Database.inMemory(schema: schema, configuration: configuration)
    for fixture in [first] + others { try fixture.load(database) }
    return database
  }

  /// Adds the contents of fixtures to this database.
  ///
  /// - Throws: The errors of writing. Fixtures before the one that failed stay.
  public func load(_ fixtures: Fixture...) throws {
    for fixture in fixtures { try fixture.load(self) }
  }
}
