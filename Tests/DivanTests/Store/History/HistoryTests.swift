import ProofKit
import Testing

/// Tests of the checker of recorded histories: it rejects invalid ones and accepts valid ones.
struct HistoryTests {
  private typealias Transaction = History.Transaction
  private typealias View = History.View

  private func problems(
    _ transactions: [Transaction], _ views: [View] = [], recovered: View? = nil,
    spentSequence: UInt64 = 0
  ) -> [String] {
    var history = History()
    history.initial = [
      History.Change("x", "0", sequence: 1), History.Change("y", "0", sequence: 2),
    ]
    history.spentSequence = spentSequence
    history.transactions = transactions
    history.views = views
    history.recovered = recovered
    return HistoryChecker.problems(of: history)
  }

  private func expectOne(_ problems: [String], _ text: String) {
    #expect(problems.count == 1 && problems.first?.contains(text) == true, "\(problems)")
  }

  @Test func `the checker accepts a valid history`() {
    let all = problems(
      [
        Transaction("a", 1...4, [.read("x", "0"), .write("x", "1", sequence: 3), .read("x", "1")]),
        // It overlaps with the first, and was partly rolled back.
        Transaction(
          "b", 2...6,
          [
            .read("x", "1"), .begin, .write("y", "9", sequence: 4), .read("y", "9"), .takenBack,
            .read("y", "0"), .begin, .write("y", nil, sequence: 4), .taken, .read("y", nil),
          ]),
        Transaction("c", 5...7, [.read("y", "0"), .write("x", "7", sequence: 4)], .aborted),
        Transaction("d", 7...8, [.write("x", "8", sequence: 5)], .unknown),
        Transaction("e", 9...10, [.read("x", "1"), .read("y", nil)]),
      ],
      [
        View("during", 3...5, sequence: 3, [.document("x", "1"), .document("y", "0"), .count(2)]),
        View(
          "later", 9...10, sequence: 4,
          [
            .everything(["x": "1"]), .count(1),
            .changes(since: 2, [.init("x", "1", sequence: 3), .init("y", nil, sequence: 4)]),
            .changes(since: 4, []),
          ]),
      ],
      recovered: View("found", 0...0, sequence: 4, [.everything(["x": "1"])]))
    #expect(all.isEmpty, "\(all)")
  }

  @Test func `the checker finds a lost update`() {
    expectOne(
      problems([
        Transaction("a", 1...2, [.read("x", "0"), .write("x", "1", sequence: 3)]),
        Transaction("b", 1...4, [.read("x", "0"), .write("x", "1", sequence: 4)]),
      ]), "b read 0 in x instead of 1")
  }

  @Test func `the checker finds write skew`() {
    expectOne(
      problems([
        Transaction("a", 1...3, [.read("x", "0"), .read("y", "0"), .write("x", "1", sequence: 3)]),
        Transaction("b", 2...4, [.read("x", "0"), .read("y", "0"), .write("y", "1", sequence: 4)]),
      ]), "b read 0 in x instead of 1")
  }

  @Test func `the checker finds dirty reads of uncommitted or partial transactions`() {
    let a = Transaction("a", 1...4, [.write("x", "1", sequence: 3), .write("y", "1", sequence: 4)])
    expectOne(
      problems([a], [View("v", 2...3, sequence: 2, [.document("x", "1")])]),
      "v read 1 in x instead of 0")
    expectOne(
      problems([a], [View("v", 2...3, sequence: 3, [])]), "v is at 3, where no commit ends")
    expectOne(
      problems([a], [View("v", 2...3, sequence: 4, [.everything(["x": "1", "y": "0"])])]),
      "v scanned")
  }

  @Test func `the checker finds reads of changes that were rolled back`() {
    let a = Transaction("a", 1...2, [.write("x", "1", sequence: 3)], .aborted)
    expectOne(
      problems([a], [View("v", 3...4, sequence: 2, [.document("x", "1")])]), "v read 1 in x")
    expectOne(
      problems([a, Transaction("b", 3...4, [.read("x", "1"), .write("y", "2", sequence: 3)])]),
      "b read 1 in x")
    expectOne(problems([a, Transaction("b", 3...4, [.read("x", "1")])]), "b read 1 in x")
  }

  @Test func `the checker finds a snapshot that changes`() {
    expectOne(
      problems(
        [Transaction("a", 3...4, [.write("x", "1", sequence: 3)])],
        [View("v", 1...2, sequence: 2, [.document("x", "0"), .document("x", "1")])]),
      "v read 1 in x instead of 0")
  }

  @Test func `the checker finds snapshots that are stale or from the future`() {
    let a = Transaction("a", 1...2, [.write("x", "1", sequence: 3)])
    expectOne(problems([a], [View("v", 3...4, sequence: 2, [])]), "v is without a")
    let late = Transaction("late", 5...6, [.write("x", "1", sequence: 3)])
    expectOne(problems([late], [View("v", 3...4, sequence: 3, [])]), "v is with late")
    // Neither view is wrong by itself, but the second one is older.
    let slow = Transaction("slow", 1...9, [.write("x", "1", sequence: 3)])
    expectOne(
      problems([slow], [View("v", 2...3, sequence: 3, []), View("w", 4...5, sequence: 2, [])]),
      "w is older than v")
  }

  @Test func `the checker requires a read-only transaction to see one state that is not stale`() {
    let writes = [
      Transaction("a", 1...2, [.write("x", "1", sequence: 3)]),
      Transaction("b", 3...8, [.write("y", "1", sequence: 4)]),
    ]
    let good = Transaction("c", 4...5, [.read("x", "1"), .read("y", "0")])
    #expect(problems(writes + [good]).isEmpty)
    expectOne(problems(writes + [Transaction("c", 4...5, [.read("x", "0")])]), "c read 0 in x")
    expectOne(
      problems(writes + [Transaction("c", 1...9, [.read("x", "0"), .read("y", "1")])]), "c read 0")
  }

  @Test func `the checker finds sequence numbers that repeat, decrease or contradict real time`() {
    let a = Transaction("a", 1...2, [.write("x", "1", sequence: 3)])
    expectOne(
      problems([a, Transaction("b", 1...4, [.write("y", "1", sequence: 3)])]), "at 3, after 3")
    expectOne(
      problems([
        Transaction("b", 1...4, [.write("x", "1", sequence: 4), .write("y", "1", sequence: 3)])
      ]),
      "at 3, after 4")
    expectOne(
      problems([
        Transaction("b", 3...4, [.write("x", "1", sequence: 3)]),
        Transaction("a", 1...2, [.write("y", "1", sequence: 4)]),
      ]), "b was committed before a, and began after it")
    expectOne(problems([a], spentSequence: 3), "at 3, after 3")
  }

  @Test func `the checker finds a feed that omits, repeats or invents a change`() {
    let a = Transaction("a", 1...2, [.write("x", "1", sequence: 3), .write("y", "1", sequence: 4)])
    let x = History.Change("x", "1", sequence: 3)
    let y = History.Change("y", "1", sequence: 4)
    for (since, wrong) in [(2, [y]), (2, [x, x, y]), (2, [y, x]), (3, [x, y]), (4, [y])] {
      let view = View("v", 3...4, sequence: 4, [.changes(since: UInt64(since), wrong)])
      expectOne(problems([a], [view]), "v got")
    }
  }

  @Test func `the checker finds a crash that loses acknowledged or observed commits`() {
    let a = Transaction("a", 1...2, [.write("x", "1", sequence: 3)])
    let weak = Transaction("w", 3...4, [.write("x", "2", sequence: 4)], isFull: false)
    let unknown = Transaction("u", 5...9, [.write("x", "3", sequence: 5)], .unknown)
    let nothing = View("found", 0...0, sequence: 2, [])
    expectOne(problems([a], recovered: nothing), "without a, which was acknowledged")
    let some = View("found", 0...0, sequence: 3, [.document("x", "1")])
    #expect(problems([a, weak, unknown], recovered: some).isEmpty)
    let seen = View("v", 6...7, sequence: 5, [.document("x", "3")])
    expectOne(
      problems([a, weak, unknown], [seen], recovered: some), "without u, which had been seen")
    expectOne(
      problems([a, weak], recovered: View("found", 0...0, sequence: 4, [.document("x", "1")])),
      "found read 1 in x instead of 2")
  }
}
