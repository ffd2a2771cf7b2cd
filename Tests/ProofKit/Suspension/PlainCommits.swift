import Divan
import DivanTesting

/// The commits of a store as they were made, kept outside of it.
///
/// Every commit changes the document `count`, which says how many there were.
struct PlainCommits: Sendable {
  /// The documents after each commit, from none on.
  private(set) var states: [[String: Int]] = [[:]]
  /// The number of commits that must survive a loss of power.
  private(set) var durableCount = 0
}

extension PlainCommits {
  /// The number of commits.
  var count: Int { states.count - 1 }

  /// Notes that everything so far was flushed.
  mutating func noteDurable() { durableCount = count }

  /// Makes a commit with some changes, in the store and here.
  mutating func commit(
    to database: Database, durability: Durability, _ random: inout SeededGenerator
  ) throws {
    var state = states[count]
    state["count"] = count + 1
    let size = 10 + random.below(random.below(8) == 0 ? 3000 : 200)
    for _ in 0...random.below(4) {
      let id = "d\(random.below(30))"
      state[id] = random.below(4) == 0 ? nil : random.below(1000)
    }
    let old = states[count]
    try database.write(durability: durability) { transaction in
      for (id, value) in state.sorted(by: { $0.key < $1.key }) where old[id] != value {
        try transaction.replace(
          id,
          with: [
            "value": .int(Int64(value)), "text": .string(String(repeating: "x", count: size)),
          ])
      }
      for id in old.keys.sorted() where state[id] == nil { _ = try transaction.delete(id) }
    }
    states.append(state)
    if durability == .full { noteDurable() }
  }

  /// Returns the documents of a snapshot.
  static func read(_ snapshot: Snapshot) throws -> [String: Int] {
    var found: [String: Int] = [:]
    var documents = snapshot.documents()
    while let document = try documents.next() {
      found[document.id] = document["value"]?.intValue ?? -1
    }
    guard try snapshot.count == found.count else {
      throw CrashOracle.Mismatch(
        "\(found.count) documents are found, \(try snapshot.count) counted")
    }
    return found
  }

  /// Returns the number of the commit that a snapshot shows; throws if it shows none.
  func identify(_ snapshot: Snapshot) throws -> Int {
    let found = try PlainCommits.read(snapshot)
    let count = found["count"] ?? 0
    guard states.indices.contains(count) else {
      throw CrashOracle.Mismatch("commit \(count) was never made")
    }
    guard states[count] == found else {
      throw CrashOracle.Mismatch(
        "the documents of commit \(count) are \(found), not \(states[count])")
    }
    return count
  }

  /// Throws unless a snapshot shows the newest commit.
  func requireNewest(_ snapshot: Snapshot) throws {
    let found = try identify(snapshot)
    guard found == count else {
      throw CrashOracle.Mismatch("commit \(found) is shown, and \(count) is the newest")
    }
  }

  /// Drops the commits that a loss of power undid.
  ///
  /// Throws if one of them was durable.
  mutating func cut(to found: Int) throws {
    guard found >= durableCount else {
      throw CrashOracle.Mismatch(
        "commit \(durableCount) was durable, and \(found) is the last one left")
    }
    states.removeLast(count - found)
    noteDurable()
  }
}
