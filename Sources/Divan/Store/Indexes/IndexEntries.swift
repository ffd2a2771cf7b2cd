import DivanLog

/// The entries of indexes in the catalog: the index's number, a value, and the ID of a document that has
/// it → the size of that ID, one byte. FILE_FORMAT.md §10
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

  /// An entry taken apart; nil if it is none.
  static func read(_ entry: IndexEntry) -> (value: SharedBytes, id: SharedBytes)? {
    let (key, value) = (entry.key, entry.value)
    guard value.count == 1 else { return nil }
    let valueSize = key.count - prefixSize - Int(value[0])
    guard valueSize > 0 else { return nil }
    // The sizes add up to that of the key.
    return (
      key.suffix(from: prefixSize).prefix(valueSize), key.suffix(from: prefixSize + valueSize)
    )
  }

  /// The values by which an index has a document with these properties, each once.
  ///
  /// Bytes that are no properties have none.
  static func values(_ index: DocumentIndex, of body: EncodedValue) -> [Value] {
    var found = body
    for name in index.path {
      guard let property = try? found.property(name) else { return [] }
      found = property
    }
    guard let value = try? found.decode() else { return [] }
    if index.eachElement, case .array(let elements) = value { return elements }
    return [value]
  }

  /// The keys of all entries that documents have in some indexes.
  static func keys(
    _ indexes: [KeptIndex], of body: EncodedValue, id: SharedBytes
  ) -> Set<[UInt8]> {
    var keys: Set<[UInt8]> = []
    for kept in indexes {
      let prefix = prefix(kept.number)
      for value in values(kept.index, of: body) {
        keys.insert(prefix + IndexedValue(value).bytes + id.array)
      }
    }
    return keys
  }
}
