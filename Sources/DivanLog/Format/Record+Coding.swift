extension Record {
  /// Appends a record whose payload `encode` appends, and returns its size in bytes.
  ///
  /// Every record that is written passes here, or is copied from where this has written it.
  package static func append(
    kind: Kind, to writer: inout ByteWriter, encryptedBy encryption: FileEncryption?,
    encode: (inout ByteWriter) -> Void
  ) -> Int {
    let start = writer.count
    // The size is not known yet. The payload is written where it belongs if the size takes two
    // bytes, which is the common case, and is moved otherwise.
    let guess = 2
    writer.appendZeros(guess + 4)
    writer.append(kind.rawValue)
    encode(&writer)
    if let encryption {
      encryption.seal(&writer, from: start + guess + 5, as: .record(kind: kind.rawValue))
    }
    let size = writer.count - start - guess
    let width = varintSize(size)
    if width != guess {
      let content = writer.copy(from: start + guess)
      writer.truncate(to: start)
      writer.appendZeros(width)
      writer.append(content)
    }
    var check = CRC32C(continuing: UInt32(truncatingIfNeeded: size))
    check.add(writer, in: start + width + 4..<writer.count)
    writer.replaceVarint(at: start, width: width, with: size)
    writer.replace(at: start + width, with: check.checksum)
    return writer.count - start
  }

  /// Checks the record at the start of the bytes against its checksum.
  ///
  /// - Returns: its kind, and the range of its payload, with which it ends.
  package static func check(
    _ bytes: Span<UInt8>
  ) throws(ByteError) -> (kind: Kind, payload: Range<Int>) {
    var offset = 0
    let size = try bytes.readCount(limit: min(bytes.count, sizeLimit), at: &offset)
    guard size >= 5 else { throw ByteError(offset: 0, reason: "the record has no kind") }
    let expected = try bytes.read(UInt32.self, at: &offset)
    let content = try bytes.readRange(size - 4, at: &offset)
    var check = CRC32C(continuing: UInt32(truncatingIfNeeded: size))
    check.add(bytes.extracting(content))
    guard check.checksum == expected else {
      throw ByteError(offset: 0, reason: "the record's checksum is wrong")
    }
    return (Kind(rawValue: bytes[content.lowerBound]), content.dropFirst())
  }

  /// Checks bytes that are exactly one record.
  package static func checkWhole(
    _ bytes: Span<UInt8>
  ) throws(ByteError) -> (kind: Kind, payload: Range<Int>) {
    let found = try check(bytes)
    guard found.payload.upperBound == bytes.count else {
      throw ByteError(
        offset: 0, reason: "the record's size is not the one that its index entry states")
    }
    return found
  }

  /// Decodes the record at the start of the bytes, and returns it with its size.
  ///
  /// `encryption` is that of the file that the bytes are from.
  package static func decode(
    _ bytes: SharedBytes, encryptedBy encryption: FileEncryption?
  ) throws(ByteError) -> (Record, size: Int) {
    let (kind, range) = try bytes.withSpan { (bytes) throws(ByteError) in try check(bytes) }
    let stored = bytes.prefix(range.upperBound).suffix(from: range.lowerBound)
    let payload = try stored.opened(.record(kind: kind.rawValue), by: encryption)
    return (Record(kind: kind, payload: payload), range.upperBound)
  }

  private static func varintSize(_ value: Int) -> Int {
    max(1, (Int.bitWidth - value.leadingZeroBitCount + 6) / 7)
  }
}
