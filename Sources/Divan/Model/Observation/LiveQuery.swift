public import Observation

/// The models that match a query, in its order, kept up to date: see
/// ``ModelContext/liveQuery(_:)``.
///
/// ```swift
/// let open = context.liveQuery(Query<Todo>().filter { !$0.done }.sorted(by: \.due))
/// open.onChange = { change in print(change.insertions, change.deletions) }
/// let texts = open.results.map(\.text)
/// ```
///
/// A live query shows the state of its context, and is updated whenever the context moves on. A
/// context that follows the database on an actor
/// (``Database/makeFollowingContext(_:autosavingAfter:isolation:)``) moves on soon after any
/// commit; other contexts do when they save or are refreshed. As with ``ModelContext/find(_:)``,
/// unsaved changes make no difference.
///
/// It is `Observable`. Observers of ``results`` are notified only if models were added, removed or
/// reordered; models notify observers of their own properties. If the class is not observable,
/// changes of a model's properties count too.
///
/// The cost of an update is that of the changes, plus moving the elements of the list. See
/// ``Database/liveResults(of:)-(Query<Document>)`` for the queries that are executed again. A live
/// query retains its models, and belongs to the same actor as its context. After the context was
/// released, it no longer changes.
public final class LiveQuery<M: Model>: Observable {
  private let core: ModelContextCore
  private let observers = ObservationRegistrar()
  private var current: Query<M>
  private var rows: LiveRows
  private var models: [M] = []
  private var failure: (any Error)?
  /// Whether `models` has one model for each row.
  private var isAligned = true
  /// Documents whose changes were not passed to `onChange`, because the update failed.
  private var unreported: Set<DocumentKey> = []
  /// Whether an update is in progress, including its notifications.
  private var isUpdating = false
  /// Whether the context moved on during the update.
  private var isOutdated = false
  /// The rows of a query that was set during the update.
  private var nextRows: LiveRows?
  /// Performs each change of what observers see, for instance with an animation.
  var updating: (_ change: () -> Void) -> Void = { $0() }

  /// Called with the differences after each change of ``results``.
  ///
  /// Models whose properties changed are included as updates. It is not called for the initial
  /// result. It may save and refresh the context: ``results`` is updated again after it returns,
  /// followed by another call. A list that is shown can thus apply one change after another.
  public var onChange: ((ListDifference) -> Void)?

  /// Creates a live query.
  ///
  /// - Parameters:
  ///   - core: the context.
  ///   - query: the query.
  ///   - rows: its rows, executed or not; nil for new ones.
  ///   - failure: see ``exchange(_:_:failure:)``.
  init(
    _ core: ModelContextCore, _ query: Query<M>, rows: LiveRows? = nil,
    failure: (any Error)? = nil
  ) {
    self.core = core
    current = query
    self.rows = rows ?? LiveRows(core.known(query).core, load: nil)
    isAligned = rows == nil
    core.liveQueries.append(WeakLiveQuery(query: self))
    if let failure { note(failure) } else { contextMoved() }
  }

  deinit { core.liveQueries.removeAll { $0.query == nil } }
}

@available(*, unavailable)
extension LiveQuery: Sendable {}

extension LiveQuery {
  /// The models, in the order of the query.
  public var results: [M] {
    observers.access(self, keyPath: \.results)
    return models
  }

  /// The error because of which ``results`` is not up to date; nil if it is up to date.
  ///
  /// After an error, ``results`` stays as it was, and the query is executed again when the context
  /// moves on. The error is ``DatabaseError/Code/invalidQuery`` if the query cannot be executed,
  /// `inTransaction` in the context of a transaction, or an error of reading.
  public var error: (any Error)? {
    observers.access(self, keyPath: \.error)
    return failure
  }
}

extension LiveQuery {
  /// The query whose results are shown.
  ///
  /// Set it to show the results of another query, such as one for a text that the user types:
  ///
  /// ```swift
  /// late.query = Query<Chore>().filter { $0.title.containsText(search, ignoring: .letterCase) }
  /// ```
  ///
  /// The new query is executed at once. ``onChange`` is called with the differences, and a model
  /// that is in both results stays. If the new query fails, ``error`` says why, and ``results``
  /// stays as it was. Setting an equal query changes nothing.
  public var query: Query<M> {
    get {
      observers.access(self, keyPath: \.query)
      return current
    }
    set {
      guard newValue != current else { return }
      exchange(newValue, LiveRows(core.known(newValue).core, load: nil))
    }
  }

  /// Shows the results of another query.
  ///
  /// - Parameters:
  ///   - query: the query.
  ///   - newRows: its rows, executed or not.
  ///   - failure: the error of executing it elsewhere, if it failed. It is then executed when the
  ///     context moves on.
  func exchange(_ query: Query<M>, _ newRows: LiveRows, failure: (any Error)? = nil) {
    observers.withMutation(of: self, keyPath: \.query) { current = query }
    nextRows = newRows
    if let failure { note(failure) } else { contextMoved() }
  }
}

extension LiveQuery: ContextObserver {
  var reportedError: (any Error)? { failure }

  func contextMoved() {
    // Observers are notified during an update, and `onChange` is called at its end. If they save,
    // the resulting update waits until they return, which keeps the changes in order.
    guard !isUpdating else {
      isOutdated = true
      return
    }
    isUpdating = true
    defer { isUpdating = false }
    repeat {
      isOutdated = false
      if let new = nextRows {
        (rows, nextRows, isAligned) = (new, nil, false)
      }
      if let change = update() { onChange?(change) }
    } while isOutdated
  }

  /// Takes over the context's state; returns the differences, or nil if there are none.
  private func update() -> ListDifference? {
    do {
      guard !core.isInTransaction else {
        throw DatabaseError(
          .inTransaction, "the context of a transaction has no live queries",
          hint: "Run the query with `find`")
      }
      let change = try rows.advance(to: try core.requireSnapshot().view)
      let difference = try take(change)
      note(nil)
      return difference.isEmpty ? nil : difference
    } catch {
      note(error)
      return nil
    }
  }

  private func note(_ error: (any Error)?) {
    guard error != nil || failure != nil else { return }
    let isNew = error.map { "\($0)" } != failure.map { "\($0)" }
    updating { observers.withMutation(of: self, keyPath: \.error) { failure = error } }
    if let error, isNew { core.errorReports?.add(error) }
  }

  /// Updates the models to the changed rows.
  private func take(_ change: ListDifference) throws -> ListDifference {
    guard !change.isEmpty || !isAligned else { return change }
    for update in change.updates { unreported.insert(DocumentKey(rows.row(at: update.to).id)) }
    guard isAligned else { return try takeAll() }
    // Stays false if this fails: loading a model may throw, or a model may be missing.
    isAligned = false
    let inserted = try models(at: change.insertions)
    guard inserted.count == change.insertions.count else { return try takeAll() }
    var isListChanged = !change.deletions.isEmpty || !inserted.isEmpty || !change.moves.isEmpty
    var exchanged: [(index: Int, model: M)] = []
    for update in change.updates where models[update.from].state == .deleted {
      // The document now belongs to another class.
      guard let model = try models(at: [update.to]).first else { return try takeAll() }
      exchanged.append((update.to, model))
      isListChanged = true
    }
    set(notifying: isListChanged || !M.isObservable) { models in
      change.apply(to: &models, inserting: inserted)
      for (index, model) in exchanged { models[index] = model }
    }
    isAligned = true
    unreported = []
    return change
  }

  /// Rebuilds the models from all rows, without those that have no model.
  private func takeAll() throws -> ListDifference {
    let all = try models(at: Array(0..<rows.window.count))
    let difference = ListDifference(
      from: models, to: all, id: { ObjectIdentifier($0) },
      isEqual: { _, model in !unreported.contains(DocumentKey(model.documentID)) })
    let isListChanged =
      !difference.deletions.isEmpty || !difference.insertions.isEmpty || !difference.moves.isEmpty
    let notifies = isListChanged || !difference.isEmpty && !M.isObservable
    set(notifying: notifies) { $0 = all }
    isAligned = all.count == rows.window.count
    unreported = []
    return difference
  }

  private func set(notifying: Bool, _ change: (inout [M]) -> Void) {
    guard notifying else { return change(&models) }
    updating { observers.withMutation(of: self, keyPath: \.results) { change(&models) } }
  }

  /// Returns the models of rows, without deleted ones.
  private func models(at indexes: [Int]) throws -> [M] {
    let ids = indexes.map { rows.row(at: $0).id }
    // Unknown documents are read together, in their stored order.
    let unknown = ids.filter { core.known($0) == nil }
    var documents: [DocumentKey: Document] = [:]
    for (id, document) in zip(unknown, try core.requireSnapshot().documents(unknown)) {
      documents[DocumentKey(id)] = document
    }
    return try ids.compactMap { id in
      let model =
        if let document = documents[DocumentKey(id)] {
          try core.model(M.self, of: ModelContent(document)) as M?
        } else {
          try core.model(M.self, id: id)
        }
      return model.flatMap { $0.state == .deleted ? nil : $0 }
    }
  }
}

/// An object that is updated when its context moves on.
protocol ContextObserver: AnyObject {
  func contextMoved()
  /// The error because of which it is not up to date; nil if it is.
  var reportedError: (any Error)? { get }
}

/// A weak reference to a live query, for its context.
struct WeakLiveQuery {
  weak var query: (any ContextObserver)?
}
