import Divan
import DivanTesting

/// How a store is when a composed workload begins.
package struct CrashStart: Sendable {
  package let name: String
  /// Leaves the store on the disk.
  let prepare: @Sendable (CrashSession) throws -> Void
  /// Opens it, and does what leaves something in memory or unflushed.
  let enter: @Sendable (CrashSession) throws -> Void

  init(
    _ name: String, prepare: @escaping @Sendable (CrashSession) throws -> Void,
    enter: @escaping @Sendable (CrashSession) throws -> Void = { _ = try $0.database() }
  ) {
    self.name = name
    self.prepare = prepare
    self.enter = enter
  }
}

extension CrashStart {
  /// All that there are: fresh and aged.
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
      session.bench.lose(.processEnd)
    },
    CrashStart("a store that lost power") { session in
      try session.fill(0..<5, size: 300)
      try session.fill(1..<7, size: 500, durability: .none)
      session.bench.lose(.random(seed: 5))
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
        try session.bench.checkpoint(session.database())
        try session.close()
      },
      enter: { session in
        try session.fill(5..<8, size: 60)
        try session.bench.checkpoint(session.database())
        try session.fill(7..<9, size: 60, durability: .none)
      }),
    CrashStart("a store whose merging was interrupted") { session in
      try session.age()
      try session.fill(0..<4, size: 250)
      // After the output has its name, and before the inputs are gone.
      let disk = session.bench.fileSystem
      disk.observeCalls { call in
        if call.verb == .remove { disk.losePower(atCall: 0) }
      }
      try? session.bench.compact(session.database())
      session.bench.lose(.everything)
    },
  ]
}

extension CrashSession {
  /// Sessions with overwriting, deleting, checkpoints and merges.
  func age() throws {
    for round in 0..<4 {
      try fill(round * 2..<round * 2 + 5, size: 300)
      try commit(.delete("doc-\(round * 2)"))
      if round == 1 { try bench.checkpoint(database()) }
      if round == 2 { try bench.compact(database()) }
      try close()
    }
  }
}
