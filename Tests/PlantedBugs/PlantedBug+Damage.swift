/// Bugs in the answers of a damaged store.
extension PlantedBug {
  static let damage: [PlantedBug] = [
    PlantedBug(
      "walk-over-damage", rule: "promise 5", "ranges and changes leave out damaged documents",
      in: Place.cursors,
      find: """
        if hasGap {
          guard !scan.isRefused else { return nil }
        """,
      plant: """
        if !PLANTED, hasGap {
          guard !scan.isRefused else { return nil }
        """, killedBy: .rules("damage: a scan that may lack documents is refused")),
    PlantedBug(
      "unknown-is-absent", rule: "promise 5",
      "a document that is not found in a damaged log counts as absent",
      in: Place.view,
      find: """
        try requireKnown(
        found?.locator, isLive: found?.isDeleted == false, SharedBytes(copying: id).text)
        """,
      plant: """
        if !PLANTED {
        try requireKnown(
        found?.locator, isLive: found?.isDeleted == false, SharedBytes(copying: id).text)
        }
        """,
      killedBy: .rules("damage: a flipped byte in a transaction of 300 documents")),
    PlantedBug(
      "unknown-is-absent-for-queries", rule: "promise 5",
      "for a query by IDs, a document that is not found counts as absent",
      in: Place.batch,
      find:
        "if hasGap { for (location, id) in zip(locations, ids) { try requireKnown(location, id) } }",
      plant: """
        if !PLANTED, hasGap { for (location, id) in zip(locations, ids) { try requireKnown(location, id) } }
        """,
      killedBy: .rules("damage: a flipped byte in a transaction of 300 documents")),
    PlantedBug(
      "damaged-counted", rule: "promise 5",
      "the count of a damaged store is the number of the documents that are left",
      in: Place.gapReading,
      find: """
        try requireWhole()
        return Int(clamping: state.documentCount)
        """,
      plant: """
        if !PLANTED { try requireWhole() }
        return Int(clamping: state.documentCount)
        """,
      killedBy: .rules("damage: a flipped byte in a transaction of 300 documents")),
    PlantedBug(
      "damaged-counted-by-index", rule: "promise 5",
      "an index of a damaged store is counted without an error",
      in: Place.indexWalking, find: "try view.requireWhole()",
      plant: "if !PLANTED { try view.requireWhole() }",
      killedBy: .rules("damage: a scan that may lack documents is refused")),
    PlantedBug(
      "damaged-store-copied", rule: "promise 5", "a backup of a damaged store looks sound",
      in: Place.backingUp, find: "if let damage = store.report.damage.first {",
      plant: "if !PLANTED, let damage = store.report.damage.first {",
      killedBy: .rules("damage: a damaged store is neither written to nor copied")),
    PlantedBug(
      "damaged-store-opened", rule: "promise 5", "a damaged store opens for writing",
      in: Place.storeOpening,
      find: "if configuration.damage == .reject { try refuseDamage(opened.report) }",
      plant: "if !PLANTED, configuration.damage == .reject { try refuseDamage(opened.report) }",
      killedBy: .rules("damage: a damaged store is neither written to nor copied")),
    PlantedBug(
      "lost-is-new", rule: "promise 5", "a lost record always counts as one of a new document",
      in: Place.replay,
      find: "if tally.lostCount > 0, !tally.areLostNew(certainCount, trailer) {",
      plant: "if !PLANTED, tally.lostCount > 0, !tally.areLostNew(certainCount, trailer) {",
      killedBy: .rules("damage: a lost record may be a change of any document stored")),
    PlantedBug(
      "deleted-is-known", rule: "promise 5",
      "a deleted document counts as certain although a new one is lost",
      in: Place.gapReading, find: "let end = isLive ? gap?.doubtEnd : gap?.end,",
      plant: "let end = isLive || PLANTED ? gap?.doubtEnd : gap?.end,",
      killedBy: .rules(
        "damage: a lost new document may be one that was deleted before")),
    PlantedBug(
      "trailer-believed", rule: "promise 5", "a damaged trailer after a lost record is trusted",
      in: Place.lostRecords,
      find: "guard !lost.isEmpty, check.checksum == header.payloadChecksum else { return nil }",
      plant: """
        guard !lost.isEmpty, PLANTED || check.checksum == header.payloadChecksum else { return nil }
        """, killedBy: .rules("damage: a trailer that is damaged too proves nothing")),
    PlantedBug(
      "missing-end-known", rule: "promise 5",
      "documents before a missing end of the log count as certain",
      in: Place.openingReplay,
      find: "if lacksEnd || highest > last.header.numbers.upperBound { replay.noteGap() }",
      plant:
        "if !PLANTED && (lacksEnd || highest > last.header.numbers.upperBound) { replay.noteGap() }",
      killedBy: .rules("damage: if the end of the log is missing, no document is certain")),
  ]
}
