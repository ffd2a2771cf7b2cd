/// Bugs that omit each flush of a file or a directory, one by one.
extension PlantedBug {
  private static func fileNotFlushed(
    _ name: String, _ rule: String, _ mistake: String, where condition: String,
    killedBy killer: Killer
  ) -> PlantedBug {
    PlantedBug(
      name, rule: rule, mistake, in: Place.directory,
      find: "try attempt { () throws(SystemError) in try file.flush() }",
      plant: """
        if !(PLANTED && \(condition)) {
          try attempt { () throws(SystemError) in try file.flush() }
        }
        """, killedBy: killer, needsLoss: true)
  }

  private static func nameNotFlushed(
    _ name: String, _ rule: String, _ mistake: String, where condition: String,
    killedBy killer: Killer
  ) -> PlantedBug {
    PlantedBug(
      name, rule: rule, mistake, in: Place.directory,
      find: """
        try flush(since: failureCount)
        return file
        """,
      plant: """
        if PLANTED && \(condition) { return file }
        try flush(since: failureCount)
        return file
        """, killedBy: killer, needsLoss: true)
  }

  private static let isSegment = #"("\(name)".hasSuffix(".segment") && !"\(name)".contains("-"))"#
  private static let isMerged = #"("\(name)".hasSuffix(".segment") && "\(name)".contains("-"))"#
  private static let isCheckpoint = #""\(name)".hasSuffix(".checkpoint")"#

  static let flushing: [PlantedBug] = [
    fileNotFlushed(
      "segment-not-flushed", "8", "a new segment gets its name before its bytes are flushed",
      where: isSegment, killedBy: .crash("a new store")),
    fileNotFlushed(
      "merged-segment-not-flushed", "4",
      "a compacted segment gets its name before its bytes are flushed",
      where: isMerged, killedBy: .crash("compacting the segments of many sessions")),
    fileNotFlushed(
      "checkpoint-not-flushed", "19", "a checkpoint gets its name before its bytes are flushed",
      where: isCheckpoint,
      killedBy: .rules("a checkpoint that has its name is usable after any loss of power")),
    fileNotFlushed(
      "head-not-flushed", "3", "HEAD gets its name before its bytes are flushed",
      where: "name == .head",
      killedBy: .rules("rule 3: no sequence number is reused after a transaction")),
    nameNotFlushed(
      "segment-name-not-flushed", "8", "the directory is not flushed after a new segment",
      where: isSegment, killedBy: .crash("filling several segments")),
    nameNotFlushed(
      "merged-name-not-flushed", "4", "the directory is not flushed after a compaction",
      where: isMerged, killedBy: .rules("rule 4: a compacted segment's name is durable")),
    nameNotFlushed(
      "checkpoint-name-not-flushed", "19", "the directory is not flushed after a checkpoint",
      where: isCheckpoint,
      killedBy: .rules("a checkpoint that has its name is usable after any loss of power")),
    nameNotFlushed(
      "head-name-not-flushed", "3", "the directory is not flushed after HEAD was replaced",
      where: "name == .head",
      killedBy: .rules("rule 3: no sequence number is reused after a transaction")),
    PlantedBug(
      "rotation-without-flush", rule: "8", "a segment gets a successor before it is flushed",
      in: Place.writer,
      find: """
        _ = try tail.flush()
        try begin()
        """,
      plant: """
        if !PLANTED { _ = try tail.flush() }
        try begin()
        """, killedBy: .crash("commits that do not wait for a flush"), needsLoss: true),
    PlantedBug(
      "log-not-flushed", rule: "promise 2", "the flush of the log does nothing",
      in: Place.tail,
      find: "try target.file.flush()", plant: "if !PLANTED { try target.file.flush() }",
      killedBy: .crash("a new store"), needsLoss: true),
    PlantedBug(
      "mark-before-flush", rule: "promise 5", "FLUSHED is written before the log is flushed",
      in: Place.tail,
      find: "if let failure { throw .system(failure) }",
      plant: """
        if let failure { throw .system(failure) }
        if PLANTED { marks?.note(target.end, in: target.fileID) }
        """, killedBy: .rules("FLUSHED never claims more than was flushed")),
    PlantedBug(
      "mark-after-acknowledgement", rule: "promise 5",
      "FLUSHED states a flush only at the next flush",
      in: Place.tail,
      find: "marks?.note(target.end, in: target.fileID)",
      plant: """
        if PLANTED {
          if let flushed { marks?.note(flushed.end, in: flushed.fileID) }
        } else {
          marks?.note(target.end, in: target.fileID)
        }
        """,
      killedBy: .rules("promise 5: a log that was not closed loses no acknowledged")),
    PlantedBug(
      "flushed-mark-overwritten", rule: "promise 5", "the flushed mark of FLUSHED is overwritten",
      in: Place.marks,
      find: "state.flushed = slot", plant: "if !PLANTED { state.flushed = slot }",
      killedBy: .rules("the flushed mark of FLUSHED survives when all others are torn"),
      needsLoss: true),
    PlantedBug(
      "marks-not-flushed", rule: "promise 5", "FLUSHED itself is never flushed",
      in: Place.marks,
      find: "try file.flush()", plant: "if !PLANTED { try file.flush() }",
      killedBy: .rules("promise 5: after a loss of power, only a bounded part"),
      needsLoss: true),
    PlantedBug(
      "commit-without-flush", rule: "promise 2", "a commit is acknowledged without a flush",
      in: Place.commits,
      find: "let commit = try tail.flush()",
      plant: """
        let commit = try PLANTED ? (tail.appendedCommit ?? .max) : tail.flush()
        """, killedBy: .crash("a new store")),
    PlantedBug(
      "delayed-flush-forgotten", rule: "promise 2", "a relaxed commit is never flushed",
      in: Place.mainStore,
      find: "try? scheduledFlush.end()?.flush()",
      plant: "if !PLANTED { try? scheduledFlush.end()?.flush() }",
      killedBy: .rules("promise 2: a relaxed commit is durable after its delay"), needsLoss: true),
    PlantedBug(
      "close-without-flush", rule: "13", "HEAD says closed although the log was not flushed",
      in: Place.mainStore,
      find: """
        try commits.flushEverything()
        try? deleteUnreferencedAttachments(writer, isClosing: isClosing)
        """,
      plant: """
        if !PLANTED { try commits.flushEverything() }
        try? deleteUnreferencedAttachments(writer, isClosing: isClosing)
        """, killedBy: .crash("commits that do not wait for a flush"), needsLoss: true),
    PlantedBug(
      "checkpoint-ahead-of-log", rule: "19", "the log is not flushed before a checkpoint",
      in: Place.checkpointing,
      find: "beforeRename: { () throws(LogError) in _ = try begun.tail.flush() }",
      plant: "beforeRename: { () throws(LogError) in if !PLANTED { _ = try begun.tail.flush() } }",
      killedBy: .rules("rule 19: no checkpoint is ahead"), needsLoss: true),
    PlantedBug(
      "merge-ahead-of-log", rule: "4", "a compaction evaluates commits that are not flushed",
      in: Place.merging,
      find: "          _ = try begun.tail.flush()\n        })",
      plant: "          if !PLANTED { _ = try begun.tail.flush() }\n        })",
      killedBy: .rules("rule 4: a compaction (inputs: 2) evaluates durable commits only"),
      needsLoss: true),
    PlantedBug(
      "deletions-not-flushed", rule: "5", "the directory is not flushed after files were deleted",
      in: Place.checkpointing,
      find: "try directory.flush(since: failureCount)",
      plant: "if !PLANTED { try directory.flush(since: failureCount) }",
      killedBy: .rules("rule 5: deletions of files are durable before the next"), needsLoss: true),
    PlantedBug(
      "leftovers-not-flushed", rule: "14",
      "the directory is not flushed after leftovers were deleted",
      in: Place.logOpening,
      find: "try directory.flush()", plant: "if !PLANTED { try directory.flush() }",
      killedBy: .rules("rule 14: an opening leaves no leftovers and no temporary files"),
      needsLoss: true),
    PlantedBug(
      "directory-not-flushed-at-opening", rule: "14",
      "an opening does not flush the names that it depends on",
      in: Place.storeOpening,
      find: "try fileSystem.flushDirectory(path)",
      plant: "if !PLANTED { try fileSystem.flushDirectory(path) }",
      killedBy: .rules("rule 14: an opening serves only what is durable"), needsLoss: true),
    PlantedBug(
      "parent-not-flushed", rule: "14", "the store's own name is not made durable",
      in: Place.storeOpening,
      find: "try attempt { () throws(SystemError) in try fileSystem.flushDirectory(parent) }",
      plant: """
        if !PLANTED { try attempt { () throws(SystemError) in try fileSystem.flushDirectory(parent) } }
        """,
      killedBy: .crash("a new store"), needsLoss: true),
    PlantedBug(
      "backup-name-not-flushed", rule: "promise 2", "a backup's name is not made durable",
      in: "Backup.swift",
      find: "try fileSystem.flushDirectory(parentDirectory(of: path))",
      plant: "if !PLANTED { try fileSystem.flushDirectory(parentDirectory(of: path)) }",
      killedBy: .rules("a backup is durable"), needsLoss: true),
  ]

  /// Bugs with two steps in the wrong order.
  static let ordering: [PlantedBug] = [
    PlantedBug(
      "rename-before-flush", rule: "8", "a file is flushed after it gets its name",
      edits: [
        Edit(
          Place.directory,
          find: "try attempt { () throws(SystemError) in try file.flush() }",
          plant: """
            if !PLANTED { try attempt { () throws(SystemError) in try file.flush() } }
            """),
        Edit(
          Place.directory,
          find: """
            try attempt { () throws(SystemError) in
            try fileSystem.rename(temporary, to: path(of: name))
            }
            """,
          plant: """
            try attempt { () throws(SystemError) in
              try fileSystem.rename(temporary, to: path(of: name))
            }
            if PLANTED { try attempt { () throws(SystemError) in try file.flush() } }
            """),
      ], killedBy: .crash("filling several segments"), needsLoss: true),
    PlantedBug(
      "rename-before-log", rule: "4, 19",
      "a compacted segment or checkpoint gets its name before the log is flushed",
      edits: [
        Edit(
          Place.directory, find: "try beforeRename()", plant: "if !PLANTED { try beforeRename() }"),
        Edit(
          Place.directory,
          find: """
            try flush(since: failureCount)
            return file
            """,
          plant: """
            if PLANTED { try beforeRename() }
            try flush(since: failureCount)
            return file
            """),
      ], killedBy: .crash("compacting after commits that are not flushed"), needsLoss: true),
    PlantedBug(
      "inputs-deleted-before-checkpoint", rule: "6",
      "the inputs of a compaction are deleted while a checkpoint lists them",
      in: Place.checkpointing,
      find: "var obsolete = replaced.subtracting(listed)",
      plant: "var obsolete = PLANTED ? replaced.union(listed) : replaced.subtracting(listed)",
      killedBy: .crash("compacting the segments of many sessions")),
    PlantedBug(
      "inputs-deleted-before-rename", rule: "6",
      "inputs are deleted before their compacted segment has its name",
      in: Place.merge,
      find: "try compaction.finish()",
      plant: """
        try compaction.finish()
        if PLANTED {
          for input in order.inputs where order.inputs.count > 1 {
            try directory.remove(input.file.name)
          }
        }
        """, killedBy: .crash("compacting the segments of many sessions")),
    PlantedBug(
      "inputs-deleted-with-merge", rule: "6",
      "inputs are deleted while the index still refers to them",
      in: Place.merging,
      find: "try install(output, replacing: inputs)",
      plant: """
        if PLANTED {
          for input in inputs where input.file.name != output.file.name {
            do throws(LogError) { try directory.remove(input.file.name) } catch { throw DatabaseError(error) }
          }
        }
        try install(output, replacing: inputs)
        if PLANTED { maintenance.state.withLock { $0.replaced = [] } }
        """, killedBy: .rules("rule 6: a file is kept while the newest checkpoint lists it")),
    PlantedBug(
      "checkpoint-deleted-early", rule: "6",
      "old checkpoints are deleted before the new one has its name",
      in: Place.checkpointing,
      find: """
        guard let begun = try withWriter({ (writer) throws(DatabaseError) in beginCheckpoint(&writer) })
        else { return }
        """,
      plant: """
        guard let begun = try withWriter({ (writer) throws(DatabaseError) in beginCheckpoint(&writer) })
        else { return }
        if PLANTED, let files = try? directory.listing().files {
          for case .checkpoint(let number) in files { try? directory.remove(.checkpoint(number)) }
        }
        """, killedBy: .rules("a checkpoint that has its name is usable after any loss of power")),
    PlantedBug(
      "seen-before-durable", rule: "promise 2", "a commit is visible before it is durable",
      in: Place.commits,
      find: "guard isReady || version.state.commit <= durableCommit else { break }",
      plant: "guard PLANTED || isReady || version.state.commit <= durableCommit else { break }",
      killedBy: .rules("a commit is visible and acknowledged only once it is durable")),
    PlantedBug(
      "weak-commit-overtakes", rule: "promise 3",
      "a commit that does not wait is visible before the one it builds on",
      in: Place.commits,
      find: """
        var count = 0
        for version in waiting {
        """,
      plant: """
        var count = 0
        if PLANTED, waiting.last?.needsFlush == false { count = waiting.count }
        for version in waiting.dropFirst(count) {
        """, killedBy: .rules("a commit that does not wait for a flush is not visible")),
  ]
}
