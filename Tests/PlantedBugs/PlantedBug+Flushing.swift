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
        try attempt { () throws(SystemError) in try fileSystem.flushDirectory(path) }
        return file
        """,
      plant: """
        if PLANTED && \(condition) { return file }
        try attempt { () throws(SystemError) in try fileSystem.flushDirectory(path) }
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
      "merged-segment-not-flushed", "4", "so does a merged one",
      where: isMerged, killedBy: .crash("compacting what many sessions left")),
    fileNotFlushed(
      "checkpoint-not-flushed", "19", "so does a checkpoint",
      where: isCheckpoint, killedBy: .rules("a checkpoint that took its place can be used")),
    fileNotFlushed(
      "head-not-flushed", "3", "so does HEAD",
      where: "name == .head", killedBy: .rules("rule 3: no number comes twice")),
    nameNotFlushed(
      "segment-name-not-flushed", "8", "the directory is not flushed after a new segment",
      where: isSegment, killedBy: .crash("segment after segment")),
    nameNotFlushed(
      "merged-name-not-flushed", "4", "nor after a merge",
      where: isMerged, killedBy: .rules("rule 4: a merged segment has its name for good")),
    nameNotFlushed(
      "checkpoint-name-not-flushed", "19", "nor after a checkpoint",
      where: isCheckpoint, killedBy: .rules("a checkpoint that took its place can be used")),
    nameNotFlushed(
      "head-name-not-flushed", "3", "nor after HEAD",
      where: "name == .head", killedBy: .rules("rule 3: no number comes twice")),
    PlantedBug(
      "rotation-without-flush", rule: "8", "a segment gets a successor before it is flushed",
      in: Place.writer,
      find: """
        _ = try tail.flush()
        try begin(after: end, reappending: nil)
        """,
      plant: """
        if !PLANTED { _ = try tail.flush() }
        try begin(after: end, reappending: nil)
        """, killedBy: .crash("commits that nobody waits for"), needsLoss: true),
    PlantedBug(
      "log-not-flushed", rule: "promise 2", "the flush of the log does nothing",
      in: Place.tail,
      find: "try target.file.flush()", plant: "if !PLANTED { try target.file.flush() }",
      killedBy: .crash("a new store"), needsLoss: true),
    PlantedBug(
      "mark-before-flush", rule: "promise 5", "FLUSHED says so before the log is flushed",
      in: Place.tail,
      find: "if let failure { throw .system(failure) }",
      plant: """
        if let failure { throw .system(failure) }
        if PLANTED { marks?.note(target.end, in: target.fileID) }
        """, killedBy: .rules("FLUSHED never says more than was flushed")),
    PlantedBug(
      "mark-after-acknowledgement", rule: "promise 5", "FLUSHED says so at the next flush only",
      in: Place.tail,
      find: "marks?.note(target.end, in: target.fileID)",
      plant: """
        if PLANTED {
          if let flushed { marks?.note(flushed.end, in: flushed.fileID) }
        } else {
          marks?.note(target.end, in: target.fileID)
        }
        """,
      killedBy: .rules("promise 5: of a log that was not closed no commit that was acknowledged")),
    PlantedBug(
      "flushed-mark-overwritten", rule: "promise 5", "the mark that was flushed does not stay",
      in: Place.marks,
      find: "state.flushed = slot", plant: "if !PLANTED { state.flushed = slot }",
      killedBy: .rules("the mark of FLUSHED that was flushed stays"), needsLoss: true),
    PlantedBug(
      "marks-not-flushed", rule: "promise 5", "FLUSHED itself is never flushed",
      in: Place.marks,
      find: "try file.flush()", plant: "if !PLANTED { try file.flush() }",
      killedBy: .rules("promise 5: a loss of power leaves no more than a leafRange"),
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
      killedBy: .rules("a relaxed commit is durable"), needsLoss: true),
    PlantedBug(
      "close-without-flush", rule: "13", "HEAD says closed, and the log was not flushed",
      in: Place.mainStore,
      find: """
        try commits.flushEverything()
        maintenance.state.withLock { $0.storedFiles.formUnion(stored) }
        """,
      plant: """
        if !PLANTED { try commits.flushEverything() }
        maintenance.state.withLock { $0.storedFiles.formUnion(stored) }
        """, killedBy: .crash("commits that nobody waits for"), needsLoss: true),
    PlantedBug(
      "checkpoint-ahead-of-log", rule: "19", "the log is not flushed before a checkpoint",
      in: Place.checkpointing,
      find: "beforeRename: { () throws(LogError) in _ = try begun.tail.flush() }",
      plant: "beforeRename: { () throws(LogError) in if !PLANTED { _ = try begun.tail.flush() } }",
      killedBy: .rules("rule 19: no checkpoint is ahead"), needsLoss: true),
    PlantedBug(
      "merge-ahead-of-log", rule: "4", "a merge judges by commits that are not flushed",
      in: Place.merging,
      find: "          _ = try begun.tail.flush()\n        })",
      plant: "          if !PLANTED { _ = try begun.tail.flush() }\n        })",
      killedBy: .rules("rule 4: a merge of 2 judges"), needsLoss: true),
    PlantedBug(
      "deletions-not-flushed", rule: "5", "the directory is not flushed after files were deleted",
      in: Place.checkpointing,
      find: "try directory.flush()", plant: "if !PLANTED { try directory.flush() }",
      killedBy: .rules("rule 5: what was deleted is gone for good"), needsLoss: true),
    PlantedBug(
      "leftovers-not-flushed", rule: "14", "nor after leftovers were",
      in: Place.logOpening,
      find: "try directory.flush()", plant: "if !PLANTED { try directory.flush() }",
      killedBy: .rules("rule 14: an opening leaves no leftover"), needsLoss: true),
    PlantedBug(
      "directory-not-flushed-at-opening", rule: "14", "an opening rests on names not yet durable",
      in: Place.storeOpening,
      find: "try fileSystem.flushDirectory(path)",
      plant: "if !PLANTED { try fileSystem.flushDirectory(path) }",
      killedBy: .rules("rule 14: what an opening serves is durable"), needsLoss: true),
    PlantedBug(
      "parent-not-flushed", rule: "14", "the store's own name is not made durable",
      in: Place.storeOpening,
      find: "try fileSystem.flushDirectory(parentDirectory(of: path))",
      plant: "if !PLANTED { try fileSystem.flushDirectory(parentDirectory(of: path)) }",
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
      "rename-before-flush", rule: "8", "a file is flushed after it has got its name",
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
      ], killedBy: .crash("segment after segment"), needsLoss: true),
    PlantedBug(
      "rename-before-log", rule: "4, 19",
      "a merge or checkpoint gets its name before the log is flushed",
      edits: [
        Edit(
          Place.directory, find: "try beforeRename()", plant: "if !PLANTED { try beforeRename() }"),
        Edit(
          Place.directory,
          find: """
            try attempt { () throws(SystemError) in try fileSystem.flushDirectory(path) }
            return file
            """,
          plant: """
            if PLANTED { try beforeRename() }
            try attempt { () throws(SystemError) in try fileSystem.flushDirectory(path) }
            return file
            """),
      ], killedBy: .crash("merging in favour of commits"), needsLoss: true),
    PlantedBug(
      "inputs-deleted-before-checkpoint", rule: "6",
      "the inputs of a merge are deleted while a checkpoint lists them", in: Place.checkpointing,
      find: "var doomed = replaced.subtracting(listed)",
      plant: "var doomed = PLANTED ? replaced.union(listed) : replaced.subtracting(listed)",
      killedBy: .crash("compacting what many sessions left")),
    PlantedBug(
      "inputs-deleted-before-rename", rule: "6",
      "inputs are deleted before their merge has its name",
      in: Place.merge,
      find: "try compaction.finish()",
      plant: """
        try compaction.finish()
        if PLANTED {
          for input in order.inputs where order.inputs.count > 1 {
            try directory.remove(input.file.name)
          }
        }
        """, killedBy: .crash("compacting what many sessions left")),
    PlantedBug(
      "inputs-deleted-with-merge", rule: "6", "inputs are deleted while the index still names them",
      in: Place.merging,
      find: "try install(output, inPlaceOf: inputs)",
      plant: """
        if PLANTED {
          for input in inputs where input.file.name != output.file.name {
            do throws(LogError) { try directory.remove(input.file.name) } catch { throw DatabaseError(error) }
          }
        }
        try install(output, inPlaceOf: inputs)
        if PLANTED { maintenance.state.withLock { $0.replaced = [] } }
        """, killedBy: .rules("rule 6: a file stays")),
    PlantedBug(
      "checkpoint-deleted-early", rule: "6",
      "old checkpoints are deleted before the new one is there",
      in: Place.checkpointing,
      find: """
        guard let begun = try withWriterLock({ (writer) throws(DatabaseError) in beginCheckpoint(writer) })
        else { return }
        """,
      plant: """
        guard let begun = try withWriterLock({ (writer) throws(DatabaseError) in beginCheckpoint(writer) })
        else { return }
        if PLANTED, let files = try? directory.listing().files {
          for case .checkpoint(let number) in files { try? directory.remove(.checkpoint(number)) }
        }
        """, killedBy: .rules("a checkpoint that took its place can be used")),
    PlantedBug(
      "seen-before-durable", rule: "promise 2", "a commit is seen before it is durable",
      in: Place.commits,
      find: "guard isReady || version.state.commit <= durableCommit else { break }",
      plant: "guard PLANTED || isReady || version.state.commit <= durableCommit else { break }",
      killedBy: .rules("a commit is seen only when it is durable")),
    PlantedBug(
      "weak-commit-overtakes", rule: "promise 3",
      "a weak commit is seen before the one it builds on",
      in: Place.commits,
      find: """
        var count = 0
        for version in waiting {
        """,
      plant: """
        var count = 0
        if PLANTED, waiting.last?.needsFlush == false { count = waiting.count }
        for version in waiting.dropFirst(count) {
        """, killedBy: .rules("a weak commit that builds on one")),
  ]
}
