import Divan
import DivanTesting

/// Lets stores exchange revisions in any order, with histories that are cut at random.
package struct ReplicaProof: Proof {
  package static let name = "replicas"
  package static let claim =
    "every leaf keeps its content and history, in any order and with any cut of histories"

  package init() {}

  package func gather(_ run: ProofRun) throws {
    let count = run.budget.choose(test: 60, ci: 1_500, night: 20_000, release: 150_000)
    let seeds = (0..<UInt64(count)).map { run.seed &+ $0 }
    run.forEach(seeds, name: { "world \($0)." }) { seed in
      var trial = try ReplicaTrial(seed: seed)
      do {
        try trial.play()
      } catch {
        throw CrashOracle.Mismatch("\(error)\n  \(trial.told.suffix(12).joined(separator: "\n  "))")
      }
      run.count("worlds")
      run.count("insertions", trial.insertionCount)
      run.count("edits", trial.editCount)
    }
    run.require("worlds", atLeast: count)
    run.require(
      "insertions",
      atLeast: run.budget.choose(test: 1_500, ci: 50_000, night: 700_000, release: 5_000_000))
  }
}

/// A few documents on a few stores, and a list of operations on them.
struct ReplicaTrial {
  private var random: SeededGenerator
  private var worlds: [ReplicaWorld] = []
  private var replicas: [Replica] = []
  private(set) var insertionCount = 0
  private(set) var editCount = 0
  /// The operations so far, for the report of a failure.
  private(set) var told: [String] = []
  private let stepCount: Int

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    // Long histories cost more, so they are rarer.
    let isLong = random.below(60) == 0
    stepCount = isLong ? 25 : 60
    for number in 0..<(isLong ? 1 : 2) {
      var world = ReplicaWorld(id: "document \(number)")
      let length = isLong ? 200 + random.below(900) : 1 + random.below(45)
      for _ in 0..<length { try world.grow(&random) }
      worlds.append(world)
    }
    let depths = isLong ? [20, 100, 1000] : [1, 2, 3, 5, 8, 20, 20, 20, 1000]
    for number in 0..<(3 + random.below(3)) {
      replicas.append(
        try Replica(
          seed: seed &* 8 &+ UInt64(number), depth: depths[random.below(depths.count)],
          isWithHistory: random.below(4) == 0))
    }
  }

  mutating func play() throws {
    for _ in 0..<stepCount { try step() }
    for replica in replicas {
      try replica.compareAll(worlds)
      try replica.database.compact()
      try replica.compareAll(worlds)
      try replica.reopen()
      try replica.compareAll(worlds)
    }
    try replicas[random.below(replicas.count)].compareCopies(worlds)
    for replica in replicas { try replica.database.close() }
  }

  private mutating func step() throws {
    let at = random.below(replicas.count)
    let replica = replicas[at]
    let number = random.below(worlds.count)
    func tell(_ what: String) {
      told.append("store \(at) (depth \(replica.depth)), \(worlds[number].id): \(what)")
    }
    switch random.below(100) {
    case 0..<10: try worlds[number].grow(&random)
    case 10..<66:
      let revisions = worlds[number].revisions
      // Often an old one, so that revisions arrive after their successors.
      let made = revisions[random.below(revisions.count)]
      let whole = worlds[number].history(of: made.revision)
      let history = Array(whole.prefix(cut(whole.count, depth: replica.depth)))
      tell("insert \(history)\(made.isDeleted ? ", deleted" : "")")
      try replica.insert(made, history, in: worlds[number])
      insertionCount += 1
    case 66..<78:
      let leaves = worlds[number].ordered(replica.expected[worlds[number].id]?.leaves ?? [])
      guard let leaf = leaves.randomElement(using: &random) else { return }
      // A document that is deleted cannot be deleted again.
      let isDeletion = random.below(4) == 0 && !leaf.isDeleted
      tell("\(isDeletion ? "delete" : "change") \(leaf.revision)")
      try replica.edit(
        leaf, isDeletion: isDeletion, number: random.below(5), in: &worlds[number])
      editCount += 1
    case 78..<90:
      let other = replicas[random.below(replicas.count)]
      guard other !== replica else { return }
      tell("send to the store of depth \(other.depth)")
      insertionCount += try replica.send(worlds[number], to: other)
      try other.compare(worlds[number])
    case 90..<92:
      let leaves = worlds[number].ordered(replica.expected[worlds[number].id]?.leaves ?? [])
      guard let leaf = leaves.randomElement(using: &random) else { return }
      tell("purge \(leaf.revision)")
      try replica.purge(leaf.revision, in: worlds[number])
    case 92..<94:
      tell("compact")
      try replica.database.compact()
      return try replica.compareAll(worlds, isThorough: false)
    case 94..<97:
      tell("reopen")
      try replica.reopen()
      return try replica.compareAll(worlds, isThorough: false)
    default: return try replica.compareAll(worlds)
    }
    try replica.compare(worlds[number])
  }

  /// Returns how much of a history is sent.
  private mutating func cut(_ count: Int, depth: Int) -> Int {
    switch random.below(5) {
    case 0: count
    case 1: 1
    case 2: min(count, depth)
    default: 1 + random.below(count)
    }
  }
}
