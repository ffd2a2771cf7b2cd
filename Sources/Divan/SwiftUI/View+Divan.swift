#if canImport(SwiftUI)
  public import SwiftUI

  // Type-checked on Linux against declarations in Tests/systems/SwiftUI only, and never run.

  extension View {
    /// Shows models of a database in this view: ``Database/mainContext`` is `\.divan` below it.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - delay: How long after a change to save it, while the view is shown, as with
    ///     ``ModelContext/autosave(after:isolation:onError:)``; nil, the default, to save only when
    ///     you call a save method.
    /// - Returns: The view with the context in its environment.
    public func divan(_ database: Database, autosavingAfter delay: Duration? = nil) -> some View {
      modifier(DatabaseModifier(database: database, delay: delay))
    }

    /// Shows models of a context in this view: it is `\.divan` below it.
    ///
    /// The context belongs to the main actor. Use it for a form whose changes are saved or
    /// discarded together, with `database.makeFollowingContext()`.
    public func divan(_ context: ModelContext) -> some View { environment(\.divan, context) }

    /// Shows sample data in this view, for previews.
    ///
    /// The database is opened when the view is first shown. If that fails, the error is shown in
    /// place of the view.
    public func divan(_ preview: PreviewStore) -> some View {
      modifier(PreviewModifier(store: preview))
    }
  }

  extension Scene {
    /// Shows models of a database in this scene: ``Database/mainContext`` is `\.divan` in it.
    public func divan(_ database: Database) -> some Scene {
      environment(\.divan, database.mainContext)
    }
  }

  private struct DatabaseModifier: ViewModifier {
    let database: Database
    let delay: Duration?

    private struct Autosaving: Equatable {
      let database: ObjectIdentifier
      let delay: Duration?
    }

    func body(content: Content) -> some View {
      content
        .environment(\.divan, database.mainContext)
        .task(id: Autosaving(database: ObjectIdentifier(database), delay: delay)) {
          guard let delay else { return }
          let context = database.mainContext
          await context.autosave(after: delay) { error in context.report(error) }
        }
    }
  }

  private struct PreviewModifier: ViewModifier {
    let store: PreviewStore
    @State private var opened = OpenedPreview()

    func body(content: Content) -> some View {
      switch opened.database(of: store) {
      case .success(let database): content.divan(database)
      case .failure(let error): Text(verbatim: "\(error)")
      }
    }
  }
#endif
