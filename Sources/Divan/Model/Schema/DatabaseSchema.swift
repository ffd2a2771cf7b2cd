/// The schema that a database was opened with, for the layers above the store.
final class DatabaseSchema: Sendable {
  let schema: Schema?

  private init(_ schema: Schema?) { self.schema = schema }

  /// The schema of an open store.
  static func of(_ store: StoreEnvironment) -> DatabaseSchema {
    store.services.get(DatabaseSchema.self) { DatabaseSchema(nil) }
  }

  /// Records the schema of a store that was just opened.
  static func set(_ schema: Schema, of store: Store) {
    _ = store.services.get(DatabaseSchema.self) { DatabaseSchema(schema) }
  }
}
