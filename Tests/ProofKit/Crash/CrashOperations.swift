import Divan
import DivanTesting
import Synchronization

/// An operation on a store; workloads are composed of these.
package struct CrashOperation: Sendable {
  package let name: String
  /// Whether it makes such large files that less of it is tried.
  package var isHeavy = false
  package let run: @Sendable (CrashSession) throws -> Void

  init(
    _ name: String, isHeavy: Bool = false, _ run: @escaping @Sendable (CrashSession) throws -> Void
  ) {
    self.name = name
    self.isHeavy = isHeavy
    self.run = run
  }
}

extension CrashOperation {
  /// All operations.
  package static let all = writing + keeping + copying + ending

  private static let writing = [
    CrashOperation("put") { session in
      try session.commit(.put("doc-1", size: 50))
      try session.commit(.put("new", size: 120))
    },
    CrashOperation("put large documents") { session in
      try session.fill(0..<4, size: 3000)
    },
    CrashOperation("put many documents at once") { session in
      try session.fixture.commit(
        session.database(), (0..<14).map { .put("doc-\($0)", size: 150 + $0) })
    },
    CrashOperation("put documents of several frames", isHeavy: true) { session in
      try session.fixture.commit(
        session.database(), (0..<3).map { .put("large-\($0)", size: 400_000) })
      try session.commit(.delete("large-1"))
    },
    CrashOperation("delete") { session in
      try session.commit(.delete("doc-1"), .delete("doc-3"))
      try session.commit(.delete("doc-2"))
    },
    CrashOperation("commit without waiting for a flush") { session in
      try session.fill(0..<3, size: 200, durability: .none)
      try session.commit(.delete("doc-1"), durability: .none)
    },
    CrashOperation("commit relaxed") { session in
      let durability = Durability.relaxed(maxDelay: .seconds(9000))
      try session.commit(.put("doc-1", size: 77), durability: durability)
      try session.commit(.delete("doc-4"), .put("doc-5", size: 600), durability: durability)
    },
    CrashOperation("roll back a part") { session in
      try session.commit(
        .put("doc-1", size: 40), .takeBack("doc-2", size: 500, deleting: "doc-3"),
        .put("doc-4", size: 60))
      try session.commit(.takeBack("doc-5", size: 30, deleting: "doc-1"))
    },
  ]

  private static let keeping = [
    CrashOperation("flush") { session in
      try session.commit(.put("doc-1", size: 310), durability: .none)
      try session.commit(.put("doc-2", size: 320), durability: .none)
      try session.flush()
    },
    CrashOperation("checkpoint") { session in
      try session.commit(.put("doc-2", size: 33), durability: .none)
      try session.fixture.checkpoint(session.database())
    },
    CrashOperation("compact what pays off") { session in
      try session.commit(.put("doc-0", size: 21), durability: .none)
      try session.fixture.merge(session.database())
    },
    CrashOperation("compact") { session in
      try session.commit(.delete("doc-2"), durability: .none)
      try session.fixture.compact(session.database())
    },
    CrashOperation("overwrite with maintenance") { session in
      for round in 0..<6 {
        try session.commit(
          .put("doc-\(round % 3)", size: 900), durability: round % 2 == 0 ? .none : .full)
        if round % 3 == 2 { try session.fixture.checkpoint(session.database()) }
      }
      try session.fixture.merge(session.database())
    },
  ]

  private static let copying = [
    CrashOperation("back up") { session in
      try session.commit(.put("doc-6", size: 60), durability: .none)
      try session.fixture.backup(session.database(), to: session.freePath("/copy"))
    },
    CrashOperation("restore") { session in
      let copy = session.freePath("/copy")
      try session.fixture.unwatched { try session.fixture.backup(session.database(), to: copy) }
      try session.fixture.restore(from: copy, to: session.freePath("/restored"))
    },
    CrashOperation("read beside the writer") { session in
      for round in 0..<3 {
        try session.commit(.put("doc-\(round)", size: 90), durability: round == 1 ? .none : .full)
        let reader = try session.fixture.open { $0.isReadOnly = true }
        try session.fixture.doing(.read) {
          _ = try session.fixture.writer.oracle.withLock { try $0.identify(reader) }
        }
        try reader.close()
      }
    },
  ]

  private static let ending = [
    CrashOperation("close and reopen") { session in
      try session.close()
      _ = try session.database()
      try session.commit(.put("doc-7", size: 70))
    },
    CrashOperation("work in many small sessions") { session in
      for round in 0..<3 {
        try session.commit(.put("doc-\(round)", size: 100), .delete("doc-\(round + 1)"))
        try session.close()
      }
    },
    CrashOperation("fill the disk") { session in
      _ = try session.database()
      let disk = session.fixture.fileSystem
      disk.capacityBytes = disk.usedBytes + 1500
      var isFull = false
      for round in 0..<8 where !isFull {
        isFull = try session.tryWithFullDisk {
          try session.commit(.put("full-\(round)", size: 400))
        }
      }
      // The reserve was released, so there is room for this.
      _ = try session.tryWithFullDisk { try session.commit(.delete("full-0")) }
      session.fixture.fileSystem.capacityBytes = nil
      // Enough for a checkpoint, which makes the reserve again.
      for round in 1...3 { try session.commit(.put("doc-\(round)", size: 900)) }
    },
    CrashOperation("end the process") { session in
      try session.commit(.put("doc-2", size: 222), durability: .none)
      try session.lose(.processEnd)
      try session.commit(.put("doc-3", size: 33))
    },
    CrashOperation("lose power") { session in
      try session.fill(0..<3, size: 222, durability: .none)
      try session.lose(.random(seed: 3))
      try session.commit(.put("doc-3", size: 33))
    },
  ]
}

extension CrashSession {
  /// Returns a path where no copy was put yet.
  func freePath(_ path: String) -> String {
    "\(path)-\(fixture.writer.oracle.withLock { $0.copies.count }).divan"
  }
}
