/// A database in memory with sample data, for the previews of views.
///
/// ```swift
/// #Preview {
///   TodoScreen().divan(.preview(Schema(Todo.self)) { context in
///     Todo(in: context).text = "Buy milk"
///   })
/// }
/// ```
///
/// Nothing is saved by itself, and nothing outlives the preview.
public struct PreviewStore: Sendable {
  private let schema: Schema
  private let fill: @MainActor @Sendable (ModelContext) throws -> Void

  private init(
    _ schema: Schema, _ fill: @escaping @MainActor @Sendable (ModelContext) throws -> Void
  ) {
    (self.schema, self.fill) = (schema, fill)
  }

  /// Describes a database.
  ///
  /// - Parameters:
  ///   - schema: The kinds of documents, as the program opens its database with.
  ///   - fill: Makes the sample data. The models that it leaves unsaved are saved.
  /// - Returns: The description: each preview opens a database of its own.
  public static func preview(
    _ schema: Schema = Schema(),
    _ fill: @escaping @MainActor @Sendable (_ context: ModelContext) throws -> Void = { _ in }
  ) -> PreviewStore {
    PreviewStore(schema, fill)
  }

  /// Creates the database, with its sample data in ``Database/mainContext``.
  ///
  /// The modifier `divan(_:)` calls it. A test can call it, to see that the sample data still fits
  /// the schema.
  ///
  /// - Throws: the errors of the closure, of opening and of saving.
  @MainActor public func open() throws -> Database {
    let database = try Database.inMemory(schema: schema)
    let context = database.mainContext
    try fill(context)
    try context.save()
    return database
  }
}

/// The database of a preview, opened when it is first needed.
@MainActor
final class OpenedPreview {
  private var opened: Result<Database, any Error>?

  nonisolated init() {}

  func database(of store: PreviewStore) -> Result<Database, any Error> {
    if let opened { return opened }
    let made = Result { try store.open() }
    opened = made
    return made
  }

  deinit {
    // The context of the main actor and its database retain each other.
    if case .success(let database)? = opened { try? database.close(discardsUnsavedModels: true) }
  }
}
