import Dispatch
import Divan
import DivanLog
import Foundation
import Synchronization
import Testing

/// Tests of the predicate cache while many threads query and others write.
///
/// Run under the thread sanitizer by `.ci/run`.
@Suite(.serialized)
struct PredicateCacheConcurrencyTests {
  @Test func `cached predicates count correctly in each version while many threads query`() throws {
    let database = try Database.inMemory()
    let count = effort(300, underThreadSanitizer: 100)
    let rounds = effort(60, underThreadSanitizer: 30)
    try database.write { transaction in
      for number in 0..<count {
        try transaction.put(Document(id: "doc-\(number)", ["n": .int(Int64(number % 10))]))
      }
    }
    let problems = Guarded<[String]>([])
    // Counts rounds instead of seconds: on a busy machine, two seconds are only a few rounds.
    let queried = Atomic(0)
    let written = Atomic(0)
    let stopped = Atomic(false)
    let group = DispatchGroup()
    func run(_ body: @escaping @Sendable () throws -> Void) {
      DispatchQueue(label: "thread").async(group: group) {
        do {
          while !stopped.load(ordering: .relaxed),
            queried.load(ordering: .relaxed) < rounds
              || written.load(ordering: .relaxed) < rounds
          {
            try body()
          }
        } catch {
          stopped.store(true, ordering: .relaxed)
          problems.withLock { $0.append("\(error)") }
        }
      }
    }
    run {
      try database.write { transaction in
        for _ in 0..<10 {
          _ = try transaction.replace(
            "doc-\(Int.random(in: 0..<count))", with: ["n": .int(.random(in: 0..<10))])
        }
      }
      written.add(1, ordering: .relaxed)
    }
    for _ in 0..<4 {
      run {
        let snapshot = try database.snapshot()
        let limit = Int64.random(in: 0..<10)
        let query = Query<Document>().filter { $0["n"] < .int(limit) }
        var plain = 0
        var documents = snapshot.documents()
        while let document = try documents.next() {
          if let n = document["n"]?.intValue, n < limit { plain += 1 }
        }
        let found = try (snapshot.count(query), snapshot.ids(query).count)
        if found != (plain, plain) {
          problems.withLock { $0.append("\(found) of \(plain) below \(limit)") }
        }
        queried.add(1, ordering: .relaxed)
      }
    }
    group.wait()
    #expect(problems.withLock { $0 } == [])
    #expect(try database.snapshot().count == count)
  }
}
