import DivanLog
import Synchronization

/// What is known of one property of one model: bits in its wrapper.
///
/// Functions of the client's module test them, hence `@inlinable`.
@usableFromInline
enum PropertyFlags {
  /// The document has the value, if it has any; the wrapper has what was declared.
  @inlinable @inline(__always) static var unloaded: UInt16 { 1 }
  /// The value differs from that in the document, and is to be saved.
  @inlinable @inline(__always) static var dirty: UInt16 { 1 << 1 }
  /// Somebody wants to be told of reads and writes.
  @inlinable @inline(__always) static var observed: UInt16 { 1 << 2 }
  /// The model only notes which of its properties are read.
  @inlinable @inline(__always) static var recording: UInt16 { 1 << 3 }
  /// Every write is announced.
  @inlinable @inline(__always) static var hooked: UInt16 { 1 << 4 }
  /// The value is a reference: the model keeps an ID, and the wrapper nothing.
  @inlinable @inline(__always) static var reference: UInt16 { 1 << 5 }
  /// Values are rounded when they are assigned.
  @inlinable @inline(__always) static var normalizing: UInt16 { 1 << 6 }
  /// The value was changed in place, and is rounded when it is next read.
  @inlinable @inline(__always) static var unrounded: UInt16 { 1 << 7 }
  /// The document has something that is no value of this type, which stays until one is assigned.
  @inlinable @inline(__always) static var unreadable: UInt16 { 1 << 8 }
  /// The wrapper has no longer the value that was declared.
  @inlinable @inline(__always) static var replaced: UInt16 { 1 << 9 }
  /// The property has a key that is not its name.
  @inlinable @inline(__always) static var keyed: UInt16 { 1 << 10 }
  /// What is stored may be another value than the one that was assigned, so that it is read again.
  @inlinable @inline(__always) static var readAfterSaving: UInt16 { 1 << 12 }
  /// Deleting the model deletes what the property refers to.
  @inlinable @inline(__always) static var cascading: UInt16 { 1 << 13 }
  /// The model is not deleted while the property refers to anything.
  @inlinable @inline(__always) static var denying: UInt16 { 1 << 14 }
  /// There is an index of the property.
  @inlinable @inline(__always) static var indexed: UInt16 { 1 << 15 }
  /// The model did not find the property yet.
  @inlinable @inline(__always) static var unbound: UInt16 { 1 << 11 }

  /// With one of these, reading takes the long way.
  @inlinable @inline(__always) static var slowToRead: UInt16 {
    unloaded | observed | recording | reference | unrounded | unbound
  }
  /// With one of these, the wrapper does not have what is to be read.
  static var incomplete: UInt16 { unloaded | reference | unrounded }
  /// Of these, writing takes the short way only if `dirty` is the one that is set.
  @inlinable @inline(__always) static var decidesWrite: UInt16 {
    dirty | observed | hooked | reference | normalizing | unbound
  }
}

/// What `@Persisted(key:index:)` says of a property beside its value.
struct PropertyDeclaration: Sendable, Hashable {
  /// The name in the document; nil for the property's own.
  var key: String?
  /// The index of the property; nil if there is none.
  var index: PropertyIndexKind?
}

/// The declarations that `@Persisted(key:index:)` gives.
///
/// They are needed once per class. While a class is being looked at, wrappers get a number for their
/// declaration in place of their own number; at any other time asking costs one relaxed load.
@usableFromInline
enum PropertyKeys {
  private static let lookers = Atomic<Int>(0)
  private static let declarations = Mutex<[PropertyDeclaration]>([])

  /// What stands for no declaration; no property has this number either.
  @inlinable @inline(__always) static var none: UInt16 { .max }

  /// The number of a declaration, counted down from the greatest; `none` if nobody is looking.
  @usableFromInline
  static func _number(of key: String?, _ index: PropertyIndexKind? = nil) -> UInt16 {
    guard lookers.load(ordering: .relaxed) > 0 else { return none }
    let declaration = PropertyDeclaration(key: key, index: index)
    return declarations.withLock { declarations in
      let number = declarations.firstIndex(of: declaration) ?? declarations.count
      if number == declarations.count { declarations.append(declaration) }
      require(number < propertyLimit, "Too many keys of @Persisted properties")
      return none - 1 - UInt16(number)
    }
  }

  /// The declaration that has this number.
  static func declaration(_ number: UInt16) -> PropertyDeclaration? {
    guard number != none else { return nil }
    let index = Int(none - 1 - number)
    return declarations.withLock { $0.indices.contains(index) ? $0[index] : nil }
  }

  /// Runs `body` while wrappers get numbers for their declarations.
  static func whileLooking(_ body: () -> Void) {
    lookers.add(1, ordering: .relaxed)
    body()
    lookers.subtract(1, ordering: .relaxed)
  }

  /// A class has fewer properties, and all classes together fewer declarations.
  static let propertyLimit = 32_000
}
