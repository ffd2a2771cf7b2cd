import Divan
import DivanLog

/// Gathers what a report shows, in one pass over the log and one over the index.
struct ReportGathering {
  let log: OpenedLog
  let progress: Progress
  let findings: Findings
  private let found: FoundDamage
  var contents: ReportContents
  /// The positions of segments in the contents, by their file IDs.
  var segmentIndexes: [UInt64: Int] = [:]

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
  /// - Throws: errors of the system, and a `UsageError` if there is no such document. If the store
  ///   is damaged, that is damage.
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
      }
      try gather("The named snapshots") { gathering throws in
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
  func add(_ error: DatabaseError) throws {
    try add(
      Damage(path: error.path ?? contents.path, offset: error.offset ?? 0, reason: error.message))
  }

  /// Adds damage that the database reports, with the path that the log has.
  ///
  /// A database has the absolute path of its store, and the same damage must not be listed twice.
  func add(_ damage: Damage) throws {
    let root = log.directory.path
    let absolute = try log.directory.fileSystem.absolutePath(root)
    let isInside = damage.path.utf8.starts(with: (absolute + "/").utf8)
    let path = isInside ? root + damage.path.dropFirst(absolute.count) : damage.path
    try findings.add(
      Damage(path: path, offset: damage.offset, size: damage.size, reason: damage.reason))
  }
}
