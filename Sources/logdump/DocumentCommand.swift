import Divan
import DivanLog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension LogDump {
  /// Prints a document with its revisions.
  func document(_ options: Options) throws -> ExitStatus {
    let id = options.argument ?? ""
    let database = try openDatabase(options)
    let snapshot = try database.snapshot()
    let revisions = try snapshot.revisions(of: id)
    let damage = database.openingReport.damage
    guard !revisions.isEmpty, let document = try snapshot.document(id) ?? snapshot.tombstone(id)
    else {
      guard !damage.isEmpty else {
        throw UsageError(reason: "there is no document `\(id)`, not even a deleted one")
      }
      for each in damage { try problems.line("damage: \(printable("\(each)"))") }
      let name = printable(id)
      try problems.line("logdump: `\(name)` was not found, and may be in the damaged part")
      return .damage
    }
    var leaves = [document]
    var isDamaged = !damage.isEmpty
    do {
      leaves = try snapshot.leaves(of: id)
    } catch let error as DatabaseError where error.code == .damaged {
      try problems.line("damage: \(printable("\(error)"))")
      isDamaged = true
    }
    try sayDocument(
      document, revisions, leaves: leaves, expiry: try snapshot.expiry(of: id), options)
    if options.isDetailed, try !sayLoggedRevisions(of: id, options) { isDamaged = true }
    return isDamaged ? .damage : .sound
  }

  private func sayDocument(
    _ document: Document, _ revisions: [RevisionID], leaves: [Document], expiry: Date?,
    _ options: Options
  ) throws {
    let revision = revisions.first.map { "\($0)" } ?? ""
    // A forged expiry may be beyond all dates.
    let expiry = expiry.map { UInt64(exactly: ($0.timeIntervalSince1970 * 1000).rounded()) ?? .max }
    let others = leaves.dropFirst()
    let attachments = document.attachments.sorted { $0.key < $1.key }
    if options.isJSON {
      try output.line(
        JSONNode.fields([
          ("id", .text(document.id)), ("revision", .text(revision)),
          ("sequence", .number(document.sequence)), ("deleted", .flag(document.isDeleted)),
          ("revisions", .list(revisions.map { .text("\($0)") })),
          ("otherLeaves", .list(others.map(leaf))),
          ("attachments", .list(attachments.map { attachment($0.key, $0.value) })),
          ("expiry", expiry.map { .number($0) } ?? .null),
          ("properties", .raw(document.json)),
        ]).json)
      return
    }
    try output.line("Document  \(printable(document.id))\(document.isDeleted ? ", deleted" : "")")
    try output.line("Sequence  \(document.sequence)")
    for (index, revision) in revisions.enumerated() {
      try output.line("\(index == 0 ? "Revisions" : "         ") \(printable("\(revision)"))")
    }
    for (index, other) in others.enumerated() {
      try output.line(
        "\(index == 0 ? "Conflicts" : "         ") \(printable(other.revision.map { "\($0)" } ?? ""))"
          + (other.isDeleted ? ", deleted" : ""))
    }
    for (index, (name, attachment)) in attachments.enumerated() {
      try output.line(
        "\(index == 0 ? "Attached " : "         ") \(printable(name)), "
          + "\(printable(attachment.contentType)), \(attachment.length) bytes, since generation "
          + "\(attachment.generation), \(attachment.digest ?? "")")
    }
    if let expiry { try output.line("Expires   \(timestamp(expiry))") }
    try output.line(printable(document.json))
  }

  /// Describes a leaf that does not win.
  private func leaf(_ document: Document) -> JSONNode {
    .fields([
      ("revision", .text(document.revision.map { "\($0)" } ?? "")),
      ("deleted", .flag(document.isDeleted)),
    ])
  }

  private func attachment(_ name: String, _ attachment: Document.Attachment) -> JSONNode {
    .fields([
      ("name", .text(name)), ("contentType", .text(attachment.contentType)),
      ("length", .number(attachment.length)), ("generation", .number(attachment.generation)),
      ("digest", .text(attachment.digest ?? "")),
    ])
  }

  /// Prints the properties of every revision that is still in the log, oldest first.
  ///
  /// Returns whether the log is sound as far as it was read.
  private func sayLoggedRevisions(of id: String, _ options: Options) throws -> Bool {
    let log = try OpenedLog.open(options.store, on: fileSystem)
    if !options.isJSON { try output.line("In the log:") }
    var knownProperties: [RevisionID: Value.Object] = [:]
    var isSound = log.damage.isEmpty
    for segment in log.segments {
      var scan = RecordScan(segment)
      scanning: while true {
        switch try scan.next() {
        case .record(let entry):
          guard entry.record.kind == .document,
            let found = try? InspectedDocument(entry.record.payload),
            found.id.utf8.elementsEqual(id.utf8)
          else { continue }
          let properties = (try? Value(json: found.body.json()))?.objectValue
          let before = found.ancestors.first.flatMap { knownProperties[$0] }
          let changes = before.flatMap { before in
            properties.map { PropertyChange.between(before, $0) }
          }
          try sayLoggedRevision(found, entry, segment, changes, options)
          if let properties { knownProperties[found.revision] = properties }
        case .commit: continue
        case .damage(let damage):
          isSound = false
          try problems.line("damage: \(printable(damage.description))")
        case .end: break scanning
        }
      }
    }
    return isSound
  }

  /// Prints the properties of a revision, and the changes since its parent if that was read.
  private func sayLoggedRevision(
    _ found: InspectedDocument, _ entry: RecordScan.Entry, _ segment: Segment,
    _ changes: [PropertyChange]?, _ options: Options
  ) throws {
    let json = (try? found.body.json()) ?? "null"
    let fields: [(String, JSONNode)] =
      [
        ("revision", .text("\(found.revision)")), ("sequence", .number(found.sequence)),
        ("deleted", .flag(found.isDeleted)), ("commit", .number(entry.commit)),
        ("time", .number(entry.time)), ("file", .text("\(segment.file.name)")),
        ("offset", .number(entry.locator.offset)), ("size", .number(entry.locator.size)),
        ("properties", .raw(json)),
      ] + (changes.map { [("changes", .list($0.map(\.node)))] } ?? [])
    try say(
      options, fields,
      "  \(printable("\(found.revision)"))\(found.isDeleted ? ", deleted" : "")  commit "
        + "\(entry.commit)  \(timestamp(entry.time))  \(segment.file.name) at byte "
        + "\(entry.locator.offset)\n    \(printable(json))"
        + (changes ?? []).map { "\n    \($0.text)" }.joined())
  }
}
