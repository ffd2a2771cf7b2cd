import Divan
import DivanLog

extension LogDump {
  /// Prints a summary of the store, and how its log ends.
  func info(_ options: Options) throws -> ExitStatus {
    let log = try OpenedLog.open(options.store, on: fileSystem)
    let header = log.segments.first?.header
    let status = log.status
    var fields: [(String, JSONNode)] = [("path", .text(options.store))]
    var lines: [(String, String)] = [("Store", printable(options.store))]
    func add(_ name: String, _ title: String, _ node: JSONNode, _ text: String) {
      fields.append((name, node))
      lines.append((title, text))
    }
    if let header {
      let id = header.preamble.storeID.description
      add("storeID", "Store ID", .text(id), id)
    }
    add("segments", "Segments", .number(log.segments.count), "\(log.segments.count)")
    let checkpoints = log.files.checkpointNumbers
    add("checkpoints", "Checkpoints", .number(checkpoints.count), "\(checkpoints.count)")
    let count = try documentCount(of: log, options)
    add("documents", "Documents", .number(count), "\(count)")
    let commit = log.last?.end.commit ?? 0
    add("commit", "Last commit", .number(commit), "\(commit)")
    if let trailer = log.recovery?.lastTrailer {
      add("time", "  at", .number(trailer.time), timestamp(trailer.time))
      add("sequence", "  sequence", .number(trailer.lastSequence), "\(trailer.lastSequence)")
    }
    add("ending", "Ending", .text(log.ending.name), log.ending.text)
    add(
      "damage", "Damage", .list(log.damage.map(\.node)),
      log.damage.isEmpty ? "none found; `verify` checks every byte" : "")
    if options.isJSON {
      try output.line(JSONNode.fields(fields).json)
    } else {
      for (title, text) in lines { try output.line("\(column(title, 12))  \(text)") }
      for damage in log.damage { try output.line("  \(printable(damage.description))") }
    }
    return status
  }

  /// Returns the number of documents that are not deleted.
  ///
  /// It is taken from the log, or, if the log is damaged, from the opened store.
  private func documentCount(of log: OpenedLog, _ options: Options) throws -> UInt64 {
    if !log.damage.isEmpty, let database = try? openDatabase(options),
      let count = try? database.statistics.documentCount
    {
      return UInt64(count)
    }
    return try log.documentCount()
  }

  /// Prints the files, with the parts of the log that they contain.
  func list(_ options: Options) throws -> ExitStatus {
    let log = try OpenedLog.open(options.store, on: fileSystem)
    try sayToPeople(options, column("File", 32) + "         Size  What it is")
    for numbers in log.files.segmentRanges {
      try unlessGone { try listSegment(numbers, log, options) }
    }
    for number in log.files.checkpointNumbers {
      try unlessGone { try listCheckpoint(number, log, options) }
    }
    for name in log.files.views { try unlessGone { try listView(name, log, options) } }
    for name in [FileName.head, .flushed, .lock, .reserve, .check, .temporaries, .attachments]
    where log.files.contains(name) {
      guard let status = try status(of: name, log) else { continue }
      let isDirectory = status.kind == .directory
      try say(
        options,
        [
          ("file", .text("\(name)")), ("kind", .text(isDirectory ? "directory" : "file")),
          ("size", isDirectory ? .null : .number(status.size)),
        ],
        "\(column("\(name)", 32)) \(isDirectory ? "" : column(status.size, 12))")
    }
    for name in log.foreign {
      try say(
        options, [("file", .text(name)), ("kind", .text("foreign"))],
        "\(column(printable(name), 32))   not a file of the store")
    }
    let total = try total(of: log)
    try sayToPeople(
      options,
      column("Total of \(total.count + log.foreign.count)", 32) + " " + column(total.size, 12))
    return log.status
  }

  /// Returns the status of a file of the store; nil if it is gone since the files were listed.
  private func status(of name: FileName, _ log: OpenedLog) throws -> FileStatus? {
    try unlessGone { try fileSystem.status(log.directory.path(of: name)) }
  }

  /// Returns the number of the store's files, and the size of those in its directory itself.
  private func total(of log: OpenedLog) throws -> (count: Int, size: Int) {
    var total = (count: 0, size: 0)
    for name in log.files {
      guard let status = try status(of: name, log) else { continue }
      total.count += 1
      if status.kind == .file { total.size += status.size }
    }
    return total
  }

  private func listSegment(
    _ numbers: ClosedRange<UInt64>, _ log: OpenedLog, _ options: Options
  ) throws {
    let name = FileName.segment(numbers)
    let use =
      log.segments.contains { $0.file.name == name }
      ? "used" : log.chain.leftovers.contains(name) ? "leftover" : "unreadable"
    let size = try fileSystem.status(log.directory.path(of: name)).size
    var fields: [(String, JSONNode)] = [
      ("file", .text("\(name)")), ("kind", .text("segment")), ("use", .text(use)),
      ("size", .number(size)),
    ]
    var text = "\(column("\(name)", 32)) \(column(size, 12))  \(use)"
    do {
      let header = try SegmentFile(numbers, in: log.directory).header
      fields += [
        ("fileID", .number(header.fileID)), ("generation", .number(header.generation)),
        ("salt", .text(hexadecimal(header.preamble.salt))),
        ("created", .number(header.preamble.createdAt)),
        ("follows", .number(header.predecessor.commit)),
        ("flushed", .number(header.flushedSize)),
      ]
      text += ", file \(header.fileID), generation \(header.generation), "
      text += "salt \(hexadecimal(header.preamble.salt)), after commit \(header.predecessor.commit)"
      if let compaction = header.compaction {
        fields += [
          ("through", .number(compaction.end.commit)),
          ("evaluatedAt", .number(compaction.evaluatedAt)),
          ("releasedThrough", .number(compaction.releasedThrough)),
        ]
        text +=
          " through \(compaction.end.commit), compacted as of commit \(compaction.evaluatedAt)"
      }
    } catch {
      guard let damage = Damage(of: error) else { throw error }
      fields.append(("problem", .text(damage.reason)))
      text += ": \(printable(damage.reason))"
    }
    try say(options, fields, text)
  }

  private func listCheckpoint(_ number: UInt64, _ log: OpenedLog, _ options: Options) throws {
    let name = FileName.checkpoint(number)
    let size = try fileSystem.status(log.directory.path(of: name)).size
    var fields: [(String, JSONNode)] = [
      ("file", .text("\(name)")), ("kind", .text("checkpoint")), ("size", .number(size)),
    ]
    var text = "\(column("\(name)", 32)) \(column(size, 12))  "
    do {
      let file = try CheckpointFile.open(number, in: log.directory, isMapped: false)
      fields.append(("pages", .number(file.header.pageCount)))
      text += "\(file.header.pageCount) pages"
      if let found = try InspectedCheckpoint(number, among: log.files, in: log.directory) {
        fields += [("use", .text("usable")), ("through", .number(found.end.commit))]
        text += ", through commit \(found.end.commit)"
      } else if let newest = log.checkpoint, newest.checkpointsInUse.contains(number) {
        fields.append(("use", .text("needed by checkpoint \(newest.number)")))
        text += ", which checkpoint \(newest.number) needs"
      } else {
        fields.append(("use", .text("rests on files that are gone")))
        text += ", depends on files that are missing"
      }
    } catch {
      guard let damage = Damage(of: error) else { throw error }
      fields.append(("problem", .text(damage.reason)))
      text += printable(damage.reason)
    }
    try say(options, fields, text)
  }

  private func listView(_ name: FileName, _ log: OpenedLog, _ options: Options) throws {
    let size = try fileSystem.status(log.directory.path(of: name)).size
    var fields: [(String, JSONNode)] = [
      ("file", .text("\(name)")), ("kind", .text("view")), ("size", .number(size)),
    ]
    var text = "\(column("\(name)", 32)) \(column(size, 12))  "
    do {
      let view = try InspectedView(name, in: log.directory)
      fields += [
        ("name", .text(view.name)), ("version", .text(view.version)),
        ("type", view.documentType.map { .text($0) } ?? .null),
        ("rows", .number(view.header.rowCount)), ("through", .number(view.header.origin.commit)),
      ]
      text += "view \(printable(view.name)), version \(printable(view.version)), "
      text += "\(view.header.rowCount) rows, through commit \(view.header.origin.commit)"
    } catch {
      guard let damage = Damage(of: error) else { throw error }
      fields.append(("problem", .text(damage.reason)))
      text += printable(damage.reason)
    }
    try say(options, fields, text)
  }

  /// Prints the contents of attachments, each with the documents that refer to it.
  func attachments(_ options: Options) throws -> ExitStatus {
    let log = try OpenedLog.open(options.store, on: fileSystem)
    let index = try index(of: log)
    let found = try index.attachments()
    if !found.isEmpty {
      try sayToPeople(options, column("Digest", 64) + "        Length  Where Documents")
    }
    for each in found {
      let ids = each.documentIDs.map { printable($0) }.joined(separator: "  ")
      try say(
        options,
        [
          ("digest", .text(each.digest)), ("length", .number(UInt64(each.length))),
          ("isFile", .flag(each.isFile)), ("documents", .list(each.documentIDs.map { .text($0) })),
        ],
        "\(each.digest)\(column(UInt64(each.length), 14))  \(each.isFile ? "file" : "log ")  "
          + (ids.isEmpty ? "nothing refers to it any more" : ids))
    }
    let length = found.reduce(0) { $0 + $1.length }
    try sayToPeople(
      options,
      found.isEmpty
        ? "No attachments." : column("Total of \(found.count)", 64) + column(length, 14))
    for damage in index.damage { try problems.line("damage: \(printable(damage.description))") }
    return index.damage.isEmpty ? log.status : .damage
  }

  /// Prints the bytes of each segment: live, dead, and pinned.
  ///
  /// Pinned bytes are live only because of history, named snapshots or other leaves.
  func statistics(_ options: Options) throws -> ExitStatus {
    let log = try OpenedLog.open(options.store, on: fileSystem)
    let index = try index(of: log)
    if !options.isJSON {
      try output.line(
        column("Segment", 32) + "         Size      Records         Live         Dead       Pinned")
    }
    let pinnedSizes = index.retainedSizes()
    var totals: (size: Int, records: UInt64, dead: UInt64, pinned: UInt64) = (0, 0, 0, 0)
    for segment in log.segments {
      let size = try segment.file.size()
      let pinned = pinnedSizes[segment.fileID] ?? 0
      let (total, dead) = index.usage(of: segment.fileID) ?? (0, 0)
      totals.size += size
      totals.records += total
      totals.dead += dead
      totals.pinned += pinned
      try say(
        options,
        [
          ("file", .text("\(segment.file.name)")), ("size", .number(size)),
          ("records", .number(total)), ("live", .number(total - dead)), ("dead", .number(dead)),
          ("pinned", .number(pinned)),
        ],
        column("\(segment.file.name)", 32) + column(size, 13) + column(total, 13)
          + column(total - dead, 13) + column(dead, 13) + column(pinned, 13))
    }
    try sayToPeople(
      options,
      column("Total of \(log.segments.count)", 32) + column(totals.size, 13)
        + column(totals.records, 13) + column(totals.records - totals.dead, 13)
        + column(totals.dead, 13) + column(totals.pinned, 13))
    for damage in index.damage { try problems.line("damage: \(printable(damage.description))") }
    return index.damage.isEmpty ? log.status : .damage
  }
}

extension OpenedLog {
  var status: ExitStatus {
    if !damage.isEmpty { return .damage }
    return tornTail == nil ? .sound : .tornTail
  }

  /// The ending of the log: a name for programs, and a sentence.
  var ending: (name: String, text: String) {
    if !damage.isEmpty { return ("damaged", "the store is damaged") }
    guard last != nil else { return ("empty", "nothing was committed yet") }
    if let tornTail {
      return (
        "torn", "an unfinished transaction of \(tornTail.count) bytes, which never counted"
      )
    }
    return isClosed
      ? ("closed", "closed properly")
      : ("open", "not closed: open in another process, or interrupted")
  }

  /// Returns the number of documents that are not deleted, from the readable part of the log.
  func documentCount() throws(LogError) -> UInt64 {
    if damage.isEmpty {
      if let trailer = recovery?.lastTrailer { return trailer.documentCount }
      if let checkpoint, checkpoint.end.commit == last?.end.commit {
        return checkpoint.documentCount
      }
    }
    var index = InspectedIndex()
    for segment in segments { try index.add(segment) }
    return index.documentCount
  }
}

extension Damage {
  /// Creates the damage that an error reports of a file's bytes; nil if it is of another kind.
  init?(of error: any Error) {
    switch error {
    case LogError.damaged(let damage): self = damage
    case LogError.foreign(let path, let reason): self.init(path: path, offset: 0, reason: reason)
    default: return nil
    }
  }

  var node: JSONNode {
    .fields([
      ("path", .text(path)), ("offset", .number(offset)),
      ("size", size.map { JSONNode.number($0) } ?? .null), ("reason", .text(reason)),
    ])
  }
}
