import Divan
import DivanLog

// What a report shows of segments.

extension ReportGathering {
  mutating func addSegments() throws {
    let fileIDs = Dictionary(
      log.segments.map { ($0.file.name, $0.fileID) }, uniquingKeysWith: { $1 })
    for numbers in log.files.segmentRanges {
      let name = FileName.segment(numbers)
      let path = log.directory.path(of: name)
      // A compaction may have replaced it meanwhile.
      guard let status = try? log.directory.fileSystem.status(path) else { continue }
      var segment = SegmentUse(name: "\(name)", path: path, size: UInt64(status.size))
      if let fileID = fileIDs[name] {
        segmentIndexes[fileID] = contents.segments.count
      } else {
        segment.state = log.chain.leftovers.contains(name) ? .leftover : .unreadable
      }
      contents.segments.append(segment)
    }
  }

  /// Reads a segment for the times of its records, and its damage.
  mutating func scan(_ segment: Segment) throws {
    guard let index = segmentIndexes[segment.fileID] else { return }
    var commit: UInt64 = 0
    // Salvaging finds the damaged records in a transaction, and not only its beginning.
    var scan = RecordScan(segment, salvages: true)
    scanning: while true {
      switch try scan.next() {
      case .record(let entry):
        // Without its commit, the time of a record is not known.
        guard entry.isProven else { continue }
        contents.segments[index].recordCount += 1
        if contents.segments[index].recordCount.isMultiple(of: 4096) {
          progress.step(
            "Reading \(segment.file.name), \(index + 1) of \(contents.segments.count): "
              + "\(entry.locator.offset >> 20) MiB")
        }
        contents.timeline.add(entry.locator, at: entry.time)
        // A compacted segment has no ends of commits.
        if segment.header.compaction != nil, entry.commit != commit {
          commit = entry.commit
          addCommit(entry.time, index)
        }
      case .commit(_, let trailer):
        addCommit(trailer.time, index)
      case .damage(let damage):
        // If the end of the log is damaged, that is reported already, and the segment's own end is
        // not the one that was written.
        let isAtEnd =
          segment.fileID == log.last?.fileID && damage.offset == Int(clamping: segment.end.offset)
        if isAtEnd, log.recovery?.damage != nil { continue }
        try findings.add(damage)
      case .end: break scanning
      }
    }
  }

  private mutating func addCommit(_ time: UInt64, _ index: Int) {
    contents.timeline.addCommit(at: time)
    contents.segments[index].commitCount += 1
    let times = contents.segments[index].times ?? time...time
    contents.segments[index].times =
      min(times.lowerBound, time)...max(times.upperBound, time)
    contents.time = max(contents.time ?? 0, time)
  }

  /// Assigns the bytes of each segment that no record took so far.
  mutating func finishSegments(_ inspected: InspectedContents?) {
    for (fileID, index) in segmentIndexes {
      guard let usage = inspected?.usage(of: fileID) else { continue }
      let size = contents.segments[index].size
      let known = contents.segments[index].sizes.values.reduce(0, +)
      let dead = min(usage.dead, size - min(size, known))
      let live = usage.total - min(usage.total, usage.dead)
      contents.segments[index].sizes[.dead] = dead
      // Of a damaged store, the index may know records that its counts do not include.
      let others = min(live - min(live, known), size - min(size, known + dead))
      if others > 0 { contents.segments[index].sizes[.others, default: 0] += others }
      contents.segments[index].sizes[.framing] = size - min(size, known + dead + others)
    }
    for index in contents.segments.indices {
      if contents.segments[index].sizes.isEmpty {
        contents.segments[index].sizes[.unread] = contents.segments[index].size
      }
      contents.segments[index].sizes = contents.segments[index].sizes.filter { $0.value > 0 }
    }
    for use in SpaceUse.allCases {
      let size = contents.segments.reduce(0) { $0 + ($1.sizes[use] ?? 0) }
      if size > 0 || contents.uses[use] != nil {
        contents.uses[use, default: ReportContents.Amount()].size = size
      }
    }
  }
}
