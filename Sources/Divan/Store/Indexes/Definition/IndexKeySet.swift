/// A sorted set of entry keys.
struct IndexKeySet: Sendable {
  private var keys: [[UInt8]] = []

  init() {}

  init(_ keys: [[UInt8]]) {
    for key in keys.sorted(by: IndexKeySet.isBefore) where key != self.keys.last {
      self.keys.append(key)
    }
  }

  /// Creates a set from keys that are sorted and distinct.
  init(ascending keys: [[UInt8]]) { self.keys = keys }

  var count: Int { keys.count }

  private static func isBefore(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.lexicographicallyPrecedes(b)
  }

  /// Returns the keys that another set does not contain.
  func subtracting(_ other: IndexKeySet) -> IndexKeySet {
    guard !other.keys.isEmpty, !keys.isEmpty else { return self }
    var set = IndexKeySet()
    var others = ArraySlice(other.keys)
    for key in keys {
      while let first = others.first, IndexKeySet.isBefore(first, key) { others.removeFirst() }
      if others.first != key { set.keys.append(key) }
    }
    return set
  }
}

extension IndexKeySet: Sequence {
  func makeIterator() -> Array<[UInt8]>.Iterator { keys.makeIterator() }
}
