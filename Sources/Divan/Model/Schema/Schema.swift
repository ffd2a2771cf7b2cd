/// The kinds of documents in a database, and what opening it makes for them.
///
/// ```swift
/// let schema = Schema(
///   Todo.self, TodoList.self,
///   documents: [Recipe.self],
///   indexes: [DocumentIndex("quick", on: "minutes") { $0["type"] == "Recipe" }],
///   migrations: [Migration(id: "2026-11 years are numbers") { try change($0) }])
/// let database = try Database(at: "Todos.divan", schema: schema)
/// ```
///
/// Opening runs the migrations that have not been run, and then builds the indexes that the classes
/// declare and the others, unless they exist already. An index whose definition has changed is
/// built again; one that is no longer named stays.
///
/// Every context of the database knows the classes: a document becomes a model of the class with
/// its type, and queries for a class match documents of its subclasses, as with a
/// ``ModelRegistry``.
///
/// A schema does not limit the database. You can store any document in it, and add indexes later.
public struct Schema: Sendable {
  /// The classes of models.
  public let models: [Model.Type]
  /// The `Codable` types that are stored with a document type.
  public let documents: [any DocumentCodable.Type]
  /// The indexes, in addition to those that the classes declare.
  public let indexes: [DocumentIndex]
  /// All migrations that ever existed, in their order.
  public let migrations: [Migration]
  /// The classes by their types, or the reason why there can be no schema.
  private let classes: Result<ModelRegistry, DatabaseError>

  /// Creates a schema.
  ///
  /// - Parameters:
  ///   - models: The classes of models, subclasses among them. A class without a
  ///     ``Model/documentType`` may be one, and its indexes are built.
  ///   - documents: The `Codable` types that are stored with a document type.
  ///   - indexes: The indexes, in addition to those that the classes declare.
  ///   - migrations: All migrations that ever existed, in their order.
  public init(
    _ models: Model.Type..., documents: [any DocumentCodable.Type] = [],
    indexes: [DocumentIndex] = [], migrations: [Migration] = []
  ) {
    self.models = models
    self.documents = documents
    self.indexes = indexes
    self.migrations = migrations
    classes = Schema.registry(of: models, documents)
  }

  /// Returns the classes by their types.
  ///
  /// Fails if two classes or types have the same document type.
  private static func registry(
    of models: [Model.Type], _ documents: [any DocumentCodable.Type]
  ) -> Result<ModelRegistry, DatabaseError> {
    Result { () throws(DatabaseError) in
      var registry = ModelRegistry.empty
      for type in models where type.documentType != nil { try registry.register(type) }
      var known: ByteKeyed<any DocumentCodable.Type> = [:]
      for type in documents {
        let name = type.documentType
        let other = registry[name].map { String(reflecting: $0) }
        let twin = known[name].flatMap { $0 == type ? nil : String(reflecting: $0) }
        if let other = other ?? twin {
          throw DatabaseError(
            .invalidModelClass,
            "\(other) and \(String(reflecting: type)) both have the document type "
              + name.debugDescription,
            hint: "Declare another `documentType` in one of them")
        }
        known[name] = type
      }
      return registry
    }
  }

  /// The classes by their types; nil if the schema is invalid, and so opens no database.
  var registry: ModelRegistry? { try? classes.get() }

  func validate() throws(DatabaseError) { _ = try classes.get() }
}
