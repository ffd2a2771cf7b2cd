import Divan
import DivanTesting

// Operations on what documents have in addition to properties: other leaves, attachments, history,
// expiries; and on what a store has in addition to documents.

extension CrashOperation {
  /// All of these operations.
  package static let rich = branching + attaching + keepingHistory + indexing + besides

  static let branching = [
    CrashOperation("put a conflicting revision") { session in
      try session.commit(.put("rich-1", size: 20), .put("doc-1", size: 10))
      try session.commit(.branch("rich-1", size: 30), .put("doc-1", size: 11))
      try session.commit(.branch("doc-1", size: 40), .branch("rich-3", size: 50))
    },
    CrashOperation("insert with history") { session in
      try session.commit(
        .insert("rich-5", size: 20, isOnto: true, isDeleted: false),
        .insert("rich-3", size: 20, isOnto: false, isDeleted: true))
      try session.commit(
        .insert("foreign", size: 60, isOnto: false, isDeleted: false), durability: .none)
      try session.commit(.insert("doc-1", size: 30, isOnto: true, isDeleted: true))
    },
    CrashOperation("resolve a conflict") { session in
      try session.commit(
        .put("doc-2", size: 5), .insert("doc-2", size: 6, isOnto: false, isDeleted: false))
      try session.commit(.resolve("rich-3"), durability: .none)
      try session.commit(.resolve("doc-2"), .resolve("rich-5"))
      try session.fixture.merge(session.database())
    },
    CrashOperation("delete in a conflict") { session in
      try session.commit(.delete("rich-3"))
      try session.commit(.deleteAll("rich-5"), .deleteAll("doc-1"))
      try session.commit(.put("rich-3", size: 8))
    },
    CrashOperation("purge") { session in
      try session.commit(.purge("rich-1"), .purge("doc-1"))
      try session.commit(.put("doc-1", size: 9), .purge("rich-3"), durability: .none)
      try session.commit(.purge("doc-3"))
    },
    CrashOperation("purge and compact") { session in
      try session.fixture.checkpoint(session.database())
      try session.commit(
        .purge("rich-1"), .purgeLeaf("rich-3", 1), .purge("doc-2"), durability: .none)
      try session.fixture.merge(session.database())
      try session.fixture.compact(session.database())
      try session.commit(.put("rich-1", size: 12))
    },
    CrashOperation("purge a leaf") { session in
      try session.commit(.purgeLeaf("rich-3", 0))
      try session.commit(
        .insert("rich-1", size: 30, isOnto: false, isDeleted: false), .purgeLeaf("rich-1", 1))
      try session.fixture.checkpoint(session.database())
      try session.commit(.purgeLeaf("rich-5", 1), durability: .none)
    },
  ]

  private static let attaching = [
    CrashOperation("attach small blobs") { session in
      try session.commit(.attach("doc-1", name: "a", seed: 9, size: 20))
      try session.commit(.attach("rich-1", name: "small", seed: 8, size: 48))
    },
    CrashOperation("attach large blobs") { session in
      try session.commit(.attach("doc-1", name: "a", seed: 9, size: 700))
      try session.commit(
        .attach("doc-2", name: "b", seed: 9, size: 700),
        .attach("rich-1", name: "new", seed: 7, size: 90), durability: .none)
    },
    CrashOperation("attach and roll back") { session in
      try session.commit(
        .savepoint([.attach("doc-1", name: "a", seed: 6, size: 90)], throwing: true),
        .put("doc-2", size: 20))
      try session.close()
      try session.commit(.attach("doc-1", name: "a", seed: 6, size: 90))
    },
    CrashOperation("remove attachments and clean up") { session in
      try session.commit(.detach("rich-1"), durability: .none)
      try session.commit(.delete("rich-5"))
      try session.fixture.compact(session.database())
      try session.commit(.attach("rich-1", name: "again", seed: 2, size: 200), .detach("rich-2"))
      try session.fixture.compact(session.database())
    },
    CrashOperation("replace attachments with maintenance") { session in
      for round in 0..<4 {
        try session.commit(
          .attach("rich-2", name: "the same", seed: UInt8(20 + round % 2), size: 120 + round),
          .attach("doc-1", name: "small", seed: UInt8(round), size: 30),
          durability: round % 2 == 0 ? .none : .full)
        if round == 2 { try session.fixture.checkpoint(session.database()) }
        if round > 0 { try session.fixture.compact(session.database()) }
      }
    },
  ]

  private static let indexing = [
    CrashOperation("build an index and keep writing") { session in
      try session.fixture.addIndex(session.database(), "short by number")
      try session.commit(.put("doc-1", size: 3), .delete("rich-2"), .put("rich-3", size: 90))
      try session.fixture.checkpoint(session.database())
      try session.commit(.put("doc-2", size: 3), .purge("rich-3"), durability: .none)
    },
    CrashOperation("build an index, compact, remove it and build another") { session in
      try session.fixture.addIndex(session.database(), "by number")
      try session.fixture.compact(session.database())
      try session.fixture.removeIndex(session.database(), "by number")
      try session.fixture.addIndex(session.database(), "number, text")
      try session.commit(.put("rich-1", size: 5), durability: .none)
    },
    CrashOperation("build an index of words and keep writing") { session in
      try session.fixture.addIndex(session.database(), "words")
      try session.commit(.put("doc-1", size: 63), .delete("rich-2"), .put("rich-3", size: 44))
      try session.fixture.checkpoint(session.database())
      try session.commit(
        .put("rich-3", size: 45), .put("doc-2", size: 30), .purge("doc-1"), durability: .none)
      try session.fixture.compact(session.database())
      try session.commit(.put("doc-1", size: 63))
    },
  ]

  private static let keepingHistory = [
    CrashOperation("name a snapshot") { session in
      try session.fixture.name(session.database(), "one")
      try session.commit(.put("rich-3", size: 33), .detach("rich-1"), .delete("rich-2"))
      try session.fixture.name(session.database(), "two")
      try session.fixture.compact(session.database())
      try session.commit(.purge("rich-3"), .put("doc-1", size: 3), durability: .none)
    },
    CrashOperation("remove a named snapshot and clean up") { session in
      try session.fixture.name(session.database(), "one")
      try session.commit(.detach("rich-1"), .detach("rich-5"), .put("rich-3", size: 20))
      for name in ["first", "one"] {
        try session.fixture.removeName(session.database(), name)
        try session.fixture.compact(session.database())
      }
    },
    CrashOperation("prune history with attachments") { session in
      for round in 0..<4 {
        try session.commit(
          .attach("doc-1", name: "a", seed: UInt8(40 + round), size: 60 + round),
          .attach("rich-1", name: "small", seed: UInt8(50 + round), size: 20),
          .put("doc-2", size: round))
      }
      try session.fixture.compact(session.database())
      try session.commit(.detach("doc-1"), .detach("rich-1"), durability: .none)
      try session.commit(.put("doc-1", size: 1), .put("rich-1", size: 1))
      try session.commit(.put("doc-1", size: 2), .put("rich-1", size: 2), durability: .none)
      try session.fixture.compact(session.database())
    },
  ]

  private static let besides = [
    CrashOperation("let documents expire") { session in
      try session.commit(.put("doc-1", size: 10), .expire("doc-1", seconds: 30))
      try session.commit(.expire("rich-1", seconds: 20), .put("rich-1", size: 7), durability: .none)
      try session.fixture.purgeExpired(session.database(), afterSeconds: 25)
      try session.commit(.expire("rich-4", seconds: nil), .expire("doc-2", seconds: 40))
      try session.fixture.merge(session.database())
      try session.fixture.purgeExpired(session.database(), afterSeconds: 90)
      try session.fixture.compact(session.database())
    },
    CrashOperation("put local documents") { session in
      try session.commit(.putLocal("state", size: 30), .putLocal("other", size: 10))
      try session.commit(.putLocal("other", size: 12), .put("doc-1", size: 3), durability: .none)
      try session.fixture.compact(session.database())
      try session.commit(.removeLocal("state"))
      try session.fixture.compact(session.database())
    },
    CrashOperation("change everything repeatedly") { session in
      for _ in 0..<2 {
        try session.enrich(durability: .none, closing: false)
        try session.fixture.checkpoint(session.database())
      }
      try session.fixture.merge(session.database())
      try session.close()
      try session.commit(.deleteAll("rich-3"), .purge("rich-2"))
    },
  ]
}
