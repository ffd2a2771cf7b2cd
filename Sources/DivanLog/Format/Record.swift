/// One record in the payload of a frame: a kind, a payload, and a checksum of its own.
///
/// ```
/// size varint    bytes that follow
/// checksum u32   CRC-32C of everything after it, continued from the size as if it were a checksum
/// kind u8
/// payload
/// ```
///
/// A record can be read by itself, at its ``RecordLocator``, and every read checks it. Its bytes do
/// not depend on their position, so a compaction copies them unchanged, unless the file has another
/// key. FILE_FORMAT.md §6
package struct Record: Sendable {
  package let kind: Kind
  package let payload: SharedBytes

  /// The kind of a record.
  ///
  /// Unknown kinds are refused, unless their number is above 127.
  package struct Kind: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Whether a reader that does not know this kind may skip the record.
    package var maySkip: Bool { rawValue >= 128 }

    /// A revision of a document: the newest one, or one that is retained.
    package static let document = Kind(rawValue: 1)
    /// In a compacted segment: the commit and time of the records that follow.
    package static let commitMark = Kind(rawValue: 2)
    /// An attachment's blob, or the checksums of the file that contains it.
    package static let attachment = Kind(rawValue: 3)
  }

  package init(kind: Kind, payload: SharedBytes) {
    self.kind = kind
    self.payload = payload
  }

  /// The largest size of a whole record.
  package static let sizeLimit = 24 << 20
}

/// The location of a record in the log.
package struct RecordLocator: Hashable, Sendable, BitwiseCopyable {
  /// The ``SegmentHeader/fileID`` of the segment.
  package var fileID: UInt64
  /// The offset in the file, in bytes.
  package var offset: UInt64
  /// The size of the whole record, in bytes.
  package var size: UInt32

  @inlinable
  package init(fileID: UInt64, offset: UInt64, size: UInt32) {
    self.fileID = fileID
    self.offset = offset
    self.size = size
  }
}
