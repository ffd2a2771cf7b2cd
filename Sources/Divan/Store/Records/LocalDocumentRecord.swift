import DivanLog

/// The new state of a local document, which has no revisions and is not in change feeds.
struct LocalDocumentRecord: Sendable, Equatable {
  var idBytes: SharedBytes
  /// The locator of the record that this one supersedes.
  var superseded: RecordLocator?
  /// The properties in their binary form; nil if the document was removed.
  var body: SharedBytes?

  func encode(to writer: inout ByteWriter) {
    writer.append((body == nil ? 1 : 0) | (superseded == nil ? 0 : 2) as UInt8)
    writer.append(UInt8(idBytes.count))
    writer.append(idBytes)
    superseded?.encode(to: &writer)
    if let body { writer.append(body) }
  }

  static func decode(_ payload: SharedBytes) throws(ByteError) -> LocalDocumentRecord {
    var reader = ByteReader(payload)
    let flags = try reader.read(UInt8.self)
    guard flags < 4 else {
      throw ByteError(offset: 0, reason: "a local document with unknown flags")
    }
    var record = LocalDocumentRecord(idBytes: try reader.readID())
    if flags & 2 != 0 { record.superseded = try RecordLocator.decode(&reader) }
    if flags & 1 == 0 { record.body = reader.readRest() }
    return try reader.finishing(record)
  }
}

extension LocalDocumentRecord: CatalogRecord {
  var catalogKey: [UInt8] { CatalogKey.local(idBytes) }
  var isRemoval: Bool { body == nil }
}
