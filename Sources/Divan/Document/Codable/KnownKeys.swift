import DivanLog

/// The properties that a type knows of the objects that it was decoded from.
///
/// The key types with which a type requests containers show what it knows: a property is unknown if
/// none of them has a key for it. So a property that a value lacks, or that is only encoded or only
/// decoded, is not unknown. A key type that accepts any text, such as a dictionary's, knows all
/// properties.
///
/// Objects and arrays are identified by the offset at which they begin.
final class KnownKeys {
  /// The names of unknown properties, for each object that was read by its keys.
  private var unknown: [Int: [String]] = [:]
  /// The offsets of values that were read as a whole, with everything in them.
  private var wholes: Set<Int> = []
  /// The offsets of values that were read into a collection without an order.
  private var unordered: Set<Int> = []
}

extension KnownKeys {
  /// Records that an object was read by keys.
  func note(_ names: [String], at start: Int, knows: (_ name: String) -> Bool) {
    unknown[start] = (unknown[start] ?? names).filter { !knows($0) }
  }

  /// Records that a property of an object is known, independent of the keys.
  func noteKnown(_ name: String, at start: Int) {
    unknown[start]?.removeAll { haveSameUTF8($0, name) }
  }

  func noteWhole(at start: Int) { wholes.insert(start) }
  func noteUnordered(at start: Int) { unordered.insert(start) }

  /// Whether there are unknown properties.
  var hasUnknown: Bool { unknown.contains { !$0.value.isEmpty && !wholes.contains($0.key) } }

  /// Returns the names of an object's unknown properties; nil if it was not read by its keys.
  func unknown(at start: Int) -> [String]? { wholes.contains(start) ? nil : unknown[start] }

  func isUnordered(at start: Int) -> Bool { unordered.contains(start) }
  func isWhole(at start: Int) -> Bool { wholes.contains(start) }
}

/// The properties of a value that its type does not know, to be added to a value that replaces it.
struct UnknownProperties {
  private let bytes: SharedBytes
  private let keys: KnownKeys
  /// The value as its type encodes it.
  private let encoded: Value

  /// - Parameters:
  ///   - bytes: The stored form of the value.
  ///   - keys: The keys that its type knows.
  ///   - encoded: The value as its type encodes it.
  init(of bytes: SharedBytes, _ keys: KnownKeys, encoded: Value) {
    self.bytes = bytes
    self.keys = keys
    self.encoded = encoded
  }

  /// Returns the new value with the unknown properties of the objects that its objects replace.
  func added(to new: Value) -> Value { added(to: new, 0..<bytes.count, encoded) }

  private func added(to new: Value, _ range: Range<Int>, _ encoded: Value?) -> Value {
    guard !keys.isWhole(at: range.lowerBound), let container = container(range) else { return new }
    switch new {
    case .object(let object) where container.isObject:
      return .object(added(to: object, range, container, encoded))
    case .array(let elements) where !container.isObject:
      return .array(added(to: elements, range, container, encoded))
    default: return new
    }
  }

  private func added(
    to new: Value.Object, _ range: Range<Int>, _ container: ValueFormat.Container,
    _ encoded: Value?
  ) -> Value.Object {
    guard let unknown = keys.unknown(at: range.lowerBound) else { return new }
    var object = new
    for (name, range) in properties(of: container) {
      if unknown.contains(where: { haveSameUTF8($0, name) }) {
        // A property that the type encodes after all belongs to the type.
        let isKnown = new[name] != nil || encoded?[name] != nil
        if !isKnown, let value = value(range) { object[name] = value }
      } else if let value = new[name] {
        object[name] = added(to: value, range, encoded?[name])
      }
    }
    return object
  }

  private func added(
    to new: [Value], _ range: Range<Int>, _ container: ValueFormat.Container, _ encoded: Value?
  ) -> [Value] {
    let ranges = elements(of: container)
    let isUnordered = keys.isUnordered(at: range.lowerBound)
    let own: [Value]
    if isUnordered {
      // They are encoded in another order than they may be stored in.
      own = ranges.map { known($0) ?? .null }
    } else {
      guard case .array(let elements)? = encoded, elements.count == ranges.count else { return new }
      own = elements
    }
    let partners = ElementPartners(
      from: own, to: new, stored: { value(ranges[$0]) }, isUnordered: isUnordered)
    return new.indices.map { index in
      guard let old = partners.old[index] else { return new[index] }
      return added(to: new[index], ranges[old], own[old])
    }
  }

  /// Returns the stored value in a range without its unknown properties.
  private func known(_ range: Range<Int>) -> Value? {
    guard let container = container(range), !keys.isWhole(at: range.lowerBound) else {
      return value(range)
    }
    guard container.isObject else {
      return .array(elements(of: container).map { known($0) ?? .null })
    }
    let unknown = keys.unknown(at: range.lowerBound) ?? []
    var object: Value.Object = [:]
    for (name, range) in properties(of: container)
    where !unknown.contains(where: { haveSameUTF8($0, name) }) {
      object[name] = known(range)
    }
    return .object(object)
  }
}

// MARK: - Stored form

extension UnknownProperties {
  private func container(_ range: Range<Int>) -> ValueFormat.Container? {
    bytes.withSpan { ValueFormat.container($0, at: range.lowerBound, end: range.upperBound) }
  }

  private func value(_ range: Range<Int>) -> Value? {
    bytes.slice(range.lowerBound, range.count).flatMap { try? EncodedValue($0).decode() }
  }

  private func properties(
    of object: ValueFormat.Container
  ) -> [(name: String, range: Range<Int>)] {
    guard let reader = try? ObjectReader(object, in: bytes) else { return [] }
    return reader.names(in: bytes).compactMap { name in
      (try? reader.find(name, in: bytes)).flatMap { $0 }.map { (name, $0) }
    }
  }

  private func elements(of array: ValueFormat.Container) -> [Range<Int>] {
    bytes.withSpan { bytes in
      var ranges: [Range<Int>] = []
      var position = array.start
      while position < array.end,
        let end = ValueFormat.skip(bytes, at: position, end: array.end)
      {
        ranges.append(position..<end)
        position = end
      }
      return ranges
    }
  }
}

/// The elements of an array, matched with the elements of its replacement where that is certain.
///
/// - If all elements have an `id`, and no two the same one, they are matched by it and by nothing
///   else.
/// - Otherwise, elements are matched if they are equal in what their type knows: first those at the
///   same index if the arrays have the same length, then those at any index. If fewer such elements
///   are left than before, and they differ in their unknown properties, it is uncertain which are
///   left: none is matched.
/// - If the arrays have the same length, and no matched element has moved, the others are matched
///   by their index: their values were changed, and nothing was inserted, removed or moved.
///   Collections without an order have no such index.
private struct ElementPartners {
  /// For each new element, the index of the old one; nil if there is none.
  private(set) var old: [Int?]

  init(
    from before: [Value], to after: [Value], stored: (Int) -> Value?, isUnordered: Bool
  ) {
    old = Array(repeating: nil, count: after.count)
    if let oldIDs = ElementPartners.ids(of: before), let newIDs = ElementPartners.ids(of: after) {
      var oldIndexes: [Value: Int] = [:]
      for (index, id) in oldIDs.enumerated() { oldIndexes[id] = index }
      for (index, id) in newIDs.enumerated() { old[index] = oldIndexes[id] }
      return
    }
    let haveSameIndexes = !isUnordered && before.count == after.count
    if haveSameIndexes {
      for index in after.indices where before[index] == after[index] { old[index] = index }
    }
    // The indexes of equal elements.
    var indexes: [Value: (before: [Int], after: [Int])] = [:]
    for index in before.indices where !haveSameIndexes || old[index] == nil {
      indexes[before[index], default: ([], [])].before.append(index)
    }
    for index in after.indices where old[index] == nil {
      indexes[after[index], default: ([], [])].after.append(index)
    }
    var hasMoved = false
    for (before, after) in indexes.values where !before.isEmpty && !after.isEmpty {
      hasMoved = true
      guard after.count >= before.count || Set(before.map(stored)).count == 1 else { continue }
      for (from, to) in zip(before, after) { old[to] = from }
    }
    guard haveSameIndexes, !hasMoved else { return }
    for index in after.indices { old[index] = index }
  }

  /// Returns the elements' `id`s; nil if there are none, or if one is missing or not unique.
  private static func ids(of elements: [Value]) -> [Value]? {
    var ids: [Value] = []
    for element in elements {
      guard let id = element["id"], !id.isNull else { return nil }
      ids.append(id)
    }
    return ids.isEmpty || Set(ids).count < ids.count ? nil : ids
  }
}
