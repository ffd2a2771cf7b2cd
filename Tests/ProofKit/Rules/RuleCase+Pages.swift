import DivanLog
import DivanTesting

import Divan

/// Damaged inner pages of a checkpoint: an opening rebuilds them, or does not use the checkpoint.
extension RuleCase {
  static let pages: [RuleCase] = [
    RuleCase(name: "rule 21: an inner page is rebuilt from the leaves when the store is opened") {
      let (fixture, pages) = try fixtureWithPages(documentCount: 600)
      for isMapped in [true, false] {
        try fixture.expectRebuilt(pages, isMapped: isMapped) { try fixture.expectNewest($0) }
      }
    },
    RuleCase(name: "rule 21: inner pages of an older checkpoint's runs are rebuilt") {
      let (fixture, pages) = try fixtureWithPages(documentCount: 400, laterCount: 20)
      let names = fixture.fileSystem.names(in: CrashFixture.path)
      try expect(names.filter { $0.hasSuffix(".checkpoint") }.count == 2, "\(names)")
      try fixture.expectRebuilt(pages) { try fixture.expectNewest($0) }
    },
    RuleCase(name: "rule 21: an inner page of words is rebuilt from the leaves") {
      let (fixture, pages) = try fixtureWithWords()
      // A leaf with definitions of indexes is not rebuilt while the store is opened.
      try fixture.expectRebuilt(pages, exceptionCount: 1) { database in
        let words = Query<Document>().filter(.matches(.fullText("oak"), index: "words"))
        let count = try database.snapshot().count(words)
        try expect(count == wordDocumentCount, "\(count) documents have the word")
        try expect(try database.check().isSound, "not sound")
      }
    },
    RuleCase(name: "rule 21: inner pages beside a damaged leaf are not rebuilt") {
      let (fixture, pages) = try fixtureWithPages(documentCount: 100)
      var refusalCount = 0
      for first in pages {
        for second in pages where second > first {
          let database = try fixture.damaged([first, second]).openQuiet()
          try fixture.expectNewest(database)
          let isRefused = database.openingReport.notes.contains { $0.contains("was not used") }
          refusalCount += isRefused ? 1 : 0
        }
      }
      try expect(refusalCount > 0, "no leaf is below an inner page")
    },
  ]

  /// Returns a store with checkpoints, and the numbers of the first one's pages.
  ///
  /// IDs differ at the end only, so separators are long, and there are inner pages above others.
  private static func fixtureWithPages(
    documentCount: Int, laterCount: Int = 0
  ) throws -> (fixture: CrashFixture, pages: Range<Int>) {
    let fixture = CrashFixture.fresh()
    let database = try fixture.openQuiet { $0.segmentSizeGoal = 1 << 20 }
    let start = String(repeating: "k", count: 160)
    try fixture.commit(
      database, (0..<documentCount).map { .put("\(start)-\($0 + 1000)", size: 1) })
    try database.writeCheckpoint()
    if laterCount > 0 {
      try fixture.commit(database, (0..<laterCount).map { .put("\(start)-\($0 + 5000)", size: 1) })
      try database.writeCheckpoint()
    }
    try database.close()
    return (fixture, 0..<(try fixture.pageCount()))
  }

  private static let wordDocumentCount = 1500

  /// Returns a store whose last checkpoint has a full-text index, and the numbers of its pages.
  private static func fixtureWithWords() throws -> (fixture: CrashFixture, pages: Range<Int>) {
    let fixture = CrashFixture.fresh()
    let database = try fixture.openQuiet()
    try database.write { transaction in
      for number in 0..<wordDocumentCount {
        let text = "oak \(String(repeating: "k", count: 150))\(number)"
        _ = try transaction.replace("\(number)", with: ["text": .string(text)])
      }
    }
    try database.addIndex(DocumentIndex("words", fullText: "text"))
    try database.writeCheckpoint()
    try database.close()
    return (fixture, 0..<(try fixture.pageCount()))
  }
}

extension CrashFixture {
  /// The path of the oldest checkpoint.
  private func checkpointPath() throws -> String {
    let names = fileSystem.names(in: CrashFixture.path).filter { $0.hasSuffix(".checkpoint") }
    guard let name = names.min() else {
      throw CrashOracle.Mismatch("there is no checkpoint")
    }
    return path(of: name)
  }

  /// The number of pages in the oldest checkpoint.
  fileprivate func pageCount() throws -> Int {
    let count = try fileSystem.status(checkpointPath()).size / 4096 - 1
    try expect(count > 5, "\(count) pages are too few for an inner page")
    return count
  }

  /// Returns the store after a restart, with damage to some pages of its oldest checkpoint.
  fileprivate func damaged(_ pages: [Int], isMapped: Bool = false) throws -> CrashFixture {
    let left = restarted(.processEnd)
    for page in pages {
      try left.fileSystem.corrupt(
        left.checkpointPath(), atOffset: 4096 * (page + 1) + 2000, mask: 4)
    }
    return CrashFixture(left.fileSystem, CrashWriter(seed: 0), isMapped: isMapped, life: 70)
  }

  /// Damages each page, and expects that an opening rebuilds it if it is an inner one.
  fileprivate func expectRebuilt(
    _ pages: Range<Int>, isMapped: Bool = false, exceptionCount: Int = 0,
    check: (Database) throws -> Void
  ) throws {
    var rebuiltCount = 0
    var exceptions: [String] = []
    for page in pages {
      let left = try damaged([page], isMapped: isMapped)
      // Tools rebuild nothing, so for them there is no checkpoint if an inner page is damaged.
      let (sound, _) = try InspectedCheckpoint.newest(
        among: left.directory.listing().files, in: left.directory)
      guard sound == nil else { continue }
      let database = try left.openQuiet()
      try check(database)
      let notes = database.openingReport.notes
      let isRebuilt = notes.count == 1 && notes[0].contains("were rebuilt")
      if isRebuilt { rebuiltCount += 1 } else { exceptions.append("page \(page): \(notes)") }
    }
    try expect(exceptions.count == exceptionCount, "\(exceptions)")
    try expect(rebuiltCount > 1, "\(rebuiltCount) inner pages are too few")
  }
}
