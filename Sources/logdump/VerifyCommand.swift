import Divan
import DivanLog

extension LogDump {
  /// Checks everything, and reports the damage.
  func verify(_ options: Options) throws -> ExitStatus {
    let log = try OpenedLog.open(options.store, on: fileSystem)
    let findings = Findings { finding in
      try say(
        options,
        [
          ("finding", .text(finding.isNote ? "note" : "damage")), ("at", finding.damage.node),
        ],
        (finding.isNote ? "note: " : "damage: ") + printable(finding.damage.description))
    }
    for damage in log.damage { try findings.add(damage) }
    try checkNames(log, findings)
    try checkHead(log, findings)
    try checkMarks(log, findings)
    let check = LogCheck(log, findings, progress)
    try check.run()
    let attachments = try check.checkAttachments(isByName: options.isByName)
    let derived = try checkDerivedFiles(log, findings)
    try noteTornTail(log, findings)
    let status: ExitStatus =
      findings.damageCount > 0 ? .damage : log.tornTail != nil ? .tornTail : .sound
    try say(
      options,
      [
        ("status", .text("\(status)")), ("damage", .number(findings.damageCount)),
        ("segments", .number(log.segments.count)), ("commits", .number(check.commitCount)),
        ("records", .number(check.recordCount)), ("documents", .number(check.documentCount)),
        ("checkpoints", .number(derived.checkpoints)),
        ("views", .number(derived.views)),
        ("attachments", .number(attachments.count)),
        ("attachmentBytes", .number(attachments.length)),
        ("attachmentsNotRead", .number(options.isByName ? attachments.count : 0)),
        ("attachmentsUnreferred", .number(attachments.unreferredCount)),
        ("indexesNotChecked", .number(check.uncheckedIndexNames.count)),
      ],
      summary(status, log, check, derived, attachments, findings))
    if !options.isJSON {
      for text in uncheckedParts(log, check, attachments, options) {
        try output.line("Not checked: \(text).")
      }
    }
    return status
  }

  /// Checks the files that are derived from the log; returns how many of them are still there.
  private func checkDerivedFiles(
    _ log: OpenedLog, _ findings: Findings
  ) throws -> (checkpoints: Int, views: Int) {
    var counts = (checkpoints: 0, views: 0)
    for number in log.files.checkpointNumbers {
      progress.step("Checking checkpoint \(number)")
      if try unlessGone({ try CheckpointCheck(number, log, findings).run() }) != nil {
        counts.checkpoints += 1
      }
    }
    for name in log.files.views
    where try unlessGone({ try ViewCheck(name, log, findings).run() }) != nil {
      counts.views += 1
    }
    return counts
  }

  private func noteTornTail(_ log: OpenedLog, _ findings: Findings) throws {
    guard let tail = log.tornTail, let last = log.last else { return }
    try findings.note(
      Damage(
        path: last.file.path, offset: tail.lowerBound, size: tail.count,
        reason: "an unfinished transaction of \(tail.count) bytes, which never counted"))
  }

  /// Returns the parts of the store that were not checked.
  private func uncheckedParts(
    _ log: OpenedLog, _ check: LogCheck, _ attachments: InspectedAttachmentCheck,
    _ options: Options
  ) -> [String] {
    var texts: [String] = []
    if options.isByName, attachments.count > 0 {
      texts.append("the contents of the attachments, of which only names and sizes were compared")
    }
    if attachments.unreferredCount > 0 {
      texts.append(
        "\(attachments.unreferredCount) contents of attachments that nothing refers to any more")
    }
    if !log.files.views.isEmpty {
      texts.append(
        "whether the rows of views are the ones that their functions make of the documents")
    }
    let names = check.uncheckedIndexNames.map { printable($0.debugDescription) }
    if !names.isEmpty {
      texts.append(
        "whether full-text indexes have the words of the documents, which `Database.check` compares ("
          + names.joined(separator: ", ") + ")")
    }
    return texts
  }

  private func summary(
    _ status: ExitStatus, _ log: OpenedLog, _ check: LogCheck,
    _ derived: (checkpoints: Int, views: Int), _ attachments: InspectedAttachmentCheck,
    _ findings: Findings
  ) -> String {
    let read =
      "\(log.segments.count) segments, \(check.commitCount) commits, \(check.recordCount) records, "
      + "\(check.documentCount) documents, \(derived.checkpoints) checkpoints"
      + (derived.views == 0 ? "" : ", \(derived.views) views")
      + (attachments.count == 0 ? "" : ", \(attachments.count) attachments")
    return switch status {
    case .sound: "Sound: \(read)."
    case .tornTail: "Sound but for a torn tail: \(read)."
    default: "Damaged at \(findings.damageCount) locations: \(read) could be read."
    }
  }

  private func checkNames(_ log: OpenedLog, _ findings: Findings) throws {
    for name in log.foreign {
      try findings.note(
        Damage(path: "\(log.directory.path)/\(name)", offset: 0, reason: "not a file of the store"))
    }
    for name in log.chain.leftovers {
      try findings.note(
        Damage(
          path: log.directory.path(of: name), offset: 0,
          reason: "not used: its records are in another file"))
    }
    guard log.files.contains(.temporaries) else { return }
    let temporaries = log.directory.path(of: .temporaries)
    for name in try fileSystem.list(temporaries) {
      try findings.note(
        Damage(path: "\(temporaries)/\(name)", offset: 0, reason: "an unfinished file"))
    }
  }

  private func checkHead(_ log: OpenedLog, _ findings: Findings) throws {
    let path = log.directory.path(of: .head)
    if case .damaged(let damage)? = log.headProblem { return try findings.add(damage) }
    if case .foreign(let path, let reason)? = log.headProblem {
      return try findings.add(Damage(path: path, offset: 0, reason: reason))
    }
    guard let head = log.head else {
      // It is made after the first segment, and before the first commit.
      guard let last = log.last, last.end.commit > 0 else { return }
      return try findings.add(Damage(path: path, offset: 0, reason: "HEAD is missing"))
    }
    let block = try fileSystem.contents(of: path, limit: Head.size)
    try findings.requireZeros(block, [56..<64, 100..<104, 128..<252], path: path, at: 0)
    if block.load(UInt64.self, at: 120) > 1 {
      try findings.add(
        Damage(path: path, offset: 120, reason: "the closed flag is neither 0 nor 1"))
    }
    if let first = log.segments.first, first.header.preamble.storeID != head.preamble.storeID {
      try findings.add(Damage(path: path, offset: 24, reason: "HEAD belongs to another store"))
    }
  }

  /// Checks `FLUSHED`, in which nothing is damage to the store.
  ///
  /// A mark may be torn, or lost in a power failure. Then only the other evidence is left.
  private func checkMarks(_ log: OpenedLog, _ findings: Findings) throws {
    guard log.files.contains(.flushed) else { return }
    if let problem = log.marksProblem, let damage = Damage(of: problem) {
      return try findings.note(damage)
    }
    let path = log.directory.path(of: .flushed)
    let bytes = try fileSystem.contents(of: path, limit: 1 << 16)
    if bytes.count != FlushMark.fileSize {
      try findings.note(
        Damage(path: path, offset: bytes.count, reason: "FLUSHED has a wrong size"))
    }
    for offset in FlushMark.offsets where offset + FlushMark.size <= bytes.count {
      let block = bytes.suffix(from: offset).prefix(FlushMark.size)
      if let problem = markProblem(block, path: path) {
        try findings.note(
          Damage(
            path: path, offset: offset + problem.offset,
            reason: "a mark in FLUSHED is ignored: \(problem.reason)"))
      }
    }
    let storeID = log.segments.first?.header.preamble.storeID
    if let storeID, log.marks.contains(where: { $0.preamble.storeID != storeID }) {
      try findings.note(
        Damage(path: path, offset: 24, reason: "FLUSHED belongs to another store"))
    }
  }

  private func markProblem(_ block: SharedBytes, path: String) -> Damage? {
    guard !FlushMark.isBlank(block) else { return nil }
    do {
      _ = try FlushMark.decode(block, path: path)
      return nil
    } catch {
      return Damage(of: error)
    }
  }
}

/// The findings of a check, each of which is reported at once.
final class Findings {
  struct Finding {
    let damage: Damage
    /// Whether it is worth knowing, but not damage.
    let isNote: Bool
  }

  private(set) var damageCount = 0
  private var known: Set<String> = []
  private let report: (Finding) throws -> Void

  init(report: @escaping (Finding) throws -> Void) { self.report = report }

  func add(_ damage: Damage) throws {
    // More than one check may notice the same damage.
    if known.count < 10_000, !known.insert("\(damage.path) \(damage.offset)").inserted { return }
    damageCount += 1
    try report(Finding(damage: damage, isNote: false))
  }

  func note(_ damage: Damage) throws { try report(Finding(damage: damage, isNote: true)) }

  /// Requires bytes that are reserved or padding to be zero.
  ///
  /// `ranges` are ranges of `bytes`, which begin at `offset` in the file.
  func requireZeros(
    _ bytes: SharedBytes, _ ranges: [Range<Int>], path: String, at offset: Int
  ) throws {
    for range in ranges where range.upperBound <= bytes.count {
      for index in range where bytes[index] != 0 {
        return try add(
          Damage(path: path, offset: offset + index, reason: "a reserved byte is not zero"))
      }
    }
  }
}
