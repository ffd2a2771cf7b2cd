import DivanLog

/// Says that there is an index, and how far it is; or that there is none of that name any more.
///
/// Entries are not logged: they follow from the documents. FILE_FORMAT.md §10
struct IndexRecord: Sendable, Equatable {
  var name: SharedBytes
  /// Where the record stands that this one takes the place of.
  var superseded: RecordLocator?
  /// Nil if there is no such index any more.
  var kept: KeptIndex?

  /// The greatest size of a name in bytes of UTF-8.
  static let nameSizeLimit = 240
  /// The greatest number of names in a path, and the greatest size of one in bytes.
  static let pathLimit = 16
  static let pathNameSizeLimit = 1000
  /// The greatest number of properties.
  static let propertyLimit = 8
  /// The greatest number of conditions, and the greatest size in bytes of the stored form of a value in one.
  static let conditionLimit = 16
  static let conditionSizeLimit = 1000
  /// The greatest number of values in a condition that asks for one of several, and the greatest size of all of them.
  static let conditionValueLimit = 256
  static let conditionSetSizeLimit = 16_000

  /// How much the value of a condition may take.
  static func sizeLimit(ofConditionNumbered number: UInt8) -> Int {
    number == IndexCondition.Test.isIn([]).number ? conditionSetSizeLimit : conditionSizeLimit
  }

  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let removed = Flags(rawValue: 1)
    static let superseding = Flags(rawValue: 2)
    static let ready = Flags(rawValue: 4)
    static let unique = Flags(rawValue: 8)
    static let eachElement = Flags(rawValue: 16)
    static let compound = Flags(rawValue: 32)
    static let partial = Flags(rawValue: 64)
    static let known: Flags = [
      .removed, .superseding, .ready, .unique, .eachElement, .compound, .partial,
    ]
  }
}

// MARK: - Writing

extension IndexRecord {
  func encode(to writer: inout ByteWriter) {
    var flags: Flags = []
    if superseded != nil { flags.insert(.superseding) }
    if let kept {
      if kept.isReady { flags.insert(.ready) }
      if kept.index.isUnique { flags.insert(.unique) }
      if kept.index.eachElement { flags.insert(.eachElement) }
      if kept.index.paths.count > 1 { flags.insert(.compound) }
      if !kept.index.conditions.isEmpty { flags.insert(.partial) }
    } else {
      flags.insert(.removed)
    }
    writer.append(flags.rawValue)
    writer.append(UInt8(name.count))
    writer.append(name)
    superseded?.encode(to: &writer)
    guard let kept else { return }
    writer.appendVarint(kept.number)
    IndexRecord.encode(kept.index.path, to: &writer)
    if flags.contains(.compound) {
      let further = kept.index.paths.dropFirst()
      writer.appendVarint(further.count)
      for path in further { IndexRecord.encode(path, to: &writer) }
    }
    if flags.contains(.partial) {
      writer.appendVarint(kept.index.conditions.count)
      for condition in kept.index.conditions { IndexRecord.encode(condition, to: &writer) }
    }
  }

  private static func encode(_ path: [String], to writer: inout ByteWriter) {
    writer.appendVarint(path.count)
    for name in path { encode(SharedBytes(utf8: name), to: &writer) }
  }

  private static func encode(_ condition: IndexCondition, to writer: inout ByteWriter) {
    encode(condition.path, to: &writer)
    writer.append(condition.test.number)
    guard let value = condition.test.value else { return }
    guard let stored = try? ValueCoding.encode(value) else {
      preconditionFailure("A condition has a value that cannot be stored, and was not refused")
    }
    encode(stored, to: &writer)
  }

  /// Appends bytes behind their size.
  private static func encode(_ bytes: SharedBytes, to writer: inout ByteWriter) {
    writer.appendVarint(bytes.count)
    writer.append(bytes)
  }
}

// MARK: - Reading

extension IndexRecord {
  static func decode(_ payload: SharedBytes) throws(ByteError) -> IndexRecord {
    var reader = ByteReader(payload)
    let flags = Flags(rawValue: try reader.read(UInt8.self))
    guard Flags.known.isSuperset(of: flags) else {
      throw ByteError(offset: 0, reason: "an index with unknown flags")
    }
    var record = IndexRecord(name: try reader.readID())
    guard let name = record.name.text else {
      throw ByteError(offset: 1, reason: "the name of an index that is no text")
    }
    if flags.contains(.superseding) { record.superseded = try RecordLocator.decode(&reader) }
    if !flags.contains(.removed) {
      let number = try reader.readVarint()
      var paths = [try decodePath(&reader)]
      if flags.contains(.compound) {
        for _ in 0..<(try decodeCount(&reader, limit: propertyLimit - 1)) {
          paths.append(try decodePath(&reader))
        }
      }
      var conditions: [IndexCondition] = []
      if flags.contains(.partial) {
        for _ in 0..<(try decodeCount(&reader, limit: conditionLimit)) {
          conditions.append(try decodeCondition(&reader))
        }
      }
      record.kept = KeptIndex(
        index: DocumentIndex(
          name, paths: paths, isUnique: flags.contains(.unique),
          eachElement: flags.contains(.eachElement), where: conditions),
        number: number, isReady: flags.contains(.ready))
    }
    return try reader.finishing(record)
  }

  /// How many of something follow: one at least, or nothing would say that there are any.
  private static func decodeCount(
    _ reader: inout ByteReader, limit: Int
  ) throws(ByteError) -> Int {
    let offset = reader.offset
    let count = try reader.readCount(limit: limit)
    guard count > 0 else {
      throw ByteError(offset: offset, reason: "an index with none of what it says")
    }
    return count
  }

  private static func decodePath(_ reader: inout ByteReader) throws(ByteError) -> [String] {
    var path: [String] = []
    for _ in 0..<(try reader.readCount(limit: pathLimit)) {
      let bytes = try reader.readBytes(try reader.readCount(limit: pathNameSizeLimit))
      guard let name = bytes.text else {
        throw ByteError(offset: reader.offset, reason: "the path of an index that is no text")
      }
      path.append(name)
    }
    guard !path.isEmpty else {
      throw ByteError(offset: reader.offset, reason: "an index on nothing")
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
        try reader.readBytes(try reader.readCount(limit: sizeLimit(ofConditionNumbered: number))))
      do throws(DatabaseError) {
        try stored.validate()
        value = try stored.decode()
      } catch {
        throw ByteError(offset: offset, reason: "a condition of an index with what is no value")
      }
    }
    guard let test = IndexCondition.Test(number: number, value: value) else {
      throw ByteError(offset: offset, reason: "an unknown condition of an index")
    }
    return IndexCondition(path: path, test)
  }
}
