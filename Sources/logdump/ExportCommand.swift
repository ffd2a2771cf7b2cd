import Divan
import DivanLog

extension LogDump {
  /// One JSON object for each document that is not deleted. FILE_FORMAT.md §14
  func export(_ options: Options) throws -> ExitStatus {
    let database = try openDatabase(options)
    let snapshot = try database.snapshot()
    var status: ExitStatus = database.openingReport.damage.isEmpty ? .sound : .damage
    for damage in database.openingReport.damage { try problems.line(printable("\(damage)")) }
    if database.openingReport.discardedBytes > 0, status == .sound { status = .tornTail }
    if options.isBySequence {
      var changes = snapshot.changes()
      try each({ try changes.next()?.document }, &status) {
        if !$0.isDeleted { try exportLine($0) }
      }
    } else {
      var documents = snapshot.documents()
      try each({ try documents.next() }, &status, exportLine)
    }
    return status
  }

  /// Goes on behind what is damaged, and says so.
  private func each(
    _ next: () throws -> Document?, _ status: inout ExitStatus, _ body: (Document) throws -> Void
  ) throws {
    var previous = ""
    while true {
      do {
        guard let document = try next() else { return }
        try body(document)
      } catch let error as DatabaseError where error.code == .damaged {
        // Whoever fails twice in the same way did not go on.
        guard "\(error)" != previous else { throw error }
        previous = "\(error)"
        status = .damage
        try problems.line(printable(previous))
      }
    }
  }

  private func exportLine(_ document: Document) throws {
    var line = "{\"_id\":\(Value.string(document.id).json)"
    if let revision = document.revision { line += ",\"_rev\":\(Value.string("\(revision)").json)" }
    let properties = document.json
    // `{}` adds nothing; of anything else, what follows the brace.
    line += properties == "{}" ? "}" : "," + properties.dropFirst()
    try output.line(line)
  }
}
