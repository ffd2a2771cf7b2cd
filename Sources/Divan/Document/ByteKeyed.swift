import DivanLog

/// Values by texts that are told apart by their bytes of UTF-8.
///
/// A dictionary takes `é` as one scalar and as two for the same key, so that the second overwrites the first.
///
/// Finding a value takes time logarithmic, adding one linear in their number; adding them in order takes little.
///
/// Invariant: `entries` is strictly ascending by the bytes of the keys.
struct ByteKeyed<Value> {
  typealias Element = (key: String, value: Value)

  private(set) var entries: [Element] = []
}

extension ByteKeyed {
  /// Makes one of values in any order; of those with the same key, the last counts.
  init(_ elements: some Sequence<(String, Value)>) {
    // The sort is stable, so that the last of several is the last here, too.
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
      let (index, isFound) = place(of: key)
      return isFound ? entries[index].value : nil
    }
    set {
      let (index, isFound) = place(of: key)
      switch (newValue, isFound) {
      case (let value?, true): entries[index].value = value
      case (let value?, false): entries.insert((key, value), at: index)
      case (nil, true): entries.remove(at: index)
      case (nil, false): break
      }
    }
  }

  /// Takes in others, which win over those that are there.
  mutating func merge(_ others: Self) {
    for (key, value) in others.entries { self[key] = .some(value) }
  }

  /// Where `key` is, or where it belongs.
  private func place(of key: String) -> (index: Int, isFound: Bool) {
    // Most are added in order.
    guard let last = entries.last, compareUTF8(last.key, key) >= 0 else {
      return (entries.count, false)
    }
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      let order = compareUTF8(entries[middle].key, key)
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
