import DivanLog

/// Computes the index entries of documents, and reuses its memory from one to the next.
///
/// Properties are read in their stored form; nothing is decoded.
struct IndexKeyMaker: ~Copyable {
  private let definition: IndexDefinition
  private let path: [String]
  private let furtherPaths: [[String]]
  private let isPartial: Bool
  private let prefix: [UInt8]
  /// The values of the first property.
  private var values: IndexedElements
  /// The values of the further properties, concatenated.
  private var further = CollationKey(.bytes)
  private var hasFurtherNull = false

  init(_ definition: IndexDefinition) {
    self.definition = definition
    path = definition.index.path
    furtherPaths = Array(definition.index.paths.dropFirst())
    isPartial = !definition.index.conditions.isEmpty
    prefix = IndexEntries.prefix(definition.number)
    values = IndexedElements(splitsArrays: definition.index.eachElement)
  }

  /// Adds the entries of a document with these properties to a batch, possibly with duplicates.
  ///
  /// There are none if the document does not fulfil the index's conditions, lacks the first
  /// property, or has malformed values in the index's paths.
  mutating func addEntries(
    of properties: EncodedValue, id: Span<UInt8>, source: UInt32, to batch: inout EntryBatch
  ) {
    guard includes(properties) else { return }
    properties.bytes.withSpan { addEntries(of: $0, id: id, source: source, to: &batch) }
  }

  /// Whether a document fulfils the conditions of the index.
  func includes(_ properties: EncodedValue) -> Bool {
    !isPartial || definition.index.conditions.allSatisfy { $0.isFulfilled(by: properties) }
  }

  /// Adds the entries of a document that fulfils the conditions.
  mutating func addEntries(
    of properties: Span<UInt8>, id: Span<UInt8>, source: UInt32, to batch: inout EntryBatch
  ) {
    guard read(properties) else { return }
    var start = 0
    for number in 0..<values.ends.count {
      let end = values.ends[number]
      let hasNull = hasFurtherNull || values.isNull(start..<end)
      batch.append(value: UInt8(id.count), source: source) { key in
        let keyStart = key.count
        key.append(prefix)
        values.keys.append(start..<end, to: &key)
        further.append(0..<further.count, to: &key)
        IndexedValue.cut(&key, from: keyStart + prefix.count)
        let uniqueSize = key.count - keyStart
        key.append(id)
        guard definition.index.isUnique else { return 0 }
        // Any number of documents may have null.
        return hasNull ? 0 : uniqueSize
      }
      start = end
    }
  }

  /// Reads the indexed properties; returns false if the document has no entry.
  private mutating func read(_ properties: Span<UInt8>) -> Bool {
    guard case .at(let start, let end) = ValueFormat.value(at: path, of: properties),
      values.read(properties.extracting(start..<end))
    else { return false }
    further.removeAll()
    hasFurtherNull = false
    for path in furtherPaths {
      switch ValueFormat.value(at: path, of: properties) {
      case .damaged: return false
      case .missing:
        further.addNull()
        hasFurtherNull = true
      case .at(let start, let end):
        let offset = further.count
        guard ValueReader.read(properties.extracting(start..<end), into: &further) == nil else {
          return false
        }
        if further.isNull(offset..<further.count) { hasFurtherNull = true }
      }
    }
    return true
  }
}

/// The key bytes of a value, or of each element of an array, concatenated.
private struct IndexedElements: ~Copyable {
  private(set) var keys = CollationKey(.bytes)
  /// The end offset of each element.
  private(set) var ends: [Int] = []
  private let splitsArrays: Bool
  /// Whether the value is an array that is split into elements.
  private var isSplit = false
  private var depth = 0

  init(splitsArrays: Bool) { self.splitsArrays = splitsArrays }

  /// Reads a value in its stored form; returns false if it is malformed.
  mutating func read(_ value: Span<UInt8>) -> Bool {
    keys.removeAll()
    ends.removeAll(keepingCapacity: true)
    isSplit = false
    depth = 0
    return ValueReader.read(value, into: &self) == nil
  }

  /// Whether the bytes of a value are null's.
  func isNull(_ range: Range<Int>) -> Bool { keys.isNull(range) }

  /// Records the end of a value, unless it is within another.
  private mutating func endOne() { if depth == (isSplit ? 1 : 0) { ends.append(keys.count) } }

  /// Leaves a container; returns whether it is a value and not the array that is split.
  private mutating func leave() -> Bool {
    depth -= 1
    return !isSplit || depth > 0
  }
}

extension IndexedElements: ValueSink {
  mutating func addNull() {
    keys.addNull()
    endOne()
  }

  mutating func add(_ value: Bool) {
    keys.add(value)
    endOne()
  }

  mutating func add(_ value: Int64) {
    keys.add(value)
    endOne()
  }

  mutating func add(unsigned value: UInt64) {
    keys.add(unsigned: value)
    endOne()
  }

  mutating func add(_ value: Double) {
    keys.add(value)
    endOne()
  }

  mutating func add(text: Span<UInt8>) {
    keys.add(text: text)
    endOne()
  }

  mutating func addKey(_ key: Span<UInt8>, source: Int) { keys.addKey(key, source: source) }

  mutating func beginArray() {
    if splitsArrays, depth == 0 { isSplit = true } else { keys.beginArray() }
    depth += 1
  }

  mutating func endArray() {
    guard leave() else { return }
    keys.endArray()
    endOne()
  }

  mutating func beginObject() {
    keys.beginObject()
    depth += 1
  }

  mutating func endObject() -> DuplicateKey? {
    _ = leave()
    let duplicate = keys.endObject()
    endOne()
    return duplicate
  }
}
