/// Bugs in suspending a store, and in following one that another process writes.
extension PlantedBug {
  static let sharing: [PlantedBug] = [
    PlantedBug(
      "suspended-lock-kept", rule: "23", "a suspended store keeps its lock",
      in: Place.suspension,
      find: "directory.giveUpLock()\n}", plant: "if !PLANTED { directory.giveUpLock() }\n}",
      killedBy: .rules("rule 23: a suspended store has no lock")),
    PlantedBug(
      "suspended-without-flush", rule: "23", "suspending releases the lock without flushing",
      in: Place.suspension,
      find: "try endLog(&writer, isClosing: false)",
      plant: "if !PLANTED { try endLog(&writer, isClosing: false) }",
      killedBy: .rules("rule 23: a suspended store has no lock")),
    PlantedBug(
      "resumed-with-old-version", rule: "23",
      "a resumed store continues with the version before the suspension",
      edits: [
        Edit(
          Place.suspension,
          find: "writer.load(Version(nodeSize: configuration.nodeSize))",
          plant: "if !PLANTED { writer.load(Version(nodeSize: configuration.nodeSize)) }"),
        Edit(
          Place.suspension,
          find: "writer.load(opened.state)", plant: "if !PLANTED { writer.load(opened.state) }"),
      ], killedBy: .rules("rule 23: resuming reads what another opening has written")),
    PlantedBug(
      "resumed-without-counting-purges", rule: "23",
      "observers of a resumed store are not told that documents may be purged",
      in: Place.version,
      find: "purgeCount = earlier.purgeCount + (isSame ? 0 : 1)",
      plant: "purgeCount = earlier.purgeCount + (PLANTED || isSame ? 0 : 1)",
      killedBy: .rules("rule 23: resuming reads what another opening has written")),
    PlantedBug(
      "resumed-in-another-store", rule: "23",
      "a resumed database takes another store at its path for its own",
      edits: [
        Edit(
          Place.storeOpening,
          find: "guard file.header.preamble.storeID == expected.storeID else { throw missing() }",
          plant:
            "guard PLANTED || file.header.preamble.storeID == expected.storeID else { throw missing() }"
        ),
        Edit(
          Place.storeOpening,
          find:
            "guard opened.storeID == expected.storeID, opened.state.segments.newest != nil else {",
          plant:
            "guard PLANTED || opened.storeID == expected.storeID, opened.state.segments.newest != nil else {"
        ),
      ], killedBy: .rules("rule 23: a store that was replaced is not resumed")),
    PlantedBug(
      "attachment-of-earlier-session-trusted", rule: "22, 23",
      "an attachment that was stored before a suspension counts as durable after it",
      in: Place.attachmentStoring,
      find: "source.stored.pin == nil || files.isDurable(digest)",
      plant: "PLANTED || source.stored.pin == nil || files.isDurable(digest)",
      killedBy: .rules("rule 23: an attachment that was stored before a suspension")),
    PlantedBug(
      "refresh-goes-back", rule: "24", "a follower shows an older copy of the store",
      in: Place.storeOpening,
      find: "guard opened.state.commit >= expected.earlier.commit else {",
      plant: "guard PLANTED || opened.state.commit >= expected.earlier.commit else {",
      killedBy: .rules("rule 24: a follower never shows an older commit")),
    PlantedBug(
      "refresh-skips-segments", rule: "24", "a follower does not notice that a segment was added",
      in: Place.refreshing,
      find: "let isSameHead = head == followed.head",
      plant: "let isSameHead = PLANTED || head == followed.head",
      killedBy: .rules("rule 24: a follower sees every commit")),
    PlantedBug(
      "refresh-past-lost-commits", rule: "24",
      "a follower keeps commits that the next writer found to be lost, and shows later ones",
      in: Place.followedChain,
      find: "return try file.repeats(current.end.commit, lastSequence) ? .replaced : .lost",
      plant:
        "return try file.repeats(current.end.commit, lastSequence) || PLANTED ? .replaced : .lost",
      killedBy: .rules("rule 24: a follower does not pass over commits that were lost")),
    PlantedBug(
      "refresh-reports-reserved-numbers", rule: "24",
      "a follower takes reserved sequence numbers for used ones, and misses changes",
      in: Place.openingReplay,
      find:
        "if lock != nil || isClosed { state.lastSequence = max(state.lastSequence, start.lastSequence) }",
      plant:
        "if PLANTED || lock != nil || isClosed { state.lastSequence = max(state.lastSequence, start.lastSequence) }",
      killedBy: .rules("rule 24: a follower sees every commit")),
  ]
}
