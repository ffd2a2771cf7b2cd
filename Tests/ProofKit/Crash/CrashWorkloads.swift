import DivanLog
import DivanTesting
import Synchronization

package import Divan

/// A short piece of work with a store, to be interrupted everywhere.
package struct CrashWorkload: Sendable {
  package let name: String
  /// Prepares the store before the work begins.
  package var prepare: @Sendable (CrashFixture) throws -> Void = { _ in }
  /// The work that is interrupted.
  package let work: @Sendable (CrashFixture) throws -> Void
  /// How much of the replaced revisions the store keeps.
  package var history = HistoryRetention.disabled
  /// The number of revisions of each branch that it knows by their IDs.
  package var revisionDepth = Configuration().revisionDepth
  /// Whether its files are so large that less of it is tried.
  package var isHeavy = false
  /// Whether its documents have so much that examining one state takes long.
  package var isRich = false
  /// Whether there are so many like it that less of each is tried.
  package var isOneOfMany = false
  /// Whether it has a view, whose rows are checked wherever the store is opened.
  package var asksViews = false
}

extension CrashWorkload {
  /// The workloads that together reach every call that changes something on the disk.
  package static let all = [
    newStore, reopened, rotating, checkpointing, overwriting, compacting, merging, interrupted,
    unflushed, mixed, large, weakChurn, mergingOne, conflicts, attachments, histories, besides,
    indexes, words, longBranches, views,
  ]
  /// Workloads for losses of power only; the fault suite copies and fills disks itself.
  package static let alsoForCrashes = [copies, fullDisk]

  package static let newStore = CrashWorkload(name: "a new store") { fixture in
    let database = try fixture.open()
    try fixture.commit(database, [.put("a", size: 10), .put("b", size: 20)])
    try fixture.commit(database, [.put("a", size: 30), .delete("b")])
    try fixture.close(database)
  }

  package static let reopened = CrashWorkload(
    name: "a closed store that is reopened",
    prepare: { fixture in
      let database = try fixture.open()
      try fixture.fill(database, 0..<5)
      try fixture.close(database)
    }
  ) { fixture in
    var database = try fixture.open()
    try fixture.commit(database, [.put("doc-1", size: 50), .delete("doc-2")])
    try fixture.close(database)
    database = try fixture.open()
    try fixture.close(database)
    database = try fixture.open()
    try fixture.commit(database, [.delete("doc-1"), .put("doc-9", size: 700)])
  }

  package static let rotating = CrashWorkload(
    name: "filling several segments",
    work: { fixture in
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<9, size: 3000)
      try fixture.close(database)
    })

  package static let checkpointing = CrashWorkload(
    name: "a checkpoint and later ones with the changes",
    prepare: { fixture in
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<40, size: 30, durability: .none)
      try fixture.flush(database)
      fixture.writer.noteFlushed()
      try fixture.checkpoint(database)
      try fixture.close(database)
    }
  ) { fixture in
    let database = try fixture.open { $0.maintenance = .manual }
    for round in 0..<4 {
      try fixture.commit(database, [.put("doc-\(round)", size: 40), .delete("doc-\(round + 10)")])
      try fixture.checkpoint(database)
    }
    try fixture.commit(database, [.put("doc-1", size: 41)], durability: .none)
    try fixture.checkpoint(database)
    fixture.writer.noteFlushed()
    try fixture.close(database)
  }

  package static let overwriting = CrashWorkload(
    name: "overwriting the same few documents",
    prepare: { fixture in
      let database = try fixture.open()
      try fixture.fill(database, 0..<6)
      try fixture.close(database)
    }
  ) { fixture in
    let database = try fixture.open()
    for round in 0..<14 {
      try fixture.commit(
        database, [.put("doc-\(round % 4)", size: 900), .put("doc-\(round % 3 + 10)", size: 300)])
    }
    try fixture.close(database)
  }

  package static let compacting = CrashWorkload(
    name: "compacting the segments of many sessions",
    prepare: { fixture in
      for session in 0..<5 {
        let database = try fixture.open { $0.maintenance = .manual }
        try fixture.fill(database, session..<session + 3)
        try fixture.commit(database, [.delete("doc-\(session)")])
        try fixture.close(database)
      }
    }
  ) { fixture in
    var database = try fixture.open { $0.maintenance = .manual }
    try fixture.compact(database)
    try fixture.commit(database, [.put("doc-3", size: 10)])
    try fixture.compact(database)
    try fixture.close(database)
    database = try fixture.open { $0.maintenance = .manual }
    try fixture.compact(database)
    try fixture.close(database)
  }

  /// Merges whose liveness is determined by commits that are not durable yet.
  package static let merging = CrashWorkload(
    name: "compacting after commits that are not flushed",
    prepare: { fixture in
      for session in 0..<4 {
        let database = try fixture.open { $0.maintenance = .manual }
        try fixture.fill(database, session * 2..<session * 2 + 3)
        if session == 2 { try fixture.checkpoint(database) }
        try fixture.close(database)
      }
    }
  ) { fixture in
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.checkpoint(database)
    try fixture.commit(
      database, [.put("doc-1", size: 20), .put("doc-4", size: 20)], durability: .none)
    try fixture.commit(database, [.delete("doc-2")], durability: .none)
    try fixture.commit(
      database, [5, 6, 7, 8, 0, 3].map { .put("doc-\($0)", size: 20) }, durability: .none)
    // Not after a checkpoint, which would flush the log itself.
    try fixture.merge(database)
    try fixture.compact(database)
    try fixture.commit(database, [.put("doc-2", size: 30)], durability: .none)
    try fixture.compact(database)
  }

  /// A merge of one segment replaces it at once, so nothing else has the records that it dropped.
  package static let mergingOne = CrashWorkload(
    name: "compacting one segment after commits that are not flushed",
    prepare: { fixture in
      let database = try fixture.open { $0.maintenance = .manual }
      // So few that they fit in one segment.
      try fixture.fill(database, 0..<4)
      try fixture.checkpoint(database)
      try fixture.close(database)
    }
  ) { fixture in
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.checkpoint(database)
    try fixture.commit(
      database, (0..<4).map { .put("doc-\($0)", size: 20) }, durability: .none)
    try fixture.commit(database, [.delete("doc-2")], durability: .none)
    try fixture.merge(database)
  }

  package static let interrupted = CrashWorkload(
    name: "a store that was not closed",
    prepare: { fixture in
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<4)
      try fixture.fill(database, 2..<6, durability: .none)
      // Nothing is closed or flushed: the process ends here.
      fixture.fileSystem.losePower(atCall: 0)
    }
  ) { fixture in
    var database = try fixture.open()
    try fixture.commit(database, [.put("doc-3", size: 10)])
    try fixture.close(database)
    database = try fixture.open()
    try fixture.commit(database, [.delete("doc-3")])
  }

  package static let unflushed = CrashWorkload(name: "commits that do not wait for a flush") {
    fixture in
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.fill(database, 0..<12, size: 1500, durability: .none)
    try fixture.flush(database)
    fixture.writer.noteFlushed()
    try fixture.fill(database, 3..<6, size: 100, durability: .none)
    try fixture.close(database)
    fixture.writer.noteFlushed()
  }

  package static let mixed = CrashWorkload(name: "all levels of durability in turn") { fixture in
    let database = try fixture.open()
    for round in 0..<5 {
      try fixture.commit(database, [.put("a", size: round * 100)], durability: .none)
      try fixture.commit(
        database, [.put("b", size: 500)], durability: .relaxed(maxDelay: .seconds(900)))
      if round % 3 == 0 { try fixture.commit(database, [.delete("a"), .put("c", size: 700)]) }
    }
    try fixture.close(database)
    fixture.writer.noteFlushed()
  }

  /// A transaction of several frames, and a checkpoint at closing.
  package static let large = CrashWorkload(
    name: "a transaction of several frames",
    work: { fixture in
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.commit(database, [.put("a", size: 10)])
      try fixture.commit(database, (0..<3).map { .put("large-\($0)", size: 400_000) })
      try fixture.commit(database, [.put("large-1", size: 10)], durability: .none)
      try fixture.close(database)
      fixture.writer.noteFlushed()
    }, isHeavy: true)

  package static let weakChurn = CrashWorkload(
    name: "overwriting without waiting for a flush, with maintenance",
    prepare: { fixture in
      let database = try fixture.open()
      try fixture.fill(database, 0..<8)
      try fixture.close(database)
    }
  ) { fixture in
    let database = try fixture.open()
    for round in 0..<18 {
      try fixture.commit(
        database, [.put("doc-\(round % 5)", size: 800)], durability: .none)
      if round % 7 == 6 {
        try fixture.commit(database, [.delete("doc-\(round % 5)")], durability: .none)
      }
    }
  }

  // MARK: More than properties

  package static let conflicts = composed(
    "conflicts, created and resolved",
    ["put a conflicting revision", "resolve a conflict", "purge a leaf"])
  package static let attachments = composed(
    "attachments, added and cleaned up",
    ["attach large blobs", "remove attachments and clean up", "attach and roll back"])
  package static let copies = composed(
    "attachments, copied with the store", ["attach large blobs", "back up", "restore"])
  package static let fullDisk = composed(
    "a disk that is full for a while", ["fill the disk", "compact"])
  package static let histories = composed(
    "history, retained and pruned", history: HistoryRetention(revisions: 2),
    ["prune history with attachments", "name a snapshot", "remove a named snapshot and clean up"])
  package static let besides = composed(
    "purges, expiries and local documents",
    ["purge and compact", "let documents expire", "put local documents"])
  package static let indexes = composed(
    "indexes, built, updated and removed",
    ["build an index and keep writing", "build an index, compact, remove it and build another"])
  package static let words = composed(
    "an index of words, built and updated", ["build an index of words and keep writing"])
  package static let longBranches = CrashWorkload(
    name: "long branches, pruned and joined",
    prepare: { fixture in
      let session = CrashSession(fixture)
      try session.lengthen()
      try session.commit(.put("doc-3", size: 5))
    },
    work: { fixture in
      let session = CrashSession(fixture)
      try session.lengthen(durability: .none)
      try session.commit(.insertAhead("rich-1", size: 15), .insertAhead("doc-3", size: 4))
      try session.fixture.checkpoint(session.database())
      try session.commit(
        .join("doc-3"), .purgeLeaf("rich-1", 1), .resolve("rich-3"), .delete("doc-1"))
      try session.lengthen()
      try session.commit(.join("rich-1"))
      try session.fixture.merge(session.database())
      try session.close()
      try session.commit(.put("doc-1", size: 50), .deleteAll("rich-1"), .branch("doc-2", size: 7))
      try session.fixture.compact(session.database())
      try session.close()
    }, revisionDepth: 3)

  package static let views = CrashWorkload(
    name: "a view, queried, written to its file and updated",
    prepare: { fixture in
      let database = try fixture.open()
      try fixture.fill(database, 0..<5, size: 30)
      // The view's file is written, and does not get its name.
      let disk = fixture.fileSystem
      disk.observeCalls { [unowned disk] call in
        if call.verb == .rename { disk.losePower(atCall: 0) }
      }
      try fixture.askView(database)
    },
    work: { fixture in
      var database = try fixture.open()
      try fixture.askView(database)
      try fixture.commit(database, [.put("doc-6", size: 9)])
      // So that the file depends on commits that are not durable yet.
      try fixture.commit(
        database, [.put("doc-1", size: 20), .put("doc-7", size: 9), .delete("doc-2")],
        durability: .none)
      try fixture.askView(database)
      try fixture.commit(database, [.purge("doc-3"), .put("doc-8", size: 9)])
      try fixture.close(database)
      database = try fixture.open()
      try fixture.askView(database)
      try fixture.commit(database, [.put("doc-1", size: 7)], durability: .none)
      try fixture.askView(database)
      try fixture.close(database)
      fixture.writer.noteFlushed()
    }, asksViews: true)

  private static func operation(of name: String) -> CrashOperation {
    guard let found = (CrashOperation.all + CrashOperation.rich).first(where: { $0.name == name })
    else { preconditionFailure("no operation is called \(name)") }
    return found
  }

  /// Returns a workload of operations in sequence on documents that have everything.
  private static func composed(
    _ name: String, history: HistoryRetention = .disabled, _ operations: [String]
  ) -> CrashWorkload {
    CrashWorkload(
      name: name, prepare: { try CrashSession($0).enrich() },
      work: { fixture in
        let session = CrashSession(fixture)
        for name in operations {
          try operation(of: name).run(session)
        }
        try session.close()
      }, history: history)
  }
}
