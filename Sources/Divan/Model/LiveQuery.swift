public import Observation

extension ModelContext {
  /// The models that a query means, kept up to date.
  ///
  /// ```swift
  /// let open = context.live(Query<Chore>().filter { $0.due != nil }.sort(\.due))
  /// ```
  public func live<M: Model>(_ query: Query<M>) -> LiveQuery<M> { LiveQuery(core, query) }
}

/// The models that a query means, in its order, for as long as somebody holds this: see ``ModelContext/live(_:)``.
///
/// It shows what its context shows, and follows whenever that moves on: in a context that lives on an actor by itself
/// (``Database/makeContext(_:autosavingAfter:isolation:)``) soon after something was committed anywhere, in others when the
/// context saves or is refreshed. As with ``ModelContext/find(_:)``, what is changed and not saved makes no difference.
///
/// It is `Observable`: whoever reads ``results`` is told when other models are in it, or the same in another order, and
/// only then; models tell of their properties themselves. Of a class that is not `Observable`, whose models tell
/// nobody, a change of one counts, too.
///
/// A step costs what the changes cost, and a move of the list's elements; see ``Database/updates(of:)-(Query<Document>)`` for which
/// queries are run anew. It holds its models, and belongs where its context belongs. When the context is gone it stays as it is.
public final class LiveQuery<M: Model>: Observable {
  private let core: ModelContextCore
  private let observers = ObservationRegistrar()
  private var rows: LiveRows
  private var models: [M] = []
  private var failure: (any Error)?
  /// Whether `models` has one model for each row.
  private var isAligned = true
  /// Documents whose change `onChange` was not told of, since the update failed that met it.
  private var untold: Set<DocumentKey> = []
  /// Whether an update is being made, or told of.
  private var isUpdating = false
  /// Whether the context has moved on meanwhile.
  private var isOutdated = false

  /// Told of what has changed, after ``results`` has; of models that have other properties, too, as updates.
  ///
  /// It is not told of the first result. It may save and refresh the context: ``results`` moves on when it has returned, and
  /// it is told of that next, so that whoever shows a list takes one change after the other.
  public var onChange: ((ListDifference) -> Void)?

  fileprivate init(_ core: ModelContextCore, _ query: Query<M>) {
    self.core = core
    rows = LiveRows(core.known(query).core, load: nil)
    core.liveQueries.append(WeakLiveQuery(query: self))
    contextMoved()
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

  /// Why ``results`` are not those of what the context shows now; nil if they are.
  ///
  /// They are then those of before, and the query is run anew when the context moves on: ``DatabaseError/Code/invalidQuery``
  /// if it cannot be answered, `inTransaction` in the context of a transaction, and whatever reading throws.
  public var error: (any Error)? {
    observers.access(self, keyPath: \.error)
    return failure
  }
}

extension LiveQuery: ContextFollowing {
  func contextMoved() {
    // Observers are told in the middle of an update, and `onChange` at its end. What they save shows when they have
    // returned: else a change would be told of before the one that it follows.
    guard !isUpdating else {
      isOutdated = true
      return
    }
    isUpdating = true
    defer { isUpdating = false }
    repeat {
      isOutdated = false
      if let change = update() { onChange?(change) }
    } while isOutdated
  }

  /// Takes over what the context shows; returns what has changed, if anything.
  private func update() -> ListDifference? {
    do {
      guard !core.isInTransaction else {
        throw DatabaseError(
          .inTransaction, "the context reads a transaction, and no query is live there",
          hint: "Ask the context again with `find`")
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
    observers.withMutation(of: self, keyPath: \.error) { failure = error }
  }

  /// Makes the models those of the rows.
  private func take(_ change: ListDifference) throws -> ListDifference {
    guard !change.isEmpty || !isAligned else { return change }
    for update in change.updates { untold.insert(DocumentKey(rows.row(at: update.to).id)) }
    guard isAligned else { return try takeAll() }
    // Until it is done: models' hooks may fail, and a model may not be there.
    isAligned = false
    let come = try models(at: change.insertions)
    guard come.count == change.insertions.count else { return try takeAll() }
    var isOther = !change.deletions.isEmpty || !come.isEmpty || !change.moves.isEmpty
    var exchanged: [(index: Int, model: M)] = []
    for update in change.updates where models[update.from].state == .deleted {
      // Its document has become one of another class.
      guard let model = try models(at: [update.to]).first else { return try takeAll() }
      exchanged.append((update.to, model))
      isOther = true
    }
    set(telling: isOther || !ModelObservation.isObservable(M.self)) { models in
      change.apply(to: &models, inserting: come)
      for (index, model) in exchanged { models[index] = model }
    }
    isAligned = true
    untold = []
    return change
  }

  /// Makes the models those of all rows, leaving out those that are none.
  private func takeAll() throws -> ListDifference {
    let all = try models(at: Array(0..<rows.window.count))
    let difference = ListDifference(
      from: models, to: all, id: { ObjectIdentifier($0) },
      isEqual: { _, model in !untold.contains(DocumentKey(model.documentID)) })
    let isOther =
      !difference.deletions.isEmpty || !difference.insertions.isEmpty || !difference.moves.isEmpty
    let isTold = isOther || !difference.isEmpty && !ModelObservation.isObservable(M.self)
    set(telling: isTold) { $0 = all }
    isAligned = all.count == rows.window.count
    untold = []
    return difference
  }

  private func set(telling: Bool, _ change: (inout [M]) -> Void) {
    guard telling else { return change(&models) }
    observers.withMutation(of: self, keyPath: \.results) { change(&models) }
  }

  /// The models of rows, without those that are deleted.
  private func models(at indexes: [Int]) throws -> [M] {
    let ids = indexes.map { rows.row(at: $0).id }
    // Read in the order in which they lie.
    let unknown = ids.filter { core.known($0) == nil }
    var documents: [DocumentKey: Document] = [:]
    for (id, document) in zip(unknown, try core.requireSnapshot().get(unknown)) {
      documents[DocumentKey(id)] = document
    }
    return try ids.compactMap { id in
      let model =
        if let document = documents[DocumentKey(id)] {
          try core.model(M.self, of: document) as M?
        } else {
          try core.model(M.self, id)
        }
      return model.flatMap { $0.state == .deleted ? nil : $0 }
    }
  }
}

/// What follows a context when it moves on.
protocol ContextFollowing: AnyObject {
  func contextMoved()
}

/// A live query, as its context knows it.
struct WeakLiveQuery {
  weak var query: (any ContextFollowing)?
}

extension ModelContextCore {
  /// Brings live queries to what the context shows.
  func updateLiveQueries() {
    guard !liveQueries.isEmpty else { return }
    for each in liveQueries { each.query?.contextMoved() }
  }
}

extension Database {
  /// The IDs of the models that a query means: now, and again whenever that has changed.
  ///
  /// ```swift
  /// for try await ids in database.updates(of: open) {
  ///   count = ids.count
  /// }
  /// ```
  ///
  /// Models belong to a context, and IDs go anywhere. Everything else is as with ``updates(of:)-(Query<Document>)``; a model has changed
  /// if its document has. In a context, ``ModelContext/live(_:)`` gives models.
  ///
  /// - Parameters:
  ///   - query: what is meant.
  ///   - registry: which classes documents are of, as for a context.
  /// - Returns: the results, which any number of tasks may read from a first one on.
  public func updates<M: Model>(
    of query: Query<M>, registry: ModelRegistry? = nil
  ) -> LiveUpdates<ModelID<M>> {
    var core = query.core
    core.kind = ModelKind.of(M.self, registry)
    return LiveUpdates(self, core) { id in ModelID<M>(id) }
  }
}
