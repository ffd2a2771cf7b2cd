/// Models that took over what was changed elsewhere.
public struct ModelUpdate {
  /// Models whose documents were changed, in the order of their changes.
  public private(set) var changed: [Model] = []
  /// Models whose documents were deleted.
  public internal(set) var deleted: [Model] = []

  /// Those of ``changed``, so that none comes twice.
  private var known: Set<ObjectIdentifier> = []

  /// Whether there are none.
  public var isEmpty: Bool { changed.isEmpty && deleted.isEmpty }

  /// Adds a model whose document was changed, unless it is there.
  mutating func noteChanged(_ model: Model) {
    if known.insert(ObjectIdentifier(model)).inserted { changed.append(model) }
  }
}

@available(*, unavailable)
extension ModelUpdate: Sendable {}

extension ModelContext {
  /// Moves the context on whenever the database was changed elsewhere, for as long as this is read.
  ///
  /// ```swift
  /// for try await update in context.updates {
  ///   print(update.changed.count, "models are others now")
  /// }
  /// ```
  ///
  /// Each step waits for a commit that changes something that models in this context show, moves to the newest
  /// snapshot as ``refresh()`` does, and gives the models that took something over. Several commits may come
  /// together. Unlike with ``refresh()``, a property that was changed here and elsewhere is a conflict when the
  /// model is saved.
  /// It ends when the task is cancelled or the context is gone, and throws ``DatabaseError/Code/closed`` when
  /// the database is closed. Read it where the context belongs: on the same actor.
  public var updates: ModelUpdates { ModelUpdates(core: core) }
}

/// What other contexts, threads and imports change, as it comes: see ``ModelContext/updates``.
public struct ModelUpdates: AsyncSequence {
  let core: ModelContextCore

  /// Begins to wait.
  public func makeAsyncIterator() -> Iterator { Iterator(follower: Follower(core)) }

  /// Waits for changes, one after the other.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let follower: Follower

    /// The next models that took something over.
    public mutating func next() async throws -> ModelUpdate? {
      try await next(isolation: #isolation)
    }

    /// The next models that took something over; nil when the task is cancelled or the context is gone.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(any Error) -> ModelUpdate? {
      let core = follower.core
      // What reads a transaction or a snapshot is not moved on by anybody.
      guard case .database(let database) = core.source else { return nil }
      let signal = database.store.commits.changesAndPurges
      while !Task.isCancelled, core.handle != nil {
        if let update = follower.missed.take() { return update }
        let count = try core.requireSnapshot().changesAndPurges
        await signal.wait(beyond: count)
        guard !Task.isCancelled, core.handle != nil else { break }
        try core.refresh(settlesConflicts: false)
      }
      return nil
    }
  }

  /// One who is to be told of all that models of a context take over, also when they are saved meanwhile.
  final class Follower {
    fileprivate let core: ModelContextCore
    /// What it was not told of yet.
    fileprivate var missed: ModelUpdate?

    fileprivate init(_ core: ModelContextCore) {
      self.core = core
      core.followers.append(WeakFollower(follower: self))
    }

    deinit { core.followers.removeAll { $0.follower == nil } }

    /// Notes models that took something over.
    func note(_ update: ModelUpdate) {
      var all = missed ?? ModelUpdate()
      for model in update.changed { all.noteChanged(model) }
      all.deleted += update.deleted
      missed = all
    }
  }

  /// A follower, as the context knows it.
  struct WeakFollower {
    weak var follower: Follower?
  }
}

@available(*, unavailable)
extension ModelUpdates: Sendable {}

@available(*, unavailable)
extension ModelUpdates.Iterator: Sendable {}
