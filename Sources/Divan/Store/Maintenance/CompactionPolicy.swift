import DivanLog

/// Chooses the neighbouring segments to compact next.
struct CompactionPolicy {
  let segmentSizeGoal: UInt64
  /// The maximum size of a compacted segment.
  let sizeLimit: UInt64
  let isForced: Bool
  /// The key for new files of an encrypted store; nil if the store is not encrypted.
  var keyID: UInt64?

  /// The smallest number of small segments that are worth a compaction.
  private static let neighbourMinimum = 6
}

extension CompactionPolicy {
  private struct Candidate {
    let segment: Segment
    let live: UInt64
    let total: UInt64

    /// 0 for an empty segment: compacting it gains nothing.
    var deadShare: Double { total == 0 ? 0 : Double(total - live) / Double(total) }
  }

  /// Returns the inputs of the next compaction, neighbours in log order; empty if none pays.
  ///
  /// Only segments that a checkpoint covers, up to `position`, are compacted, so that everything
  /// after it is replayed as it was written.
  func choose(
    from table: SegmentTable, activeFileID: UInt64?, through position: Checkpoint.Position,
    except damaged: Set<UInt64>
  ) -> [Segment] {
    let all = zip(table.segments, table.usages).sorted {
      $0.0.header.numbers.lowerBound < $1.0.header.numbers.lowerBound
    }
    var groups: [[Candidate]] = [[]]
    var live: UInt64 = 0
    var dead: UInt64 = 0
    for (segment, usage) in all {
      live += usage.total - usage.dead
      let isCovered =
        segment.fileID != activeFileID
        && (segment.header.numbers.upperBound < position.segmentNumber
          || segment.fileID == position.fileID)
      if isCovered, !damaged.contains(segment.fileID) {
        dead += usage.dead
        groups[groups.count - 1].append(
          Candidate(segment: segment, live: usage.total - usage.dead, total: usage.total))
      } else {
        groups.append([])
      }
    }
    if isForced { return forced(groups) }
    // Dead bytes of up to half the live ones are tolerated: then each compaction gains enough for
    // its cost.
    let isWasteful = dead > live / 2 && dead > segmentSizeGoal / 2
    return emptiest(groups, threshold: isWasteful ? 0.2 : 0.6) ?? small(groups) ?? []
  }

  /// Returns the segment with the largest dead share, with neighbours that are worth compacting.
  private func emptiest(_ groups: [[Candidate]], threshold: Double) -> [Segment]? {
    var best: (group: Int, index: Int, share: Double)?
    for (group, candidates) in groups.enumerated() {
      for (index, candidate) in candidates.enumerated()
      where candidate.deadShare >= threshold && candidate.deadShare > best?.share ?? 0 {
        best = (group, index, candidate.deadShare)
      }
    }
    guard let best else { return nil }
    let group = groups[best.group]
    var range = best.index...best.index
    var size = group[best.index].live
    func isWorthIt(_ candidate: Candidate) -> Bool {
      size + candidate.live <= sizeLimit
        && (candidate.deadShare >= threshold / 2 || candidate.live < segmentSizeGoal / 8)
    }
    while range.lowerBound > 0, isWorthIt(group[range.lowerBound - 1]) {
      size += group[range.lowerBound - 1].live
      range = range.lowerBound - 1...range.upperBound
    }
    while range.upperBound + 1 < group.count, isWorthIt(group[range.upperBound + 1]) {
      size += group[range.upperBound + 1].live
      range = range.lowerBound...range.upperBound + 1
    }
    return group[range].map(\.segment)
  }

  /// Returns six or more neighbours of the smallest size limit at which there are so many.
  ///
  /// The limits grow by a factor, so each byte is copied only a few times. Full segments stay as
  /// they are: not six of them fit into a compacted one.
  private func small(_ groups: [[Candidate]]) -> [Segment]? {
    var limit = UInt64(1) << 16
    while limit <= segmentSizeGoal {
      for group in groups {
        for run in group.split(whereSeparator: { $0.live > limit }) {
          if let neighbours = neighboursThatFit(in: run) { return neighbours }
        }
      }
      limit *= 4
    }
    return nil
  }

  /// Returns the first six or more neighbours of a run that fit into a compacted segment.
  private func neighboursThatFit(in run: ArraySlice<Candidate>) -> [Segment]? {
    var neighbours: [Segment] = []
    var size: UInt64 = 0
    for candidate in run {
      if size + candidate.live > sizeLimit {
        if neighbours.count >= CompactionPolicy.neighbourMinimum { break }
        neighbours = []
        size = 0
      }
      neighbours.append(candidate.segment)
      size += candidate.live
    }
    return neighbours.count >= CompactionPolicy.neighbourMinimum ? neighbours : nil
  }

  /// Returns segments that a compaction makes smaller or fewer, or seals with another key.
  private func forced(_ groups: [[Candidate]]) -> [Segment] {
    for group in groups {
      var run: [Candidate] = []
      var size: UInt64 = 0
      for candidate in group {
        if size + candidate.live > sizeLimit, !run.isEmpty {
          if pays(run) { return run.map(\.segment) }
          run = []
          size = 0
        }
        run.append(candidate)
        size += candidate.live
      }
      if pays(run) { return run.map(\.segment) }
    }
    return []
  }

  private func pays(_ run: [Candidate]) -> Bool {
    run.count > 1
      || run.contains { $0.total > $0.live || $0.segment.file.encryption?.keyID != keyID }
  }
}
