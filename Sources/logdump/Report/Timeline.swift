import DivanLog

/// The bytes that were written in each period of time, in bounded memory.
///
/// Periods have the same width. It grows when there are too many of them.
struct Timeline {
  /// A period of time, and the records of its commits that are still in the log.
  struct Slice: Equatable {
    /// The beginning, in milliseconds since 1970.
    var start: UInt64
    var commitCount = 0
    /// Bytes of records.
    var written: UInt64 = 0
    /// Bytes of those records that are current.
    var current: UInt64 = 0
    /// Bytes of those that are superseded, and retained.
    var retained: UInt64 = 0

    /// Bytes of those that nothing refers to any more.
    var dead: UInt64 { written - min(written, current + retained) }
  }

  /// The position in a segment from which the records have a time.
  private struct Mark {
    let offset: UInt64
    let time: UInt64
  }

  /// The width of a period, in milliseconds.
  private(set) var width: UInt64 = 1000
  private var slicesByNumber: [UInt64: Slice] = [:]
  /// The marks of each segment, by its file ID, ascending.
  private var marks: [UInt64: [Mark]] = [:]
  private var lastTime: UInt64 = 0

  /// The greatest number of periods.
  static let sliceLimit = 96

  /// The widths of periods as multiples of the one before: from a second to about a year.
  ///
  /// 1, 5, 15 s; 1, 5, 15 min; 1, 3, 6, 12 h; 1, 7, 28, 84, 336 days.
  private static let factors: [UInt64] = [5, 3, 4, 5, 3, 4, 3, 2, 2, 2, 7, 4, 3, 4]
  private var step = 0
}

extension Timeline {
  /// The periods in which something was written, in order.
  var slices: [Slice] { slicesByNumber.values.sorted { $0.start < $1.start } }

  /// Counts a record; records come in the order of the log.
  mutating func add(_ locator: RecordLocator, at time: UInt64) {
    let time = reach(time)
    slicesByNumber[time / width]?.written += UInt64(locator.size)
    let known = marks[locator.fileID]?.last
    if known.map({ $0.time / width != time / width }) ?? true {
      marks[locator.fileID, default: []].append(Mark(offset: locator.offset, time: time))
    }
  }

  /// Counts a commit.
  mutating func addCommit(at time: UInt64) {
    let time = reach(time)
    slicesByNumber[time / width]?.commitCount += 1
  }

  /// Counts a record as current or as retained, after all records were counted.
  mutating func addLive(_ locator: RecordLocator, isCurrent: Bool) {
    guard let time = time(of: locator) else { return }
    let path = isCurrent ? \Slice.current : \Slice.retained
    slicesByNumber[time / width]?[keyPath: path] += UInt64(locator.size)
  }

  /// Returns the time of a record; nil if the log has no record there.
  private func time(of locator: RecordLocator) -> UInt64? {
    guard let marks = marks[locator.fileID] else { return nil }
    var (low, high) = (0, marks.count)
    while low < high {
      let middle = low + (high - low) / 2
      if marks[middle].offset <= locator.offset { low = middle + 1 } else { high = middle }
    }
    return low > 0 ? marks[low - 1].time : nil
  }

  /// Makes room for the period of a time, and returns the time that counts.
  ///
  /// The time never goes back, except in a damaged log.
  private mutating func reach(_ time: UInt64) -> UInt64 {
    let time = max(time, lastTime)
    lastTime = time
    if slicesByNumber[time / width] == nil {
      slicesByNumber[time / width] = Slice(start: time / width * width)
      while slicesByNumber.count > 1, isTooLong { widen() }
    }
    return time
  }

  private var isTooLong: Bool {
    let numbers = slicesByNumber.keys
    guard let first = numbers.min(), let last = numbers.max() else { return false }
    return last - first >= UInt64(Timeline.sliceLimit)
  }

  private mutating func widen() {
    // A forged time may be beyond all calendars.
    let factor = step < Timeline.factors.count ? Timeline.factors[step] : 10
    step += 1
    width = width.multipliedReportingOverflow(by: factor).overflow ? .max : width * factor
    var wider: [UInt64: Slice] = [:]
    for slice in slicesByNumber.values {
      let number = slice.start / width
      var sum = wider[number] ?? Slice(start: number * width)
      sum.commitCount += slice.commitCount
      sum.written += slice.written
      sum.current += slice.current
      sum.retained += slice.retained
      wider[number] = sum
    }
    slicesByNumber = wider
    for (fileID, old) in marks {
      var kept: [Mark] = []
      for mark in old where kept.last.map({ $0.time / width != mark.time / width }) ?? true {
        kept.append(mark)
      }
      marks[fileID] = kept
    }
  }
}
