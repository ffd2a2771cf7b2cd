import DivanLog

/// The segments that a version of the store reads from, and how much of each is still live.
struct SegmentTable: Sendable {
  /// The number of bytes in a segment.
  struct Usage: Equatable, Sendable {
    /// Bytes of records.
    var total: UInt64 = 0
    /// Bytes of records that nothing in the newest version refers to, except removals, which are
    /// not counted.
    var dead: UInt64 = 0
  }

  private(set) var segments: [Segment] = []
  /// The file IDs of the segments, contiguous because they are searched for every record.
  private var fileIDs: [UInt64] = []
  /// The memory mappings of the segments, contiguous for the same reason.
  private var mapped: [SharedBytes] = []
  private(set) var usages: [Usage] = []

  init() {}
}

extension SegmentTable {
  /// Returns the index of a segment; searches newer ones first, which are read more often.
  private func index(of fileID: UInt64) -> Int? {
    fileIDs.lastIndex(of: fileID)
  }

  subscript(fileID: UInt64) -> Segment? { index(of: fileID).map { segments[$0] } }

  func usage(of fileID: UInt64) -> Usage? { index(of: fileID).map { usages[$0] } }

  /// Returns the bytes of a record, not yet checked, if they are mapped.
  func mappedBytes(at locator: RecordLocator) -> SharedBytes? {
    guard let index = index(of: locator.fileID), let offset = Int(exactly: locator.offset),
      locator.size <= Record.sizeLimit
    else { return nil }
    return mapped[index].slice(offset, Int(locator.size))
  }

  /// Prefetches documents' newest records into the CPU cache, all at once, where they are mapped.
  func prefetch(_ locations: [DocumentLocation]) {
    var prefetched: UInt8 = 0
    for location in locations {
      let locator = location.locator
      guard let index = index(of: locator.fileID), let offset = Int(exactly: locator.offset) else {
        continue
      }
      prefetched ^= mapped[index].prefetchEachCacheLine(offset, Int(locator.size))
    }
    SharedBytes.keep(prefetched)
  }

  /// Adds a segment, or updates its description.
  mutating func update(_ segment: Segment) {
    if let index = index(of: segment.fileID) {
      segments[index] = segment
      mapped[index] = segment.mapped
    } else {
      segments.append(segment)
      mapped.append(segment.mapped)
      fileIDs.append(segment.fileID)
      usages.append(Usage())
    }
  }

  mutating func setUsage(_ usage: Usage, of fileID: UInt64) {
    if let index = index(of: fileID) { usages[index] = usage }
  }

  /// Removes segments whose records have moved to another.
  mutating func replace(_ inputs: Set<UInt64>, with output: UInt64) {
    for index in segments.indices.reversed() where inputs.contains(segments[index].fileID) {
      segments.remove(at: index)
      mapped.remove(at: index)
      fileIDs.remove(at: index)
      usages.remove(at: index)
    }
    precondition(index(of: output) != nil, "The table lacks the output of the compaction")
  }

  /// The last segment of the log.
  var newest: Segment? {
    segments.max { $0.header.numbers.upperBound < $1.header.numbers.upperBound }
  }

  /// The segments as a checkpoint records them.
  var members: [Checkpoint.Member] {
    zip(segments, usages).map { segment, usage in
      Checkpoint.Member(segment: segment.member, usage: usage)
    }
  }

  mutating func noteAdded(_ locator: RecordLocator) {
    if let index = index(of: locator.fileID) { usages[index].total += UInt64(locator.size) }
  }

  /// Counts a record as dead, unless its segment is gone already.
  mutating func noteDead(_ locator: RecordLocator) {
    if let index = index(of: locator.fileID) {
      usages[index].dead = min(usages[index].dead + UInt64(locator.size), usages[index].total)
    }
  }
}
