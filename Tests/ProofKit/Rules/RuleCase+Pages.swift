import DivanLog
import DivanTesting

import Divan

/// Damaged inner pages of a checkpoint: they are rebuilt, or the checkpoint is not used.
extension RuleCase {
  static let pages: [RuleCase] = [
    RuleCase(name: "rule 21: an inner page is rebuilt from the leaves") {
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
    RuleCase(name: "rule 21: a reader does not use inner pages beside a damaged leaf") {
      let (fixture, pages) = try fixtureWithPages(documentCount: 100)
      var refusalCount = 0
      try forEachPair(of: pages) { first, second in
        let database = try fixture.damaged([first, second]).openQuiet { $0.isReadOnly = true }
        try fixture.expectNewest(database)
        refusalCount += database.openingReport.hasUnusedCheckpoint ? 1 : 0
      }
      try expect(refusalCount > 0, "no leaf is below an inner page")
    },
    RuleCase(name: "rule 21: an inner page that cannot be rebuilt makes the next opening check") {
      let (fixture, pages) = try fixtureWithPages(documentCount: 100)
      var failureCount = 0
      try forEachPair(of: pages) { first, second in
        var left = try fixture.damaged([first, second])
        var database = try left.openQuiet()
        do {
          try fixture.expectNewest(database)
          try expect(!database.openingReport.hasUnusedCheckpoint, "the opening has checked")
          return try database.close()
        } catch let error as DatabaseError {
          try expect(error.code == .damaged, "\(error)")
        }
        failureCount += 1
        switch failureCount % 3 {
        case 0:
          try database.suspend()
          try database.resume()
        case 1:
          try database.close()
          database = try left.openQuiet()
        default:
          left = left.restarted(.strict, life: 71)
          database = try left.openQuiet()
        }
        try fixture.expectNewest(database)
        try expect(database.openingReport.hasUnusedCheckpoint, "\(database.openingReport.notes)")
        try database.close()
        let names = left.fileSystem.names(in: CrashFixture.path)
        try expect(!names.contains("CHECK"), "the next opening checks, too")
      }
      try expect(failureCount > 2, "no leaf is below an inner page")
    },
    RuleCase(name: "rule 21: beside a damaged log, unchecked inner pages are not used") {
      let (fixture, pages) = try fixtureWithPages(documentCount: 100)
      let database = try fixture.openQuiet()
      try fixture.commit(database, [.put("later", size: 3)])
      try database.close()
      let count = try fixture.openQuiet { $0.isReadOnly = true }.snapshot().ids().collect().count
      let last = fixture.segmentNames[fixture.segmentNames.count - 1]
      let size = try fixture.fileSystem.status(fixture.path(of: last)).size
      var dropCount = 0
      try forEachPair(of: pages) { first, second in
        let left = try fixture.damaged([first, second])
        try left.fileSystem.corrupt(left.path(of: last), atOffset: size - 100, mask: 4)
        let reader = try left.openQuiet {
          $0.isReadOnly = true
          $0.damage = .salvage
        }
        // Other damaged leaves cannot be rebuilt from a damaged log.
        guard reader.openingReport.hasUnusedCheckpoint else { return }
        dropCount += 1
        let database = try left.openQuiet { $0.damage = .salvage }
        try expect(!database.openingReport.damage.isEmpty, "the damage is not found")
        let ids = try database.snapshot().ids().collect()
        try expect(ids.count >= count - 1, "\(ids.count) of \(count) documents are left")
      }
      try expect(dropCount > 0, "no leaf is below an inner page")
    },
  ]

  private static func forEachPair(
    of pages: Range<Int>, _ body: (_ first: Int, _ second: Int) throws -> Void
  ) throws {
    for first in pages {
      for second in pages where second > first { try body(first, second) }
    }
  }

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

extension OpeningReport {
  fileprivate var hasUnusedCheckpoint: Bool { notes.contains { $0.contains("was not used") } }
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

  /// Damages each page, and expects that it is rebuilt if it is an inner one.
  ///
  /// A reader rebuilds it when it opens the store, and a writer of a store that was closed when it
  /// reads the page.
  fileprivate func expectRebuilt(
    _ pages: Range<Int>, isMapped: Bool = false, exceptionCount: Int = 0,
    check: (Database) throws -> Void
  ) throws {
    for isReader in [true, false] {
      try expectRebuilt(
        pages, isMapped: isMapped, isReader: isReader, exceptionCount: exceptionCount, check: check)
    }
  }

  private func expectRebuilt(
    _ pages: Range<Int>, isMapped: Bool, isReader: Bool, exceptionCount: Int,
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
      let database = try left.openQuiet { $0.isReadOnly = isReader }
      try check(database)
      let notes = database.openingReport.notes
      let isRebuilt =
        notes.count == 1 && notes[0].contains("were rebuilt")
        || notes.isEmpty && !isReader && database.metrics.rebuiltPages == 1
      if isRebuilt { rebuiltCount += 1 } else { exceptions.append("page \(page): \(notes)") }
    }
    try expect(exceptions.count == exceptionCount, "\(exceptions)")
    try expect(rebuiltCount > 1, "\(rebuiltCount) inner pages are too few")
  }
}
