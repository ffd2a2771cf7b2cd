import DivanLog

/// An order of documents by one of their properties, which is kept with every commit, so that documents
/// are found by it without reading the others.
///
/// ```swift
/// try database.addIndex(DocumentIndex("by year", on: "year"))
/// var films = try database.snapshot().documents(by: "by year", .from(1920, upTo: 1930))
/// while let film = try films.next() { print(film.id) }
/// ```
///
/// A document has one entry: the property's value, of its winning revision. One that has no such property has
/// none, and deleted documents have none. With ``eachElement`` an array has an entry for each of its elements
/// that is different from the others, so that a film is found by any of its actors.
///
/// Values are in the order null, false, true, numbers, texts by the bytes of their UTF-8, arrays, objects. Equal
/// numbers are equal however they are written. Of texts and arrays some 160 bytes decide about the order;
/// those that begin alike for so long come in no particular order, and are told apart all the same.
public struct DocumentIndex: Sendable, Hashable {
  /// What the index is called.
  public let name: String
  /// The way to the property: its name, or the names of the objects around it before that.
  public let path: [String]
  /// Whether no two documents may have the same value, other than null.
  public let isUnique: Bool
  /// Whether each element of an array has an entry.
  public let eachElement: Bool

  /// Describes an index, which ``Database/addIndex(_:progress:)`` makes.
  ///
  /// - Parameters:
  ///   - name: what it is called: 1 to 240 bytes of UTF-8.
  ///   - path: the property's name; for one within objects, their names before it.
  ///   - isUnique: whether no two documents may have the same value, other than null. A transaction at whose
  ///     end two have it is refused with ``DatabaseError/Code/notUnique``, also if it inserts revisions that were
  ///     made elsewhere, or purges one so that another one wins.
  ///   - eachElement: whether each element of an array has an entry, instead of the array as a whole.
  public init(
    _ name: String, on path: String..., isUnique: Bool = false, eachElement: Bool = false
  ) {
    self.init(name, path: path, isUnique: isUnique, eachElement: eachElement)
  }

  /// The same with the names of the path in an array.
  public init(
    _ name: String, path: [String], isUnique: Bool = false, eachElement: Bool = false
  ) {
    self.name = name
    self.path = path
    self.isUnique = isUnique
    self.eachElement = eachElement
  }
}

/// An index as a version of the store has it.
struct KeptIndex: Sendable, Equatable {
  var index: DocumentIndex
  /// What its entries begin with: the number of the commit since which there is such an index, so that no other
  /// one ever has it, and what is left of one that is gone is never taken for another's.
  var number: UInt64
  /// Whether every document has its entries.
  var isReady: Bool
}

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

  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let removed = Flags(rawValue: 1)
    static let superseding = Flags(rawValue: 2)
    static let ready = Flags(rawValue: 4)
    static let unique = Flags(rawValue: 8)
    static let eachElement = Flags(rawValue: 16)
    static let known: Flags = [.removed, .superseding, .ready, .unique, .eachElement]
  }

  func encode(to writer: inout ByteWriter) {
    var flags: Flags = []
    if superseded != nil { flags.insert(.superseding) }
    if let kept {
      if kept.isReady { flags.insert(.ready) }
      if kept.index.isUnique { flags.insert(.unique) }
      if kept.index.eachElement { flags.insert(.eachElement) }
    } else {
      flags.insert(.removed)
    }
    writer.append(flags.rawValue)
    writer.append(UInt8(name.count))
    writer.append(name)
    superseded?.encode(to: &writer)
    guard let kept else { return }
    writer.appendVarint(kept.number)
    writer.appendVarint(kept.index.path.count)
    for part in kept.index.path {
      let bytes = SharedBytes(utf8: part)
      writer.appendVarint(bytes.count)
      writer.append(bytes)
    }
  }

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
      var path: [String] = []
      for _ in 0..<(try reader.readCount(limit: pathLimit)) {
        let bytes = try reader.readBytes(try reader.readCount(limit: pathNameSizeLimit))
        guard let part = bytes.text else {
          throw ByteError(offset: reader.offset, reason: "the path of an index that is no text")
        }
        path.append(part)
      }
      guard !path.isEmpty else {
        throw ByteError(offset: reader.offset, reason: "an index on nothing")
      }
      record.kept = KeptIndex(
        index: DocumentIndex(
          name, path: path, isUnique: flags.contains(.unique),
          eachElement: flags.contains(.eachElement)),
        number: number, isReady: flags.contains(.ready))
    }
    return try reader.finishing(record)
  }
}
