import DivanLog
import Synchronization

/// Objects that the layers above attach to an open store, or to a version of it in memory.
///
/// There is one object of each type. So the layers need no table of their own, and the store does
/// not depend on them.
final class AttachedServices: Sendable {
  private struct Entry {
    let type: ObjectIdentifier
    let object: any Sendable & AnyObject
  }

  /// The entries in the order in which they were made.
  private let entries = Guarded<[Entry]>([])

  /// Returns the object of a type, which is made on first use.
  func get<T: Sendable & AnyObject>(_ type: T.Type, _ make: () -> T) -> T {
    entries.withLock { entries in
      let found = entries.first { $0.type == ObjectIdentifier(type) }
      if let object = found?.object as? T { return object }
      let object = make()
      entries.append(Entry(type: ObjectIdentifier(type), object: object))
      return object
    }
  }

  /// Lets the services store their unsaved state before the store is closed.
  ///
  /// - Throws: the reason why something cannot be stored; then the store stays open.
  func prepareToClose(on actor: isolated (any Actor)?) throws {
    for case let service as any ClosingGuard in entries.withLock({ $0.map(\.object) }) {
      try service.prepareToClose(on: actor)
    }
  }

  /// Lets the services store their unsaved state, without blocking the caller's actor.
  func saveBeforeClosing(isolation actor: isolated (any Actor)? = #isolation) async {
    for case let service as any ClosingGuard in entries.withLock({ $0.map(\.object) }) {
      await service.saveBeforeClosing(isolation: actor)
    }
  }

  /// Notifies the services that the store is being closed.
  func noteClosing(of store: Store) {
    for case let service as any AttachedService in entries.withLock({ $0.map(\.object) }) {
      service.storeIsClosing(store)
    }
  }

  /// Releases all services, because the store is closed.
  func end() {
    let ended = entries.withLock { entries in
      defer { entries = [] }
      return entries
    }
    for entry in ended { (entry.object as? any AttachedService)?.storeDidClose() }
  }
}

/// A service of a store that may have unsaved state when the store is closed.
protocol ClosingGuard: AnyObject, Sendable {
  /// Stores the unsaved state that belongs to the closing caller's actor.
  ///
  /// - Throws: an error if anything stays unsaved; then the store stays open.
  func prepareToClose(on actor: isolated (any Actor)?) throws

  /// Stores the unsaved state that belongs to the caller's actor, without blocking it.
  ///
  /// What cannot be stored is left to `prepareToClose(on:)`, which reports it.
  func saveBeforeClosing(isolation actor: isolated (any Actor)?) async
}

/// A service that is notified of the end of its store.
protocol AttachedService: AnyObject, Sendable {
  /// Called when everything is durable, and the store's files may be changed for the last time.
  ///
  /// Errors are reported, and do not keep the store from being closed.
  func storeIsClosing(_ store: Store)

  /// Called when the store can no longer be used.
  func storeDidClose()
}
