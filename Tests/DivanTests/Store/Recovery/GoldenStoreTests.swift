import Divan
import Foundation
import ProofKit
import TestSupport
import Testing

/// Tests of stores that were written once and must always open.
///
/// `Tests/Fixtures/v1` is only ever added to, with `swift run Proofs golden Tests/Fixtures/v1`.
struct GoldenStoreTests {
  private static let all: [String] = (try? GoldenFolder.version1.names) ?? []
  /// The stores that have a dump.
  private static let richNames = all.filter {
    (try? GoldenFolder.version1.dump(of: $0)).flatMap { $0 } != nil
  }
  private static let names = all.filter { !richNames.contains($0) }

  @Test func `the golden stores are complete`() {
    #expect(GoldenStoreTests.names.count >= 16)
    #expect(
      Set(GoldenStores.all.map(\.name) + GoldenStores.ofEarlierWriters)
        == Set(GoldenStoreTests.names))
    #expect(Set(GoldenStores.rich.map(\.name)) == Set(GoldenStoreTests.richNames))
  }

  @Test(arguments: richNames, [ReadMode.mapped, .buffered])
  func `a golden store with a dump opens and yields the same dump`(
    name: String, reads: ReadMode
  ) throws {
    let expected = try #require(try GoldenFolder.version1.dump(of: name))
    let directory = try TemporaryDirectory()
    let path = try copy(name, into: directory)
    var configuration = Configuration()
    configuration.readMode = reads
    configuration.maintenance = .manual
    configuration.history = name == "history" ? .unlimited : .disabled
    for isReadOnly in [true, false, false] {
      configuration.isReadOnly = isReadOnly
      let database = try Database(at: path, configuration: configuration)
      #expect(database.openingReport.damage.isEmpty)
      let dump = try GoldenDump(database)
      #expect(dump.lines == expected)
      #expect(dump.errors.map(\.description) == [])
      #expect(try database.check().problems.map(\.description) == [])
      // The rewritten store is the same.
      if !isReadOnly {
        try database.compact()
        #expect(try GoldenDump(database).lines == expected)
      }
      try database.close()
    }
  }

  @Test(arguments: names, [ReadMode.mapped, .buffered])
  func `a golden store opens and has the documents that were stored`(name: String, reads: ReadMode)
    throws
  {
    let expected = try lines(name)
    let directory = try TemporaryDirectory()
    let path = try copy(name, into: directory)
    var configuration = Configuration()
    configuration.readMode = reads
    configuration.maintenance = .manual

    configuration.isReadOnly = true
    let reader = try Database(at: path, configuration: configuration)
    try compare(reader, expected)
    try reader.close()

    configuration.isReadOnly = false
    let writer = try Database(at: path, configuration: configuration)
    try compare(writer, expected)
    let last = expected.map(\.sequence).max() ?? 0
    let added = try writer.write { try $0.replace("golden", with: ["opened": true]) }
    #expect(added.sequence > last)
    try writer.close()

    // Neither later writes nor a complete rewrite changes it.
    for isMerging in [false, true] {
      let again = try Database(at: path, configuration: configuration)
      if isMerging {
        try again.compact()
        try again.writeCheckpoint()
      }
      let found = try GoldenLine(
        #require(try again.snapshot().document("golden")), revisions: [])
      try compare(again, (expected + [found]).inOrder())
      try again.close()
    }
  }

  @Test(arguments: (GoldenStores.all + GoldenStores.rich).map(\.name))
  func `the current writer produces the same bytes as the golden stores`(name: String)
    throws
  {
    let golden = try #require((GoldenStores.all + GoldenStores.rich).first { $0.name == name })
    let store = try golden.make()
    let files = try GoldenFolder.version1.files(of: name)
    // Most were written before `FLUSHED` existed.
    let (made, kept) = (Set(store.files.keys), Set(files.keys))
    #expect(made.subtracting(["FLUSHED"]) == kept.subtracting(["FLUSHED"]))
    // Most were written before zeros followed the end of the log.
    for (file, bytes) in files {
      let found = try #require(store.files[file])
      let isSegment = file.hasSuffix(".segment")
      #expect(found == bytes || isSegment && found.starts(with: bytes), "\(file)")
      #expect(found.dropFirst(bytes.count).allSatisfy { $0 == 0 }, "\(file)")
    }
    if let dump = store.dumps.last {
      #expect(try GoldenFolder.version1.dump(of: name) == dump)
    } else {
      #expect(try lines(name) == store.contents)
    }
  }

  private func lines(_ name: String) throws -> [GoldenLine] {
    try GoldenFolder.version1.contents(of: name).map { try #require($0) }
  }

  private func copy(_ name: String, into directory: TemporaryDirectory) throws -> String {
    let path = "\(directory.path)/\(name).divan"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false)
    for (file, bytes) in try GoldenFolder.version1.files(of: name) {
      let url = URL(filePath: "\(path)/\(file)")
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(bytes).write(to: url)
    }
    return path
  }

  private func compare(_ database: Database, _ expected: [GoldenLine]) throws {
    #expect(database.openingReport.damage.isEmpty)
    let snapshot = try database.snapshot()
    #expect(try snapshot.count == expected.count { !$0.isDeleted })
    #expect(
      try snapshot.ids().collect().map { Array($0.utf8) }
        == expected.filter { !$0.isDeleted }.map { Array($0.id.utf8) })
    for line in expected {
      let document = try #require(
        try line.isDeleted ? snapshot.tombstone(line.id) : snapshot.document(line.id))
      let found = GoldenLine(document, revisions: try snapshot.revisions(of: line.id))
      #expect(found == line)
      // Equal values may have other bytes: 1 and 1.0 are different, and so are 0.0 and -0.0.
      #expect(Array(found.json.utf8) == Array(line.json.utf8))
    }
    var feed: [String] = []
    var changes = snapshot.changes()
    while let change = try changes.next() { feed.append("\(change.sequence) \(change.id)") }
    let order = expected.sorted { $0.sequence < $1.sequence }
    #expect(feed == order.map { "\($0.sequence) \($0.id)" })
    let report = try database.check()
    #expect(report.isSound, "\(report.problems)")
    #expect(report.documentCount == expected.count)
  }
}
