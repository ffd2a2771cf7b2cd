import DivanLog

extension Record.Kind {
  /// A document, or one of its records, was purged: ``PurgeRecord``.
  static let purge = Record.Kind(rawValue: 4)
  /// A document that is not versioned: ``LocalDocumentRecord``.
  static let localDocument = Record.Kind(rawValue: 5)
  /// A version of the store with a name: ``SnapshotNameRecord``.
  static let snapshotName = Record.Kind(rawValue: 6)
  /// The end of a commit: ``CommitPointRecord``.
  static let commitPoint = Record.Kind(rawValue: 7)
  /// An index of documents by a property: ``IndexDefinitionRecord``.
  static let indexDefinition = Record.Kind(rawValue: 8)
}

extension ByteReader {
  /// Reads an ID or a name, preceded by its size in one byte.
  mutating func readID() throws(ByteError) -> SharedBytes {
    let bytes = try readBytes(Int(try read(UInt8.self)))
    guard !bytes.isEmpty else { throw ByteError(offset: offset, reason: "an empty ID") }
    return bytes
  }

  /// Returns `record`, if no bytes follow it.
  func finishing<R>(_ record: R) throws(ByteError) -> R {
    guard isAtEnd else { throw ByteError(offset: offset, reason: "extra bytes after a record") }
    return record
  }
}
