import Divan
import DivanTesting

/// The state of a store when a composed workload begins.
package struct CrashStart: Sendable {
  package let name: String
  /// Prepares the store on the disk.
  let prepare: @Sendable (CrashSession) throws -> Void
  /// Opens it, and leaves something in memory or unflushed.
  let enter: @Sendable (CrashSession) throws -> Void
  /// How much of the replaced revisions the store keeps.
  let history: HistoryRetention
  /// The number of revisions of each branch that it knows by their IDs.
  let revisionDepth: Int

  init(
    _ name: String, history: HistoryRetention = .disabled,
    revisionDepth: Int = Configuration().revisionDepth,
    prepare: @escaping @Sendable (CrashSession) throws -> Void,
    enter: @escaping @Sendable (CrashSession) throws -> Void = { _ = try $0.database() }
  ) {
    self.name = name
    self.history = history
    self.revisionDepth = revisionDepth
    self.prepare = prepare
    self.enter = enter
  }
}

extension CrashStart {
  /// All starts: fresh and aged.
  package static let all = [
    CrashStart("a new store", prepare: { _ in }),
    CrashStart("a closed store") { session in
      try session.fill(0..<6, size: 200)
      try session.close()
    },
    CrashStart("a store that was not closed") { session in
      try session.fill(0..<4, size: 300)
      try session.fill(2..<6, size: 300, durability: .none)
      try session.lose(.processEnd)
      try session.commit(.put("doc-2", size: 30), durability: .none)
      session.fixture.lose(.processEnd)
    },
    CrashStart("a store that lost power") { session in
      try session.fill(0..<5, size: 300)
      try session.fill(1..<7, size: 500, durability: .none)
      session.fixture.lose(.random(seed: 5))
    },
    CrashStart("an aged store") { session in try session.age() },
    CrashStart(
      "an aged store with commits that are not flushed",
      prepare: { session in
        try session.age()
        session.maintenance = .inline
      },
      enter: { session in
        try session.fill(2..<5, size: 400, durability: .none)
        try session.commit(.delete("doc-3"), durability: .none)
      }),
    CrashStart(
      "a store with a checkpoint and commits after it",
      prepare: { session in
        try session.fill(0..<20, size: 30, durability: .none)
        try session.flush()
        try session.fixture.checkpoint(session.database())
        try session.close()
      },
      enter: { session in
        try session.fill(5..<8, size: 60)
        try session.fixture.checkpoint(session.database())
        try session.fill(7..<9, size: 60, durability: .none)
      }),
    CrashStart("a store whose compaction was interrupted") { session in
      try session.age()
      try session.fill(0..<4, size: 250)
      // After the output has its name, and before the inputs are deleted.
      let disk = session.fixture.fileSystem
      disk.observeCalls { call in
        if call.verb == .remove { disk.losePower(atCall: 0) }
      }
      try? session.fixture.compact(session.database())
      session.fixture.lose(.everything)
    },
  ]
}

extension CrashStart {
  /// Starts with documents that have several revisions, attachments and everything else.
  package static let rich = [
    CrashStart("documents with everything", prepare: { try $0.enrich() }),
    CrashStart(
      "documents with everything, not flushed",
      prepare: { session in
        try session.commit(.put("doc-1", size: 20))
        try session.close()
      }, enter: { try $0.enrich(durability: .none, closing: false) }),
    CrashStart(
      "all history retained", history: .unlimited,
      prepare: { session in
        try session.enrich()
        try session.fixture.compact(session.database())
        try session.commit(.put("rich-1", size: 10), .detach("rich-2"))
        try session.close()
      }),
    CrashStart(
      "two revisions retained", history: HistoryRetention(revisions: 2),
      prepare: { session in
        for round in 0..<4 {
          try session.commit(
            .attach("doc-1", name: "a", seed: UInt8(round), size: 90), .put("doc-2", size: round),
            durability: .none)
        }
        try session.fixture.checkpoint(session.database())
        try session.enrich()
      }, enter: { try $0.enrich(durability: .none, closing: false) }),
    CrashStart(
      "named snapshots",
      prepare: { session in
        try session.enrich(closing: false)
        try session.fixture.name(session.database(), "first")
        try session.commit(.detach("rich-1"), .delete("rich-2"), .resolve("rich-3"))
        try session.fixture.checkpoint(session.database())
        try session.commit(.put("rich-1", size: 30), .removeLocal("state"))
        try session.fixture.name(session.database(), "second")
        try session.commit(.put("rich-1", size: 40), .purge("rich-4"))
        try session.close()
      }),
  ]

  /// A start in which branches are longer than their known part.
  ///
  /// It is not one of the others, so that workloads composed of those do not change.
  package static let pruned = CrashStart(
    "long branches, pruned", revisionDepth: 3,
    prepare: { session in
      try session.lengthen()
      try session.fixture.checkpoint(session.database())
      try session.lengthen()
      try session.close()
    }, enter: { try $0.lengthen(durability: .none) })
}

extension CrashSession {
  /// Extends the branches of three documents.
  ///
  /// One has a single branch, one forks, and one has unrelated branches.
  func lengthen(durability: Durability = .full) throws {
    try fixture.commit(
      database(), [.put("doc-1", size: 10), .put("rich-1", size: 20), .put("rich-3", size: 5)],
      durability: durability)
    try fixture.commit(
      database(),
      [
        .put("doc-1", size: 11), .put("rich-1", size: 21), .branch("rich-1", size: 22),
        .insert("rich-3", size: 30, isOnto: false, isDeleted: false),
      ], durability: durability)
    for round in 0..<4 {
      try fixture.commit(
        database(),
        [
          .put("doc-1", size: round), .put("rich-1", size: 30 + round),
          .grow("rich-1", size: round), .grow("rich-3", size: 40 + round),
          .insert("doc-2", size: round, isOnto: round > 0, isDeleted: round == 2),
        ], durability: durability)
    }
  }

  /// Adds conflicts, attachments in the log and in files, an expiry and a local document.
  func enrich(durability: Durability = .full, closing: Bool = true) throws {
    for steps in [
      [
        .attach("rich-1", name: "small", seed: 1, size: 30),
        .attach("rich-1", name: "large", seed: 2, size: 200), .put("doc-1", size: 100),
      ],
      [
        .attach("rich-2", name: "the same", seed: 2, size: 200), .put("rich-3", size: 60),
        .putLocal("state", size: 20),
      ],
      [
        .put("rich-3", size: 61), .branch("rich-3", size: 62), .put("rich-4", size: 9),
        .expire("rich-4", seconds: 60),
      ],
      [
        .insert("rich-5", size: 40, isOnto: false, isDeleted: false), .delete("doc-1"),
        .attach("rich-5", name: "other", seed: 3, size: 150),
      ],
    ] as [[StoreChange]] {
      try fixture.commit(database(), steps, durability: durability)
    }
    if closing { try close() }
  }

  /// Ages the store in sessions with overwriting, deleting, checkpoints and merges.
  func age() throws {
    for round in 0..<4 {
      try fill(round * 2..<round * 2 + 5, size: 300)
      try commit(.delete("doc-\(round * 2)"))
      if round == 1 { try fixture.checkpoint(database()) }
      if round == 2 { try fixture.compact(database()) }
      try close()
    }
  }
}
