/// A cursor over the records in a run of bytes.
package struct RecordReader {
  private var rest: SharedBytes
  private let encryption: FileEncryption?
  /// The file offset of the next record.
  package private(set) var offset: Int

  /// Begins at a record; `encryption` is that of the file that the bytes are from.
  package init(_ records: SharedBytes, at offset: Int, encryptedBy encryption: FileEncryption?) {
    rest = records
    self.encryption = encryption
    self.offset = offset
  }

  /// Returns the next record, with its offset and size; nil at the end.
  package mutating func next() throws(ByteError) -> (record: Record, offset: Int, size: Int)? {
    guard !rest.isEmpty else { return nil }
    let (record, size) = try Record.decode(rest, encryptedBy: encryption)
    let start = offset
    rest = rest.suffix(from: size)
    offset += size
    return (record, start, size)
  }
}
