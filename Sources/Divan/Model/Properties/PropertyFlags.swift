import DivanLog
import Synchronization

/// The state of one property of one model, as bits in its wrapper.
///
/// `@inlinable`, because code in the client's module tests them.
@usableFromInline
enum PropertyFlags {
  /// Half of the bits are free.
  @usableFromInline typealias Bits = UInt32

  /// The value, if there is one, is still in the document; the wrapper has the declared value.
  @inlinable @inline(__always) static var unloaded: Bits { 1 }
  /// The value differs from the one in the document and is to be saved.
  @inlinable @inline(__always) static var dirty: Bits { 1 << 1 }
  /// Observers are notified of reads and writes.
  @inlinable @inline(__always) static var observed: Bits { 1 << 2 }
  /// A `PropertyRecorder` records reads of the model's properties.
  @inlinable @inline(__always) static var recording: Bits { 1 << 3 }
  /// Every write is noted, even if the property is already dirty.
  @inlinable @inline(__always) static var hooked: Bits { 1 << 4 }
  /// The value is a reference: the model stores an ID, and the wrapper is empty.
  @inlinable @inline(__always) static var reference: Bits { 1 << 5 }
  /// Values are rounded when they are assigned.
  @inlinable @inline(__always) static var normalizing: Bits { 1 << 6 }
  /// The value was changed in place, and is rounded when it is next read.
  @inlinable @inline(__always) static var unrounded: Bits { 1 << 7 }
  /// The document has a value of another type, which is kept until one is assigned.
  @inlinable @inline(__always) static var unreadable: Bits { 1 << 8 }
  /// The wrapper no longer has the declared value.
  @inlinable @inline(__always) static var replaced: Bits { 1 << 9 }
  /// The property is stored under a key other than its name.
  @inlinable @inline(__always) static var keyed: Bits { 1 << 10 }
  /// The model's initializer has not bound the property yet.
  @inlinable @inline(__always) static var unbound: Bits { 1 << 11 }
  /// The stored value may differ from the assigned one, and is read again after saving.
  @inlinable @inline(__always) static var readAfterSaving: Bits { 1 << 12 }
  /// Deleting the model deletes the models that the property refers to.
  @inlinable @inline(__always) static var cascading: Bits { 1 << 13 }
  /// The model cannot be deleted while the property refers to any model.
  @inlinable @inline(__always) static var denying: Bits { 1 << 14 }
  /// The property is indexed.
  @inlinable @inline(__always) static var indexed: Bits { 1 << 15 }

  /// If one of these is set, reading takes the slow path.
  @inlinable @inline(__always) static var slowToRead: Bits {
    unloaded | observed | recording | reference | unrounded | unbound
  }
  /// If one of these is set, the wrapper does not have the value to read.
  static var incomplete: Bits { unloaded | reference | unrounded }
  /// Writing takes the fast path only if, of these, exactly `dirty` is set.
  @inlinable @inline(__always) static var decidesWrite: Bits {
    dirty | observed | hooked | reference | normalizing | unbound
  }
}

/// The declaration of a property by `@Persisted(key:index:)`, apart from its value.
struct PropertyDeclaration: Sendable, Hashable {
  /// The key in the document; nil for the property's name.
  var key: String?
  /// The index of the property; nil if there is none.
  var index: PropertyIndexKind?
}

/// The declarations of `@Persisted(key:index:)`.
///
/// They are needed once per class. While a class is being discovered, its wrappers get the number
/// of their declaration in place of their property number. At any other time, a wrapper's
/// initializer costs one relaxed load.
@usableFromInline
enum PropertyKeys {
  private static let discoveryCount = Atomic<Int>(0)
  private static let declarations = Mutex<[PropertyDeclaration]>([])

  /// The number of no declaration; no property has this number either.
  @inlinable @inline(__always) static var none: UInt16 { .max }

  /// The number of a declaration, counted down from the maximum; `none` outside discovery.
  @usableFromInline
  static func _number(of key: String?, _ index: PropertyIndexKind? = nil) -> UInt16 {
    guard discoveryCount.load(ordering: .relaxed) > 0 else { return none }
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

  /// Runs `body` while wrappers get the numbers of their declarations.
  static func whileDiscovering(_ body: () -> Void) {
    discoveryCount.add(1, ordering: .relaxed)
    body()
    discoveryCount.subtract(1, ordering: .relaxed)
  }

  /// The limit on properties per class, and on declarations of all classes together.
  static let propertyLimit = 32_000
}
