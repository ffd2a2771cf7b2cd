import DivanLog

/// The entries of indexes in the catalog.
///
/// A key is the index's number, a value of each of its properties, and a document's ID. The value
/// is the size of that ID, in one byte. FILE_FORMAT.md §10
enum IndexEntries {
  /// Returns the prefix of all entries of an index.
  static func prefix(_ number: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    // Room for the rest of most entries.
    bytes.reserveCapacity(64)
    bytes.append(CatalogKey.Kind.indexEntry.rawValue)
    for shift in stride(from: 56, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
    }
    return bytes
  }

  /// The size of ``prefix(_:)`` in bytes.
  static let prefixSize = 9

  /// Whether a key of the catalog is an entry of an index.
  static func isEntry(_ key: SharedBytes) -> Bool {
    key.count > 0 && key[0] == CatalogKey.Kind.indexEntry.rawValue
  }

  /// Returns the number of an entry's index; nil if the key is too short for one.
  static func number(of key: SharedBytes) -> UInt64? {
    guard key.count >= prefixSize else { return nil }
    return UInt64(bigEndian: key.load(UInt64.self, at: 1))
  }

  /// Returns the size of the values in an entry's key; nil if it is not an entry.
  static func valueSize(_ entry: TreeEntry) -> Int? {
    guard entry.value.count == 1 else { return nil }
    return valueSize(ofKey: entry.key.count, idSize: entry.value[0])
  }

  private static func valueSize(ofKey keySize: Int, idSize: UInt8) -> Int? {
    let size = keySize - prefixSize - Int(idSize)
    return size > 0 ? size : nil
  }

  /// Whether a key and its value form a valid entry.
  @inline(__always)
  static func isSound(_ key: BorrowedBytes, _ value: BorrowedBytes) -> Bool {
    value.count == 1 && valueSize(ofKey: key.count, idSize: value[0]) != nil
  }

  /// Splits an entry into its values and its ID; nil if it is not an entry.
  static func read(_ entry: TreeEntry) -> (value: SharedBytes, id: SharedBytes)? {
    guard let valueSize = valueSize(entry) else { return nil }
    // The sizes add up to the key's size.
    return (
      entry.key.suffix(from: prefixSize).prefix(valueSize),
      entry.key.suffix(from: prefixSize + valueSize)
    )
  }

  /// Returns a placeholder entry for a document whose index values are not known.
  static func entryWithoutValue(of id: SharedBytes) -> TreeEntry {
    TreeEntry(key: SharedBytes(copying: prefix(0) + id.array))
  }
}

// MARK: - Entries of documents

/// The entries that an index should have of a document.
struct IndexedKeys {
  fileprivate(set) var all = IndexKeySet()
  /// The keys up to the ID that no other document may have.
  fileprivate(set) var unique: [[UInt8]] = []
}

extension IndexEntries {
  /// Returns the property at a path in a document with these properties; nil if there is none.
  static func property(
    _ path: [String], of properties: EncodedValue
  ) throws(DatabaseError) -> EncodedValue? {
    var found = properties
    for name in path {
      guard let property = try found.property(name) else { return nil }
      found = property
    }
    return found
  }

  /// Whether two documents have the same bytes at a path, or both nothing.
  ///
  /// False for malformed properties.
  static func haveSameBytes(
    at path: [String], _ one: EncodedValue, _ other: EncodedValue
  ) -> Bool {
    do throws(DatabaseError) {
      return try property(path, of: one)?.bytes == property(path, of: other)?.bytes
    } catch {
      return false
    }
  }

  /// Returns a document's first property of an index; nil if the document is not in the index.
  private static func first(_ index: DocumentIndex, of properties: EncodedValue) -> EncodedValue? {
    guard index.conditions.allSatisfy({ $0.isFulfilled(by: properties) }) else { return nil }
    do throws(DatabaseError) {
      return try property(index.path, of: properties)
    } catch {
      return nil
    }
  }

  /// Returns the values of a document in an index: for each entry, one of each property.
  ///
  /// An array may have an element twice. Malformed values in the index's paths have no entries.
  static func values(_ index: DocumentIndex, of properties: EncodedValue) -> [[Value]] {
    guard let first = first(index, of: properties) else { return [] }
    do throws(DatabaseError) {
      var further: [Value] = []
      for path in index.paths.dropFirst() {
        further.append(try property(path, of: properties)?.decode() ?? .null)
      }
      let value = try first.decode()
      if index.eachElement, case .array(let elements) = value {
        return elements.map { [$0] + further }
      }
      return [[value] + further]
    } catch {
      return []
    }
  }

  /// Returns the keys of a document's entries in an index, and those that must be unique.
  static func entries(
    _ definition: IndexDefinition, of properties: EncodedValue, id: SharedBytes
  ) -> IndexedKeys {
    var batch = EntryBatch()
    var maker = IndexKeyMaker(definition)
    id.withSpan { maker.addEntries(of: properties, id: $0, source: 0, to: &batch) }
    batch.sort()
    var keys = IndexedKeys()
    var all: [[UInt8]] = []
    all.reserveCapacity(batch.count)
    for (index, item) in batch.slots.enumerated() {
      batch.withEntry(index) { key, _ in
        all.append(key.array)
        if item.uniqueSize > 0 { keys.unique.append(key.prefix(Int(item.uniqueSize)).array) }
      }
    }
    keys.all = IndexKeySet(ascending: all)
    return keys
  }
}
