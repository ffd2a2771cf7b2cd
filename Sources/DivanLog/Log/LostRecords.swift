/// Tells whether nothing of a frame's payload is damaged but what some of its records say.
///
/// The checksum of a record and that of its frame are of one kind. So the frame's can be reckoned from the
/// record's, without what the record says. If it is right then, each other byte of the payload is proven: the
/// records around, how many bytes the damaged ones took, and the trailer.
struct LostRecords {
  /// More damaged records than this are no longer looked through.
  private static let limit = 64

  /// Where the damaged records stand in a payload, which includes its padding; nil if anything else may be damaged.
  static func find(in payload: SharedBytes, _ header: FrameHeader) -> [Range<Int>]? {
    let end = header.payloadSize - (header.flags.contains(.last) ? CommitTrailer.size : 0)
    guard end >= 0, header.payloadSize <= payload.count else { return nil }
    let records = payload.prefix(end)
    var lost: [Range<Int>] = []
    var check = CRC32C()
    // What is added to the checksum, and where the next record begins.
    var (added, place) = (0, 0)
    while place < end {
      let rest = records.suffix(from: place)
      if let (_, size) = try? Record.decode(rest) {
        place += size
        continue
      }
      guard lost.count < limit, let record = try? Record.readFraming(rest) else { return nil }
      let content = place + record.contentOffset
      check.add(payload.prefix(content).suffix(from: added))
      // Both checksums go on with the content: from the record's size, and from all that stands before.
      let joint = CRC32C.Joint(secondCount: record.size - record.contentOffset)
      check = CRC32C(
        continuing: joint.joined(check.checksum ^ record.seed, record.checksum))
      added = place + record.size
      lost.append(place..<added)
      place = added
    }
    check.add(payload.suffix(from: added))
    guard !lost.isEmpty, check.checksum == header.payloadChecksum else { return nil }
    return lost
  }
}

extension Record {
  /// What stands before a record's content.
  fileprivate struct Framing {
    /// Of the record as a whole.
    var size: Int
    var contentOffset: Int
    var checksum: UInt32
    /// What the checksum is continued from.
    var seed: UInt32
  }

  /// Reads what stands before the content of the record that begins the bytes, which are nowhere compared with a checksum.
  fileprivate static func readFraming(_ bytes: SharedBytes) throws(ByteError) -> Framing {
    var reader = ByteReader(bytes)
    let size = try reader.readCount(limit: min(bytes.count, sizeLimit))
    guard size >= 5 else { throw ByteError(offset: 0, reason: "a record without a kind") }
    let width = reader.offset
    let checksum = try reader.read(UInt32.self)
    guard width + size <= bytes.count else {
      throw ByteError(offset: 0, reason: "a record that is cut off")
    }
    return Framing(
      size: width + size, contentOffset: width + 4, checksum: checksum,
      seed: UInt32(truncatingIfNeeded: size))
  }
}

extension LoggedTransaction.Part {
  /// The same one after the other: whole records, and each damaged one by itself.
  var pieces: [LoggedTransaction.Part] {
    var pieces: [LoggedTransaction.Part] = []
    var place = 0
    for range in lost {
      pieces.append(
        .init(
          offset: offset + place, records: records.prefix(range.lowerBound).suffix(from: place)))
      pieces.append(.init(offset: offset + range.lowerBound, records: .empty, lost: [range]))
      place = range.upperBound
    }
    pieces.append(.init(offset: offset + place, records: records.suffix(from: place)))
    return pieces
  }
}
