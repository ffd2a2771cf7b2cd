import DivanLog
@_spi(Reflection) import Swift
import Synchronization

// All unsafe code of the model layer is in this file. It is sound because:
//
// - Offsets come from the runtime's own description of a class, for exactly the field and type that
//   are then accessed. Objects do not move.
// - A model belongs to one isolation domain, so there is no concurrent access.
// - A context stores the address of a model only while its memory is valid: the model's
//   deinitializer removes it.
// - Class tables are immutable once they are published, and are never freed.

// MARK: - Finding the fields of a class

/// A wrapped property as described by the runtime.
struct PersistedField {
  /// The property's name.
  let name: String
  /// The offset of the wrapper in the object.
  let offset: Int
  let type: any PersistedWrapper.Type
}

extension PersistedField {
  /// Returns the wrapped properties of a class, from its top superclass down.
  static func all(of type: Model.Type) -> (persisted: [PersistedField], inverse: [InverseField]) {
    var fields: [PersistedField] = []
    var inverses: [InverseField] = []
    // 1 means that the type is a class; the constant cannot be used in Swift 6 mode.
    let options = _EachFieldOptions(rawValue: 1)
    _ = unsafe _forEachField(of: type, options: options) { name, offset, type, _ in
      // The runtime passes a C string; the wrapper of `text` is the field `_text`.
      if let wrapper = type as? any PersistedWrapper.Type {
        let fieldName = unsafe String(cString: name)
        fields.append(
          PersistedField(name: String(fieldName.dropFirst()), offset: offset, type: wrapper))
      } else if let wrapper = type as? any InverseWrapper.Type {
        let fieldName = unsafe String(cString: name)
        inverses.append(
          InverseField(name: String(fieldName.dropFirst()), offset: offset, type: wrapper))
      }
      return true
    }
    return (fields, inverses)
  }
}

/// An inverse property as described by the runtime.
struct InverseField {
  let name: String
  /// The offset of the wrapper in the object.
  let offset: Int
  let type: any InverseWrapper.Type
}

// MARK: - Accessing a wrapper

extension Model {
  /// Calls a closure with the value of the property at an offset.
  ///
  /// - Precondition: the class has a wrapper of this type there, according to ``PersistedField``,
  ///   and the value is its first field, which `Persisted.location(at:)` checks.
  @inline(__always)
  func withValue<Value, R>(
    at offset: Int, of _: Value.Type, _ body: (inout Value) throws -> R
  ) rethrows -> R {
    // The value is there and has this type; `self` is alive until the end of the call. An access
    // through the wrapper's type would cost a search in the runtime's tables each time.
    let address = unsafe Unmanaged.passUnretained(self).toOpaque() + offset
    let value = unsafe address.assumingMemoryBound(to: Value.self)
    return try unsafe body(&value.pointee)
  }

  /// The flags of a property.
  func flags(at location: PropertyLocation) -> PropertyFlags.Bits {
    // As in `withValue`; the flags are stored in the wrapper as such.
    unsafe Unmanaged.passUnretained(self).toOpaque().load(
      fromByteOffset: location.offset + location.flagsOffset, as: PropertyFlags.Bits.self)
  }

  /// Sets the flags of a property.
  func setFlags(_ flags: PropertyFlags.Bits, at location: PropertyLocation) {
    unsafe Unmanaged.passUnretained(self).toOpaque().storeBytes(
      of: flags, toByteOffset: location.offset + location.flagsOffset, as: PropertyFlags.Bits.self)
  }

  /// Stores the property's number in its wrapper.
  func setIndex(_ index: UInt16, at location: PropertyLocation) {
    unsafe Unmanaged.passUnretained(self).toOpaque().storeBytes(
      of: index, toByteOffset: location.offset + location.indexOffset, as: UInt16.self)
  }

  /// The number that `setIndex` or the wrapper's initializer stored.
  func index(at location: PropertyLocation) -> UInt16 {
    unsafe Unmanaged.passUnretained(self).toOpaque().load(
      fromByteOffset: location.offset + location.indexOffset, as: UInt16.self)
  }
}

// MARK: - Unretained models

/// An unretained reference to a model.
///
/// It must be dropped before the model is deallocated, at the latest in the deinitializer of
/// `Model`.
@safe
struct UnownedModel {
  private let model: Unmanaged<Model>

  init(_ model: Model) { unsafe self.model = .passUnretained(model) }

  /// The model; nil while it is being deallocated.
  var ifAlive: Model? {
    // Its memory is valid, but only a weak load tells whether it can still be retained.
    unsafe model._withUnsafeGuaranteedRef { WeakModel(model: $0).model }
  }

  func isSame(as other: Model) -> Bool {
    // Only the addresses are compared.
    unsafe model.toOpaque() == Unmanaged.passUnretained(other).toOpaque()
  }

  /// Whether the model's document has this ID.
  func hasID(_ id: String) -> Bool {
    // The memory is valid, and the ID is stored until the end of the model's deinitializer.
    unsafe model._withUnsafeGuaranteedRef { haveSameUTF8($0.documentID, id) }
  }
}

// MARK: - Accessing observers

extension Model {
  /// Calls a closure with the model's observers, which must exist.
  @inline(__always)
  func withObservers(_ body: (ModelObservers) -> Void) {
    // Once created, they live as long as the model, which is alive until the end of the call.
    // Retaining them would cost as much as notifying them of a read.
    unsafe Unmanaged.passUnretained(observers.unsafelyUnwrapped)._withUnsafeGuaranteedRef(body)
  }
}

// MARK: - Finding class descriptions

/// The class descriptions, in a hash table that is read without a lock.
///
/// A table is immutable once it is published; adding a class publishes a new one. Old tables are
/// never freed, because other threads may be reading them.
enum ModelClassTable {
  @safe
  private struct Slot {
    var type: UInt
    // Never released.
    var info: Unmanaged<ModelClass>?
  }

  /// The address of the current table; its first slot holds the number of other slots minus one.
  private static let current = Atomic<UInt>(0)
  private static let all = Mutex<[(type: UInt, info: ModelClass)]>([])

  private static func key(of type: Model.Type) -> UInt {
    // The metadata of a class does not move.
    unsafe unsafeBitCast(type, to: UInt.self)
  }

  /// The slot of a key; metadata is 8 or 16 bytes apart, and the multiplication spreads the keys.
  private static func slot(of key: UInt, mask: UInt) -> UInt {
    (key >> 3) &* 0x9E37_79B9_7F4A_7C15 >> 32 & mask
  }

  /// Returns the description of a class; nil if it is not registered yet.
  static func find(_ type: Model.Type) -> ModelClass? {
    let key = key(of: type)
    // The releasing store that published the table makes its contents visible.
    guard let table = unsafe UnsafePointer<Slot>(bitPattern: current.load(ordering: .acquiring))
    else { return nil }
    let mask = unsafe table[0].type
    var index = slot(of: key, mask: mask)
    while true {
      // At most half of the slots are taken, so the search ends at an empty one.
      let slot = unsafe table[Int(index) + 1]
      if slot.type == key { return unsafe slot.info?.takeUnretainedValue() }
      if slot.type == 0 { return nil }
      index = (index + 1) & mask
    }
  }

  /// Registers a class; returns the existing description if another thread was faster.
  static func insert(_ info: ModelClass, for type: Model.Type) -> ModelClass {
    let key = key(of: type)
    return all.withLock { all in
      if let known = all.first(where: { $0.type == key }) { return known.info }
      all.append((key, info))
      var count = 16
      while count < 2 * all.count { count *= 2 }
      let mask = UInt(count - 1)
      let table = UnsafeMutablePointer<Slot>.allocate(capacity: count + 1)
      unsafe table.initialize(repeating: Slot(type: 0, info: nil), count: count + 1)
      unsafe table[0].type = mask
      for (key, info) in all {
        var index = slot(of: key, mask: mask)
        while unsafe table[Int(index) + 1].type != 0 { index = (index + 1) & mask }
        // `all` retains the description permanently.
        unsafe table[Int(index) + 1] = Slot(type: key, info: .passUnretained(info))
      }
      current.store(UInt(bitPattern: table), ordering: .releasing)
      return info
    }
  }
}

/// The model of a class that has the declared values.
///
/// `@unchecked Sendable`: after its initialization, values are only copied out of it.
struct ModelPrototype: @unchecked Sendable {
  let model: Model
}
