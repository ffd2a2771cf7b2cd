/// The first 4,096 bytes of a segment: the part of the log in it, and the commits that it proves.
///
/// The block has its disk sectors to itself, so that appending to the segment never rewrites it.
/// FILE_FORMAT.md §3
package struct SegmentHeader: Equatable, Sendable {
  package var preamble: FilePreamble
  /// A number that no other segment of the store ever had; locators refer to it.
  package var fileID: UInt64
  /// The numbers of the log's segments in this file; only one, unless it is compacted.
  package var numbers: ClosedRange<UInt64>
  /// The number of compactions of the contents; 0 for a segment that commits were appended to.
  package var generation: UInt32
  /// The end of the segment before this one.
  ///
  /// Anything beyond that is permanently ignored.
  package var predecessor: LogEnd
  /// The last sequence number assigned before this segment; in a compacted one, within it.
  package var lastSequence: UInt64
  /// No sequence number above this one was in use before this segment's first flush.
  package var sequenceBound: UInt64
  /// The number of bytes, this block included, that were flushed before the file got its name.
  package var flushedSize: UInt64
  /// The fields that only a compacted segment has.
  package var compaction: Compaction?

  package struct Compaction: Equatable, Sendable {
    /// The commit of the index by which the liveness filter evaluated the records.
    ///
    /// That commit was durable before the compacted file got its name.
    package var evaluatedAt: UInt64
    /// History up to and including this commit may be missing.
    package var releasedThrough: UInt64
    /// The end of the last segment of ``SegmentHeader/numbers``; its successor must claim the same.
    package var end: LogEnd
    /// The size of the compacted file.
    package var fileSize: UInt64

    package init(evaluatedAt: UInt64, releasedThrough: UInt64, end: LogEnd, fileSize: UInt64) {
      self.evaluatedAt = evaluatedAt
      self.releasedThrough = releasedThrough
      self.end = end
      self.fileSize = fileSize
    }
  }

  package init(
    preamble: FilePreamble, fileID: UInt64, numbers: ClosedRange<UInt64>, generation: UInt32,
    predecessor: LogEnd, lastSequence: UInt64, sequenceBound: UInt64, flushedSize: UInt64,
    compaction: Compaction?
  ) {
    self.preamble = preamble
    self.fileID = fileID
    self.numbers = numbers
    self.generation = generation
    self.predecessor = predecessor
    self.lastSequence = lastSequence
    self.sequenceBound = sequenceBound
    self.flushedSize = flushedSize
    self.compaction = compaction
  }

  /// The header's size in bytes, and the offset of the first frame.
  package static let size = 4096
}

/// A position between two transactions: the end of the log, or of a part of it.
package struct LogEnd: Equatable, Sendable {
  /// The offset in the segment, in bytes.
  package var offset: UInt64
  /// The number of the last commit before this position, 0 if there is none.
  package var commit: UInt64
  /// The checksum of the last frame header before this position, or of the preamble if there is
  /// none.
  package var chain: UInt32

  package init(offset: UInt64, commit: UInt64, chain: UInt32) {
    self.offset = offset
    self.commit = commit
    self.chain = chain
  }
}

extension LogEnd {
  func encode(to writer: inout ByteWriter) {
    writer.append(offset)
    writer.append(commit)
    writer.append(chain)
    writer.append(0 as UInt32)
  }

  static func decode(_ block: SharedBytes, at offset: Int) -> LogEnd {
    LogEnd(
      offset: block.load(UInt64.self, at: offset), commit: block.load(UInt64.self, at: offset + 8),
      chain: block.load(UInt32.self, at: offset + 16))
  }
}

extension SegmentHeader {
  /// Returns the first frame's chain value: the checksum of the preamble, which contains the salt.
  ///
  /// The rest of the header of a compacted file is known only when its frames are written.
  package static func chain(of block: SharedBytes) -> UInt32 {
    CRC32C.checksum(block.prefix(FilePreamble.size))
  }

  package func encode() -> SharedBytes {
    var writer = ByteWriter(capacity: SegmentHeader.size)
    preamble.encode(to: &writer)
    writer.append(fileID)
    writer.append(numbers.lowerBound)
    writer.append(numbers.upperBound)
    writer.append(generation)
    writer.append((compaction == nil ? 0 : 1) as UInt32)
    predecessor.encode(to: &writer)
    writer.append(lastSequence)
    writer.append(sequenceBound)
    writer.append(flushedSize)
    if let compaction {
      writer.append(compaction.evaluatedAt)
      writer.append(compaction.releasedThrough)
      compaction.end.encode(to: &writer)
      writer.append(compaction.fileSize)
    }
    FilePreamble.finish(&writer, size: SegmentHeader.size)
    return writer.sharedCopy
  }

  package static func decode(_ block: SharedBytes, path: String) throws(LogError) -> SegmentHeader {
    let preamble = try FilePreamble.decode(block: block, kind: .segment, path: path)
    guard block.count == size else {
      throw .damaged(Damage(path: path, offset: 0, reason: "the header has a wrong size"))
    }
    let first = block.load(UInt64.self, at: 72)
    let last = block.load(UInt64.self, at: 80)
    guard first >= 1, first <= last else {
      throw .damaged(
        Damage(path: path, offset: 72, reason: "the segment numbers are in the wrong order"))
    }
    var compaction: Compaction?
    if block.load(UInt32.self, at: 92) & 1 != 0 {
      compaction = Compaction(
        evaluatedAt: block.load(UInt64.self, at: 144),
        releasedThrough: block.load(UInt64.self, at: 152), end: LogEnd.decode(block, at: 160),
        fileSize: block.load(UInt64.self, at: 184))
    }
    let counters =
      [64, 80, 96, 104, 120, 128, 136] + (compaction == nil ? [] : [144, 152, 160, 168, 184])
    for offset in counters where block.load(UInt64.self, at: offset) > counterLimit {
      throw .damaged(
        Damage(path: path, offset: offset, reason: "a number exceeds the limit of counters"))
    }
    return SegmentHeader(
      preamble: preamble, fileID: block.load(UInt64.self, at: 64), numbers: first...last,
      generation: block.load(UInt32.self, at: 88), predecessor: LogEnd.decode(block, at: 96),
      lastSequence: block.load(UInt64.self, at: 120),
      sequenceBound: block.load(UInt64.self, at: 128),
      flushedSize: block.load(UInt64.self, at: 136), compaction: compaction)
  }
}
