import DivanLog
import DivanTesting
import ProofKit
import Testing

@testable import Divan

/// Tests of damaged inner pages of the tree of words.
struct InnerPageRepairTests {
  private let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
  private static let documentCount = 2000
  private static let words = DocumentIndex("words", fullText: "text")

  /// Fills the store, and returns the levels of the pages of the tree of words by number.
  private func fill() throws -> [UInt32: Int] {
    let database = try fixture.open { $0.maintenance = .manual }
    try database.write { transaction in
      for number in 0..<InnerPageRepairTests.documentCount {
        // Long separators, so that there are several inner pages.
        let text = "oak \(String(repeating: "k", count: 150))\(number)"
        _ = try transaction.replace("\(number)", with: ["text": .string(text)])
      }
    }
    try database.addIndex(InnerPageRepairTests.words)
    if try checkpoints(fixture).isEmpty { try database.writeCheckpoint() }
    let run = try #require(try database.store.view().state.texts.runs.first)
    var levels: [UInt32: Int] = [run.summary.root: run.summary.height]
    var pending = [run.summary.root]
    while let number = pending.popLast(), let level = levels[number] {
      guard level > 0 else { continue }
      let page = try run.page(number, level: level)
      withExtendedLifetime(page) {
        for index in 0...page.view.count {
          levels[page.view.childNumber(index)] = level - 1
          pending.append(page.view.childNumber(index))
        }
      }
    }
    try database.close()
    return levels
  }

  private func checkpoints(_ fixture: CrashFixture) throws -> [String] {
    try fixture.fileSystem.list(CrashFixture.path).filter { $0.hasSuffix(".checkpoint") }
  }

  private func damaged(_ pages: [UInt32], isMapped: Bool) throws -> CrashFixture {
    let disk = fixture.fileSystem.restarted(.processEnd)
    let name = try #require(try checkpoints(fixture).first)
    for page in pages {
      let offset = 4096 * (Int(page) + 1) + 1000
      try disk.corrupt("\(CrashFixture.path)/\(name)", atOffset: offset, mask: 4)
    }
    return CrashFixture(disk, CrashWriter(seed: 0), isMapped: isMapped, life: 70)
  }

  private func count(_ word: String, in database: Database) throws -> Int {
    let query = Query<Document>().filter(.matches(.fullText(word), index: "words"))
    return try database.snapshot().count(query)
  }

  @Test(arguments: [false, true])
  func `an inner page of words is rebuilt when it is read`(isMapped: Bool) throws {
    let levels = try fill()
    #expect(try checkpoints(fixture).count == 1)
    for page in levels.filter({ $0.value > 0 }).keys {
      let database = try damaged([page], isMapped: isMapped).open { $0.maintenance = .manual }
      // An opening that replays changes of the tree reads some of its pages.
      let notes = database.openingReport.notes
      #expect(notes.allSatisfy { $0.contains("were rebuilt") }, "page \(page): \(notes)")
      #expect(try count("oak", in: database) == InnerPageRepairTests.documentCount)
      let report = try database.check()
      #expect(report.isSound, "page \(page): \(report.problems.prefix(2))")
      #expect(notes.count + database.metrics.rebuiltPages == 1)
      try database.close()
    }
  }

  @Test func `beside a damaged leaf, no inner page is rebuilt, and the index is built again`()
    throws
  {
    let levels = try fill()
    let leaf = try #require(levels.filter { $0.value == 0 }.keys.max())
    for inner in levels.filter({ $0.value > 0 }).keys {
      let database = try damaged([inner, leaf], isMapped: false).open { $0.maintenance = .manual }
      #expect(database.openingReport.notes.contains { $0.contains("was not used") })
      #expect(try database.check().isSound)
      #expect(try count("oak", in: database) == InnerPageRepairTests.documentCount)
      try database.close()
    }
  }

  /// Regression: a store that was open without its lock, on a full disk, got the file as well.
  @Test(arguments: [false, true])
  func `a read that fails makes a file for the next opening only with the lock`(
    hasLock: Bool
  ) throws {
    let levels = try fill()
    let left = try damaged([], isMapped: false)
    let disk = left.fileSystem
    if !hasLock { disk.fail(.lock, with: .noSpace, isLasting: true) }
    let database = try left.open { $0.maintenance = .manual }
    let name = try #require(try checkpoints(left).first)
    for page in levels.keys {
      try disk.corrupt(
        "\(CrashFixture.path)/\(name)", atOffset: 4096 * (Int(page) + 1) + 1000, mask: 4)
    }
    #expect(throws: DatabaseError.self) { try count("oak", in: database) }
    #expect(disk.names(in: CrashFixture.path).contains("CHECK") == hasLock)
    try database.close()
    #expect(disk.names(in: CrashFixture.path).contains("CHECK") == hasLock)
  }
}
