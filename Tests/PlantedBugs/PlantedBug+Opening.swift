/// Bugs in how a store is opened, in what is trusted then, and in checkpoints.
extension PlantedBug {
  static let opening: [PlantedBug] = [
    PlantedBug(
      "older-checkpoint-used", rule: "20",
      "a checkpoint is used with segments that were compacted after it",
      in: Place.chain,
      find: "guard ranges.containAll(after: covered, of: numbers) else { return nil }",
      plant: "guard PLANTED || ranges.containAll(after: covered, of: numbers) else { return nil }",
      killedBy: .rules("rule 20: an older checkpoint is not used with segments")),
    PlantedBug(
      "not-logged-again", rule: "promise 6",
      "commits that may not be durable are served without being reappended",
      in: Place.logOpening,
      find: "guard !isClosed, recovery.proven != recovery.end else { return }",
      plant: "guard !PLANTED, !isClosed, recovery.proven != recovery.end else { return }",
      killedBy: .crash("a store that was not closed")),
    PlantedBug(
      "old-close-believed", rule: "13",
      "the watermark of HEAD is not compared with the end of the log",
      in: Place.logOpening,
      find: "&& ($0.watermark == recovery.end || last.header.compaction != nil)",
      plant: "&& (PLANTED || $0.watermark == recovery.end || last.header.compaction != nil)",
      killedBy: .rules("rule 13: HEAD counts as closed only if its watermark")),
    PlantedBug(
      "close-of-another-segment-believed", rule: "13", "HEAD says closed for an older segment",
      in: Place.logOpening,
      find: "$0.isClosed && $0.segmentNumber == last.header.numbers.upperBound",
      plant: "$0.isClosed && (PLANTED || $0.segmentNumber == last.header.numbers.upperBound)",
      killedBy: .rules("rule 13: HEAD of an earlier close does not make a later end")),
    PlantedBug(
      "closed-after-failure", rule: "13", "closing after a failed flush makes HEAD say closed",
      edits: [
        Edit(
          Place.mainStore,
          find: "if let failure = commits.failure { throw failure }",
          plant: "if let failure = commits.failure, !PLANTED { throw failure }"),
        Edit(
          Place.mainStore,
          find: "if isLarge || maintenance.isClosingCheckpointDue { try writeCheckpoint(&writer) }",
          plant: """
            if PLANTED { try? writer.log?.noteClosed() }
            if isLarge || maintenance.isClosingCheckpointDue { try writeCheckpoint(&writer) }
            """),
        Edit(
          Place.mainStore,
          find: "if !Planted.closeWithoutFlush { try commits.flushEverything() }",
          plant: """
            do {
              if !Planted.closeWithoutFlush { try commits.flushEverything() }
            } catch {
              if !PLANTED { throw error }
            }
            """),
      ], killedBy: .rules("rule 13: after a failed flush, HEAD does not say closed")),
    PlantedBug(
      "leftovers-ignored", rule: "14", "leftovers are not deleted",
      in: Place.logOpening,
      find: "guard !leftovers.isEmpty else { return }",
      plant: "guard !PLANTED, !leftovers.isEmpty else { return }",
      killedBy: .rules("rule 14: an opening leaves no leftovers and no temporary files")),
    PlantedBug(
      "leftovers-deleted-in-damage", rule: "14, 17",
      "leftovers of a damaged store are deleted",
      in: Place.logOpening,
      find: "try findEnd()",
      plant: """
        if PLANTED, lock != nil { try removeLeftovers() }
        try findEnd()
        """, killedBy: .rules("rule 14: opening a damaged store deletes nothing")),
    PlantedBug(
      "temporaries-left", rule: "14", "the temporary files of another process are not deleted",
      in: Place.storeOpening,
      find: "try fileSystem.remove(\"\\(temporaries)/\\(name)\")",
      plant: "if !PLANTED { try fileSystem.remove(\"\\(temporaries)/\\(name)\") }",
      killedBy: .crash("a new store")),
    PlantedBug(
      "own-temporary-left", rule: "15", "a temporary file whose creation failed is not deleted",
      in: Place.directory,
      find: "if (try? checkPath()) != nil { try? fileSystem.remove(temporary) }",
      plant: "if !PLANTED, (try? checkPath()) != nil { try? fileSystem.remove(temporary) }",
      killedBy: .rules("rule 15: a store on a full disk can be read")),
    PlantedBug(
      "reserve-not-released", rule: "15", "the ballast file is kept although the disk is full",
      in: Place.mainStore,
      find: "try? directory.remove(.reserve)",
      plant: "if !PLANTED { try? directory.remove(.reserve) }",
      killedBy: .rules("rule 15: on a full disk, the ballast file makes room")),
    PlantedBug(
      "full-disk-keeps-from-opening", rule: "15", "a store on a full disk cannot be opened",
      in: Place.logOpening,
      find: """
        } catch .system(let error) where error.isLackOfSpace {
          let note: String
        """,
      plant: """
        } catch .system(let error) where error.isLackOfSpace && !PLANTED {
          let note: String
        """, killedBy: .rules("rule 15: a store on a full disk can be read")),
    PlantedBug(
      "lock-not-taken", rule: "16", "two writers can open a store",
      in: Place.storeOpening,
      find: "case .acquired(let lock): return lock",
      plant: """
        case .acquired(let lock):
          if PLANTED { lock.release() }
          return lock
        """, killedBy: .rules("a store is open for writing only once")),
    PlantedBug(
      "lock-not-released", rule: "16", "a closed store keeps its lock",
      in: Place.mainStore,
      find: "writer.log = nil\ndirectory.lock?.release()",
      plant: """
        writer.log = nil
        if !PLANTED { directory.lock?.release() }
        """, killedBy: .rules("a store is open for writing only once")),
    PlantedBug(
      "damage-before-second-look", rule: "16",
      "a segment that was read during a write counts as damaged",
      in: Place.recovery,
      find: "guard isInDoubt, recovery.end != before else { return recovery }",
      plant: "guard isInDoubt, !PLANTED, recovery.end != before else { return recovery }",
      killedBy: .rules("rule 16: a frame that a reader first sees half-written")),
    PlantedBug(
      "reader-does-not-look-again", rule: "16",
      "a reader does not check that the directory has not changed",
      in: Place.storeOpening,
      find: "if try directoryState() == before { return opened }",
      plant: """
        if PLANTED { return opened }
        if try directoryState() == before { return opened }
        """,
      killedBy: .rules("rule 16: writes during a reader's opening are not taken")),
    PlantedBug(
      "reader-gives-up", rule: "16", "a file that vanishes while a reader opens is an error",
      edits: [
        Edit(
          Place.storeOpening,
          find: "} catch .system(let error) where error.code == .notFound && error.path != path {",
          plant: """
            } catch .system(let error)
              where !PLANTED && error.code == .notFound && error.path != path
            {
            """),
        Edit(
          Place.storeOpening,
          find: "if after == before { throw DatabaseError(error) }",
          plant: "if PLANTED || after == before { throw DatabaseError(error) }"),
      ], killedBy: .rules("rule 16: writes during a reader's opening are not taken")),
    PlantedBug(
      "reader-empties-temporaries", rule: "16", "a reader deletes the writer's temporary files",
      in: Place.storeOpening,
      find: "for _ in 0..<16 {",
      plant: """
        if PLANTED { do throws(LogError) { try prepareDirectory() } catch { throw DatabaseError(error) } }
        for _ in 0..<16 {
        """, killedBy: .rules("rule 16: a reader changes nothing")),
    PlantedBug(
      "damage-written-over", rule: "17", "a damaged store can be written to",
      in: Place.logOpening,
      find: "if let first = damage.first { return refuse(because: first) }",
      plant: "if !PLANTED, let first = damage.first { return refuse(because: first) }",
      killedBy: .rules("rule 17: damage that later commits prove is reported")),
    PlantedBug(
      "replayed-damage-written-over", rule: "17",
      "a store with damage in older segments can be written to",
      in: Place.openingReplay,
      find: "if let first = replay.damage.first {",
      plant: "if !PLANTED, let first = replay.damage.first {",
      killedBy: .rules("rule 17: opening a damaged store does not change it")),
    PlantedBug(
      "search-without-bound", rule: "18", "the search for proof is not bounded",
      in: Place.recovery,
      find: "if case .badPayload(let header, _) = item { budget -= header.frameSize }",
      plant:
        "if case .badPayload(let header, _) = item { budget -= PLANTED ? 0 : header.frameSize }",
      killedBy: .rules("rule 18: forged frames do not make the search for proof slow")),
  ]

  static let reading: [PlantedBug] = [
    PlantedBug(
      "cut-at-first-bad-frame", rule: "promise 5", "a bad frame always counts as a torn tail",
      in: Place.recovery,
      find: "if discarded != nil, let promise = try promise(in: segment, Int(end.offset)..<size) {",
      plant: """
        if !PLANTED, discarded != nil, let promise = try promise(in: segment, Int(end.offset)..<size) {
        """,
      killedBy: .rules("rule 17: damage that later commits prove is reported")),
    PlantedBug(
      "first-proof-only", rule: "promise 5", "the search for proof ends at the first whole frame",
      in: Place.recovery,
      find: """
        let trailer = CommitTrailer.decode(endOf: payload), trailer.flushedThrough > end.offset
        else { continue }
        """,
      plant: """
        let trailer = CommitTrailer.decode(endOf: payload), trailer.flushedThrough > end.offset
        else {
          if PLANTED { return highest }
          continue
        }
        """, killedBy: .rules("promise 5: the search for proof continues after frames")),
    PlantedBug(
      "nothing-read-after-damage", rule: "promise 5", "transactions after damage are not read",
      in: Place.transactions,
      find: "var start = resumption",
      plant: """
        if PLANTED { return false }
        var start = resumption
        """, killedBy: .rules("rule 17: damage that later commits prove is reported")),
    PlantedBug(
      "resumed-too-far", rule: "promise 5", "the transaction after a damaged one is skipped",
      in: Place.transactions,
      find: """
        case .badPayload(_, let offset):
        resumption = frames.offset
        """,
      plant: """
        case .badPayload(_, let offset):
          resumption = frames.offset + (PLANTED ? 8 : 0)
        """, killedBy: .rules("rule 17: damage that later commits prove is reported")),
    PlantedBug(
      "half-transaction-counts", rule: "promise 1", "a transaction without its last frame counts",
      in: Place.transactions,
      find: "guard isLast else { continue }",
      plant: """
        if PLANTED, !isLast {
          end = LogEnd(offset: UInt64(frames.offset), commit: header.commit, chain: frames.chain)
          let none = CommitTrailer(
            frameCount: 0, recordCount: 0, lastSequence: 0, sequenceBound: 0, flushedThrough: 0, time: 0,
            documentCount: 0)
          return .transaction(
            LoggedTransaction(
              commit: header.commit, parts: parts, trailer: none, end: end, isWhole: true))
        }
        guard isLast else { continue }
        """, killedBy: .rules("promise 1: a transaction of several")),
    PlantedBug(
      "commit-number-ignored", rule: "1",
      "the commit number of a frame is not compared with the previous one",
      in: Place.transactions,
      find: "header.kind == .transaction && header.commit == end.commit + 1",
      plant: "header.kind == .transaction && (PLANTED || header.commit == end.commit + 1)",
      killedBy: .rules("rule 1: a frame that skips a commit number is not part")),
    PlantedBug(
      "chain-ignored", rule: "promise 5", "the chain value of a frame is not checked",
      in: Place.reader,
      find: "guard header.chain == chain else {",
      plant: "guard PLANTED || header.chain == chain else {",
      killedBy: .rules("a frame with the wrong chain value is not part of the log")),
  ]

  static let checkpoints: [PlantedBug] = [
    PlantedBug(
      "checkpoint-without-its-file", rule: "20",
      "a checkpoint is used although a file that it lists is missing",
      in: Place.chain,
      find: "else { return nil }\nopened.append(file)",
      plant: """
        else {
          if PLANTED { continue }
          return nil
        }
        opened.append(file)
        """, killedBy: .rules("rule 20: a checkpoint that lists a missing file is not used")),
    PlantedBug(
      "member-taken-by-name", rule: "20",
      "a file counts as the one a checkpoint lists by its name alone",
      in: Place.chain,
      find: "file.header.fileID == member.fileID, file.header.preamble.salt == member.salt",
      plant:
        "PLANTED || file.header.fileID == member.fileID && file.header.preamble.salt == member.salt",
      killedBy: .rules("rule 20: a checkpoint is used only with exactly the files")),
    PlantedBug(
      "straddling-merge-used", rule: "20",
      "a compacted segment across the checkpoint's position is used with it",
      in: Place.chain,
      find: "if numbers.lowerBound > covered, numbers.count == 1 {",
      plant:
        "if numbers.lowerBound > covered && numbers.count == 1 || PLANTED && numbers.upperBound > covered {",
      killedBy: .rules("rule 20: a compacted segment that the checkpoint")),
    PlantedBug(
      "only-named-files-listed", rule: "20", "a checkpoint lists only segments with live records",
      in: Place.segmentTable,
      find: "zip(segments, usages).map { segment, usage in",
      plant:
        "zip(segments, usages).filter { !PLANTED || $1.total > $1.dead }.map { segment, usage in",
      killedBy: .rules("rule 20: a checkpoint also lists segments without live records")),
    PlantedBug(
      "checkpoint-salt-ignored", rule: "20", "a run is read from any checkpoint with its number",
      in: Place.checkpoint,
      find: "used.file.header.preamble.salt == locator.salt,",
      plant: "PLANTED || used.file.header.preamble.salt == locator.salt,",
      killedBy: .rules("rule 20: a run is found by its checkpoint's salt")),
    PlantedBug(
      "inner-pages-unchecked", rule: "21", "a checkpoint with a damaged inner page is used",
      in: Place.checkpoint,
      find: "case .rebuilding: try run.requireInnerPages()",
      plant: "case .rebuilding: if !PLANTED { try run.requireInnerPages() }",
      killedBy: .rules("rule 21: a damaged inner page is found")),
    PlantedBug(
      "inner-page-not-rebuilt", rule: "21", "a damaged inner page is not rebuilt",
      in: Place.innerPages,
      find: "guard (try? rebuildInnerPages()) == true else { throw error }",
      plant: "guard !PLANTED, (try? rebuildInnerPages()) == true else { throw error }",
      killedBy: .rules("rule 21: an inner page is rebuilt")),
    PlantedBug(
      "inner-page-not-rebuilt-by-read", rule: "21", "an inner page that is read is not rebuilt",
      in: Place.repair,
      find: "return isRebuilt && run.replacement(number, 0) != nil",
      plant: "return !PLANTED && isRebuilt && run.replacement(number, 0) != nil",
      killedBy: .rules("rule 21: an inner page is rebuilt")),
    PlantedBug(
      "check-not-requested", rule: "21",
      "after a page of the index could not be rebuilt, the next opening does not check",
      in: Place.environment,
      find: "try? directory.requestCheck()",
      plant: "if !PLANTED { try? directory.requestCheck() }",
      killedBy: .rules("rule 21: an inner page that cannot be rebuilt")),
    PlantedBug(
      "check-kept", rule: "21", "each opening checks the index, once a page was damaged",
      in: Place.logOpening,
      find: "if files.contains(.check) { leftovers.append(.check) }",
      plant: "if files.contains(.check), !PLANTED { leftovers.append(.check) }",
      killedBy: .rules("rule 21: an inner page that cannot be rebuilt")),
    PlantedBug(
      "first-page-before-run", rule: "21", "a run begins where the first run of its file does",
      in: Place.checkpoint,
      find: "return UInt32(clamping: first)",
      plant: "return PLANTED ? 0 : UInt32(clamping: first)",
      killedBy: .rules("rule 21: an inner page of words is rebuilt")),
    PlantedBug(
      "page-not-repaired", rule: "21", "a damaged page is not rebuilt",
      in: Place.repair,
      find: "guard case .damaged(let number, _, let run?) = error,",
      plant: "guard !PLANTED, case .damaged(let number, _, let run?) = error,",
      killedBy: .rules("rule 21: a damaged page")),
    PlantedBug(
      "page-repaired-too-new", rule: "21", "a page is rebuilt with later commits than its own",
      in: Place.repair,
      find: "guard item.commit <= commit else { continue }",
      plant: "guard PLANTED || item.commit <= commit else { continue }",
      killedBy: .rules("rule 21: a page is rebuilt as of its checkpoint, without")),
    PlantedBug(
      "page-repaired-too-old", rule: "21", "a page is rebuilt with the first record of a key",
      in: Place.repair,
      find: "guard coverage.contains(id) else { return }",
      plant: """
        guard coverage.contains(id) else { return }
        if PLANTED, record != nil, found[id] != nil { return }
        """, killedBy: .rules("rule 21: a page is rebuilt as of its checkpoint, without")),
    PlantedBug(
      "memtable-not-frozen", rule: "19",
      "a checkpoint drops changes made while it was written",
      in: Place.checkpointing,
      find: "version[keyPath: tree].replaceImmutable(with: runs)",
      plant: """
        if PLANTED, version[keyPath: tree].immutableMemtable != nil {
          version[keyPath: tree].unfreezeMemtable()
          version[keyPath: tree].freezeMemtable()
        }
        version[keyPath: tree].replaceImmutable(with: runs)
        """, killedBy: .rules("changes made while a checkpoint is written are kept")),
    PlantedBug(
      "failed-checkpoint-not-taken-back", rule: "19",
      "changes that a failed checkpoint contained are lost",
      in: "LayeredTree.swift",
      find: "memtable = merged", plant: "if !PLANTED { memtable = merged }",
      killedBy: .rules("a checkpoint that fails loses nothing")),
    PlantedBug(
      "superseded-not-logged", rule: "2", "a record does not state what it supersedes",
      edits: [
        Edit(
          Place.documentRecord,
          find: "if superseded != nil { flags.insert(.superseding) }",
          plant: "if !PLANTED, superseded != nil { flags.insert(.superseding) }"),
        Edit(
          Place.documentRecord,
          find: "superseded?.encode(to: &writer)",
          plant: "if !PLANTED { superseded?.encode(to: &writer) }"),
      ], killedBy: .rules("rule 2: a replayed change supersedes the previous revision")),
    PlantedBug(
      "history-not-logged", rule: "2", "a record does not contain the previous revisions",
      in: Place.revisionEdit,
      find: "record.ancestors = .init(try ancestors(of: current, id))",
      plant: "if !PLANTED { record.ancestors = .init(try ancestors(of: current, id)) }",
      killedBy: .rules("rule 2: a replayed change supersedes the previous revision")),
    PlantedBug(
      "replay-from-nothing-trusts-records", rule: "2",
      "a rebuilt index keeps revisions that a compaction dropped",
      in: "Replay.swift",
      find: "record.follow(old, expiry: old.flatMap { expiry(of: $0) })",
      plant: "if !PLANTED { record.follow(old, expiry: old.flatMap { expiry(of: $0) }) }",
      killedBy: .rules("rule 2: an index rebuilt from the log does not need")),
  ]
}
