import DivanLog
import Synchronization

/// What the layers above a store keep beside it for as long as it is open, one thing of each type.
///
/// So they need no table of their own of stores, and the store needs to know nothing of them.
final class Companions: Sendable {
  private let things = Guarded<[ObjectIdentifier: any Sendable & AnyObject]>([:])

  /// The thing of a type, which is made when it is first asked for.
  func get<T: Sendable & AnyObject>(_ type: T.Type, _ make: () -> T) -> T {
    things.withLock { things in
      if let thing = things[ObjectIdentifier(type)] as? T { return thing }
      let thing = make()
      things[ObjectIdentifier(type)] = thing
      return thing
    }
  }
}
