import DivanLog

/// A cursor over the documents of an index in a range, each once.
///
/// `while try cursor.advance() { … cursor.id … }`
struct IndexEntryCursor {
  private let view: ReadView
  private var scan: LayeredScan
  /// The residual check for entries whose values are cut off; nil if every entry is a result.
  private let residual: ResidualCheck?
  /// The results in a version without indexes of its own; then there is nothing to scan.
  private var computed: ArraySlice<SharedBytes>
  /// The IDs already returned, if a document may have several entries.
  private var seen: Set<[UInt8]>?
  /// The current entry.
  private var entry = TreeEntry()
  /// The size of its values in bytes.
  private var valueSize = 0

  /// The check of a document whose values in the index are cut off.
  private final class ResidualCheck {
    let index: DocumentIndex
    let range: IndexRange
    let keys: IndexKeyRange

    init(_ index: DocumentIndex, _ range: IndexRange, _ keys: IndexKeyRange) {
      self.index = index
      self.range = range
      self.keys = keys
    }
  }
}

extension IndexEntryCursor {
  /// Opens the index with a name.
  ///
  /// - Throws: `notFound` if there is no such index, or it is not complete yet; `invalidQuery` if
  ///   the index does not support the range, or has text instead of values.
  init(
    _ view: ReadView, _ name: String, _ range: IndexRange, descending: Bool
  ) throws(DatabaseError) {
    let definition = try view.index(named: name)
    guard definition.index.fullText == nil else {
      throw DatabaseError(
        .invalidQuery, "the index \(name.debugDescription) has the words of text, and no values",
        hint: "Search it with `matches` in the filter of a query", path: view.environment.path)
    }
    self = try IndexEntryCursor.over(
      definition, range, try IndexKeyRange(range, of: definition), in: view, descending: descending)
  }

  /// Returns a cursor over a ready index within a key range; nil if the range is empty.
  static func over(
    _ definition: IndexDefinition, _ range: IndexRange, _ keys: IndexKeyRange?, in view: ReadView,
    descending: Bool
  ) throws(DatabaseError) -> IndexEntryCursor {
    var computed: ArraySlice<SharedBytes> = []
    if view.past != nil, keys != nil {
      let found = try view.computedEntries(of: definition, range)
      computed = ArraySlice(descending ? found.reversed() : found)
    }
    let scan: LayeredScan =
      if view.past == nil, let keys {
        view.state.catalog.scan(from: keys.lower, to: keys.upper, descending: descending)
      } else {
        .empty
      }
    return IndexEntryCursor(
      view: view, scan: scan,
      residual: keys.flatMap { $0.isExact ? nil : ResidualCheck(definition.index, range, $0) },
      computed: computed,
      // Only the first property can have several values.
      seen: definition.index.eachElement && !range.parts[0].isOneValue ? [] : nil)
  }

  /// Returns an empty cursor.
  static func none(in view: ReadView) -> IndexEntryCursor {
    IndexEntryCursor(view: view, scan: .empty, residual: nil, computed: [], seen: nil)
  }

  /// Counts the remaining documents; reads none, unless long values have equal beginnings.
  mutating func countRest() throws(DatabaseError) -> Int {
    guard computed.isEmpty, seen == nil, residual == nil else {
      var count = 0
      while try advance() { count += 1 }
      return count
    }
    let view = view
    try view.requireWhole()
    var count = EntryCount()
    // After a page repair, the count continues where it stopped.
    try view.repairing { (_) throws(PageError) in
      try scan.count(into: &count) { IndexEntries.isSound($0, $1) }
    }
    guard count.unsound == 0 else { throw noEntry }
    return count.sound
  }

  /// Moves to the next document; returns false at the end.
  mutating func advance() throws(DatabaseError) -> Bool {
    while true {
      if let item = try view.step(&scan) {
        guard let size = IndexEntries.valueSize(item) else { throw noEntry }
        entry = item
        valueSize = size
        if let residual, try !matches(residual) { continue }
      } else if let id = computed.popFirst() {
        entry = IndexEntries.entryWithoutValue(of: id)
      } else {
        return false
      }
      guard seen != nil else { return true }
      // Compared by bytes: IDs that look alike can be different.
      let id = id.array
      if seen?.insert(id).inserted == true { return true }
    }
  }

  /// The current document's ID.
  var id: SharedBytes {
    entry.key.suffix(from: IndexEntries.prefixSize + valueSize)
  }

  /// Consumes the entry and returns the document's ID.
  @inline(__always)
  mutating func takeID() -> SharedBytes {
    var taken = TreeEntry()
    swap(&taken, &entry)
    let start = IndexEntries.prefixSize + valueSize
    valueSize = 0
    return taken.takeKey(from: start)
  }

  /// Passes the bytes of the current document's index values to `body`.
  ///
  /// They are empty if the version has no index of its own. Mutating, because it would otherwise
  /// copy the whole cursor.
  @inline(__always)
  mutating func withValue<R>(_ body: (Span<UInt8>) -> R) -> R {
    let range = IndexEntries.prefixSize..<IndexEntries.prefixSize + valueSize
    return entry.withKey { body($0.extracting(range)) }
  }

  /// The same bytes, as a copy that can be kept.
  var value: SharedBytes {
    entry.key.suffix(from: IndexEntries.prefixSize).prefix(valueSize)
  }

  /// Whether the current entry is in the range; reads the document if its values are cut off.
  private func matches(_ residual: ResidualCheck) throws(DatabaseError) -> Bool {
    let value = value
    if !residual.keys.needsDocument(for: value) { return true }
    let id = id
    guard let entry = try view.entry(id), !entry.isDeleted else { return false }
    let properties = EncodedValue(try view.winningRecord(at: entry.location, id).body)
    return IndexEntries.values(residual.index, of: properties).contains {
      residual.range.contains($0) && IndexedValue(joining: $0).bytes == value.array
    }
  }

  private var noEntry: DatabaseError {
    DatabaseError(
      Damage(path: view.environment.path, offset: 0, reason: "an invalid entry of an index"))
  }
}
