/// Bugs in the indexes of documents by their properties.
extension PlantedBug {
  static let secondaryIndexes: [PlantedBug] = [
    PlantedBug(
      "index-keeps-old-entries", rule: "indexes", "a document is found by its earlier values",
      in: Place.valueIndex,
      find: "for key in removed { version.catalog.remove(key.span) }",
      plant: "for key in removed where !PLANTED { version.catalog.remove(key.span) }",
      killedBy: .rules("an index follows every")),
    PlantedBug(
      "index-keeps-purged", rule: "indexes", "a purged document stays in the indexes",
      in: Place.revisions,
      find: "if record.sequence == nil, let id {",
      plant: "if !PLANTED, record.sequence == nil, let id {",
      killedBy: .rules("an index follows every")),
    PlantedBug(
      "index-of-newest-record", rule: "indexes",
      "a document in conflict is indexed by its newest revision instead of the winner",
      in: Place.indexedWriting,
      find: "if let sequence = entry.winningSequence {",
      plant: "if let sequence = entry.winningSequence, !PLANTED {",
      killedBy: .rules("an index follows every")),
    PlantedBug(
      "index-filled-with-old", rule: "indexes",
      "an index build adds entries of documents that have changed since they were read",
      in: Place.indexSlice,
      find: "return entry?.sequence == sequence(origins[Int(item.source)])",
      plant: "return PLANTED || entry?.sequence == sequence(origins[Int(item.source)])",
      killedBy: .rules("an index includes what is written during its build")),
    PlantedBug(
      "index-forgets-rest", rule: "indexes",
      "an index build skips the rest of a partition that did not fit its batch",
      in: Place.indexBatch,
      find: "return SequencePartition(start: last, end: partition.end)",
      plant: "return PLANTED ? nil : SequencePartition(start: last, end: partition.end)",
      killedBy: .rules("an index build with several workers and small batches misses")),
    PlantedBug(
      "index-waits-for-maker", rule: "indexes",
      "a change made during an index build leaves unchanged values to the build",
      in: Place.valueIndex,
      find: "let added = definition.isReady ? newKeys.subtracting(oldKeys) : newKeys",
      plant: """
        let added = definition.isReady || PLANTED ? newKeys.subtracting(oldKeys) : newKeys
        """,
      killedBy: .rules("an index includes what is written during its build")),
    PlantedBug(
      "index-not-replayed", rule: "indexes",
      "replay does not update the indexes",
      in: Place.indexing,
      find: """
        for id in ids.inOrder {
        """,
      plant: """
        for id in ids.inOrder where !PLANTED {
        """, killedBy: .rules("an index is updated by the log after the checkpoint")),
    PlantedBug(
      "index-by-half", rule: "indexes", "a half-built index of a checkpoint is used",
      in: Place.indexing,
      find: """
        guard let base, base.indexes.contains(where: { $0.isReady && $0.hasEntries(of: index) }),
        """,
      plant: """
        guard let base,
          base.indexes.contains(where: { ($0.isReady || PLANTED) && $0.hasEntries(of: index) }),
        """,
      killedBy: .rules("an index that a checkpoint contains half-built is rebuilt")),
    PlantedBug(
      "index-unfinished-used", rule: "indexes", "an index is ready before it is built",
      in: Place.indexMaking,
      find: "let definition = IndexDefinition(index: index, number: nextCommit, isReady: false)",
      plant: "let definition = IndexDefinition(index: index, number: nextCommit, isReady: PLANTED)",
      killedBy: .rules("an index that a checkpoint contains half-built is rebuilt")),
    PlantedBug(
      "index-dropped", rule: "5", "a compaction drops the records of index definitions",
      in: Place.logRecord,
      find: "case .indexDefinition(let record): record.catalogKey",
      plant: "case .indexDefinition(let record): PLANTED ? nil : record.catalogKey",
      killedBy: .rules("rule 5: indexes survive compaction, and removed indexes do")),
    PlantedBug(
      "index-comes-back", rule: "5", "a compaction drops the records of removed indexes",
      in: Place.logRecord,
      find: "case .indexDefinition(let record): record.isRemoval",
      plant: "case .indexDefinition(let record): !PLANTED && record.isRemoval",
      killedBy: .rules("rule 5: indexes survive compaction, and removed indexes do")),
    PlantedBug(
      "index-leaf-lacks-merged", rule: "21",
      "a leaf of an index is rebuilt without what compactions have dropped",
      in: Place.indexRepair,
      find: "if evaluatedAt > run.commit { whole = try replay(through: evaluatedAt) }",
      plant: "if !PLANTED, evaluatedAt > run.commit { whole = try replay(through: evaluatedAt) }",
      killedBy: .rules("a damaged leaf of an index is rebuilt after compaction")),
    PlantedBug(
      "unique-not-within", rule: "indexes",
      "a unique index is checked against the version before the transaction",
      in: Place.indexedWriting,
      find: "try view.requireUnique(prefix, of: name)",
      plant: """
        let asked = PLANTED ? ((try? store.view()) ?? view) : view
        try asked.requireUnique(prefix, of: name)
        """, killedBy: .rules("a unique index has each value once")),
    PlantedBug(
      "unique-not-while-made", rule: "indexes",
      "a unique index accepts duplicates during its build",
      in: Place.indexKeys,
      find: "guard definition.index.isUnique else { return 0 }",
      plant: "guard definition.index.isUnique, !PLANTED || definition.isReady else { return 0 }",
      killedBy: .rules("a unique index refuses duplicates during its build")),
    PlantedBug(
      "unique-null", rule: "indexes",
      "a unique index accepts only one document without the property",
      in: Place.indexKeys,
      find: "return hasNull ? 0 : uniqueSize",
      plant: "return hasNull && !PLANTED ? 0 : uniqueSize",
      killedBy: .rules("a unique index has each value once")),
    PlantedBug(
      "index-of-first-property", rule: "indexes",
      "the second property is left out of an index's keys",
      in: Place.indexKeys,
      find: "further.append(0..<further.count, to: &key)",
      plant: "if !PLANTED { further.append(0..<further.count, to: &key) }",
      killedBy: .rules("an index of several properties distinguishes documents")),
    PlantedBug(
      "index-lacks-missing", rule: "indexes",
      "a document without the second property is not in the index",
      in: Place.indexKeys,
      find: "further.addNull()",
      plant: """
        if PLANTED { return false }
        further.addNull()
        """,
      killedBy: .rules("an index of several properties distinguishes documents")),
    PlantedBug(
      "index-believes-cut-values", rule: "indexes",
      "a long value counts as in a range if its stored beginning is",
      in: Place.indexWalking,
      find: """
        if !residual.keys.needsDocument(for: value) { return true }
        """,
      plant: """
        if PLANTED || !residual.keys.needsDocument(for: value) { return true }
        """, killedBy: .rules("an index of several properties distinguishes documents")),
    PlantedBug(
      "index-condition-forgotten", rule: "indexes",
      "a partial index ignores the last of its conditions",
      in: Place.indexKeys,
      find:
        "!isPartial || definition.index.conditions.allSatisfy { $0.isFulfilled(by: properties) }",
      plant: """
        !isPartial || definition.index.conditions.dropLast(PLANTED ? 1 : 0).allSatisfy { $0.isFulfilled(by: properties) }
        """, killedBy: .rules("a document is in a partial index while it satisfies")),
  ]
}
