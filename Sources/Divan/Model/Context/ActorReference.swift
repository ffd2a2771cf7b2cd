/// A weak reference to an object of an actor, for code that may run anywhere.
///
/// `@unchecked Sendable`: ``object(on:)`` returns the object to code on its actor only.
final class ActorReference<Object: AnyObject>: @unchecked Sendable {
  private weak var object: Object?
  /// The actor of the object; nil if it has none, or if it is released.
  private(set) weak var actor: (any Actor)?

  init(_ object: Object?, of actor: (any Actor)?) {
    self.object = object
    self.actor = actor
  }

  /// Whether the object belongs to an actor; never for nil.
  func isOn(_ other: (any Actor)?) -> Bool { actor.map { $0 === other } ?? false }

  /// Returns the object, if it still exists and belongs to the actor of the caller.
  func object(on caller: isolated (any Actor)?) -> Object? { isOn(caller) ? object : nil }
}
