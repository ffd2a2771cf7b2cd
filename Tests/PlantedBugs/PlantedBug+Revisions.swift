/// Bugs in documents with more than one revision, and in stores with more than documents.
extension PlantedBug {
  static let revisions: [PlantedBug] = [
    PlantedBug(
      "logged-again-not-found", rule: "1",
      "a retained revision is looked up at its location before it was reappended",
      in: Place.replay, find: "try findSuperseded(&record)",
      plant: "if !PLANTED { try findSuperseded(&record) }",
      killedBy: .rules("retained revisions are found where recovery reappended them")),
    PlantedBug(
      "purge-dropped", rule: "5", "a compaction drops purges that older files still need",
      in: Place.compactionFilter,
      find: "return try !forgettableKeys().contains(removal)",
      plant: "return PLANTED ? false : try !forgettableKeys().contains(removal)",
      killedBy: .rules("rule 5: a purge survives compaction while an older file")),
    PlantedBug(
      "leaf-released", rule: "2", "a leaf is released when another one follows",
      in: Place.revisionEdit,
      find: "&& (leaves.contains { tree.nodes[$0].sequence == current.sequence }",
      plant: "&& (!PLANTED && leaves.contains { tree.nodes[$0].sequence == current.sequence }",
      killedBy: .crash("conflicts, created and resolved")),
    PlantedBug(
      "old-winner-stored", rule: "2",
      "the previous winner is stored again, even if it is not a leaf",
      in: Place.revisionEdit,
      find: "let leaf = arrived ?? tree.leaves[0]",
      plant:
        "let leaf = (PLANTED ? tree.index(of: current.revision) : arrived) ?? tree.leaves[0]",
      killedBy: .replicas),
    PlantedBug(
      "winner-stored", rule: "2", "a leaf does not get a history that arrives later",
      in: Place.revisionEdit,
      find: "let arrived = tree.leafIndex(of: edit.revision)",
      plant: "let arrived = PLANTED ? nil : tree.leafIndex(of: edit.revision)",
      killedBy: .replicas),
    PlantedBug(
      "inner-revision-stored", rule: "2", "a revision with successors is stored as a leaf",
      in: Place.treeInsertion, find: "if isLeaf(position) { return true }",
      plant: "if PLANTED || isLeaf(position) { return true }", killedBy: .replicas),
    PlantedBug(
      "chain-of-another", rule: "2", "a record takes the history of another revision",
      in: Place.revisionEdit,
      find: "tree.history(of: own).dropFirst().map(\\.revision.digest))",
      plant: "tree.history(of: PLANTED ? 0 : own).dropFirst().map(\\.revision.digest))",
      killedBy: .replicas),
    PlantedBug(
      "line-pruned-too-far", rule: "2", "a document's history is cut one revision too short",
      in: Place.revisionEdit,
      find: "digests += record.ancestors.digests.prefix(depth - 2)",
      plant: "digests += record.ancestors.digests.prefix(PLANTED ? max(0, depth - 3) : depth - 2)",
      killedBy: .crash("long branches, pruned and joined")),
    PlantedBug(
      "branches-not-pruned", rule: "2", "revisions beyond the depth are not pruned",
      in: Place.treePruning,
      find: "for index in nodes.indices where stepsToLeaf[index] < depth {",
      plant: "for index in nodes.indices where PLANTED || stepsToLeaf[index] < depth {",
      killedBy: .crash("long branches, pruned and joined")),
    PlantedBug(
      "expiry-not-replayed", rule: "2", "an expiry is lost when the log is replayed",
      in: Place.replay,
      find: """
        var record = original
        if looksUp {
        """,
      plant: """
        var record = original
        if PLANTED { record.details?.expiry = nil }
        if looksUp {
        """, killedBy: .rules("an expiry and local documents survive compaction and reopening")),
    PlantedBug(
      "local-dropped", rule: "5", "a compaction drops local documents",
      in: Place.logRecord,
      find: "case .localDocument(let record): record.catalogKey",
      plant: "case .localDocument(let record): PLANTED ? nil : record.catalogKey",
      killedBy: .rules("an expiry and local documents survive compaction and reopening")),
    PlantedBug(
      "pruned-above-horizon", rule: "7", "history is pruned without raising the horizon",
      in: Place.pruning,
      find: "version.historyHorizon = max(version.historyHorizon, horizon)",
      plant: "if !PLANTED { version.historyHorizon = max(version.historyHorizon, horizon) }",
      killedBy: .rules("rule 7: pruned history is below the horizon")),
    PlantedBug(
      "purged-above-horizon", rule: "7", "the horizon that a purge states is ignored",
      in: Place.stateRecords,
      find: "historyHorizon = max(historyHorizon, record.historyHorizon)",
      plant: "if !PLANTED { historyHorizon = max(historyHorizon, record.historyHorizon) }",
      killedBy: .rules("rule 22: pruned history does not return without its attachments")),
    PlantedBug(
      "named-pruned", rule: "7", "revisions that named snapshots need are pruned",
      in: Place.pruning,
      find: "namedSequences = named.map(\\.commitPoint.sequence)",
      plant: "namedSequences = PLANTED ? [] : named.map(\\.commitPoint.sequence)",
      killedBy: .rules("rule 7: a named snapshot stays complete through pruning")),
    PlantedBug(
      "pruned-in-memory", rule: "22", "history with attachments is pruned in memory only",
      in: Place.pruning,
      find: "try purge(obsolete.filter(\\.hasAttachments), raisingHorizonTo: horizon, &writer)",
      plant: """
        if !PLANTED { try purge(obsolete.filter(\\.hasAttachments), raisingHorizonTo: horizon, &writer) }
        """, killedBy: .rules("rule 22: pruned history does not return without its attachments")),
    PlantedBug(
      "guessed-history-kept", rule: "22",
      "retained revisions that a rebuilt index guessed are kept",
      in: Place.rebuiltHistory,
      find: "guard isRebuilt else { return }", plant: "guard isRebuilt, !PLANTED else { return }",
      killedBy: .rules("rule 22: an attachment dropped with its revision")),
    PlantedBug(
      "orphans-left", rule: "22", "cleanup does not look for attachment files without a record",
      in: Place.merging,
      find: "try deleteOrphanedAttachments()",
      plant: "if !PLANTED { try deleteOrphanedAttachments() }",
      killedBy: .rules("rule 22: cleanup finds an attachment file whose name could")),
    PlantedBug(
      "attachment-deleted-early", rule: "22",
      "an attachment file is deleted before the loss of its last reference is durable",
      in: Place.attachments,
      find: """
        private func flushDrops() throws(DatabaseError) { try commits.flushEverything() }
        """,
      plant: """
        private func flushDrops() throws(DatabaseError) {
          if !PLANTED { try commits.flushEverything() }
        }
        """, killedBy: .rules("rule 22: an attachment file is deleted only once its last"),
      needsLoss: true),
    PlantedBug(
      "holds-ignored", rule: "22", "an attachment file is deleted although it is pinned",
      in: Place.attachmentNames,
      find: "guard state.isClosed || state.pins[digest] == nil else { return false }",
      plant: "guard PLANTED || state.isClosed || state.pins[digest] == nil else { return false }",
      killedBy: .rules("rule 22: an attachment stored for a document")),
    PlantedBug(
      "snapshot-loses-attachment", rule: "22",
      "an attachment file is deleted while a version in memory refers to it",
      in: Place.maintenance,
      find: "unreferenced.prefix { $0.epoch == nil }",
      plant: "unreferenced.prefix { PLANTED || $0.epoch == nil }",
      killedBy: .rules("rule 22: a snapshot keeps its attachments while others")),
    PlantedBug(
      "attachment-not-flushed", rule: "22",
      "an attachment file gets its name before its bytes are flushed",
      in: Place.attachmentWriter, find: "try file.flush()",
      plant: "if !PLANTED { try file.flush() }",
      killedBy: .crash("attachments, added and cleaned up"), needsLoss: true),
    PlantedBug(
      "attachment-name-not-flushed", rule: "22", "the folder of an attachment is not flushed",
      in: Place.attachmentNames,
      find: "try flushDirectory(path(ofFolder: name.folder))",
      plant: "if !PLANTED { try flushDirectory(path(ofFolder: name.folder)) }",
      killedBy: .crash("attachments, added and cleaned up"), needsLoss: true),
    PlantedBug(
      "attachment-folder-not-flushed", rule: "22",
      "the name of an attachment's folder is not flushed",
      in: Place.attachmentNames,
      find: "if !isFolderDurable { try flushDirectory(root) }",
      plant: "if !PLANTED, !isFolderDurable { try flushDirectory(root) }",
      killedBy: .crash("attachments, added and cleaned up"), needsLoss: true),
  ]
}
