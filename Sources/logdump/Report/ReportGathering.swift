import Divan
import DivanLog

/// Gathers what a report shows, in one pass over the log and one over the index.
struct ReportGathering {
  let log: OpenedLog
  let progress: Progress
  private let findings: Findings
  private let found: FoundDamage
  private(set) var contents: ReportContents
  /// The positions of segments in the contents, by their file IDs.
  private var segmentIndexes: [UInt64: Int] = [:]

  /// The damage that checks report, each once.
  private final class FoundDamage {
    var list = ReportContents.DamageList()
  }

  init(_ log: OpenedLog, _ path: String, _ progress: Progress) {
    self.log = log
    self.progress = progress
    contents = ReportContents(path: path)
    let found = FoundDamage()
    self.found = found
    findings = Findings { found.list.add($0.damage, isNote: $0.isNote) }
  }
}

extension ReportGathering {
  /// Gathers everything.
  ///
  /// - Parameters:
  ///   - database: the opened store; nil if it is too damaged to be opened.
  ///   - document: the ID of the document whose revisions are drawn.
  /// - Throws: errors of the system, and a `UsageError` if there is no such document.
  mutating func run(_ database: Database?, document: String?) throws {
    contents.storeID = log.segments.first?.header.preamble.storeID.description
    contents.ending = log.ending.text
    contents.commit = log.last?.end.commit ?? 0
    try addFiles()
    try addSegments()
    for damage in log.damage { try findings.add(damage) }
    if let problem = log.headProblem, let damage = Damage(of: problem) { try findings.add(damage) }
    for segment in log.segments { try scan(segment) }
    if let database {
      for error in database.openingReport.damage where log.damage.isEmpty { try add(error) }
      let inspected = try InspectedContents(database)
      contents.historyHorizon = inspected.historyHorizon
      try gather("The documents") { gathering throws in try gathering.addDocuments(inspected) }
      try gather("The retained revisions") { gathering throws in
        try gathering.addRetained(inspected)
        for snapshot in try database.namedSnapshots() {
          gathering.contents.snapshots.add(rank: UInt64(snapshot.pinnedSize), snapshot)
        }
      }
      try gather("The attachments") { gathering throws in
        try gathering.addAttachments(inspected)
      }
      try gather("The other records") { gathering throws in try gathering.addOthers(inspected) }
      try gather("The indexes") { gathering throws in
        let progress = gathering.progress
        gathering.contents.indexes = try inspected.indexMeasures {
          progress.step("Measuring indexes: \($0) entries so far")
        }
      }
      try gather("The revisions") { gathering throws in
        try gathering.addRevisions(inspected, document)
      }
      finishSegments(inspected)
    } else {
      contents.problems.append("The index cannot be opened, so only the files are shown.")
      finishSegments(nil)
    }
    try addDerivedFiles()
    try addNotes()
    contents.damage = found.list
  }

  /// Runs a part, and notes it as a problem if damage keeps it from being read.
  private mutating func gather(
    _ part: String, _ body: (inout ReportGathering) throws -> Void
  ) throws {
    do {
      try body(&self)
    } catch let error as DatabaseError where error.code == .damaged {
      contents.problems.append("\(part) could not be read completely: \(error.message).")
      try add(error)
    }
  }

  /// Adds the damage that an error of the database names.
  private func add(_ error: DatabaseError) throws {
    try findings.add(
      Damage(path: error.path ?? contents.path, offset: error.offset ?? 0, reason: error.message))
  }
}

// MARK: - Documents and other records

extension ReportGathering {
  private mutating func use(_ locator: RecordLocator, for use: SpaceUse) {
    contents.uses[use, default: ReportContents.Amount()].add(UInt64(locator.size))
    guard let index = segmentIndexes[locator.fileID] else { return }
    contents.segments[index].sizes[use, default: 0] += UInt64(locator.size)
    contents.timeline.addLive(locator, isCurrent: !use.isRetained)
  }

  private mutating func addDocuments(_ inspected: InspectedContents) throws {
    var count = 0
    try inspected.forEachDocument { entry in
      count += 1
      if count.isMultiple(of: 4096) { progress.step("Measuring documents: \(count) so far") }
      use(entry.locator, for: entry.isDeleted ? .deleted : .documents)
      contents.revisions.mostEdited.add(
        rank: entry.generation,
        ReportContents.RevisionUse.Edited(
          id: entry.id, generation: entry.generation, isDeleted: entry.isDeleted))
      if entry.hasTree { addTree(entry, inspected) }
      guard !entry.isDeleted else { return contents.documents.deletedCount += 1 }
      let size = UInt64(entry.locator.size)
      let segment = segmentIndexes[entry.locator.fileID].map { contents.segments[$0].name }
      contents.documents.liveCount += 1
      contents.documents.sizes.add(size)
      contents.documents.largest.add(
        rank: size,
        ReportContents.DocumentUse.Document(
          id: entry.id, size: Int(entry.locator.size), generation: entry.generation,
          segment: segment ?? "?"))
    }
  }

  /// Counts a document that has, or had, several leaves.
  private mutating func addTree(_ entry: InspectedContents.Entry, _ inspected: InspectedContents) {
    contents.revisions.treeCount += 1
    let id = entry.id
    // The scan of the log has reported a damaged record.
    guard let counts = try? inspected.leafCounts(of: id) else { return }
    if counts.live > 1 { contents.revisions.conflictCount += 1 }
    contents.revisions.mostLeaves.add(
      rank: UInt64(counts.live) << 32 + UInt64(min(counts.all, 1 << 31)),
      ReportContents.RevisionUse.Branched(
        id: id, leafCount: counts.all, branchCount: counts.live))
  }

  private mutating func addRetained(_ inspected: InspectedContents) throws {
    try inspected.forEachRetained { reason, locator in use(locator, for: SpaceUse(reason)) }
  }

  private mutating func addOthers(_ inspected: InspectedContents) throws {
    try inspected.forEachOtherRecord { use($0, for: .others) }
  }

  private mutating func addAttachments(_ inspected: InspectedContents) throws {
    var damaged: [InspectedContent] = []
    var errors: [DatabaseError] = []
    var count = 0
    try inspected.forEachAttachment { result in
      count += 1
      if count.isMultiple(of: 256) { progress.step("Measuring attachments: \(count) so far") }
      switch result {
      case .success(let found):
        use(found.locator, for: .attachments)
        if found.isFile {
          contents.attachments.inFiles.add(UInt64(found.length))
        } else {
          contents.attachments.inLog.add(UInt64(found.length))
        }
        contents.attachments.largest.add(rank: UInt64(found.length), found)
        if found.damage != nil, damaged.count < ReportContents.DamageList.limit {
          damaged.append(found)
        }
      case .failure(let error):
        if errors.count < ReportContents.DamageList.limit { errors.append(error) }
      }
    }
    for error in errors { try add(error) }
    for each in damaged {
      // Content that nothing refers to any more may be gone.
      guard let damage = each.damage, try inspected.references(to: each.digest).documentCount > 0
      else { continue }
      try findings.add(damage)
    }
    contents.attachments.references = try contents.attachments.largest.elements.map {
      try inspected.references(to: $0.digest)
    }
  }

  private mutating func addRevisions(
    _ inspected: InspectedContents, _ document: String?
  ) throws {
    if let document {
      contents.revisions.chosen = document
      let revisions = try inspected.revisions(of: document)
      guard !revisions.isEmpty else {
        throw UsageError(reason: "there is no document `\(document)`, not even a deleted one")
      }
      contents.revisions.pictures = [RevisionPicture(document, revisions)]
      return
    }
    for each in contents.revisions.mostLeaves.elements.prefix(3) {
      contents.revisions.pictures.append(
        RevisionPicture(each.id, try inspected.revisions(of: each.id)))
    }
  }
}

// MARK: - Segments

extension ReportGathering {
  private mutating func addSegments() throws {
    for numbers in log.files.segmentRanges {
      let name = FileName.segment(numbers)
      let path = log.directory.path(of: name)
      // A compaction may have replaced it meanwhile.
      guard let status = try? log.directory.fileSystem.status(path) else { continue }
      var segment = SegmentUse(name: "\(name)", path: path, size: UInt64(status.size))
      if let used = log.segments.first(where: { $0.file.name == name }) {
        segmentIndexes[used.fileID] = contents.segments.count
      } else {
        segment.state = log.chain.leftovers.contains(name) ? .leftover : .unreadable
      }
      contents.segments.append(segment)
    }
  }

  /// Reads a segment for the times of its records, and its damage.
  private mutating func scan(_ segment: Segment) throws {
    guard let index = segmentIndexes[segment.fileID] else { return }
    var commit: UInt64 = 0
    var scan = RecordScan(segment)
    scanning: while true {
      switch try scan.next() {
      case .record(let entry):
        contents.segments[index].recordCount += 1
        if contents.segments[index].recordCount.isMultiple(of: 4096) {
          progress.step(
            "Reading \(segment.file.name), \(index + 1) of \(contents.segments.count): "
              + "\(entry.locator.offset >> 20) MiB")
        }
        contents.timeline.add(entry.locator, at: entry.time)
        // A compacted segment has no ends of commits.
        if segment.header.merge != nil, entry.commit != commit {
          commit = entry.commit
          addCommit(entry.time, index)
        }
      case .commit(_, let trailer):
        addCommit(trailer.time, index)
      case .damage(let damage):
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
  private mutating func finishSegments(_ inspected: InspectedContents?) {
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

// MARK: - Files

extension ReportGathering {
  private mutating func addFiles() throws {
    let fileSystem = log.directory.fileSystem
    var groups: [String: ReportContents.Amount] = [:]
    for name in log.files where name != .temporaries && name != .attachments {
      guard let status = try? fileSystem.status(log.directory.path(of: name)) else { continue }
      groups[title(of: name), default: ReportContents.Amount()].add(UInt64(status.size))
    }
    let files = AttachmentFiles(log.directory, AttachmentFiles.Settings(isMapped: false))
    _ = try files.forEachFile { file in
      groups["Attachments", default: ReportContents.Amount()].add(UInt64(file.size))
    }
    if log.files.contains(.temporaries) {
      let folder = log.directory.path(of: .temporaries)
      for name in try fileSystem.list(folder) {
        guard let status = try? fileSystem.status("\(folder)/\(name)") else { continue }
        groups["Unfinished or left over", default: ReportContents.Amount()]
          .add(UInt64(status.size))
      }
    }
    let order = [
      "Segments", "Attachments", "Checkpoints", "Views", "Reserve", "Unfinished or left over",
      "Other files",
    ]
    contents.files = order.compactMap { title in
      groups[title].map { ReportContents.FileGroup(title: title, amount: $0) }
    }
  }

  private func title(of name: FileName) -> String {
    switch name {
    case _ where log.chain.leftovers.contains(name): "Unfinished or left over"
    case .segment: "Segments"
    case .checkpoint: "Checkpoints"
    case .view: "Views"
    case .reserve: "Reserve"
    default: "Other files"
    }
  }

  /// Describes and checks the files that are derived from the log.
  private mutating func addDerivedFiles() throws {
    for number in log.files.checkpointNumbers {
      progress.step("Reading checkpoint \(number)")
      try CheckpointCheck(number, log, findings).checkFrames()
      let name = FileName.checkpoint(number)
      guard let status = try? log.directory.fileSystem.status(log.directory.path(of: name)) else {
        continue
      }
      let (isUsed, explanation) = use(ofCheckpoint: number)
      contents.checkpoints.append(
        ReportContents.CheckpointUse(
          file: "\(name)", size: status.size, isUsed: isUsed, explanation: explanation))
    }
    for name in log.files.views {
      progress.step("Reading view \(name)")
      try ViewCheck(name, log, findings).run()
      guard let view = try? InspectedView(name, in: log.directory),
        let status = try? log.directory.fileSystem.status(log.directory.path(of: name))
      else { continue }
      contents.views.append(
        ReportContents.ViewUse(
          name: view.name, version: view.version, rowCount: UInt64(view.header.rowCount),
          size: status.size))
    }
  }

  private func use(ofCheckpoint number: UInt64) -> (isUsed: Bool, explanation: String) {
    guard let newest = log.checkpoint else { return (false, "cannot be used") }
    if newest.number == number {
      return (true, "the newest, with the index through commit \(newest.end.commit)")
    }
    return newest.checkpointsInUse.contains(number)
      ? (true, "checkpoint \(newest.number) uses its pages") : (false, "not needed any more")
  }

  private func addNotes() throws {
    for name in log.foreign {
      try findings.note(
        Damage(path: "\(log.directory.path)/\(name)", offset: 0, reason: "not a file of the store"))
    }
    if let tail = log.tornTail, let last = log.last {
      try findings.note(
        Damage(
          path: last.file.path, offset: tail.lowerBound, size: tail.count,
          reason: "an unfinished transaction, which never counted"))
    }
  }
}
