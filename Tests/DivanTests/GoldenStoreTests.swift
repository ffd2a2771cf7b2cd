import Divan
import Foundation
import ProofKit
import TestSupport
import Testing

/// Stores that were written once and are opened for ever.
///
/// `Tests/Fixtures/v1` is only ever added to, with `swift run Proofs golden Tests/Fixtures/v1`.
struct GoldenStoreTests {
  private static let names: [String] = (try? GoldenFolder.version1.names) ?? []

  @Test func `there are golden stores of everything that the format has`() {
    #expect(GoldenStoreTests.names.count >= 16)
    #expect(
      Set(GoldenStores.all.map(\.name) + GoldenStores.ofEarlierWriters)
        == Set(GoldenStoreTests.names))
  }

  @Test(arguments: names, [ReadMode.mapped, .buffered])
  func `a golden store opens and holds what was stored`(name: String, reads: ReadMode) throws {
    let expected = try lines(name)
    let directory = try TemporaryDirectory()
    let path = try copy(name, into: directory)
    var configuration = Configuration()
    configuration.reads = reads
    configuration.maintenance = .manual

    configuration.isReadOnly = true
    let reader = try Database(at: path, configuration: configuration)
    try compare(reader, expected)
    try reader.close()

    configuration.isReadOnly = false
    let writer = try Database(at: path, configuration: configuration)
    try compare(writer, expected)
    let last = expected.map(\.sequence).max() ?? 0
    let added = try writer.write { try $0.overwrite("golden", with: ["opened": true]) }
    #expect(added.sequence > last)
    try writer.close()

    // What is written after it does not change it, nor does it if everything is written anew.
    for isMerging in [false, true] {
      let again = try Database(at: path, configuration: configuration)
      if isMerging {
        try again.compact()
        try again.writeCheckpoint()
      }
      let found = try GoldenLine(
        #require(try again.snapshot().get("golden")), revisions: [])
      try compare(again, (expected + [found]).inOrder())
      try again.close()
    }
  }

  @Test(arguments: GoldenStores.all.map(\.name))
  func `today's writer writes the same bytes as the one that wrote the golden stores`(name: String)
    throws
  {
    let golden = try #require(GoldenStores.all.first { $0.name == name })
    let store = try golden.make()
    let files = try GoldenFolder.version1.files(of: name)
    #expect(Set(store.files.keys) == Set(files.keys))
    for (file, bytes) in files { #expect(store.files[file] == bytes, "\(file)") }
    #expect(try lines(name) == store.contents)
  }

  private func lines(_ name: String) throws -> [GoldenLine] {
    try GoldenFolder.version1.contents(of: name).map { try #require($0) }
  }

  private func copy(_ name: String, into directory: TemporaryDirectory) throws -> String {
    let path = "\(directory.path)/\(name).divan"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false)
    for (file, bytes) in try GoldenFolder.version1.files(of: name) {
      try Data(bytes).write(to: URL(filePath: "\(path)/\(file)"))
    }
    return path
  }

  private func compare(_ database: Database, _ expected: [GoldenLine]) throws {
    #expect(database.openingReport.damage.isEmpty)
    let snapshot = try database.snapshot()
    #expect(snapshot.count == expected.count { !$0.isDeleted })
    #expect(
      try snapshot.ids().collected().map { Array($0.utf8) }
        == expected.filter { !$0.isDeleted }.map { Array($0.id.utf8) })
    for line in expected {
      let document = try #require(
        try line.isDeleted ? snapshot.tombstone(line.id) : snapshot.get(line.id))
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

extension IDCursor {
  /// All that are left.
  fileprivate func collected() throws -> [String] {
    var copy = self
    return try copy.rest()
  }
}
