import DivanLog
import Synchronization

/// What the layers above keep beside a store for as long as it is open, or beside a version of it for as long as
/// somebody holds that; one thing of each type.
///
/// So they need no table of their own, and the store needs to know nothing of them.
final class Companions: Sendable {
  private struct Entry {
    let type: ObjectIdentifier
    let thing: any Sendable & AnyObject
  }

  /// In the order in which they were made.
  private let entries = Guarded<[Entry]>([])

  /// The thing of a type, which is made when it is first asked for.
  func get<T: Sendable & AnyObject>(_ type: T.Type, _ make: () -> T) -> T {
    entries.withLock { entries in
      let found = entries.first { $0.type == ObjectIdentifier(type) }
      if let thing = found?.thing as? T { return thing }
      let thing = make()
      entries.append(Entry(type: ObjectIdentifier(type), thing: thing))
      return thing
    }
  }

  /// Lets those store it who have something that is not stored yet, before the store is closed.
  ///
  /// - Throws: why something cannot be stored; then the store stays open.
  func prepareToClose(on actor: isolated (any Actor)?) throws {
    for case let companion as any ClosingGuard in entries.withLock({ $0.map(\.thing) }) {
      try companion.prepareToClose(on: actor)
    }
  }

  /// Tells those who want to know that the store is being closed.
  func noteClosing(of store: Store) {
    for case let companion as any StoreCompanion in entries.withLock({ $0.map(\.thing) }) {
      companion.storeIsClosing(store)
    }
  }

  /// Lets go of everything, since the store is closed.
  func end() {
    let ended = entries.withLock { entries in
      defer { entries = [] }
      return entries
    }
    for entry in ended { (entry.thing as? any StoreCompanion)?.storeDidClose() }
  }
}

/// A thing beside a store that may have something that is to be stored before the store is closed.
protocol ClosingGuard: AnyObject, Sendable {
  /// Stores what can be stored on the actor of whoever closes the store.
  ///
  /// - Throws: if anything is left; then the store stays open.
  func prepareToClose(on actor: isolated (any Actor)?) throws
}

/// A thing beside a store that wants to know of its end.
protocol StoreCompanion: AnyObject, Sendable {
  /// Everything is durable, and the store's files may be changed for the last time.
  ///
  /// What fails is reported, and does not keep the store from being closed.
  func storeIsClosing(_ store: Store)

  /// Nobody can ask the store for anything any more.
  func storeDidClose()
}
