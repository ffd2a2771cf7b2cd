public import Observation

/// The models that a query of a view finds, with the query itself: the projected value of `@Live`.
///
/// ```swift
/// struct TodoScreen: View {
///   @Live(Query<Todo>().sorted(by: \.due)) private var todos   // todos is an array of models
///   @State private var search = ""
///
///   var body: some View {
///     List(todos) { todo in Text(todo.text) }
///       .searchable(text: $search)
///       .onChange(of: search) {                                  // $todos is a LiveModels
///         $todos.query = Query<Todo>().filter { $0.text.containsText(search) }
///       }
///   }
/// }
/// ```
///
/// It lives as long as the view's identity, belongs to the main actor, and shows the state of the
/// context in the view's environment. It is `Observable`: a view that gets it from another view is
/// updated as well. In code without SwiftUI, use ``ModelContext/liveQuery(_:)``.
@MainActor
public final class LiveModels<M: Model>: Observable {
  private let observers = ObservationRegistrar()
  private let loadsInBackground: Bool
  /// The query that the view declares; nil before the view was shown.
  private var declared: Query<M>?
  private var current: Query<M>
  private var context: ModelContext?
  /// Nil while there is no context, and until a first execution in the background has ended.
  private var live: LiveQuery<M>?
  private var failure: (any Error)?
  private var loading: Task<Void, Never>?
  /// Performs each change of the results, for instance with an animation.
  private var updating: (_ change: () -> Void) -> Void = { $0() }

  nonisolated init(_ query: Query<M>, loadsInBackground: Bool = false) {
    current = query
    self.loadsInBackground = loadsInBackground
  }

  deinit { loading?.cancel() }
}

extension LiveModels {
  /// The models, in the order of the query.
  public var results: [M] {
    observers.access(self, keyPath: \.results)
    return live?.results ?? []
  }

  /// The query whose results are shown.
  ///
  /// Set it to show others. They are animated if `@Live` has an animation. If the view is made
  /// again with another query in its declaration, that one is shown.
  public var query: Query<M> {
    get {
      observers.access(self, keyPath: \.query)
      return current
    }
    set {
      guard newValue != current else { return }
      observers.withMutation(of: self, keyPath: \.query) { current = newValue }
      execute(updating: updating)
    }
  }

  /// The error because of which ``results`` is not up to date; nil if it is up to date.
  ///
  /// See ``LiveQuery/error``. If the environment has no database, the code is
  /// ``DatabaseError/Code/notInContext``.
  public var error: (any Error)? {
    observers.access(self, keyPath: \.error)
    return failure ?? live?.error
  }

  /// Whether a query is being executed in the background.
  ///
  /// Meanwhile ``results`` are those of the previous query, or empty at first. Without
  /// `loadsInBackground`, the query is executed at once, and this is always false.
  public var isLoading: Bool {
    observers.access(self, keyPath: \.isLoading)
    return loading != nil
  }
}

extension LiveModels {
  /// Takes over what the view declares and its environment has, whenever the view is updated.
  ///
  /// The results change if the context or the declared query is another one. These changes are not
  /// animated: the view is being updated already.
  func follow(
    _ newContext: ModelContext?, showing query: Query<M>,
    updating newUpdating: @escaping (_ change: () -> Void) -> Void
  ) {
    let isOtherQuery = query != declared
    let isOtherContext = newContext !== context
    updating = newUpdating
    live?.updating = newUpdating
    guard isOtherQuery || isOtherContext else { return }
    if isOtherQuery {
      declared = query
      if query != current {
        observers.withMutation(of: self, keyPath: \.query) { current = query }
      }
    }
    context = newContext
    if isOtherContext { show(nil) }
    execute { $0() }
  }

  /// Shows the current query's results.
  private func execute(updating: @escaping (_ change: () -> Void) -> Void) {
    loading?.cancel()
    note(loading: nil)
    guard let context else { return note(ModelContext.missingDatabase) }
    note(nil)
    guard loadsInBackground, let view = try? context.core.requireSnapshot().view else {
      // Executed here, an error of reading is one of the live query.
      return show(LiveRows(context.core.known(current).core, load: nil), updating)
    }
    let rows = LiveRows(context.core.known(current).core, load: nil)
    note(
      loading: Task { [weak self] in
        let result = await LiveModels.execute(rows, in: view)
        guard !Task.isCancelled, let self else { return }
        self.note(loading: nil)
        switch result {
        case .success(let executed): self.show(executed, updating)
        case .failure(let error): self.show(rows, failure: error, updating)
        }
      })
  }

  private nonisolated static func execute(
    _ rows: LiveRows, in view: ReadView
  ) async -> Result<LiveRows, any Error> {
    do {
      return .success(
        try await Database.run { isCancelled in
          var rows = rows
          _ = try rows.advance(to: view, isCancelled: isCancelled)
          return rows
        })
    } catch {
      return .failure(error)
    }
  }

  /// Shows rows of the current query, executed or not.
  private func show(
    _ rows: LiveRows, failure: (any Error)? = nil,
    _ change: @escaping (_ change: () -> Void) -> Void
  ) {
    guard let context else { return }
    if let live {
      live.updating = change
      live.exchange(current, rows, failure: failure)
      live.updating = updating
    } else {
      let made = LiveQuery(context.core, current, rows: rows, failure: failure)
      made.updating = updating
      change { show(made) }
    }
  }

  private func show(_ made: LiveQuery<M>?) {
    guard made !== live else { return }
    observers.withMutation(of: self, keyPath: \.results) {
      observers.withMutation(of: self, keyPath: \.error) { live = made }
    }
  }

  private func note(_ error: (any Error)?) {
    guard error != nil || failure != nil else { return }
    observers.withMutation(of: self, keyPath: \.error) { failure = error }
  }

  private func note(loading task: Task<Void, Never>?) {
    guard task != nil || loading != nil else { return }
    observers.withMutation(of: self, keyPath: \.isLoading) { loading = task }
  }
}
