package import Divan

/// What the threads of a process write that is going to be killed, and how one sees that all of it is
/// there and nothing by half.
///
/// Round *k* of thread *t* sets two documents, `t-left` and `t-right`, numbered *k* around, to *k*; it
/// counts up `t-count`, which is *k* then, and `total`, which is the sum over all threads.
package struct TwinLedger: Sendable {
  /// How many pairs each thread has.
  package static let pairs = 37

  package init() {}

  /// Runs one round in one transaction.
  package func write(
    _ round: Int, thread: Int, in database: Database, durability: Durability
  ) throws {
    let number = Value.int(Int64(round))
    // Of changing size, so that documents do not take each other's places exactly.
    let text = Value.string(String(repeating: "x", count: round &* 7919 % 400))
    let pair = round % TwinLedger.pairs
    try database.write(durability: durability) { transaction in
      try transaction.overwrite("\(thread)-left-\(pair)", with: ["n": number, "text": text])
      try transaction.overwrite("\(thread)-right-\(pair)", with: ["n": number])
      try transaction.overwrite("\(thread)-count", with: ["n": number])
      let total = try transaction.get("total")?["n"]?.intValue ?? 0
      try transaction.overwrite("total", with: ["n": .int(Int64(total + 1))])
    }
  }

  /// How many rounds of each thread a snapshot holds.
  ///
  /// - Throws: if any round is there by half.
  package func read(_ snapshot: Snapshot) throws -> [Int: Int] {
    var counts: [Int: Int] = [:]
    for thread in 0..<16 {
      guard let count = try snapshot.get("\(thread)-count")?["n"]?.intValue else { continue }
      counts[thread] = count
      for round in max(1, count - TwinLedger.pairs + 1)...count {
        for side in ["left", "right"] {
          let id = "\(thread)-\(side)-\(round % TwinLedger.pairs)"
          let found = try snapshot.get(id)?["n"]?.intValue
          guard found == round else {
            throw CrashOracle.Mismatch(
              "\(id) is \(found ?? -1) instead of \(round), and the count is \(count)")
          }
        }
      }
    }
    let total = try snapshot.get("total")?["n"]?.intValue ?? 0
    guard total == counts.values.reduce(0, +) else {
      throw CrashOracle.Mismatch("the total is \(total), and the threads counted \(counts)")
    }
    return counts
  }
}
