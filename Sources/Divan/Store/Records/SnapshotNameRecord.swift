import DivanLog

/// A named version of the store.
struct SnapshotNameRecord: Sendable, Equatable {
  var name: SharedBytes
  /// The locator of the record that this one supersedes.
  var superseded: RecordLocator?
  /// The version; nil if it is no longer kept.
  var commitPoint: CommitPoint?

  /// The greatest size of a name in bytes of UTF-8.
  static let nameSizeLimit = 240

  func encode(to writer: inout ByteWriter) {
    writer.append((commitPoint == nil ? 1 : 0) | (superseded == nil ? 0 : 2) as UInt8)
    writer.append(UInt8(name.count))
    writer.append(name)
    superseded?.encode(to: &writer)
    commitPoint?.encode(to: &writer)
  }

  static func decode(_ payload: SharedBytes) throws(ByteError) -> SnapshotNameRecord {
    var reader = ByteReader(payload)
    let flags = try reader.read(UInt8.self)
    guard flags < 4 else {
      throw ByteError(offset: 0, reason: "a named snapshot with unknown flags")
    }
    var record = SnapshotNameRecord(name: try reader.readID())
    if flags & 2 != 0 { record.superseded = try RecordLocator.decode(&reader) }
    if flags & 1 == 0 { record.commitPoint = try CommitPoint.decode(&reader) }
    return try reader.finishing(record)
  }
}

extension SnapshotNameRecord: CatalogRecord {
  var catalogKey: [UInt8] { CatalogKey.named(name) }
  var isRemoval: Bool { commitPoint == nil }
}
