import Divan
import DivanLog

// The sections on files, segments, time, and what keeps space.

extension ReportPage {
  mutating func addFiles() {
    let total = contents.files.reduce(0) { $0 + $1.amount.size }
    section(
      "files", "Files",
      "The store's directory takes \(readableSize(total)). Checkpoints and views are derived from "
        + "the log, and can be made again."
    ) { page in
      let rows = page.contents.files.map { group in
        [
          HTMLText.escaped(group.title), grouped(group.amount.count),
          readableSize(group.amount.size),
          ReportChart.bar(
            "\(group.title): \(readableShare(group.amount.size, of: total)) of all",
            [
              ReportChart.Part(
                size: group.amount.size, style: "documents",
                title: "\(group.title): \(grouped(group.amount.size)) bytes")
            ], of: total),
        ]
      }
      page.html.addTable(
        caption: "Files by kind",
        heads: [.text("Kind"), .number("Files"), .number("Size"), .chart("Share")], rows: rows)
      page.addCheckpoints()
    }
  }

  private mutating func addCheckpoints() {
    guard !contents.checkpoints.isEmpty else { return }
    let shown = contents.checkpoints.suffix(ReportContents.rowLimit)
    html.addTable(
      caption: "Checkpoints: an opening reads only the log after the newest one",
      heads: [.file("File"), .number("Size"), .text("Use")],
      rows: shown.map {
        [HTMLText.escaped($0.file), readableSize($0.size), HTMLText.escaped($0.explanation)]
      }, footer: omitted(contents.checkpoints.count - shown.count, "older checkpoint"))
  }

  /// Returns a sentence on rows that a table does not have; nil if it has all.
  func omitted(_ number: Int, _ noun: String) -> String? {
    number > 0
      ? "\(count(number, noun)) \(number == 1 ? "is" : "are") not in the table." : nil
  }

  // MARK: Segments

  mutating func addSegments() {
    section(
      "segments", "Segments",
      "The log, oldest segment first. Superseded records stay until a compaction copies the live "
        + "ones to a new file."
    ) { page in
      let groups = page.segmentGroups
      guard !groups.isEmpty else {
        return page.html.add("p", "class=\"note\"", text: "There are no segments yet.")
      }
      let longest = groups.map(\.size).max() ?? 0
      let damage = page.contents.damage.items
      let uses = SpaceUse.allCases.filter { use in groups.contains { $0.sizes[use] != nil } }
      page.addLegend(
        uses.map { ($0.style, $0.title) }
          + (damage.isEmpty ? [] : [("damage", "Damage")]))
      let rows = groups.map { group in
        let marks =
          group.names.count > 1
          ? []
          : damage.filter { $0.path == group.path }.map {
            ReportChart.Mark(
              offset: $0.offset, size: $0.size, title: "At byte \($0.offset): \($0.reason)")
          }
        return [
          HTMLText.escaped(group.title),
          ReportChart.bar(
            group.title, page.parts(of: group.sizes), of: longest, marks: marks, size: group.size),
          readableSize(group.size), readableSize(group.live),
          readableSize(group.sizes[.dead] ?? 0), HTMLText.escaped(group.timeText),
        ]
      }
      page.html.addTable(
        caption: "Bytes of each segment by use",
        heads: [
          .file("Segment"), .chart("Use"), .number("Size"), .number("Live"),
          .number("Superseded"), .time("Written"),
        ], rows: rows,
        footer: groups.count < page.contents.segments.count
          ? "There are \(grouped(page.contents.segments.count)) segments; each row combines "
            + "neighbors." : nil)
    }
  }

  /// Segments that share a row.
  private struct SegmentGroup {
    var names: [String] = []
    var path = ""
    var size: UInt64 = 0
    var live: UInt64 = 0
    var sizes: [SpaceUse: UInt64] = [:]
    var times: ClosedRange<UInt64>?
    var note = ""

    var title: String {
      let first = names.first ?? ""
      return (names.count > 1 ? "\(first) … \(names.last ?? "")" : first) + note
    }

    var timeText: String {
      guard let times else { return "" }
      let (first, last) = (timestamp(times.lowerBound), timestamp(times.upperBound))
      let days = (first.prefix(10), last.prefix(10))
      return days.0 == days.1 ? "\(days.0)" : "\(days.0) – \(days.1)"
    }
  }

  private var segmentGroups: [SegmentGroup] {
    let all = contents.segments
    let width = (all.count + ReportPage.segmentLimit - 1) / ReportPage.segmentLimit
    return stride(from: 0, to: all.count, by: max(width, 1)).map { start in
      var group = SegmentGroup()
      for segment in all[start..<min(start + width, all.count)] {
        group.names.append(segment.name)
        group.path = segment.path
        group.size += segment.size
        group.live += segment.live
        group.sizes.merge(segment.sizes, uniquingKeysWith: +)
        if let times = segment.times {
          let known = group.times ?? times
          group.times =
            min(known.lowerBound, times.lowerBound)...max(known.upperBound, times.upperBound)
        }
        if width == 1, segment.state != .used {
          group.note = segment.state == .leftover ? " (left over)" : " (unreadable)"
        }
      }
      return group
    }
  }

  private func parts(of sizes: [SpaceUse: UInt64]) -> [ReportChart.Part] {
    let total = sizes.values.reduce(0, +)
    return SpaceUse.allCases.compactMap { use in
      sizes[use].map { size in
        ReportChart.Part(
          size: size, style: use.style,
          title: "\(use.title): \(grouped(size)) bytes, \(readableShare(size, of: total))")
      }
    }
  }

  // MARK: Time

  mutating func addTimeline() {
    let timeline = contents.timeline
    section(
      "time", "Time",
      "Records that are still in the log, by the time of their commits. Compaction removes "
        + "superseded ones, so old columns shrink."
    ) { page in
      let slices = timeline.slices
      guard let first = slices.first, let last = slices.last else {
        return page.html.add("p", "class=\"note\"", text: "Nothing was committed yet.")
      }
      page.addLegend([
        ("documents", "Current"), ("history", "Superseded, and retained"),
        ("dead", "Superseded"),
      ])
      var columns: [[ReportChart.Part]] = []
      for slice in slices {
        let number = Int(clamping: (slice.start - first.start) / timeline.width)
        while columns.count < number { columns.append([]) }
        columns.append(page.parts(of: slice))
      }
      let highest = slices.map(\.written).max() ?? 0
      let period = Self.duration(timeline.width)
      // A few columns would be too wide.
      page.html.add(columns.count < 24 ? "<div class=\"few\">" : "<div>")
      page.html.add(ReportChart.columns("Bytes written in each \(period)", columns))
      page.html.add(
        "<div class=\"axis\">\(HTMLText.element("span", text: readableTime(first.start)))"
          + HTMLText.element(
            "span", text: "each column: \(period); the highest: \(readableSize(highest))")
          + HTMLText.element("span", text: readableTime(last.start)) + "</div></div>")
    }
  }

  private func parts(of slice: Timeline.Slice) -> [ReportChart.Part] {
    let head = "\(readableTime(slice.start)), \(count(slice.commitCount, "commit")): "
    return [
      ("documents", "current", slice.current), ("history", "retained", slice.retained),
      ("dead", "superseded", slice.dead),
    ].map { style, text, size in
      ReportChart.Part(size: size, style: style, title: "\(head)\(grouped(size)) bytes \(text)")
    }
  }

  /// Returns a number of milliseconds as a duration in words.
  static func duration(_ milliseconds: UInt64) -> String {
    let units: [(UInt64, String)] = [
      (86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second"),
    ]
    for (size, name) in units where milliseconds >= size && milliseconds.isMultiple(of: size) {
      let number = milliseconds / size
      return number == 1 ? "1 \(name)" : "\(grouped(number)) \(name)s"
    }
    return "\(grouped(milliseconds)) milliseconds"
  }
}
