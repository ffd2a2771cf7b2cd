import DivanLog

/// Values by texts that are compared by their bytes of UTF-8.
///
/// A dictionary treats `é` as one scalar and as two as the same key, so that the second overwrites
/// the first.
///
/// A lookup takes logarithmic time, and an insertion linear time; appending in order is cheap.
///
/// Invariant: `entries` is strictly ascending by the bytes of the keys.
struct ByteKeyed<Value> {
  typealias Element = (key: String, value: Value)

  private(set) var entries: [Element] = []
}

extension ByteKeyed {
  /// Creates one from values in any order; of those with the same key, the last wins.
  init(_ elements: some Sequence<(String, Value)>) {
    // The sort is stable, so the last of several equal keys is also the last here.
    for (key, value) in elements.sorted(by: { compareUTF8($0.0, $1.0) < 0 }) {
      if let last = entries.last, haveSameUTF8(last.key, key) { entries.removeLast() }
      entries.append((key, value))
    }
  }

  var isEmpty: Bool { entries.isEmpty }

  var keys: some RandomAccessCollection<String> { entries.lazy.map(\.key) }

  /// The value of a key; setting nil removes it.
  subscript(key: String) -> Value? {
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

  /// The value of the key with these UTF-8 bytes.
  subscript(utf8 key: Span<UInt8>) -> Value? {
    let (index, isFound) = position(of: key)
    return isFound ? entries[index].value : nil
  }

  /// Adds the values of `others`, which replace existing ones.
  mutating func merge(_ others: Self) {
    for (key, value) in others.entries { self[key] = .some(value) }
  }

  /// Returns the position of `key`, or the position to insert it at.
  private func position(of key: String) -> (index: Int, isFound: Bool) {
    withUTF8(of: key) { position(of: $0) }
  }

  private func position(of key: Span<UInt8>) -> (index: Int, isFound: Bool) {
    func compareKey(of entry: Element) -> Int { withUTF8(of: entry.key) { compare($0, key) } }
    // Most keys are added in order.
    guard let last = entries.last, compareKey(of: last) >= 0 else {
      return (entries.count, false)
    }
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      let order = compareKey(of: entries[middle])
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (low, false)
  }
}

extension ByteKeyed: Sendable where Value: Sendable {}

extension ByteKeyed: Equatable where Value: Equatable {
  static func == (a: Self, b: Self) -> Bool {
    a.entries.count == b.entries.count
      && zip(a.entries, b.entries).allSatisfy { a, b in
        haveSameUTF8(a.key, b.key) && a.value == b.value
      }
  }
}

extension ByteKeyed: ExpressibleByDictionaryLiteral {
  init(dictionaryLiteral elements: (String, Value)...) { self.init(elements) }
}
