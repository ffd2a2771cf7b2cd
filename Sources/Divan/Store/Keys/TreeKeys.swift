import DivanLog

/// The key of a retained record, which is not its document's newest one.
///
/// It consists of the document's ID, a zero byte, and the record's sequence number, big-endian. IDs
/// may contain zero bytes. So a key belongs to a document only if it begins with the ID and
/// has the right size. FILE_FORMAT.md §10
enum RetainedKey {
  /// The number of bytes after the ID.
  static let suffixSize = 9

  static func bytes(_ id: SharedBytes, _ sequence: UInt64) -> [UInt8] {
    id.withSpan { bytes($0, sequence) }
  }

  static func bytes(_ id: Span<UInt8>, _ sequence: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(id.count + suffixSize)
    for index in id.indices { bytes.append(id[index]) }
    return bytes + [0] + sequence.bigEndianBytes
  }

  /// Returns the sequence number in a key of a document whose ID has `idSize` bytes; else nil.
  static func sequence(_ key: SharedBytes, idSize: Int) -> UInt64? {
    guard key.count == idSize + suffixSize else { return nil }
    return UInt64(bigEndian: key.load(UInt64.self, at: idSize + 1))
  }
}

/// The key of an entry of the catalog: a letter for its kind, and its name. FILE_FORMAT.md §10
enum CatalogKey {
  /// The kind of an entry of the catalog.
  enum Kind: UInt8, Sendable {
    /// The record of an attachment's content, by its digest.
    case attachment = 0x61
    /// A record that may refer to an attachment: digest and sequence number → the document's ID.
    case reference = 0x72
    /// A document that expires: time and ID.
    case expiry = 0x65
    /// A local document, by its ID.
    case local = 0x6C
    /// A named snapshot, by its name.
    case named = 0x6E
    /// The end of a commit while history is kept, by its last sequence number.
    case commitPoint = 0x6D
    /// An index, by its name.
    case index = 0x64
    /// A document in an index: ``IndexEntries``.
    case indexEntry = 0x78

    /// The kinds whose values are locators of records.
    static let leadingToRecords: [Kind] = [.attachment, .local, .named, .commitPoint, .index]
  }

  static func attachment(_ digest: SHA256.Digest) -> [UInt8] {
    [Kind.attachment.rawValue] + digest.bytes
  }

  static func reference(_ digest: SHA256.Digest, _ sequence: UInt64) -> [UInt8] {
    [Kind.reference.rawValue] + digest.bytes + sequence.bigEndianBytes
  }

  static func expiry(_ time: UInt64, _ id: SharedBytes) -> [UInt8] {
    [Kind.expiry.rawValue] + time.bigEndianBytes + id.array
  }

  static func local(_ id: SharedBytes) -> [UInt8] { [Kind.local.rawValue] + id.array }
  static func named(_ name: SharedBytes) -> [UInt8] { [Kind.named.rawValue] + name.array }

  static func index(_ name: SharedBytes) -> [UInt8] { [Kind.index.rawValue] + name.array }

  static func commitPoint(_ sequence: UInt64) -> [UInt8] {
    [Kind.commitPoint.rawValue] + sequence.bigEndianBytes
  }
}

extension UInt64 {
  var bigEndianBytes: [UInt8] { withBigEndianBytes { key in key.indices.map { key[$0] } } }
}
