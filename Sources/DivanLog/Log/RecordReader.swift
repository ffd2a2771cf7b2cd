/// A cursor over the records in a run of bytes.
package struct RecordReader {
  private var rest: SharedBytes
  private let sealing: Sealing?
  /// The file offset of the next record.
  package private(set) var offset: Int

  /// Begins at a record; `sealing` is that of the file that the bytes are from.
  package init(_ records: SharedBytes, at offset: Int, sealedBy sealing: Sealing?) {
    rest = records
    self.sealing = sealing
    self.offset = offset
  }

  /// Returns the next record, with its offset and size; nil at the end.
  package mutating func next() throws(ByteError) -> (record: Record, offset: Int, size: Int)? {
    guard !rest.isEmpty else { return nil }
    let (record, size) = try Record.decode(rest, sealedBy: sealing)
    let start = offset
    rest = rest.suffix(from: size)
    offset += size
    return (record, start, size)
  }
}
