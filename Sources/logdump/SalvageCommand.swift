import Divan
import DivanLog

extension LogDump {
  /// Copies the newest whole record of each document to a new store.
  func salvage(_ options: Options) throws -> ExitStatus {
    let target = options.target ?? ""
    let log = try OpenedLog.open(options.store, on: fileSystem)
    try checkTarget(target, options)
    var rescue = try Rescue(log)
    try rescue.run { progress.step("Searching segment \($0) of \($1)") }
    var configuration = salvageConfiguration
    configuration.fileSystem = fileSystem
    // The next program that opens the store must see everything that was saved.
    configuration.purgesExpired = false
    // As many as any store can have: the histories are not to be cut.
    configuration.revisionDepth = 10_000
    // One document may have more attachments than the default allows.
    configuration.transactionSizeLimit = 1 << 30
    let database = try Database(at: target, configuration: configuration)
    var copy = RescueCopy(rescue)
    try copy.run(to: database) { progress.step("Saving: \($0) documents so far") }
    try database.close()

    let stale = try outdated(rescue, log)
    for loss in rescue.losses {
      try say(options, [("lost", loss.node)], "lost: \(printable(loss.description))")
    }
    for (id, wasSaved) in stale {
      try say(
        options, [("document", .text(id)), ("saved", .text(wasSaved ? "older" : "none"))],
        wasSaved
          ? "older: of \(printable(id)) only an older revision could be read"
          : "lost: \(printable(id))")
    }
    for loss in copy.losses { try say(options, loss.fields, loss.text) }
    let isWhole = rescue.losses.isEmpty && stale.isEmpty && copy.losses.isEmpty
    try say(
      options,
      [
        ("documents", .number(copy.documentCount)),
        ("deleted", .number(rescue.locations.count - copy.documentCount)),
        ("localDocuments", .number(copy.localDocumentCount)),
        ("attachments", .number(copy.attachmentCount)), ("isWhole", .flag(isWhole)),
        ("path", .text(target)),
      ],
      "\(copy.documentCount) documents were put into \(printable(target))"
        + (isWhole ? "; nothing was lost." : "; not everything could be read."))
    return isWhole ? log.status : .damage
  }

  /// Throws unless a new store can be made at a path.
  private func checkTarget(_ target: String, _ options: Options) throws {
    if try fileSystem.exists(target) {
      throw UsageError(reason: "\(target) exists already; choose the path of a new store")
    }
    guard try !fileSystem.isFolder(existingFolder(of: target), in: options.store) else {
      throw UsageError(reason: "\(target) is in the store, to which `logdump` never writes")
    }
  }

  /// Returns the innermost folder around a path that exists.
  private func existingFolder(of path: String) throws -> String {
    let folder = ReportFile.folder(of: path)
    guard folder != ".", folder != "/", try !fileSystem.exists(folder) else { return folder }
    return try existingFolder(of: folder)
  }

  /// Returns the documents of which the newest checkpoint has a newer revision than the log.
  private func outdated(
    _ rescue: Rescue, _ log: OpenedLog
  ) throws -> [(id: String, wasSaved: Bool)] {
    var found: [(String, Bool)] = []
    // The checkpoint is evidence only; if it cannot be read, these documents remain unknown.
    try? log.checkpoint?.forEachDocument { id, sequence, isDeleted in
      let location = rescue.locations[DocumentKey(id)]
      if (location?.sequence ?? 0) < sequence, !isDeleted || location != nil,
        !rescue.purged.contains(DocumentKey(id))
      {
        found.append((id, location.map { !$0.isDeleted } ?? false))
      }
    }
    return found
  }
}
