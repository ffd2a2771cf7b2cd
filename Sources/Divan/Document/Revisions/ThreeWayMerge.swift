import DivanLog

/// The merge of two edits of the same properties.
///
/// A property that only one side changed is taken from that side, and a property that both changed
/// in the same way is taken once. Adding and removing a property are changes, too. Objects that
/// both sides changed are merged property by property. Arrays and all other values are merged as a
/// whole, as are values that are nested deeper than can be stored. A property that both sides
/// changed in different ways is an ``Overlap``.
///
/// ```swift
/// let merge = ThreeWayMerge(
///   base: ["title": "Metropolis", "year": 1926, "stars": 4],
///   mine: ["title": "Metropolis", "year": 1927, "stars": 5],
///   theirs: ["title": "Metropolis (restored)", "year": 1926, "stars": 3])
/// merge.properties   // title from theirs, year from mine, stars still 4
/// merge.overlaps     // one, at ["stars"]
/// ```
///
/// The result depends only on the three objects. Exchanging `mine` and `theirs` exchanges the sides
/// of the overlaps and nothing else. It takes time linear in their sizes.
public struct ThreeWayMerge: Hashable, Sendable {
  /// The merged properties.
  ///
  /// Properties with an unresolved overlap have the value of the base.
  public private(set) var properties: Value.Object = [:]
  /// The unresolved overlaps, in the order of the keys.
  public private(set) var overlaps: [Overlap] = []

  /// A property that was changed on both sides in different ways.
  ///
  /// ```swift
  /// for overlap in merge.overlaps {
  ///   print(overlap.path, overlap.mine?.json ?? "removed", overlap.theirs?.json ?? "removed")
  /// }
  /// ```
  public struct Overlap: Hashable, Sendable {
    /// The keys that lead to the property, outermost first; never empty.
    public let path: [String]
    /// Its value before both edits; nil if there was none.
    public let base: Value?
    /// Its value on this side; nil if it was removed.
    public let mine: Value?
    /// Its value on the other side; nil if it was removed.
    public let theirs: Value?
  }

  /// The resolution of an overlap.
  ///
  /// ```swift
  /// let merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs) { overlap in
  ///   overlap.path == ["stars"] ? .value(3) : .mine
  /// }
  /// ```
  public enum Resolution: Hashable, Sendable {
    /// The property gets its value on this side, or is removed if it is not there.
    case mine
    /// The property gets its value on the other side, or is removed if it is not there.
    case theirs
    /// The property gets another value; nil removes it.
    case value(Value?)
    /// The property keeps the value of the base, and the overlap is reported.
    case unresolved
  }
}

extension ThreeWayMerge {
  /// Merges two edits of `base`, and leaves every overlap unresolved.
  ///
  /// - Parameters:
  ///   - base: The properties before both edits. Nil if they are not known: then every difference
  ///     is an overlap, also
  /// a property on only one side, because it may have been added there or removed on the other.
  ///   - mine: The properties on this side.
  ///   - theirs: The properties on the other side.
  public init(base: Value.Object?, mine: Value.Object, theirs: Value.Object) {
    self.init(base: base, mine: mine, theirs: theirs) { _ in .unresolved }
  }

  /// Merges two edits of `base`, and calls a closure to resolve overlaps.
  ///
  /// - Parameters:
  ///   - base: The properties before both edits. Nil if they are not known: then every difference
  ///     is an overlap, also
  /// a property on only one side, because it may have been added there or removed on the other.
  ///   - mine: The properties on this side.
  ///   - theirs: The properties on the other side.
  ///   - resolve: Called for each overlap, in the order of the keys.
  /// - Throws: Any error that `resolve` throws.
  public init<Failure: Error>(
    base: Value.Object?, mine: Value.Object, theirs: Value.Object,
    resolve: (Overlap) throws(Failure) -> Resolution
  ) throws(Failure) {
    properties = try merge(base, mine, theirs, at: [], resolve)
  }
}

extension ThreeWayMerge {
  private mutating func merge<Failure: Error>(
    _ base: Value.Object?, _ mine: Value.Object, _ theirs: Value.Object, at path: [String],
    _ resolve: (Overlap) throws(Failure) -> Resolution
  ) throws(Failure) -> Value.Object {
    let isBaseKnown = base != nil
    var (base, mine, theirs) = ((base ?? [:]).entries[...], mine.entries[...], theirs.entries[...])
    var merged: [Value.Object.Element] = []
    merged.reserveCapacity(max(mine.count, theirs.count))
    while let key = ThreeWayMerge.leastKey(base.first?.key, mine.first?.key, theirs.first?.key) {
      let value = try merge(
        Overlap(
          path: path + [key], base: base.popValue(key), mine: mine.popValue(key),
          theirs: theirs.popValue(key)), isBaseKnown: isBaseKnown, resolve)
      if let value { merged.append((key, value)) }
    }
    return Value.Object(sortedEntries: merged)
  }

  /// Merges one property, which may or may not overlap.
  private mutating func merge<Failure: Error>(
    _ property: Overlap, isBaseKnown: Bool, _ resolve: (Overlap) throws(Failure) -> Resolution
  ) throws(Failure) -> Value? {
    if property.mine == property.theirs { return property.mine }
    if isBaseKnown, property.theirs == property.base { return property.mine }
    if isBaseKnown, property.mine == property.base { return property.theirs }
    // Deeper values cannot be stored, and must not need a stack as deep.
    if property.path.count < DocumentLimits.depth,
      case .object(let mine)? = property.mine, case .object(let theirs)? = property.theirs
    {
      // If the base had another kind of value, the two objects have nothing in common.
      switch property.base {
      case .object(let base)?:
        return .object(try merge(base, mine, theirs, at: property.path, resolve))
      case nil:
        return .object(
          try merge(isBaseKnown ? [:] : nil, mine, theirs, at: property.path, resolve))
      default: break
      }
    }
    switch try resolve(property) {
    case .mine: return property.mine
    case .theirs: return property.theirs
    case .value(let value): return value
    case .unresolved:
      overlaps.append(property)
      return property.base
    }
  }

  private static func leastKey(_ keys: String?...) -> String? {
    keys.lazy.compactMap(\.self).min { compareUTF8($0, $1) < 0 }
  }
}

extension ArraySlice<Value.Object.Element> {
  /// Removes the first property if it has this key, and returns its value.
  fileprivate mutating func popValue(_ key: String) -> Value? {
    guard let first, haveSameUTF8(first.key, key) else { return nil }
    removeFirst()
    return first.value
  }
}

extension ThreeWayMerge.Overlap {
  /// Whether both have the same path, by the bytes of its keys, and the same values.
  public static func == (a: Self, b: Self) -> Bool {
    a.path.count == b.path.count && zip(a.path, b.path).allSatisfy { haveSameUTF8($0, $1) }
      && a.base == b.base && a.mine == b.mine && a.theirs == b.theirs
  }
}
