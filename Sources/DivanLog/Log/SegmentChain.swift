/// The segments that make up a log, chosen from the files of a directory.
///
/// The directory is the manifest: the segments cover contiguous numbers from 1. Where ranges
/// overlap, a compacted file replaces its inputs if it is whole. RECOVERY.md, rules 9 and 10;
/// FILE_FORMAT.md §8
package struct SegmentChain: Sendable {
  /// In the order of their numbers; each but the last ends where its successor says.
  package var segments: [Segment]
  /// Unused files: the inputs of a compaction, or the output of one that is not in use.
  package var leftovers: [FileName]
  package var damage: [Damage]

  package init(segments: [Segment], leftovers: [FileName], damage: [Damage]) {
    self.segments = segments
    self.leftovers = leftovers
    self.damage = damage
  }

  /// A segment as a checkpoint records it.
  package struct Member: Hashable, Sendable {
    package var numbers: ClosedRange<UInt64>
    package var fileID: UInt64
    package var salt: UInt64

    package init(numbers: ClosedRange<UInt64>, fileID: UInt64, salt: UInt64) {
      self.numbers = numbers
      self.fileID = fileID
      self.salt = salt
    }
  }
}

extension Segment {
  /// The segment as a checkpoint records it.
  package var member: SegmentChain.Member {
    SegmentChain.Member(numbers: header.numbers, fileID: fileID, salt: header.preamble.salt)
  }
}

extension SegmentChain {
  /// Opens the segments among `files` and chooses those that make up the log.
  ///
  /// `members` are the segments that a checkpoint depends on. If they are given, exactly those are
  /// used, and after them only segments that are not compacted. Returns nil if any is missing.
  package static func choose(
    from files: Set<FileName>, in directory: StoreDirectory, members: [Member]? = nil,
    isMapped: Bool
  ) throws(LogError) -> SegmentChain? {
    var chain = SegmentChain(segments: [], leftovers: [], damage: [])
    var ranges: [ClosedRange<UInt64>] = []
    for case .segment(let numbers) in files { ranges.append(numbers) }
    ranges.sort { ($0.lowerBound, $1.upperBound) < ($1.lowerBound, $0.upperBound) }

    let opened: [SegmentFile]?
    if let members {
      opened = try chain.open(members, among: ranges, in: directory)
    } else {
      opened = try chain.openAll(ranges, in: directory)
    }
    guard let opened else { return nil }
    try chain.link(
      opened.sorted { $0.header.numbers.lowerBound < $1.header.numbers.lowerBound },
      in: directory, isMapped: isMapped)
    return chain
  }

  /// Opens the segments that a checkpoint depends on, and those after them; nil if any is missing.
  private mutating func open(
    _ members: [Member], among ranges: [ClosedRange<UInt64>], in directory: StoreDirectory
  ) throws(LogError) -> [SegmentFile]? {
    var opened: [SegmentFile] = []
    let covered = members.map(\.numbers.upperBound).reduce(0, max)
    for member in members {
      guard ranges.contains(member.numbers),
        let file = try SegmentFile.ifReadable(member.numbers, in: directory),
        file.header.fileID == member.fileID, file.header.preamble.salt == member.salt
      else { return nil }
      opened.append(file)
    }
    for numbers in ranges where !members.contains(where: { $0.numbers == numbers }) {
      if numbers.lowerBound > covered, numbers.count == 1 {
        if let file = try open(numbers, in: directory) { opened.append(file) }
      } else {
        // A later compaction can be ignored as long as its inputs are there, too.
        guard ranges.containAll(after: covered, of: numbers) else { return nil }
        leftovers.append(.segment(numbers))
      }
    }
    return opened
  }

  /// Opens the segments that make up the log if there is no checkpoint.
  private mutating func openAll(
    _ ranges: [ClosedRange<UInt64>], in directory: StoreDirectory
  ) throws(LogError) -> [SegmentFile] {
    var opened: [SegmentFile] = []
    var next: UInt64 = 1
    for numbers in ranges {
      guard numbers.lowerBound >= next else {
        leftovers.append(.segment(numbers))
        continue
      }
      // A compacted file that is not whole has its inputs beside it, or is damage.
      let hasInputs = ranges.contains {
        $0 != numbers && $0.lowerBound == numbers.lowerBound && $0.count < numbers.count
      }
      if hasInputs {
        guard let file = try SegmentFile.ifReadable(numbers, in: directory), try file.isWhole
        else {
          leftovers.append(.segment(numbers))
          continue
        }
        opened.append(file)
      } else if let file = try open(numbers, in: directory) {
        opened.append(file)
      } else {
        continue
      }
      next = numbers.upperBound + 1
    }
    return opened
  }

  /// Opens a segment; if its header is damaged, notes that and returns nil.
  private mutating func open(
    _ numbers: ClosedRange<UInt64>, in directory: StoreDirectory
  ) throws(LogError) -> SegmentFile? {
    do throws(LogError) {
      return try SegmentFile(numbers, in: directory)
    } catch .damaged(let damage) {
      self.damage.append(damage)
      return nil
    } catch .foreign(let path, let reason) {
      // It has the name of a segment, so there was one.
      self.damage.append(Damage(path: path, offset: 0, reason: reason))
      return nil
    }
  }

  /// Checks that each segment follows the one before it, and adds them to the chain.
  private mutating func link(
    _ files: [SegmentFile], in directory: StoreDirectory, isMapped: Bool
  ) throws(LogError) {
    var expected: UInt64 = 1
    for (index, file) in files.enumerated() {
      let header = file.header
      if let first = files.first, header.preamble.storeID != first.header.preamble.storeID {
        throw .foreign(path: file.path, reason: "it belongs to another store")
      }
      if header.numbers.lowerBound != expected {
        damage.append(
          Damage(
            path: directory.path, offset: 0,
            reason: "segments \(expected) to \(header.numbers.lowerBound - 1) are missing"))
      }
      expected = header.numbers.upperBound + 1
      let successor = index + 1 < files.count ? files[index + 1].header : nil
      let size = try file.size()
      let end = end(of: file, size: UInt64(size), claimed: successor)
      // The last segment may still grow; the others are final.
      let isFixed = successor != nil || header.compaction != nil
      let readable = isFixed ? min(Int(clamping: end.offset), size) : size
      let mapped =
        isMapped
        ? try attempt { () throws(SystemError) in try file.file.map(readable) } : SharedBytes.empty
      segments.append(Segment(file: file, mapped: mapped, end: end))
    }
  }

  /// Returns the end that the header or the successor states, or else the end of the header.
  private mutating func end(
    of file: SegmentFile, size: UInt64, claimed successor: SegmentHeader?
  ) -> LogEnd {
    if let compaction = file.header.compaction {
      if let claim = successor?.predecessor,
        claim.commit != compaction.end.commit
          || claim.chain != compaction.end.chain
      {
        damage.append(
          Damage(
            path: file.path, offset: 0,
            reason:
              "the segment ends at commit \(compaction.end.commit), but its successor follows commit "
              + "\(claim.commit)"))
      }
      if size < compaction.fileSize { noteMissing(file, size, compaction.fileSize) }
      return LogEnd(
        offset: compaction.fileSize, commit: compaction.end.commit, chain: compaction.end.chain)
    }
    guard let claim = successor?.predecessor else {
      return LogEnd(
        offset: UInt64(SegmentHeader.size), commit: file.header.predecessor.commit,
        chain: file.headerChain)
    }
    if size < claim.offset { noteMissing(file, size, claim.offset) }
    return claim
  }

  private mutating func noteMissing(_ file: SegmentFile, _ size: UInt64, _ expected: UInt64) {
    damage.append(
      Damage(
        path: file.path, offset: Int(clamping: size), size: Int(clamping: expected - size),
        reason: "the file is \(expected - size) bytes shorter than it was"))
  }
}

extension [ClosedRange<UInt64>] {
  /// Whether each of the numbers that are greater than `covered` has a range of its own here.
  fileprivate func containAll(after covered: UInt64, of numbers: ClosedRange<UInt64>) -> Bool {
    guard numbers.upperBound > covered else { return true }
    // Ends at the first missing number, however many numbers a file's name claims.
    return (Swift.max(numbers.lowerBound, covered + 1)...numbers.upperBound)
      .allSatisfy { contains($0...$0) }
  }
}

extension SegmentFile {
  /// Whether this is a compacted file of the size that its header states.
  fileprivate var isWhole: Bool {
    get throws(LogError) {
      guard let compaction = header.compaction else { return false }
      return try UInt64(size()) == compaction.fileSize
    }
  }
}
