import DivanLog

/// Builds a ``Value``.
struct ValueBuilder: ValueSink {
  /// The value, once it is complete.
  ///
  /// Kept separately, so that a value that is not a container needs no list.
  private(set) var value: Value?
  /// The values in the open containers.
  private var values: [Value] = []
  private var keys: [(text: String, source: Int)] = []
  private var open: [(values: Int, keys: Int)] = []

  private mutating func append(_ value: Value) {
    if open.isEmpty { self.value = value } else { values.append(value) }
  }
}

extension ValueBuilder {
  mutating func addNull() { append(.null) }

  mutating func add(_ value: Bool) { append(.bool(value)) }

  mutating func add(_ value: Int64) { append(.int(value)) }

  mutating func add(unsigned value: UInt64) { append(.integer(value)) }

  mutating func add(_ value: Double) { append(.double(value)) }

  mutating func add(text: Span<UInt8>) {
    // The caller has checked that it is UTF-8.
    append(.string(String(validUTF8: text)))
  }

  mutating func beginArray() { open.append((values.count, keys.count)) }

  mutating func beginObject() { open.append((values.count, keys.count)) }

  mutating func addKey(_ key: Span<UInt8>, source: Int) {
    keys.append((String(validUTF8: key), source))
  }

  mutating func endArray() {
    guard let begin = open.popLast() else { return }
    let elements = Array(values[begin.values...])
    values.removeLast(elements.count)
    append(.array(elements))
  }

  mutating func endObject() -> DuplicateKey? {
    guard let begin = open.popLast() else { return nil }
    let count = keys.count - begin.keys
    if let duplicate = duplicateAmongUnsorted(begin) { return duplicate }
    var entries: [Value.Object.Element] = []
    entries.reserveCapacity(count)
    for index in 0..<count {
      entries.append((keys[begin.keys + index].text, values[begin.values + index]))
    }
    keys.removeLast(count)
    values.removeLast(count)
    append(.object(Value.Object(sortedEntries: entries)))
    return nil
  }

  /// Sorts the keys and values from `begin` on, and returns a key that occurs twice.
  private mutating func duplicateAmongUnsorted(_ begin: (values: Int, keys: Int)) -> DuplicateKey? {
    var isSorted = true
    for index in keys.indices.dropFirst(begin.keys + 1) {
      let order = compareUTF8(keys[index - 1].text, keys[index].text)
      if order == 0 { return DuplicateKey(key: keys[index].text, source: keys[index].source) }
      if order > 0 {
        isSorted = false
        break
      }
    }
    if isSorted { return nil }
    var pairs = zip(keys[begin.keys...], values[begin.values...]).map { (key: $0, value: $1) }
    pairs.sort { compareUTF8($0.key.text, $1.key.text) < 0 }
    for (a, b) in zip(pairs, pairs.dropFirst()) where haveSameUTF8(a.key.text, b.key.text) {
      return DuplicateKey(key: a.key.text, source: max(a.key.source, b.key.source))
    }
    for (index, pair) in pairs.enumerated() {
      keys[begin.keys + index] = pair.key
      values[begin.values + index] = pair.value
    }
    return nil
  }
}

/// A sink that ignores everything, for reading that only checks.
struct NothingSink: ValueSink {
  #if DIVAN_THREAD_SANITIZER
    // The sanitizer inspects the address of an `inout` argument. A value without bytes has none, so
    // the sanitizer would read through an arbitrary register value.
    private var byte: UInt8 = 0
  #endif
  mutating func addNull() {}
  mutating func add(_ value: Bool) {}
  mutating func add(_ value: Int64) {}
  mutating func add(unsigned value: UInt64) {}
  mutating func add(_ value: Double) {}
  mutating func add(text: Span<UInt8>) {}
  mutating func beginArray() {}
  mutating func endArray() {}
  mutating func beginObject() {}
  mutating func addKey(_ key: Span<UInt8>, source: Int) {}
  mutating func endObject() -> DuplicateKey? { nil }
}
