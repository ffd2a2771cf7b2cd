/// Detects that only the contents of some records of a frame's payload are damaged.
///
/// The checksums of a record and of its frame are of the same kind. The frame's checksum can
/// therefore be computed from the record's, without the record's content. If it is right, every
/// other byte of the payload is proven: the records around, the sizes of the damaged ones, and the
/// trailer.
struct LostRecords {
  /// The largest number of damaged records; with more, the payload is not examined further.
  private static let limit = 64

  /// Returns the ranges of the damaged records in a payload, which includes its padding.
  ///
  /// Returns nil if anything else may be damaged.
  static func find(in payload: SharedBytes, _ header: FrameHeader) -> [Range<Int>]? {
    let end = header.payloadSize - (header.flags.contains(.last) ? CommitTrailer.size : 0)
    guard end >= 0, header.payloadSize <= payload.count else { return nil }
    let records = payload.prefix(end)
    var lost: [Range<Int>] = []
    var check = CRC32C()
    // The number of bytes in the checksum so far, and the offset of the next record.
    var (added, offset) = (0, 0)
    while offset < end {
      let rest = records.suffix(from: offset)
      let whole = rest.withSpan { try? Record.check($0) }
      if let whole {
        offset += whole.payload.upperBound
        continue
      }
      guard lost.count < limit, let record = try? Record.readFraming(rest) else { return nil }
      let content = offset + record.contentOffset
      check.add(payload.prefix(content).suffix(from: added))
      // Both checksums continue with the content: the one from the record's size, the other from
      // all bytes before.
      let joint = CRC32C.Joint(secondCount: record.size - record.contentOffset)
      check = CRC32C(
        continuing: joint.joined(check.checksum ^ record.seed, record.checksum))
      added = offset + record.size
      lost.append(offset..<added)
      offset = added
    }
    check.add(payload.suffix(from: added))
    guard !lost.isEmpty, check.checksum == header.payloadChecksum else { return nil }
    return lost
  }
}

extension Record {
  /// The bytes before a record's content.
  fileprivate struct Framing {
    /// The size of the whole record.
    var size: Int
    var contentOffset: Int
    var checksum: UInt32
    /// The value that the checksum is continued from.
    var seed: UInt32
  }

  /// Reads the bytes before the content of the first record, without any checksum.
  fileprivate static func readFraming(_ bytes: SharedBytes) throws(ByteError) -> Framing {
    var reader = ByteReader(bytes)
    let size = try reader.readCount(limit: min(bytes.count, sizeLimit))
    guard size >= 5 else { throw ByteError(offset: 0, reason: "the record has no kind") }
    let width = reader.offset
    let checksum = try reader.read(UInt32.self)
    guard width + size <= bytes.count else {
      throw ByteError(offset: 0, reason: "the record is cut off")
    }
    return Framing(
      size: width + size, contentOffset: width + 4, checksum: checksum,
      seed: UInt32(truncatingIfNeeded: size))
  }
}

extension LoggedTransaction.Part {
  /// The same part in pieces: runs of whole records, and each damaged record by itself.
  var pieces: [LoggedTransaction.Part] {
    var pieces: [LoggedTransaction.Part] = []
    var position = 0
    for range in lost {
      pieces.append(
        .init(
          offset: offset + position,
          records: records.prefix(range.lowerBound).suffix(from: position)))
      pieces.append(.init(offset: offset + range.lowerBound, records: .empty, lost: [range]))
      position = range.upperBound
    }
    pieces.append(.init(offset: offset + position, records: records.suffix(from: position)))
    return pieces
  }
}
