import DivanLog
import DivanTesting

import Divan

/// Damaged pages of a checkpoint: each read must be answered as if they were whole, or fail.
extension RuleCase {
  static let pages: [RuleCase] = [
    RuleCase(name: "rule 21: any page is rebuilt after a clean close") {
      let (fixture, pages) = try fixtureWithPages(isClosed: true)
      for page in pages {
        let left = try fixture.damaged([page])
        let database = try left.openQuiet()
        try fixture.expectNewest(database)
        try expect(database.openingReport.notes.isEmpty, "\(database.openingReport.notes)")
      }
    },
    RuleCase(name: "rule 21: two damaged pages are rebuilt, also a leaf and its parent") {
      let (fixture, pages) = try fixtureWithPages(isClosed: true)
      for (first, second) in pairs(of: pages) {
        let database = try fixture.damaged([first, second]).openQuiet()
        try fixture.expectNewest(database)
        try expect(database.openingReport.notes.isEmpty, "\(database.openingReport.notes)")
      }
    },
    RuleCase(name: "rule 21: a store with a page that cannot be rebuilt does not say closed") {
      let fixture = CrashFixture.fresh()
      let database = try fixture.openQuiet()
      try database.write { transaction in
        for number in 0..<400 {
          let text = "oak \(number) \(number * 7919) \(String(repeating: "k", count: 150))\(number)"
          _ = try transaction.replace("\(number)", with: ["text": .string(text)])
        }
      }
      try database.addIndex(DocumentIndex("words", fullText: "text"))
      try database.writeCheckpoint()
      try database.close()
      let name =
        fixture.fileSystem.names(in: CrashFixture.path)
        .filter { $0.hasSuffix(".checkpoint") }.max() ?? ""
      let size = try fixture.fileSystem.status(fixture.path(of: name)).size
      // Words have no record, so a leaf of them is lost, and with it the page above.
      var failureCount = 0
      for page in 1..<size / 4096 - 1 {
        let left = fixture.restarted(.processEnd)
        for damaged in [page, page + 1] {
          try left.fileSystem.corrupt(
            left.path(of: name), atOffset: 4096 * damaged + 2000, mask: 4)
        }
        let words = Query<Document>().filter(.matches(.fullText("oak"), index: "words"))
        let damagedStore = try left.openQuiet()
        let isFailing =
          (try? damagedStore.check().problems.contains { $0.code == .damaged }) ?? true
        try? damagedStore.close()
        guard isFailing else { continue }
        let again = try left.restarted(.processEnd, life: 501).openQuiet()
        guard again.openingReport.ending == .interrupted else { continue }
        failureCount += 1
        if again.openingReport.notes.contains(where: { $0.contains("was not used") }) {
          let count = try again.snapshot().count(words)
          try expect(count == 400, "\(count) documents have the word")
        }
      }
      try expect(failureCount > 0, "no damage prevents a read")
    },
    RuleCase(name: "rule 21: after a crash, a checkpoint with a damaged inner page is not used") {
      let (fixture, pages) = try fixtureWithPages(isClosed: false)
      var noteCount = 0
      for (first, second) in pairs(of: pages) {
        let database = try fixture.damaged([first, second]).openQuiet()
        try fixture.expectNewest(database)
        if database.openingReport.notes.contains(where: { $0.contains("was not used") }) {
          noteCount += 1
        }
      }
      try expect(noteCount > 0, "no checkpoint was refused")
    },
  ]

  /// Returns a store with a checkpoint, and the numbers of its pages.
  private static func fixtureWithPages(
    isClosed: Bool
  ) throws -> (fixture: CrashFixture, pages: Range<Int>) {
    let fixture = CrashFixture.fresh()
    let database = try fixture.openQuiet { $0.segmentSizeGoal = 1 << 20 }
    let tail = String(repeating: "k", count: 160)
    try fixture.commit(database, (0..<200).map { .put("\($0)-\(tail)", size: 1) })
    try database.writeCheckpoint()
    let left = isClosed ? fixture : fixture.restarted(.processEnd)
    if isClosed { try database.close() }
    let size = try left.fileSystem.status(left.path(of: checkpoint)).size
    try expect(size > 10 * 4096, "\(size) bytes are too few for an inner page")
    return (left, 1..<size / 4096)
  }

  private static func pairs(of pages: Range<Int>) -> [(Int, Int)] {
    pages.flatMap { first in pages.filter { $0 > first }.map { (first, $0) } }
  }

  fileprivate static let checkpoint = "0000000001.checkpoint"
}

extension CrashFixture {
  /// Returns the store after a restart, with damage to some pages of its checkpoint.
  fileprivate func damaged(_ pages: [Int]) throws -> CrashFixture {
    let left = restarted(.processEnd)
    for page in pages {
      try left.fileSystem.corrupt(
        left.path(of: RuleCase.checkpoint), atOffset: 4096 * page + 2000, mask: 4)
    }
    return left
  }
}
