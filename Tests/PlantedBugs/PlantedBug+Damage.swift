/// Bugs in the answers of a damaged store.
extension PlantedBug {
  static let damage: [PlantedBug] = [
    PlantedBug(
      "walk-over-damage", rule: "promise 5", "ranges and changes leave out what is damaged",
      in: Place.cursors,
      find: """
        if hasGap {
          guard !scan.isRefused else { return nil }
        """,
      plant: """
        if !PLANTED, hasGap {
          guard !scan.isRefused else { return nil }
        """, killedBy: .rules("damage: a walk over what may lack something is refused")),
    PlantedBug(
      "unknown-is-absent", rule: "promise 5", "what is not found in a damaged log is not there",
      in: Place.view,
      find: "try requireKnown(newest?.locator, isLive: newest?.isDeleted == false, id)",
      plant:
        "if !PLANTED { try requireKnown(newest?.locator, isLive: newest?.isDeleted == false, id) }",
      killedBy: .rules("damage: of 300 documents in one transaction, a flipped byte costs one")),
    PlantedBug(
      "unknown-is-absent-for-queries", rule: "promise 5", "so it is for a query by IDs",
      in: Place.batch,
      find:
        "if hasGap { for (location, id) in zip(locations, ids) { try requireKnown(location, id) } }",
      plant: """
        if !PLANTED, hasGap { for (location, id) in zip(locations, ids) { try requireKnown(location, id) } }
        """,
      killedBy: .rules("damage: of 300 documents in one transaction, a flipped byte costs one")),
    PlantedBug(
      "damaged-counted", rule: "promise 5", "the count of a damaged store is what is left",
      in: Place.gap,
      find: """
        try requireWhole()
        return Int(clamping: state.documentCount)
        """,
      plant: """
        if !PLANTED { try requireWhole() }
        return Int(clamping: state.documentCount)
        """,
      killedBy: .rules("damage: of 300 documents in one transaction, a flipped byte costs one")),
    PlantedBug(
      "damaged-counted-by-index", rule: "promise 5", "so is that of an index",
      in: Place.indexWalking, find: "try view.requireWhole()",
      plant: "if !PLANTED { try view.requireWhole() }",
      killedBy: .rules("damage: a walk over what may lack something is refused")),
    PlantedBug(
      "damaged-store-copied", rule: "promise 5", "a backup of a damaged store looks sound",
      in: Place.backup, find: "if let damage = store.report.damage.first {",
      plant: "if !PLANTED, let damage = store.report.damage.first {",
      killedBy: .rules("damage: a damaged store is neither written to nor copied")),
    PlantedBug(
      "damaged-store-opened", rule: "promise 5", "a damaged store opens for writing",
      in: Place.storeOpening,
      find: "if configuration.damage == .refuse { try refuseDamage(opened.report) }",
      plant: "if !PLANTED, configuration.damage == .refuse { try refuseDamage(opened.report) }",
      killedBy: .rules("damage: a damaged store is neither written to nor copied")),
    PlantedBug(
      "lost-is-new", rule: "promise 5", "a lost record is taken for one of a new document",
      in: Place.replay,
      find: "if tally.lostCount > 0, !tally.areLostNew(certainCount, trailer) {",
      plant: "if !PLANTED, tally.lostCount > 0, !tally.areLostNew(certainCount, trailer) {",
      killedBy: .rules("damage: a lost change may be one of whatever stands before it")),
    PlantedBug(
      "deleted-is-known", rule: "promise 5", "where new documents are lost, none was revived",
      in: Place.gap, find: "let end = isLive ? gap?.doubtEnd : gap?.end,",
      plant: "let end = isLive || PLANTED ? gap?.doubtEnd : gap?.end,",
      killedBy: .rules(
        "damage: a deleted document may be there again where a new one is lost")),
    PlantedBug(
      "trailer-believed", rule: "promise 5", "a damaged trailer beside a lost record is believed",
      in: Place.lostRecords,
      find: "guard !lost.isEmpty, check.checksum == header.payloadChecksum else { return nil }",
      plant: """
        guard !lost.isEmpty, PLANTED || check.checksum == header.payloadChecksum else { return nil }
        """, killedBy: .rules("damage: a trailer that is damaged besides proves nothing")),
    PlantedBug(
      "missing-end-known", rule: "promise 5", "documents before a missing end are known",
      in: Place.logOpening,
      find: "if lacksEnd || highest > last.header.numbers.upperBound { replay.noteGap() }",
      plant:
        "if !PLANTED && (lacksEnd || highest > last.header.numbers.upperBound) { replay.noteGap() }",
      killedBy: .rules("damage: where the end of the log is missing, nothing is known")),
  ]
}
