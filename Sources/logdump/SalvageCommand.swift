import Divan
import DivanLog

extension LogDump {
  /// Puts the newest whole record of each document into a new store.
  func salvage(_ options: Options) throws -> ExitStatus {
    let target = options.target ?? ""
    if try fileSystem.exists(target) {
      throw UsageError(reason: "there is something at \(target) already")
    }
    let log = try OpenedLog.open(options.store, on: fileSystem)
    var rescue = Rescue(log)
    try rescue.run()
    var configuration = salvageConfiguration
    configuration.fileSystem = fileSystem
    let database = try Database(at: target, configuration: configuration)
    let written = try copy(rescue, to: database)
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
    let isWhole = rescue.losses.isEmpty && stale.isEmpty
    try say(
      options,
      [
        ("documents", .number(written)), ("deleted", .number(rescue.places.count - written)),
        ("isWhole", .flag(isWhole)), ("path", .text(target)),
      ],
      "\(written) documents were put into \(target)"
        + (isWhole ? "; nothing was lost." : "; not everything could be read."))
    return isWhole ? log.status : .damage
  }

  /// Stores the documents that are not deleted, in order of IDs; returns how many.
  private func copy(_ rescue: Rescue, to database: Database) throws -> Int {
    var written = 0
    var batch: [(id: String, properties: Value.Object)] = []
    var batchSize = 0
    func commit() throws {
      guard !batch.isEmpty else { return }
      try database.write(durability: Durability.none) { transaction in
        for (id, properties) in batch { try transaction.overwrite(id, with: properties) }
      }
      batch.removeAll()
      batchSize = 0
    }
    for (id, place) in rescue.places.sorted(by: {
      $0.key.utf8.lexicographicallyPrecedes($1.key.utf8)
    })
    where !place.isDeleted {
      let record = try rescue.segments[place.segment].record(at: place.locator)
      let body = try InspectedDocument(record.payload).body
      guard case .object(let properties) = try body.decode() else { continue }
      batch.append((id, properties))
      batchSize += body.bytes.count
      written += 1
      if batch.count >= 1000 || batchSize >= 4 << 20 { try commit() }
    }
    try commit()
    return written
  }

  /// Documents of which the newest checkpoint knows a newer revision than could be read.
  private func outdated(
    _ rescue: Rescue, _ log: OpenedLog
  ) throws -> [(id: String, wasSaved: Bool)] {
    var found: [(String, Bool)] = []
    // What the checkpoint says is evidence only, and where it cannot be read, so much is not known.
    try? log.checkpoint?.forEachDocument { id, sequence, isDeleted in
      let place = rescue.places[id]
      if (place?.sequence ?? 0) < sequence, !isDeleted || place != nil {
        found.append((id, place.map { !$0.isDeleted } ?? false))
      }
    }
    return found
  }
}
