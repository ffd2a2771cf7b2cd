#if canImport(SwiftUI)
  public import SwiftUI

  // This file is type-checked on Linux against declarations in Tests/systems/SwiftUI only. It was
  // never run. It binds `LiveModels`, which is tested, to a view.

  /// The models that a query finds, in a view, kept up to date.
  ///
  /// ```swift
  /// struct TodoScreen: View {
  ///   @Live(Query<Todo>().filter { !$0.done }.sorted(by: \.due), animation: .default)
  ///   private var todos
  ///
  ///   var body: some View {
  ///     List(todos) { todo in Text(todo.text) }
  ///   }
  /// }
  /// ```
  ///
  /// The context is the one in the environment: see `View.divan(_:)`. The wrapped value is an array
  /// of models. The projected value, `$todos`, is a ``LiveModels``: it has the query, which you can
  /// set, and the error.
  ///
  /// The view is updated when models are added, removed or reordered. It is also updated when
  /// properties change that its `body` reads, since models are `Observable`. Unsaved changes affect
  /// properties, and not which models there are.
  ///
  /// If the view's `init` makes the query of its parameters, it assigns `_todos = Live(query)`. The
  /// query is executed again only if it is not equal to the one before.
  @MainActor @propertyWrapper
  public struct Live<M: Model>: DynamicProperty {
    private let query: Query<M>
    private let animation: Animation?
    // Created for each value of the view; SwiftUI keeps the first one for the view's identity.
    @State private var models: LiveModels<M>
    @Environment(\.divanContext) private var context

    /// Shows the models that match a query.
    ///
    /// - Parameters:
    ///   - query: The query, until another one is assigned to `$todos.query`.
    ///   - animation: How changes of the results are animated; nil, the default, for not at all.
    ///   - loadsInBackground: Whether a query is executed on another thread the first time. The
    ///     results are empty until then, and `$todos.isLoading` is true. Use it for queries that
    ///     read many documents. By default the results are there at once.
    public nonisolated init(
      _ query: Query<M>, animation: Animation? = nil, loadsInBackground: Bool = false
    ) {
      self.query = query
      self.animation = animation
      _models = State(
        wrappedValue: LiveModels(query, loadsInBackground: loadsInBackground))
    }

    /// The models, in the order of the query.
    public var wrappedValue: [M] { followed.results }

    /// The query, which you can set, its error, and whether it is being executed.
    public var projectedValue: LiveModels<M> { followed }

    // Not in `update()`: that is not isolated to the main actor, and these two are.
    private var followed: LiveModels<M> {
      let animation = animation
      models.follow(context, showing: query) { change in
        if let animation { withAnimation(animation, change) } else { change() }
      }
      return models
    }
  }
#endif
