import DivanLog

/// Which properties a type knows of the objects that it was decoded from.
///
/// A type says what it knows by the types of keys by which it asks for containers: a property is unknown if none of these
/// has a key for it. So one that a value happens to lack, or that is only encoded or only decoded, is none of the unknown ones.
/// A type of keys that takes any text, such as a dictionary's, knows all properties.
///
/// Objects and arrays are told apart by where they begin.
final class KnownKeys {
  /// The names of unknown properties, of each object that was read by its keys.
  private var unknown: [Int: [String]] = [:]
  /// What was read as a whole, whatever is in it.
  private var wholes: Set<Int> = []
  /// What was read into a collection without an order.
  private var unordered: Set<Int> = []
}

extension KnownKeys {
  /// Notes that an object was read by keys.
  func note(_ names: [String], at start: Int, knows: (_ name: String) -> Bool) {
    unknown[start] = (unknown[start] ?? names).filter { !knows($0) }
  }

  /// Notes that a property of an object is known whatever the keys are.
  func noteKnown(_ name: String, at start: Int) {
    unknown[start]?.removeAll { haveSameUTF8($0, name) }
  }

  func noteWhole(at start: Int) { wholes.insert(start) }
  func noteUnordered(at start: Int) { unordered.insert(start) }

  /// Whether there is anything that is not known.
  var hasUnknown: Bool { unknown.contains { !$0.value.isEmpty && !wholes.contains($0.key) } }

  /// The names of the unknown properties of an object; nil if it was not read by its keys.
  func unknown(at start: Int) -> [String]? { wholes.contains(start) ? nil : unknown[start] }

  func isUnordered(at start: Int) -> Bool { unordered.contains(start) }
  func isWhole(at start: Int) -> Bool { wholes.contains(start) }
}

/// What a value has beyond what its type knows, for another value of the type that takes its place.
struct UnknownProperties {
  private let bytes: SharedBytes
  private let keys: KnownKeys
  /// The value, encoded as its type encodes it.
  private let encoded: Value

  /// - Parameters:
  ///   - bytes: the value as it is stored.
  ///   - keys: what its type knows of it.
  ///   - encoded: the value, encoded as its type encodes it.
  init(of bytes: SharedBytes, _ keys: KnownKeys, encoded: Value) {
    self.bytes = bytes
    self.keys = keys
    self.encoded = encoded
  }

  /// The new value with the unknown properties of the objects in whose place objects of it stand.
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
        // What the type encodes after all is its own.
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
      // They are encoded in another order than that in which they may be stored.
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

  /// What is stored in a range without what is unknown.
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

// MARK: - What is stored

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

/// Which element of an array is which one of an array that takes its place, as far as that is certain.
///
/// - Elements that all have an `id`, no two the same one, are matched by that and nothing else.
/// - Of others, those are matched that are equal as far as their type knows them, the ones at the same index first if both
///   arrays have as many, then wherever they stand. If fewer of them are left than there were, and they differ in what is
///   unknown, it is not known which are left: none is matched.
/// - If both arrays have as many elements, and none of those that are matched stands elsewhere, the others are matched by their
///   index: there values were changed, and nothing was inserted, removed or moved. Collections without an order have no such index.
private struct ElementPartners {
  /// For each new element, the index of the old one; nil if there is none.
  private(set) var old: [Int?]

  init(
    from before: [Value], to after: [Value], stored: (Int) -> Value?, isUnordered: Bool
  ) {
    old = Array(repeating: nil, count: after.count)
    if let oldIDs = ElementPartners.ids(of: before), let newIDs = ElementPartners.ids(of: after) {
      var places: [Value: Int] = [:]
      for (index, id) in oldIDs.enumerated() { places[id] = index }
      for (index, id) in newIDs.enumerated() { old[index] = places[id] }
      return
    }
    let haveSameIndexes = !isUnordered && before.count == after.count
    if haveSameIndexes {
      for index in after.indices where before[index] == after[index] { old[index] = index }
    }
    // What is equal to each other.
    var places: [Value: (before: [Int], after: [Int])] = [:]
    for index in before.indices where !haveSameIndexes || old[index] == nil {
      places[before[index], default: ([], [])].before.append(index)
    }
    for index in after.indices where old[index] == nil {
      places[after[index], default: ([], [])].after.append(index)
    }
    var hasMoved = false
    for (before, after) in places.values where !before.isEmpty && !after.isEmpty {
      hasMoved = true
      guard after.count >= before.count || Set(before.map(stored)).count == 1 else { continue }
      for (from, to) in zip(before, after) { old[to] = from }
    }
    guard haveSameIndexes, !hasMoved else { return }
    for index in after.indices { old[index] = index }
  }

  /// The `id` of each element; nil if there are none, or not all have one of their own.
  private static func ids(of elements: [Value]) -> [Value]? {
    var ids: [Value] = []
    for element in elements {
      guard let id = element["id"], !id.isNull else { return nil }
      ids.append(id)
    }
    return ids.isEmpty || Set(ids).count < ids.count ? nil : ids
  }
}
