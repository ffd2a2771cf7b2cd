import DivanLog
@_spi(Reflection) import Swift
import Synchronization

// All unsafe code of the model layer. What makes it sound:
//
// - Offsets come from the runtime's own description of a class, for the very field and type that are
//   then accessed; objects do not move.
// - A model belongs to one isolation domain, so that nobody else accesses it meanwhile.
// - A context has the address of a model only as long as that has memory: it takes itself out in its deinitializer.
// - The tables of classes are never changed once they can be found, and never freed.

// MARK: - Finding the fields of a class

/// A wrapped property as the runtime describes it.
struct PersistedField {
  /// The property's name.
  let name: String
  /// From the beginning of the object to the wrapper.
  let offset: Int
  let type: any PersistedWrapper.Type
}

extension PersistedField {
  /// The wrapped properties of a class, those of its superclasses first.
  static func all(of type: Model.Type) -> (persisted: [PersistedField], inverse: [InverseField]) {
    var fields: [PersistedField] = []
    var inverses: [InverseField] = []
    // 1 says that the type is a class; the constant for it cannot be used in Swift 6 mode.
    let options = _EachFieldOptions(rawValue: 1)
    _ = unsafe _forEachField(of: type, options: options) { name, offset, type, _ in
      // The runtime lends a C string; the wrapper of `text` is the field `_text`.
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

/// An inverse property as the runtime describes it.
struct InverseField {
  let name: String
  /// From the beginning of the object to the wrapper.
  let offset: Int
  let type: any InverseWrapper.Type
}

// MARK: - Reaching a wrapper

extension Model {
  /// Lends the value of the property at an offset.
  ///
  /// - Precondition: the class has a wrapper of this type there, as ``PersistedField`` told, and the
  ///   value is the first thing in it, as `Persisted.place(at:)` made sure.
  @inline(__always)
  func withValue<Value, R>(
    at offset: Int, of _: Value.Type, _ body: (inout Value) throws -> R
  ) rethrows -> R {
    // The value is there and has this type; `self` is alive until the end of the call. Going through
    // the wrapper's type would cost a search in the runtime's tables each time.
    let address = unsafe Unmanaged.passUnretained(self).toOpaque() + offset
    let value = unsafe address.assumingMemoryBound(to: Value.self)
    return try unsafe body(&value.pointee)
  }

  /// The flags of a property.
  func flags(at place: PropertyPlace) -> UInt16 {
    // As in `withPersisted`; the flags are stored as such within the wrapper.
    unsafe Unmanaged.passUnretained(self).toOpaque().load(
      fromByteOffset: place.offset + place.flagsOffset, as: UInt16.self)
  }

  /// Sets the flags of a property.
  func setFlags(_ flags: UInt16, at place: PropertyPlace) {
    unsafe Unmanaged.passUnretained(self).toOpaque().storeBytes(
      of: flags, toByteOffset: place.offset + place.flagsOffset, as: UInt16.self)
  }

  /// Tells a wrapper its number, or what number its key has before that.
  func setIndex(_ index: UInt16, at place: PropertyPlace) {
    unsafe Unmanaged.passUnretained(self).toOpaque().storeBytes(
      of: index, toByteOffset: place.offset + place.indexOffset, as: UInt16.self)
  }

  /// What `setIndex` set, or the wrapper's initializer.
  func index(at place: PropertyPlace) -> UInt16 {
    unsafe Unmanaged.passUnretained(self).toOpaque().load(
      fromByteOffset: place.offset + place.indexOffset, as: UInt16.self)
  }
}

// MARK: - Models that are not held

/// A reference to a model that does not keep it.
///
/// Whoever has one lets go of it before the model is gone, at the latest when `Model` is deinitialized.
@safe
struct UnheldModel {
  private let model: Unmanaged<Model>

  init(_ model: Model) { unsafe self.model = .passUnretained(model) }

  /// The model; nil if it is going, and the deinitializers of its class are running.
  var ifAlive: Model? {
    // It is not gone, and only a weak reference tells whether it is going: then nobody can hold it any more.
    unsafe model._withUnsafeGuaranteedRef { ModelContextCore.WeakModel(model: $0).model }
  }

  func isSame(as other: Model) -> Bool {
    // Nothing but the addresses is looked at.
    unsafe model.toOpaque() == Unmanaged.passUnretained(other).toOpaque()
  }

  /// Whether the model's document has this ID.
  func stands(for id: String) -> Bool {
    // It is not gone, and its ID is there until it is.
    unsafe model._withUnsafeGuaranteedRef { haveSameUTF8($0.documentID, id) }
  }
}

// MARK: - Reaching those who observe

extension Model {
  /// Lends those who observe the model, of whom there are some.
  @inline(__always)
  func withObservers(_ body: (ModelObservers) -> Void) {
    // Once they are there they stay as long as the model, which is alive until the end of the call. Counting a reference would
    // cost as much as telling them that something is read.
    unsafe Unmanaged.passUnretained(observers.unsafelyUnwrapped)._withUnsafeGuaranteedRef(body)
  }
}

// MARK: - Finding what is known of a class

/// What is known of each class: a hash table that is read without lock.
///
/// A table is immutable once it is published; a new class makes a larger one. Old ones stay, because
/// somebody may be reading them.
enum ModelClassTable {
  @safe
  private struct Slot {
    var type: UInt
    // Never released.
    var info: Unmanaged<ModelClass>?
  }

  /// The address of the current table, whose first slot holds the number of the others, less one.
  private static let current = Atomic<UInt>(0)
  private static let all = Mutex<[(type: UInt, info: ModelClass)]>([])

  private static func key(of type: Model.Type) -> UInt {
    // The metadata of a class stays where it is.
    unsafe unsafeBitCast(type, to: UInt.self)
  }

  /// Metadata lie some 8 or 16 bytes apart; the multiplication spreads them.
  private static func place(of key: UInt, mask: UInt) -> UInt {
    (key >> 3) &* 0x9E37_79B9_7F4A_7C15 >> 32 & mask
  }

  /// What is known of a class, or nil if nothing is yet.
  static func find(_ type: Model.Type) -> ModelClass? {
    let key = key(of: type)
    // A published table is whole, as the store that published it released what was written before.
    guard let table = unsafe UnsafePointer<Slot>(bitPattern: current.load(ordering: .acquiring))
    else { return nil }
    let mask = unsafe table[0].type
    var index = place(of: key, mask: mask)
    while true {
      // At most half of the slots are taken, so that an empty one is met.
      let slot = unsafe table[Int(index) + 1]
      if slot.type == key { return unsafe slot.info?.takeUnretainedValue() }
      if slot.type == 0 { return nil }
      index = (index + 1) & mask
    }
  }

  /// Makes known a class; returns what was known, if somebody was faster.
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
        var index = place(of: key, mask: mask)
        while unsafe table[Int(index) + 1].type != 0 { index = (index + 1) & mask }
        // `all` keeps the information for ever.
        unsafe table[Int(index) + 1] = Slot(type: key, info: .passUnretained(info))
      }
      current.store(UInt(bitPattern: table), ordering: .releasing)
      return info
    }
  }
}

/// The instance of a class from which declared values are taken.
///
/// `@unchecked Sendable`: after it was made, it is only read, by copying values out of it.
struct ModelPrototype: @unchecked Sendable {
  let model: Model
}
