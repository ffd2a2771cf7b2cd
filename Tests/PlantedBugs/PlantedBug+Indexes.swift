/// Bugs in the indexes of documents by their properties.
extension PlantedBug {
  static let secondaryIndexes: [PlantedBug] = [
    PlantedBug(
      "index-keeps-old-entries", rule: "indexes", "a document is found by what it was",
      in: Place.indexing,
      find: "for key in old.subtracting(new) { catalog.remove(key.span) }",
      plant: """
        for key in old.subtracting(new) where !PLANTED { catalog.remove(key.span) }
        """,
      killedBy: .rules("an index follows every")),
    PlantedBug(
      "index-keeps-purged", rule: "indexes", "a document that is purged stays in indexes",
      in: Place.revisions,
      find: "if record.sequence == nil, let id {",
      plant: "if !PLANTED, record.sequence == nil, let id {",
      killedBy: .rules("an index follows every")),
    PlantedBug(
      "index-of-newest-record", rule: "indexes",
      "a document in conflict is found by its newest revision, which does not win",
      in: Place.indexedWriting,
      find: "if let sequence = entry.winningSequence {",
      plant: "if let sequence = entry.winningSequence, !PLANTED {",
      killedBy: .rules("an index follows every")),
    PlantedBug(
      "index-filled-with-old", rule: "indexes",
      "an index gets entries of what documents were when they were read for it",
      in: Place.indexSlice,
      find: "return entry?.revision == revision(origins[Int(slot.source)])",
      plant: "return PLANTED || entry?.revision == revision(origins[Int(slot.source)])",
      killedBy: .rules("an index follows what is written while")),
    PlantedBug(
      "index-forgets-rest", rule: "indexes",
      "what is left of a share of the order of changes is not read when there is room again",
      in: Place.indexBatch,
      find: "return SequencePartition(start: last, end: share.end)",
      plant: "return PLANTED ? nil : SequencePartition(start: last, end: share.end)",
      killedBy: .rules("an index has what several readers")),
    PlantedBug(
      "index-waits-for-maker", rule: "indexes",
      "whoever changes a document leaves what stays the same to an index that is being made",
      in: Place.indexing,
      find: "let isWhole = indexes.allSatisfy(\\.isReady)",
      plant: "let isWhole = PLANTED || indexes.allSatisfy(\\.isReady)",
      killedBy: .rules("an index follows what is written while")),
    PlantedBug(
      "index-not-replayed", rule: "indexes",
      "the log behind a checkpoint is not brought into indexes",
      in: Place.indexing,
      find: """
        for id in ids.inOrder { try follow(SharedBytes(copying: id), in: whole, since: base) }
        """,
      plant: """
        for id in ids.inOrder where !PLANTED {
          try follow(SharedBytes(copying: id), in: whole, since: base)
        }
        """, killedBy: .rules("an index is brought up to the log")),
    PlantedBug(
      "index-by-half", rule: "indexes", "what a checkpoint has of an index by half is believed",
      in: Place.indexing,
      find: "let whole = indexes.filter { base?.indexes.contains($0) == true }",
      plant: """
        let whole = indexes.filter { kept in
          base?.indexes.contains { PLANTED ? $0.number == kept.number : $0 == kept } == true
        }
        """, killedBy: .rules("an index that a checkpoint has by half")),
    PlantedBug(
      "index-unfinished-used", rule: "indexes", "an index is ready before it is made",
      in: Place.indexMaking,
      find: "let kept = IndexDefinition(index: index, number: nextCommit, isReady: false)",
      plant: "let kept = IndexDefinition(index: index, number: nextCommit, isReady: PLANTED)",
      killedBy: .rules("an index that a checkpoint has by half")),
    PlantedBug(
      "index-dropped", rule: "5", "a merge drops what says that there is an index",
      in: Place.mergeJudge,
      find: "self = .catalog(CatalogKey.index(record.name))",
      plant: "if PLANTED { return nil } else { self = .catalog(CatalogKey.index(record.name)) }",
      killedBy: .rules("rule 5: what there is of indexes")),
    PlantedBug(
      "index-comes-back", rule: "5", "a merge drops what says that an index is gone",
      in: Place.mergeJudge,
      find:
        "guard let index = try? IndexDefinitionRecord.decode(record.payload), index.kept == nil else {",
      plant: """
        guard !PLANTED, let index = try? IndexDefinitionRecord.decode(record.payload), index.kept == nil else {
        """, killedBy: .rules("rule 5: what there is of indexes")),
    PlantedBug(
      "index-leaf-lacks-merged", rule: "21",
      "a leaf of an index is rebuilt without what merges have dropped",
      in: Place.indexRepair,
      find: "if judged > run.commit { whole = try replay(through: judged) }",
      plant: "if !PLANTED, judged > run.commit { whole = try replay(through: judged) }",
      killedBy: .rules("a leaf of an index is rebuilt")),
    PlantedBug(
      "unique-not-within", rule: "indexes",
      "a unique index is asked about the version before the transaction",
      in: Place.indexedWriting,
      find: "try view.requireUnique(prefix, of: name)",
      plant: """
        let asked = PLANTED ? ReadView(state: store.newest, store: store) : view
        try asked.requireUnique(prefix, of: name)
        """, killedBy: .rules("a unique index has each value once")),
    PlantedBug(
      "unique-not-while-made", rule: "indexes",
      "a unique index that is being made lets everything pass",
      in: Place.indexKeys,
      find: "guard kept.index.isUnique else { return 0 }",
      plant: "guard kept.index.isUnique, !PLANTED || kept.isReady else { return 0 }",
      killedBy: .rules("a unique index that is being made")),
    PlantedBug(
      "unique-null", rule: "indexes", "two documents may not both lack a unique property",
      in: Place.indexKeys,
      find: "return hasNull ? 0 : uniqueSize",
      plant: "return hasNull && !PLANTED ? 0 : uniqueSize",
      killedBy: .rules("a unique index has each value once")),
    PlantedBug(
      "index-of-first-property", rule: "indexes",
      "the second property of an index is left out of its keys",
      in: Place.indexKeys,
      find: "further.append(0..<further.count, to: &key)",
      plant: "if !PLANTED { further.append(0..<further.count, to: &key) }",
      killedBy: .rules("an index of several properties")),
    PlantedBug(
      "index-lacks-missing", rule: "indexes",
      "a document that lacks the second property is not in the index",
      in: Place.indexKeys,
      find: "further.addNull()",
      plant: """
        if PLANTED { return false }
        further.addNull()
        """,
      killedBy: .rules("an index of several properties")),
    PlantedBug(
      "index-believes-cut-values", rule: "indexes",
      "what begins like a bound of a range for long is taken to be in it",
      in: Place.indexWalking,
      find: """
        if !asked.keys.mustAskDocument(about: value) { return true }
        """,
      plant: """
        if PLANTED || !asked.keys.mustAskDocument(about: value) { return true }
        """, killedBy: .rules("an index of several properties")),
    PlantedBug(
      "index-condition-forgotten", rule: "indexes",
      "a document stays in a partial index when it fulfils one of two conditions",
      in: Place.indexKeys,
      find: "kept.index.conditions.allSatisfy { $0.isFulfilled(by: body) }",
      plant: """
        kept.index.conditions.dropLast(PLANTED ? 1 : 0).allSatisfy { $0.isFulfilled(by: body) }
        """, killedBy: .rules("a document is in a partial index")),
  ]
}
