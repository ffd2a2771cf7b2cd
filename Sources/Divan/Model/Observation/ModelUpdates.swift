/// The models that took over external changes, which were not made in their context.
///
/// ```swift
/// let update = try context.refresh()
/// for todo in update.changed { print(todo.id, "was changed") }
/// for todo in update.deleted { print(todo.id, "was deleted") }
/// ```
public struct ModelUpdate {
  /// The models whose documents were changed, in the order of the changes.
  public private(set) var changed: [Model] = []
  /// The models whose documents were deleted.
  public internal(set) var deleted: [Model] = []

  /// The models in ``changed``, to add none twice.
  private var known: Set<ObjectIdentifier> = []

  /// Whether there are no models.
  public var isEmpty: Bool { changed.isEmpty && deleted.isEmpty }

  /// Adds a model whose document was changed, unless it was added already.
  mutating func noteChanged(_ model: Model) {
    if known.insert(ObjectIdentifier(model)).inserted { changed.append(model) }
  }
}

@available(*, unavailable)
extension ModelUpdate: Sendable {}

/// The changes that other contexts, threads and imports make: see ``ModelContext/updates``.
///
/// ```swift
/// for try await update in context.updates {
///   print(update.changed.map(\.id))
///   if todo.text == "Buy oat milk" { break }
/// }
/// ```
public struct ModelUpdates: AsyncSequence {
  let core: ModelContextCore

  /// Creates an iterator that waits for changes.
  public func makeAsyncIterator() -> Iterator { Iterator(observer: Observer(core)) }

  /// An iterator that waits for one update after another.
  ///
  /// ```swift
  /// var updates = context.updates.makeAsyncIterator()
  /// let update = try await updates.next()
  /// ```
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let observer: Observer

    /// Returns the next update; nil when the task is cancelled or the context is released.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> ModelUpdate? {
      let core = observer.core
      // Contexts of transactions and snapshots do not move on.
      guard case .database(let database) = core.source else { return nil }
      let (signal, gate) = (database.store.commits.changesAndPurges, database.store.gate)
      while !Task.isCancelled, core.handle != nil {
        if let update = observer.missed.take() { return update }
        do {
          let count = try core.requireSnapshot().changesAndPurges
          await signal.wait(beyond: count)
          await gate.wait()
          await core.finishCommit()
          guard !Task.isCancelled, core.handle != nil else { break }
          try core.refresh(settlesConflicts: false)
        } catch DatabaseError.Code.suspended {
          await gate.wait()
        }
      }
      return nil
    }
  }

  /// Collects all updates of a context between two steps, including updates by saves.
  final class Observer {
    fileprivate let core: ModelContextCore
    /// The updates that were not yielded yet.
    fileprivate var missed: ModelUpdate?

    fileprivate init(_ core: ModelContextCore) {
      self.core = core
      core.observers.append(WeakObserver(observer: self))
    }

    deinit { core.observers.removeAll { $0.observer == nil } }

    /// Adds models that took over changes.
    func note(_ update: ModelUpdate) {
      var all = missed ?? ModelUpdate()
      for model in update.changed { all.noteChanged(model) }
      all.deleted += update.deleted
      missed = all
    }
  }

  /// A weak reference to an observer, for the context.
  struct WeakObserver {
    weak var observer: Observer?
  }
}

@available(*, unavailable)
extension ModelUpdates: Sendable {}

@available(*, unavailable)
extension ModelUpdates.Iterator: Sendable {}
