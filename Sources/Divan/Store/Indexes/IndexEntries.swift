import DivanLog

/// The entries of indexes in the catalog: the index's number, a value of each of its properties, and the ID of a
/// document that has them → the size of that ID, one byte. FILE_FORMAT.md §10
enum IndexEntries {
  /// What all entries of an index begin with.
  static func prefix(_ number: UInt64) -> [UInt8] {
    [CatalogKey.Kind.indexEntry.rawValue] + number.bigEndianBytes
  }

  /// Bytes of ``prefix(_:)``.
  static let prefixSize = 9

  /// Whether a key of the catalog is an entry of an index.
  static func isEntry(_ key: SharedBytes) -> Bool {
    key.count > 0 && key[0] == CatalogKey.Kind.indexEntry.rawValue
  }

  /// The number of the index that an entry is of; nil if the key is too short for one.
  static func number(of key: SharedBytes) -> UInt64? {
    guard key.count >= prefixSize else { return nil }
    return UInt64(bigEndian: key.load(UInt64.self, at: 1))
  }

  /// How many bytes of an entry's key are values; nil if it is no entry.
  static func valueSize(_ entry: IndexEntry) -> Int? {
    guard entry.value.count == 1 else { return nil }
    let size = entry.key.count - prefixSize - Int(entry.value[0])
    return size > 0 ? size : nil
  }

  /// An entry taken apart; nil if it is none.
  static func read(_ entry: IndexEntry) -> (value: SharedBytes, id: SharedBytes)? {
    guard let valueSize = valueSize(entry) else { return nil }
    // The sizes add up to that of the key.
    return (
      entry.key.suffix(from: prefixSize).prefix(valueSize),
      entry.key.suffix(from: prefixSize + valueSize)
    )
  }
}

// MARK: - What documents have

/// The entries that indexes should have of a document.
struct IndexedKeys {
  fileprivate(set) var all: Set<[UInt8]> = []
  /// What those keys begin with, up to the ID, that no other document may have, and the names of their indexes.
  fileprivate(set) var unique: [[UInt8]: String] = [:]
}

extension IndexEntries {
  /// What a path leads to in a document.
  enum Property {
    case value(Value)
    case missing
    /// Bytes that are no value.
    case unreadable
  }

  /// What a path leads to in a document with these properties.
  static func property(_ path: [String], of body: EncodedValue) -> Property {
    do throws(DatabaseError) {
      var found = body
      for name in path {
        guard let property = try found.property(name) else { return .missing }
        found = property
      }
      return .value(try found.decode())
    } catch {
      return .unreadable
    }
  }

  /// The values by which an index has a document with these properties: for each entry one of each property.
  ///
  /// An array may have an element twice. Where bytes are no values that the index looks at, there is no entry.
  static func values(_ index: DocumentIndex, of body: EncodedValue) -> [[Value]] {
    guard index.conditions.allSatisfy({ $0.isFulfilled(by: body) }),
      case .value(let first) = property(index.path, of: body)
    else { return [] }
    var further: [Value] = []
    for path in index.paths.dropFirst() {
      switch property(path, of: body) {
      case .value(let value): further.append(value)
      case .missing: further.append(.null)
      case .unreadable: return []
      }
    }
    if index.eachElement, case .array(let elements) = first {
      return elements.map { [$0] + further }
    }
    return [[first] + further]
  }

  /// The keys of all entries that documents have in some indexes, and which of these no other document may have.
  static func entries(
    _ indexes: [KeptIndex], of body: EncodedValue, id: SharedBytes
  ) -> IndexedKeys {
    var keys = IndexedKeys()
    for kept in indexes {
      let prefix = prefix(kept.number)
      for values in values(kept.index, of: body) {
        let start = prefix + IndexedValue(joining: values).bytes
        keys.all.insert(start + id.array)
        guard kept.index.isUnique else { continue }
        // Any number of documents may have null.
        if !values.contains(where: \.isNull) { keys.unique[start] = kept.index.name }
      }
    }
    return keys
  }

  /// The keys of all entries that documents have in some indexes.
  static func keys(
    _ indexes: [KeptIndex], of body: EncodedValue, id: SharedBytes
  ) -> Set<[UInt8]> {
    entries(indexes, of: body, id: id).all
  }
}
