import Divan
import DivanLog

extension LogDump {
  /// Prints the frames of one segment or of all, and the bytes between them that belong to none.
  func frames(_ options: Options) throws -> ExitStatus {
    let log = try OpenedLog.open(options.store, on: fileSystem)
    var status = ExitStatus.sound
    var isFound = false
    var total = FrameTotal()
    for numbers in log.files.segmentRanges {
      let name = FileName.segment(numbers)
      if let wanted = options.argument {
        guard wanted == "\(name)" || UInt64(wanted).map(numbers.contains) == true else { continue }
      }
      if !isFound {
        try sayToPeople(options, "      Offset       Size  Kind        Commit and position in it")
      }
      isFound = true
      let found = try unlessGone { try frames(of: numbers, log, &total, options) }
      // Nothing counts in a file that is not used.
      guard let found, !log.chain.leftovers.contains(name) else { continue }
      if found.severity > status.severity { status = found }
    }
    guard isFound || options.argument == nil else {
      throw UsageError(reason: "there is no segment \(options.argument ?? "")")
    }
    try sayToPeople(
      options,
      "Total of \(total.frameCount) frames, \(total.size) bytes"
        + (total.gapSize > 0 ? ", and \(total.gapSize) bytes outside of frames" : ""))
    return status.severity > log.status.severity ? status : log.status
  }

  private struct FrameTotal {
    var frameCount = 0
    var size = 0
    var gapSize = 0
  }

  private func frames(
    of numbers: ClosedRange<UInt64>, _ log: OpenedLog, _ total: inout FrameTotal,
    _ options: Options
  ) throws -> ExitStatus {
    let name = FileName.segment(numbers)
    guard let file = try openSegment(numbers, log, options) else { return .damage }
    let size = try file.size()
    // The bytes past a segment's end may have any values.
    let used = log.segments.first { $0.file.name == name }
    let segment = Segment(
      file: file, mapped: .empty,
      end: LogEnd(offset: UInt64(SegmentHeader.size), commit: 0, chain: file.headerChain))
    var scan = SegmentScan(segment, limit: size)
    var status = ExitStatus.sound
    while true {
      switch try scan.next() {
      case .frame(let header, let offset, _, let isSound):
        let isPastEnd = used.map { UInt64(offset) >= $0.end.offset } ?? false
        if !isSound, !isPastEnd { status = .damage }
        total.frameCount += 1
        total.size += header.frameSize
        try sayFrame(header, offset, name, isSound: isSound, isPastEnd: isPastEnd, options)
      case .gap(let range, let reason):
        let isPastEnd = used.map { UInt64(range.lowerBound) >= $0.end.offset } ?? false
        if !isPastEnd { status = .damage }
        total.gapSize += range.count
        try say(
          options,
          [
            ("file", .text("\(name)")), ("offset", .number(range.lowerBound)),
            ("size", .number(range.count)), ("kind", .text("gap")), ("reason", .text(reason)),
            ("counts", .flag(!isPastEnd)),
          ],
          "\(column(range.lowerBound, 12)) \(column(range.count, 10))  no frame: \(reason)"
            + (isPastEnd ? " (past the end)" : ""))
      case .end: return status
      }
    }
  }

  /// Opens a segment and prints its name; nil if its header is damaged, which is printed.
  private func openSegment(
    _ numbers: ClosedRange<UInt64>, _ log: OpenedLog, _ options: Options
  ) throws -> SegmentFile? {
    let name = FileName.segment(numbers)
    do {
      // The name of a file that is gone is not printed.
      let file = try SegmentFile(numbers, in: log.directory)
      try sayToPeople(options, "\(name)")
      return file
    } catch {
      guard let damage = Damage(of: error) else { throw error }
      try sayToPeople(options, "\(name)")
      try say(
        options, [("file", .text("\(name)")), ("problem", .text(damage.reason))],
        "  unreadable: \(printable(damage.reason))")
      return nil
    }
  }

  private func sayFrame(
    _ header: FrameHeader, _ offset: Int, _ name: FileName, isSound: Bool, isPastEnd: Bool,
    _ options: Options
  ) throws {
    var flags: [String] = []
    if header.flags.contains(.first) { flags.append("first") }
    if header.flags.contains(.last) { flags.append("last") }
    try say(
      options,
      [
        ("file", .text("\(name)")), ("offset", .number(offset)),
        ("size", .number(header.frameSize)), ("kind", .text("\(header.kind)")),
        ("flags", .list(flags.map { .text($0) })), ("payload", .number(header.payloadSize)),
        ("commit", .number(header.commit)), ("isSound", .flag(isSound)),
        ("counts", .flag(!isPastEnd)),
      ],
      "\(column(offset, 12)) \(column(header.frameSize, 10))  \(column("\(header.kind)", 12))"
        + "commit \(header.commit)" + (flags.isEmpty ? "" : " " + flags.joined(separator: " "))
        + (isSound ? "" : "  PAYLOAD DAMAGED") + (isPastEnd ? " (past the end)" : ""))
  }

  /// Prints the transactions in order, and with `--records` the records of each.
  func transactions(_ options: Options) throws -> ExitStatus {
    let log = try OpenedLog.open(options.store, on: fileSystem)
    var hasDamage = false
    for segment in log.segments {
      var scan = RecordScan(segment)
      var listing = CommitListing()
      scanning: while true {
        switch try scan.next() {
        case .record(let entry):
          if segment.header.compaction != nil, entry.commit != listing.commit {
            listing = CommitListing(commit: entry.commit)
            try sayCompacted(entry, segment, options)
          }
          // A transaction's own line needs its trailer, which comes after its records.
          listing.recordCount += 1
          if options.isDetailed { try sayRecord(entry, segment, options) }
        case .commit(let end, let trailer):
          try sayCommit(end, trailer, listing, segment, options)
          listing = CommitListing()
        case .damage(let damage):
          hasDamage = true
          try say(
            options, [("damage", damage.node)], "damage: \(printable(damage.description))")
        case .end: break scanning
        }
      }
    }
    return hasDamage ? .damage : log.status
  }

  private struct CommitListing {
    var commit: UInt64 = 0
    var recordCount = 0
  }

  private func sayCommit(
    _ end: LogEnd, _ trailer: CommitTrailer, _ listing: CommitListing, _ segment: Segment,
    _ options: Options
  ) throws {
    try say(
      options,
      [
        ("commit", .number(end.commit)), ("time", .number(trailer.time)),
        ("file", .text("\(segment.file.name)")), ("end", .number(end.offset)),
        ("frames", .number(trailer.frameCount)), ("records", .number(listing.recordCount)),
        ("sequence", .number(trailer.lastSequence)),
        ("documents", .number(trailer.documentCount)),
        ("flushed", .number(trailer.flushedThrough)),
      ],
      "commit \(end.commit)  \(timestamp(trailer.time))  \(segment.file.name) to byte "
        + "\(end.offset), \(listing.recordCount) records, sequence \(trailer.lastSequence), "
        + "\(trailer.documentCount) documents")
  }

  private func sayCompacted(
    _ entry: RecordScan.Entry, _ segment: Segment, _ options: Options
  ) throws {
    try say(
      options,
      [
        ("commit", .number(entry.commit)), ("time", .number(entry.time)),
        ("file", .text("\(segment.file.name)")), ("compacted", .flag(true)),
      ],
      "commit \(entry.commit)  \(timestamp(entry.time))  \(segment.file.name), compacted")
  }

  private func sayRecord(
    _ entry: RecordScan.Entry, _ segment: Segment, _ options: Options
  ) throws {
    var fields: [(String, JSONNode)] = [
      ("record", .number(UInt64(entry.record.kind.rawValue))), ("commit", .number(entry.commit)),
      ("file", .text("\(segment.file.name)")), ("offset", .number(entry.locator.offset)),
      ("size", .number(entry.locator.size)),
    ]
    var text = "  \(column(entry.locator.offset, 10)) \(column(entry.locator.size, 8))  "
    if entry.record.kind == .document, let found = try? InspectedDocument(entry.record.payload) {
      fields += [
        ("id", .text(found.id)), ("revision", .text("\(found.revision)")),
        ("sequence", .number(found.sequence)), ("deleted", .flag(found.isDeleted)),
      ]
      text += "\(found.sequence)  \(printable(found.id))  \(printable("\(found.revision)"))"
      text += found.isDeleted ? "  deleted" : ""
    } else if let found = try? InspectedRecord(entry.record) {
      let (more, words) = describe(found)
      fields += more
      text += words
    } else {
      text += "a record of kind \(entry.record.kind.rawValue)"
    }
    try say(options, fields, text)
  }

  /// Describes an index for programs.
  private func describe(_ index: DocumentIndex) -> [(String, JSONNode)] {
    func list(_ path: [String]) -> JSONNode { .list(path.map { .text($0) }) }
    var fields = [("path", list(index.path))]
    if index.paths.count > 1 {
      fields.append(("further", .list(index.paths.dropFirst().map(list))))
    }
    fields += [("unique", .flag(index.isUnique)), ("eachElement", .flag(index.eachElement))]
    if let options = index.fullText { fields.append(("fullText", describe(options))) }
    if !index.conditions.isEmpty {
      fields.append(("conditions", .list(index.conditions.map { .text($0.description) })))
    }
    return fields
  }

  /// Describes the options of a full-text index for programs.
  private func describe(_ options: FullTextOptions) -> JSONNode {
    let stopWords = options.stopWords.map(\.rawValue).sorted()
    let weights = options.weights.sorted { compareUTF8($0.key, $1.key) < 0 }
    return .fields([
      ("stemming", options.stemming.map { .text($0.rawValue) } ?? .null),
      ("stopWords", .list(stopWords.map { .text($0) })),
      ("ignoresDiacritics", .flag(options.ignoresDiacritics)),
      ("includesAttachments", .flag(options.includesAttachments)),
      ("weights", .fields(weights.map { ($0.key, .raw(Value.double($0.value).json)) })),
    ])
  }

  /// Describes an index for people.
  private func words(for index: DocumentIndex) -> String {
    let paths = index.paths.map { $0.map { printable($0) }.joined(separator: " / ") }
    var text = "on \(paths.joined(separator: ", then "))"
    if let options = index.fullText {
      text = "full text of \(paths.joined(separator: ", "))"
      for trait in options.traits { text += ", " + printable(trait) }
    }
    if index.isUnique { text += ", unique" }
    if index.eachElement { text += ", each element" }
    if !index.conditions.isEmpty {
      text +=
        ", where "
        + index.conditions.map { printable($0.description) }
        .joined(separator: " and ")
    }
    return text
  }

  /// Describes a record that is not a document's, for programs and for people.
  private func describe(_ record: InspectedRecord) -> (fields: [(String, JSONNode)], text: String) {
    func fields(_ version: InspectedRecord.NamedVersion) -> [(String, JSONNode)] {
      [
        ("sequence", .number(version.sequence)), ("version", .number(version.commit)),
        ("time", .number(version.time)), ("documents", .number(version.documentCount)),
      ]
    }
    func text(_ version: InspectedRecord.NamedVersion) -> String {
      "sequence \(version.sequence), commit \(version.commit), \(timestamp(version.time)), "
        + "\(version.documentCount) documents"
    }
    switch record {
    case .purge(let id, let sequence):
      return (
        [("purged", .text(id)), ("sequence", sequence.map { .number($0) } ?? .null)],
        "purged \(printable(id))" + (sequence.map { ", the record of sequence \($0)" } ?? "")
      )
    case .local(let id, let isDeleted):
      return (
        [("local", .text(id)), ("deleted", .flag(isDeleted))],
        "local document \(printable(id))\(isDeleted ? "  deleted" : "")"
      )
    case .named(let name, let version):
      return (
        [("named", .text(name))] + (version.map(fields) ?? [("removed", .flag(true))]),
        "snapshot \(printable(name)): " + (version.map(text) ?? "removed")
      )
    case .index(let name, let index, let isReady):
      return (
        [("index", .text(name))]
          + (index.map { describe($0) + [("ready", .flag(isReady))] } ?? [("removed", .flag(true))]),
        "index \(printable(name)): "
          + (index.map { words(for: $0) + (isReady ? "" : ", being built") } ?? "removed")
      )
    case .commitPoint(let version):
      return ([("commitPoint", .flag(true))] + fields(version), "commit point: \(text(version))")
    }
  }
}

extension ExitStatus {
  /// The rank of a status, where one status must summarise several findings.
  var severity: Int {
    switch self {
    case .sound: 0
    case .tornTail: 1
    case .damage: 2
    case .newerFormat: 3
    case .unreadable: 4
    case .usage: 5
    }
  }
}
