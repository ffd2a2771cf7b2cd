/// A cursor over the records in a run of bytes.
package struct RecordReader {
  private var rest: SharedBytes
  /// The file offset of the next record.
  package private(set) var offset: Int

  package init(_ records: SharedBytes, at offset: Int) {
    rest = records
    self.offset = offset
  }

  /// Returns the next record, with its offset and size; nil at the end.
  package mutating func next() throws(ByteError) -> (record: Record, offset: Int, size: Int)? {
    guard !rest.isEmpty else { return nil }
    let (record, size) = try Record.decode(rest)
    let start = offset
    rest = rest.suffix(from: size)
    offset += size
    return (record, start, size)
  }
}
