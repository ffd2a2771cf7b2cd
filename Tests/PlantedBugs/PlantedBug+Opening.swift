/// Bugs in how a store is opened, in what is trusted then, and in checkpoints.
extension PlantedBug {
  static let opening: [PlantedBug] = [
    PlantedBug(
      "older-checkpoint-used", rule: "20", "a checkpoint is used with what was merged since",
      in: Place.chain,
      find: "guard ranges.containAll(after: covered, of: numbers) else { return nil }",
      plant: "guard PLANTED || ranges.containAll(after: covered, of: numbers) else { return nil }",
      killedBy: .rules("rule 20: an older checkpoint")),
    PlantedBug(
      "not-logged-again", rule: "promise 6",
      "what was left in doubt is served and not made durable",
      in: Place.logOpening,
      find: "guard !isClosed, recovery.proven != recovery.end else { return }",
      plant: "guard !PLANTED, !isClosed, recovery.proven != recovery.end else { return }",
      killedBy: .crash("a store that was not closed")),
    PlantedBug(
      "old-close-believed", rule: "13", "HEAD's watermark is not compared with the end",
      in: Place.logOpening,
      find: "&& ($0.watermark == recovery.end || last.header.merge != nil)",
      plant: "&& (PLANTED || $0.watermark == recovery.end || last.header.merge != nil)",
      killedBy: .rules("rule 13: a HEAD that says closed")),
    PlantedBug(
      "close-of-another-segment-believed", rule: "13", "HEAD may speak of an older segment",
      in: Place.logOpening,
      find: "$0.isClosed && $0.segmentNumber == last.header.numbers.upperBound",
      plant: "$0.isClosed && (PLANTED || $0.segmentNumber == last.header.numbers.upperBound)",
      killedBy: .rules("rule 13: the HEAD of an earlier close")),
    PlantedBug(
      "closed-after-failure", rule: "13", "closing after a failed flush says closed",
      edits: [
        Edit(
          Place.mainStore,
          find: "if let failure = commits.failure { throw failure }",
          plant: "if let failure = commits.failure, !PLANTED { throw failure }"),
        Edit(
          Place.mainStore,
          find: "if maintenance.isWorthACheckpoint { try writeCheckpointInTurn(writer) }",
          plant: """
            if PLANTED { try? writer.noteClosed() }
            if maintenance.isWorthACheckpoint { try writeCheckpointInTurn(writer) }
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
      ], killedBy: .rules("rule 13: after a failed flush")),
    PlantedBug(
      "leftovers-ignored", rule: "14", "files that stand for nothing are left",
      in: Place.logOpening,
      find: "guard !leftovers.isEmpty else { return }",
      plant: "guard !PLANTED, !leftovers.isEmpty else { return }",
      killedBy: .rules("rule 14: an opening leaves no leftover")),
    PlantedBug(
      "leftovers-deleted-in-damage", rule: "14, 17",
      "leftovers are deleted though something is damaged",
      in: Place.logOpening,
      find: "try findEnd()",
      plant: """
        if PLANTED, lock != nil { try removeLeftovers() }
        try findEnd()
        """, killedBy: .rules("rule 14: nothing is deleted where something is damaged")),
    PlantedBug(
      "temporaries-left", rule: "14", "temporaries of another process are left",
      in: Place.storeOpening,
      find: "try fileSystem.remove(\"\\(temporaries)/\\(name)\")",
      plant: "if !PLANTED { try fileSystem.remove(\"\\(temporaries)/\\(name)\") }",
      killedBy: .crash("a new store")),
    PlantedBug(
      "own-temporary-left", rule: "15", "what could not be made keeps its room",
      in: Place.directory,
      find: "if (try? checkPath()) != nil { try? fileSystem.remove(temporary) }",
      plant: "if !PLANTED, (try? checkPath()) != nil { try? fileSystem.remove(temporary) }",
      killedBy: .rules("rule 15: a full disk")),
    PlantedBug(
      "reserve-not-released", rule: "15", "the reserve is kept though the disk is full",
      in: Place.mainStore,
      find: "try? directory.remove(.reserve)",
      plant: "if !PLANTED { try? directory.remove(.reserve) }",
      killedBy: .rules("rule 15: when the disk is full")),
    PlantedBug(
      "full-disk-keeps-from-opening", rule: "15", "a store on a full disk cannot be opened",
      in: Place.logOpening,
      find: """
        } catch .system(let error) where error.isLackOfSpace {
          if let active = made.active {
        """,
      plant: """
        } catch .system(let error) where error.isLackOfSpace && !PLANTED {
          if let active = made.active {
        """, killedBy: .rules("rule 15: a full disk")),
    PlantedBug(
      "lock-not-taken", rule: "16", "two writers open a store",
      in: Place.storeOpening,
      find: "case .acquired(let lock): return lock",
      plant: """
        case .acquired(let lock):
          if PLANTED { lock.release() }
          return lock
        """, killedBy: .rules("a store is open for writing once")),
    PlantedBug(
      "lock-not-released", rule: "16", "a closed store keeps its lock",
      in: Place.mainStore,
      find: "writer = nil\nlock?.release()",
      plant: """
        writer = nil
        if !PLANTED { lock?.release() }
        """, killedBy: .rules("a store is open for writing once")),
    PlantedBug(
      "damage-before-second-look", rule: "16", "what was read while it was written is damage",
      in: Place.recovery,
      find: "recovery = try read(segment, size: size, from: start)",
      plant: "if !PLANTED { recovery = try read(segment, size: size, from: start) }",
      killedBy: .rules("rule 16: a frame that is read half-written")),
    PlantedBug(
      "reader-does-not-look-again", rule: "16", "a reader believes its first look at the directory",
      in: Place.storeOpening,
      find: "if try evidence() == before { return opened }",
      plant: """
        if PLANTED { return opened }
        if try evidence() == before { return opened }
        """,
      killedBy: .rules("rule 16: what comes while a reader opens")),
    PlantedBug(
      "reader-gives-up", rule: "16", "a file that vanishes is an error for a reader",
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
      ], killedBy: .rules("rule 16: what comes while a reader opens")),
    PlantedBug(
      "reader-empties-temporaries", rule: "16", "a reader deletes the temporaries of the writer",
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
      killedBy: .rules("rule 17: what later commits prove")),
    PlantedBug(
      "replayed-damage-written-over", rule: "17", "so can one with damage in older segments",
      in: Place.logOpening,
      find: "if let first = replay.damage.first {",
      plant: "if !PLANTED, let first = replay.damage.first {",
      killedBy: .rules("rule 17: a damaged store")),
    PlantedBug(
      "search-without-bound", rule: "18", "the search for proof never tires",
      in: Place.recovery,
      find: "if case .badPayload(let header, _) = item { budget -= header.frameSize }",
      plant:
        "if case .badPayload(let header, _) = item { budget -= PLANTED ? 0 : header.frameSize }",
      killedBy: .rules("rule 18")),
  ]

  static let reading: [PlantedBug] = [
    PlantedBug(
      "cut-at-first-bad-frame", rule: "promise 5", "a bad frame is always taken for a torn one",
      in: Place.recovery,
      find: "if let discarded, let promise = try promise(in: segment, discarded) {",
      plant: "if !PLANTED, let discarded, let promise = try promise(in: segment, discarded) {",
      killedBy: .rules("rule 17: what later commits prove")),
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
        """, killedBy: .rules("promise 5: proof is looked for")),
    PlantedBug(
      "nothing-read-after-damage", rule: "promise 5", "what stands behind damage is not read",
      in: Place.reader,
      find: "var start = resumption",
      plant: """
        if PLANTED { return false }
        var start = resumption
        """, killedBy: .rules("rule 17: what later commits prove")),
    PlantedBug(
      "resumed-too-far", rule: "promise 5", "the transaction after a damaged one is lost, too",
      in: Place.reader,
      find: """
        case .badPayload(_, let offset):
        resumption = frames.offset
        """,
      plant: """
        case .badPayload(_, let offset):
          resumption = frames.offset + (PLANTED ? 8 : 0)
        """, killedBy: .rules("rule 17: what later commits prove")),
    PlantedBug(
      "half-transaction-counts", rule: "promise 1", "a transaction counts without its last frame",
      in: Place.reader,
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
      "commit-number-ignored", rule: "1", "a frame need not have the next commit's number",
      in: Place.reader,
      find: "header.kind == .transaction && header.commit == end.commit + 1",
      plant: "header.kind == .transaction && (PLANTED || header.commit == end.commit + 1)",
      killedBy: .rules("rule 1: a frame of another commit")),
    PlantedBug(
      "chain-ignored", rule: "promise 5", "a frame need not follow the one before it",
      in: Place.reader,
      find: "guard header.chain == chain else {",
      plant: "guard PLANTED || header.chain == chain else {",
      killedBy: .rules("a frame that does not follow")),
  ]

  static let checkpoints: [PlantedBug] = [
    PlantedBug(
      "checkpoint-without-its-file", rule: "20", "a checkpoint is used though a file is gone",
      in: Place.chain,
      find: "else { return nil }\nopened.append(file)",
      plant: """
        else {
          if PLANTED { continue }
          return nil
        }
        opened.append(file)
        """, killedBy: .rules("rule 20: a checkpoint that names a file")),
    PlantedBug(
      "member-taken-by-name", rule: "20", "a file counts as a checkpoint's by its name alone",
      in: Place.chain,
      find: "file.header.fileID == member.fileID, file.header.preamble.salt == member.salt",
      plant:
        "PLANTED || file.header.fileID == member.fileID && file.header.preamble.salt == member.salt",
      killedBy: .rules("rule 20: a checkpoint is used only")),
    PlantedBug(
      "straddling-merge-used", rule: "20",
      "a merged file across the checkpoint's end is used with it",
      in: Place.chain,
      find: "if numbers.lowerBound > covered, numbers.count == 1 {",
      plant:
        "if numbers.lowerBound > covered && numbers.count == 1 || PLANTED && numbers.upperBound > covered {",
      killedBy: .rules("rule 20: a merged file that is not")),
    PlantedBug(
      "only-named-files-listed", rule: "20", "a checkpoint lists only files with something live",
      in: "Version.swift",
      find: "zip(segments, usages).map { segment, usage in",
      plant:
        "zip(segments, usages).filter { !PLANTED || $1.total > $1.dead }.map { segment, usage in",
      killedBy: .rules("rule 20: a checkpoint lists files")),
    PlantedBug(
      "checkpoint-salt-ignored", rule: "20", "a run is taken from any checkpoint of its number",
      in: Place.checkpoint,
      find: "guard let file = opened[place.checkpoint], file.header.preamble.salt == place.salt,",
      plant:
        "guard let file = opened[place.checkpoint], PLANTED || file.header.preamble.salt == place.salt,",
      killedBy: .rules("rule 20: a run is of the checkpoint")),
    PlantedBug(
      "inner-pages-unchecked", rule: "21", "a checkpoint is used though an inner page is bad",
      in: Place.checkpoint,
      find: "try run.checkInnerPages()", plant: "if !PLANTED { try run.checkInnerPages() }",
      killedBy: .rules("rule 21: a checkpoint with a bad inner page")),
    PlantedBug(
      "page-not-repaired", rule: "21", "a page that proves bad is not rebuilt",
      in: Place.repair,
      find: "guard isRebuilt else { throw LeafRepair.cannotHelp(error, path) }",
      plant: """
        guard !PLANTED, isRebuilt else { throw LeafRepair.cannotHelp(error, path) }
        """, killedBy: .rules("rule 21: a damaged page")),
    PlantedBug(
      "page-repaired-too-new", rule: "21", "a page is rebuilt with what came after it",
      in: Place.repair,
      find: "guard item.commit <= commit else { continue }",
      plant: "guard PLANTED || item.commit <= commit else { continue }",
      killedBy: .rules("rule 21: a page is rebuilt as it was")),
    PlantedBug(
      "page-repaired-too-old", rule: "21", "a page is rebuilt with the first record of a key",
      in: Place.repair,
      find: "guard coverage.contains(id) else { return }",
      plant: """
        guard coverage.contains(id) else { return }
        if PLANTED, record != nil, found[id] != nil { return }
        """, killedBy: .rules("rule 21: a page is rebuilt as it was")),
    PlantedBug(
      "nothing-immutableMemtable", rule: "19",
      "a checkpoint keeps what was changed while it was written",
      in: Place.checkpointing,
      find: "newest[keyPath: tree].replaceImmutable(with: runs)",
      plant: """
        if PLANTED, newest[keyPath: tree].immutableMemtable != nil {
          newest[keyPath: tree].unsealMemtable()
          newest[keyPath: tree].sealMemtable()
        }
        newest[keyPath: tree].replaceImmutable(with: runs)
        """, killedBy: .rules("a checkpoint holds what was changed")),
    PlantedBug(
      "failed-checkpoint-not-taken-back", rule: "19",
      "what a failed checkpoint was to hold is forgotten",
      in: "LayeredTree.swift",
      find: "memtable = merged", plant: "if !PLANTED { memtable = merged }",
      killedBy: .rules("a checkpoint that fails")),
    PlantedBug(
      "superseded-not-logged", rule: "2", "a record does not say what it takes the place of",
      edits: [
        Edit(
          Place.documentRecord,
          find: "if superseded != nil { flags.insert(.superseding) }",
          plant: "if !PLANTED, superseded != nil { flags.insert(.superseding) }"),
        Edit(
          Place.documentRecord,
          find: "if let superseded {", plant: "if !PLANTED, let superseded {"),
      ], killedBy: .rules("rule 2: a replayed change")),
    PlantedBug(
      "history-not-logged", rule: "2", "a record does not hold the revisions before it",
      in: Place.revisionEdit,
      find: "record.ancestors = .init(try ancestors(of: current, id))",
      plant: "if !PLANTED { record.ancestors = .init(try ancestors(of: current, id)) }",
      killedBy: .rules("rule 2: a replayed change")),
    PlantedBug(
      "replay-from-nothing-trusts-records", rule: "2",
      "a rebuilt index keeps what a merge left out",
      in: "Replay.swift",
      find: "record.follow(old, expiry: old.flatMap { expiry(of: $0) })",
      plant: "if !PLANTED { record.follow(old, expiry: old.flatMap { expiry(of: $0) }) }",
      killedBy: .rules("rule 2: an index rebuilt from nothing misses")),
  ]
}
