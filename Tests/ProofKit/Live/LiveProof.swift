import Dispatch
import Divan
import DivanTesting
import Synchronization

/// Observes queries while threads write as fast as they can.
package struct LiveProof: Proof {
  package static let name = "live"
  package static let claim =
    "an observer of a query misses no change, and receives the right differences"

  package init() {}

  package func gather(_ run: ProofRun) throws {
    let count = run.budget.choose(
      test: 400, ci: 100_000, night: 2_000_000, release: 10_000_000)
    let cases = [false, true].map { LiveCase(isIndexed: $0, changeCount: count) }
    run.forEach(cases, name: \.name) { liveCase in
      for follower in try liveCase.play(seed: run.seed) {
        for problem in follower.problems.prefix(3) {
          run.fail("\(follower.query): \(problem)", caseName: liveCase.name)
        }
        run.count("results", follower.resultCount)
        run.count("differences in them", follower.differenceCount)
      }
      run.count("changes", count)
    }
    run.require("changes", atLeast: 2 * count)
    run.require("results", atLeast: 12)
  }
}

/// A store in memory, two threads that write, and tasks that observe.
struct LiveCase: Sendable {
  let isIndexed: Bool
  let changeCount: Int

  var name: String { isIndexed ? "with indexes" : "without indexes" }

  private var queries: [Query<Document>] { LiveCase.queries + (isIndexed ? LiveCase.searches : []) }

  /// Searches in text, which need an index.
  private static var searches: [Query<Document>] {
    let found = Query<Document>().filter(.matches(.fullText("elm"), index: "words"))
    return [
      found.sort(.relevance).limit(10),
      Query<Document>().filter(.matches(.fullText("el* -ash"), index: "words")).sorted(by: "n"),
    ]
  }

  private static var queries: [Query<Document>] {
    let tagged = Query<Document>().filter { $0["tags"].contains("x") }
    return [
      Query<Document>().filter { $0["n"] < 60 }.sorted(by: "n"),
      tagged.sorted(by: "text").sorted(by: "n", .descending).offset(3).limit(10),
      Query<Document>().filter { $0["text"].hasPrefix("a") }.sorted(by: "text").limit(40),
    ]
  }

  func play(seed: UInt64) throws -> [LiveObserver] {
    let database = try Database.inMemory()
    if isIndexed {
      try database.addIndex(DocumentIndex("n", on: "n"))
      try database.addIndex(DocumentIndex("tags", on: "tags", eachElement: true))
      try database.addIndex(DocumentIndex("words", fullText: "words"))
    }
    let followers = Recorder<LiveObserver>()
    let finish = DispatchSemaphore(value: 0)
    var followerCount = 0
    for (number, query) in queries.enumerated() {
      for pause in [Duration.zero, .milliseconds(number + 1)] {
        followerCount += 1
        Task.detached {
          followers.append(await LiveObserver(query: query, pause: pause).following(database))
          finish.signal()
        }
      }
    }
    let failures = Mutex<[any Error]>([])
    DispatchQueue.concurrentPerform(iterations: 2) { writer in
      var random = SeededGenerator(seed: seed &* 2 &+ UInt64(writer))
      do { try write(changeCount / 2, to: database, &random) } catch {
        failures.withLock { $0.append(error) }
      }
    }
    if let failure = failures.withLock(\.first) { throw failure }
    // Documents that all queries return first, which ends the observers' work.
    try database.write { transaction in
      for number in 0..<10 {
        // So often that it is the most relevant one.
        let words = Array(repeating: "elm", count: 20).joined(separator: " ")
        _ = try transaction.put(
          Document(
            id: "end \(number)",
            ["n": -1, "text": "a", "tags": ["x"], "words": .string(words)]))
      }
    }
    for _ in 0..<followerCount {
      guard finish.wait(timeout: .now() + 300) == .success else {
        throw Mismatch("an observer did not reach the last result")
      }
    }
    var all = followers.all
    let snapshot = try database.snapshot()
    for index in all.indices { try all[index].compare(with: snapshot) }
    try database.close()
    return all
  }

  /// Changes documents, some of them in one transaction.
  private func write(
    _ count: Int, to database: Database, _ random: inout SeededGenerator
  ) throws {
    var left = count
    while left > 0 {
      let size = min(left, random.below(4) == 0 ? 1 + random.below(8) : 1)
      try database.write(durability: .none) { transaction in
        for _ in 0..<size { try change(transaction, &random) }
      }
      left -= size
    }
  }

  private func change(
    _ transaction: WriteTransaction, _ random: inout SeededGenerator
  ) throws {
    let id = "\(random.below(250))"
    switch random.below(12) {
    case 0: _ = try transaction.purge(id)
    case 1, 2: _ = try transaction.delete(id)
    case 3:
      guard let base = try transaction.document(id) else { return }
      for number in 0..<2 {
        var branch = base
        branch["n"] = .int(Int64(random.below(50) + 50 * number))
        _ = try transaction.put(branch, onConflict: .branch)
      }
    default:
      let text = ["ab", "aé", "b", "c"][random.below(4)]
      let tags: [Value] = random.below(2) == 0 ? ["x", "y"] : ["z"]
      _ = try transaction.replace(
        id,
        with: [
          "n": .int(Int64(random.below(100))), "text": .string(text), "tags": .array(tags),
          "words": .string(["elm", "elm oak", "oak ash", "elm ash", "ash"][random.below(5)]),
        ])
    }
  }
}

/// An observer that compares each result with the previous one and the reported changes.
struct LiveObserver: Sendable {
  let query: Query<Document>
  /// The time that it spends on each result.
  let pause: Duration
  private(set) var shown: [Document] = []
  private(set) var resultCount = 0
  private(set) var differenceCount = 0
  private(set) var problems: [String] = []

  init(query: Query<Document>, pause: Duration) {
    self.query = query
    self.pause = pause
  }

  /// Returns a copy that has observed the query up to a result that marks the end.
  func following(_ database: Database) async -> LiveObserver {
    var follower = self
    do {
      for try await result in database.liveResults(of: query) {
        follower.take(result)
        if follower.shown.first?.id.hasPrefix("end") == true { break }
        if pause > .zero { try await Task.sleep(for: pause) }
      }
    } catch {
      follower.problems.append("\(error)")
    }
    return follower
  }

  private mutating func take(_ result: LiveResult<Document>) {
    let new = Array(result)
    var made = shown
    result.changes.apply(to: &made, from: new)
    if made != new { problems.append("a difference does not lead to the result \(resultCount)") }
    if result.changes.isEmpty, !result.isFirst {
      problems.append("the result \(resultCount) is as it was")
    }
    shown = new
    resultCount += 1
    let changes = result.changes
    differenceCount +=
      changes.deletions.count + changes.insertions.count + changes.moves.count
      + changes.updates.count
  }

  /// Compares the last result with that of the query.
  mutating func compare(with snapshot: Snapshot) throws {
    let found = try snapshot.find(query)
    if shown != found {
      problems.append("\(shown.map(\.id)) were shown at the end, and there are \(found.map(\.id))")
    }
  }
}
