import DivanLog

/// The record of an index and its state, or of its removal.
///
/// Entries are not logged: they follow from the documents. FILE_FORMAT.md §10
struct IndexDefinitionRecord: Sendable, Equatable {
  var name: SharedBytes
  /// The locator of the record that this one replaces.
  var superseded: RecordLocator?
  /// Nil if the index is removed.
  var definition: IndexDefinition?

  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let removed = Flags(rawValue: 1)
    static let superseding = Flags(rawValue: 2)
    static let ready = Flags(rawValue: 4)
    static let unique = Flags(rawValue: 8)
    static let eachElement = Flags(rawValue: 16)
    static let compound = Flags(rawValue: 32)
    static let partial = Flags(rawValue: 64)
    static let fullText = Flags(rawValue: 128)
  }
}

// MARK: - Writing

extension IndexDefinitionRecord {
  func encode(to writer: inout ByteWriter) {
    var flags: Flags = []
    if superseded != nil { flags.insert(.superseding) }
    if let definition {
      if definition.isReady { flags.insert(.ready) }
      if definition.index.isUnique { flags.insert(.unique) }
      if definition.index.eachElement { flags.insert(.eachElement) }
      if definition.index.paths.count > 1 { flags.insert(.compound) }
      if !definition.index.conditions.isEmpty { flags.insert(.partial) }
      if definition.index.fullText != nil { flags.insert(.fullText) }
    } else {
      flags.insert(.removed)
    }
    writer.append(flags.rawValue)
    writer.append(UInt8(name.count))
    writer.append(name)
    superseded?.encode(to: &writer)
    guard let definition else { return }
    writer.appendVarint(definition.number)
    IndexDefinitionRecord.encode(definition.index.path, to: &writer)
    if flags.contains(.compound) {
      let further = definition.index.paths.dropFirst()
      writer.appendVarint(further.count)
      for path in further { IndexDefinitionRecord.encode(path, to: &writer) }
    }
    if flags.contains(.partial) {
      writer.appendVarint(definition.index.conditions.count)
      for condition in definition.index.conditions {
        IndexDefinitionRecord.encode(condition, to: &writer)
      }
    }
    definition.index.fullText?.encode(to: &writer)
  }

  private static func encode(_ path: [String], to writer: inout ByteWriter) {
    writer.appendVarint(path.count)
    for name in path { encode(SharedBytes(utf8: name), to: &writer) }
  }

  private static func encode(_ condition: IndexCondition, to writer: inout ByteWriter) {
    encode(condition.path, to: &writer)
    writer.append(condition.test.number)
    guard let value = condition.test.value else { return }
    guard let stored = try? ValueEncoder.encode(value) else {
      preconditionFailure("A condition with a value that cannot be stored was not refused")
    }
    encode(stored, to: &writer)
  }

  /// Appends the size of some bytes, and then the bytes.
  private static func encode(_ bytes: SharedBytes, to writer: inout ByteWriter) {
    writer.appendVarint(bytes.count)
    writer.append(bytes)
  }
}

// MARK: - Reading

extension IndexDefinitionRecord {
  static func decode(_ payload: SharedBytes) throws(ByteError) -> IndexDefinitionRecord {
    var reader = ByteReader(payload)
    let flags = Flags(rawValue: try reader.read(UInt8.self))
    // All bits are known, so these combinations are left for what comes later.
    guard !flags.contains(.fullText) || flags.isDisjoint(with: [.removed, .unique, .eachElement])
    else { throw ByteError(offset: 0, reason: "an index with unknown flags") }
    var record = IndexDefinitionRecord(name: try reader.readID())
    guard let name = record.name.text else {
      throw ByteError(offset: 1, reason: "an index name that is not UTF-8")
    }
    if flags.contains(.superseding) { record.superseded = try RecordLocator.decode(&reader) }
    if !flags.contains(.removed) {
      let number = try reader.readVarint()
      var paths = [try decodePath(&reader)]
      if flags.contains(.compound) {
        for _ in 0..<(try decodeCount(&reader, limit: IndexLimits.propertyLimit - 1)) {
          paths.append(try decodePath(&reader))
        }
      }
      var conditions: [IndexCondition] = []
      if flags.contains(.partial) {
        for _ in 0..<(try decodeCount(&reader, limit: IndexLimits.conditionLimit)) {
          conditions.append(try decodeCondition(&reader))
        }
      }
      var index = DocumentIndex(
        name, paths: paths, isUnique: flags.contains(.unique),
        eachElement: flags.contains(.eachElement), where: conditions)
      if flags.contains(.fullText) {
        index = DocumentIndex(
          name, fullTextPaths: paths, options: try FullTextOptions.decode(&reader),
          where: conditions)
      }
      record.definition = IndexDefinition(
        index: index, number: number, isReady: flags.contains(.ready))
    }
    return try reader.finishing(record)
  }

  /// Reads a count, which is at least one: without items, the flag would not be set.
  private static func decodeCount(
    _ reader: inout ByteReader, limit: Int
  ) throws(ByteError) -> Int {
    let offset = reader.offset
    let count = try reader.readCount(limit: limit)
    guard count > 0 else {
      throw ByteError(
        offset: offset, reason: "an index with a flag for parts that it does not have")
    }
    return count
  }

  private static func decodePath(_ reader: inout ByteReader) throws(ByteError) -> [String] {
    var path: [String] = []
    for _ in 0..<(try reader.readCount(limit: IndexLimits.pathLimit)) {
      let bytes = try reader.readBytes(try reader.readCount(limit: IndexLimits.pathNameSizeLimit))
      guard let name = bytes.text else {
        throw ByteError(offset: reader.offset, reason: "an index path that is not UTF-8")
      }
      path.append(name)
    }
    guard !path.isEmpty else {
      throw ByteError(offset: reader.offset, reason: "an index with an empty path")
    }
    return path
  }

  private static func decodeCondition(
    _ reader: inout ByteReader
  ) throws(ByteError) -> IndexCondition {
    let path = try decodePath(&reader)
    let offset = reader.offset
    let number = try reader.read(UInt8.self)
    var value: Value?
    if number != IndexCondition.Test.isPresent.number {
      let stored = EncodedValue(
        try reader.readBytes(
          try reader.readCount(limit: IndexLimits.sizeLimit(ofConditionNumbered: number))))
      do throws(DatabaseError) {
        try stored.validate()
        value = try stored.decode()
      } catch {
        throw ByteError(offset: offset, reason: "a condition of an index with an invalid value")
      }
    }
    guard let test = IndexCondition.Test(number: number, value: value) else {
      throw ByteError(offset: offset, reason: "an unknown condition of an index")
    }
    return IndexCondition(path: path, test)
  }
}

// MARK: - The catalog

extension IndexDefinitionRecord: CatalogRecord {
  var catalogKey: [UInt8] { CatalogKey.index(name) }
  var isRemoval: Bool { definition == nil }
}
