import Divan
import DivanLog

extension LogDump {
  /// Prints one JSON object for each document that is not deleted, and the requested other content.
  ///
  /// FILE_FORMAT.md §14
  func export(_ options: Options) throws -> ExitStatus {
    let database = try openDatabase(options)
    var status: ExitStatus = database.openingReport.damage.isEmpty ? .sound : .damage
    for damage in database.openingReport.damage { try problems.line(printable("\(damage)")) }
    if database.openingReport.discardedBytes > 0, status == .sound { status = .tornTail }
    let lines = JSONLinesExport(
      try database.snapshot(),
      JSONLines.ExportOptions(
        content: options.content, order: options.isBySequence ? .bySequence : .byID)
    ) { damage in
      status = .damage
      try self.problems.line(printable("\(damage)"))
    }
    var size = 0
    while let piece = try lines.next() {
      try output.bytes(piece)
      size += piece.count
      progress.step("Exporting: \(size >> 20) MiB")
    }
    return status
  }
}
