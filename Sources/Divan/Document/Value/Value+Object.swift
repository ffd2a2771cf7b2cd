import DivanLog

extension Value {
  /// Values by name, as in a JSON object.
  ///
  /// ```swift
  /// var film: Value.Object = ["title": "Metropolis", "year": 1927]
  /// film["silent"] = true
  /// for (name, value) in film { print(name, value.json) }
  /// ```
  ///
  /// The properties are ordered by the UTF-8 bytes of their keys, not by the order of setting.
  /// Two keys are equal if their bytes are: `é` as one scalar and as two are two keys.
  ///
  /// A lookup takes logarithmic time, and setting a new property linear time.
  ///
  /// Invariant: `entries` is strictly ascending by the UTF-8 bytes of the keys.
  public struct Object: Sendable {
    /// A key and its value.
    public typealias Element = (key: String, value: Value)

    var entries: [Element]

    /// Creates an object without properties.
    public init() { entries = [] }

    /// Creates an object from entries whose keys must be strictly ascending.
    init(sortedEntries: [Element]) { entries = sortedEntries }
  }
}

extension Value.Object {
  /// Creates an object from properties in any order; of those with the same key, the last wins.
  public init(_ properties: some Sequence<(String, Value)>) {
    // The sort is stable, so the last of several equal keys is also the last here.
    let sorted = properties.sorted { compareUTF8($0.0, $1.0) < 0 }
    entries = []
    entries.reserveCapacity(sorted.count)
    for (key, value) in sorted {
      if let last = entries.last, haveSameUTF8(last.key, key) { entries.removeLast() }
      entries.append((key, value))
    }
  }

  /// Creates an object from properties with distinct keys, in any order.
  ///
  /// - Throws: ``DatabaseError`` with the code ``DatabaseError/Code/invalidValue`` if a key appears
  ///   twice.
  public init(uniqueKeysWithValues properties: some Sequence<(String, Value)>) throws(DatabaseError)
  {
    entries = properties.sorted { compareUTF8($0.0, $1.0) < 0 }.map { (key: $0.0, value: $0.1) }
    for (a, b) in zip(entries, entries.dropFirst()) where haveSameUTF8(a.key, b.key) {
      throw DatabaseError(.invalidValue, "The property \"\(a.key.excerpt)\" appears twice")
    }
  }

  init(literal properties: [(String, Value)]) {
    self.init(properties)
    require(count == properties.count, "A key appears twice in a literal")
  }

  /// The value at `key`.
  ///
  /// Setting nil removes the property; setting `.null` stores a null.
  public subscript(key: String) -> Value? {
    get {
      let (index, isFound) = position(of: key)
      return isFound ? entries[index].value : nil
    }
    set {
      let (index, isFound) = position(of: key)
      switch (newValue, isFound) {
      case (let value?, true): entries[index].value = value
      case (let value?, false): entries.insert((key, value), at: index)
      case (nil, true): entries.remove(at: index)
      case (nil, false): break
      }
    }
  }

  /// Removes the property `key` and returns its value.
  @discardableResult
  public mutating func removeValue(forKey key: String) -> Value? {
    let (index, isFound) = position(of: key)
    return isFound ? entries.remove(at: index).value : nil
  }

  /// The names of all properties, in order.
  public var keys: some RandomAccessCollection<String> { entries.lazy.map(\.key) }

  /// The values of all properties, in the order of the keys.
  public var values: some RandomAccessCollection<Value> { entries.lazy.map(\.value) }

  /// Returns the position of `key`, or the position to insert it at.
  private func position(of key: String) -> (index: Int, isFound: Bool) {
    withUTF8(of: key) { key in
      var low = 0
      var high = entries.count
      while low < high {
        let middle = (low + high) / 2
        let order = withUTF8(of: entries[middle].key) { compare($0, key) }
        if order == 0 { return (middle, true) }
        if order < 0 { low = middle + 1 } else { high = middle }
      }
      return (low, false)
    }
  }
}

extension Value.Object: RandomAccessCollection {
  /// The position of the first property.
  public var startIndex: Int { 0 }
  /// The position after the last property.
  public var endIndex: Int { entries.count }
  /// The property at `position`, in the order of the keys.
  public subscript(position: Int) -> Element { entries[position] }
}

extension Value.Object: Hashable {
  /// Whether both have the same properties.
  public static func == (a: Self, b: Self) -> Bool { Value.areEqual(a, b) }

  /// Feeds the properties into the hasher.
  public func hash(into hasher: inout Hasher) { hash(into: &hasher, depth: 0) }
}

extension Value.Object: ExpressibleByDictionaryLiteral {
  /// Creates an object.
  ///
  /// - Precondition: No key appears twice.
  public init(dictionaryLiteral elements: (String, Value)...) { self.init(literal: elements) }
}
