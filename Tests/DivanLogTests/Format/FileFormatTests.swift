import DivanLog
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Divan

/// Tests that the code writes and reads the examples in `docs/FILE_FORMAT.md`.
struct FileFormatTests {
  @Test func `the writer produces the example files of the page`() throws {
    let page = try FormatPage()
    let examples = try ExampleStore.make()
    #expect(page.files.map(\.name) == examples.map(\.name))
    for (written, example) in zip(page.files, examples) {
      #expect(
        written.bytes == example.bytes,
        "\(written.name) should be:\n\(FormatPage.hexadecimal(example.bytes))")
    }
  }

  @Test func `the example store of the page opens as a closed store`() throws {
    let page = try FormatPage()
    let database = try open(page, ["0000000001.segment", "HEAD", "FLUSHED"])
    #expect(database.openingReport.ending == .closed)
    #expect(database.openingReport.damage.isEmpty)
    let snapshot = try database.snapshot()
    let ids = snapshot.ids()
    #expect(try ids.collect() == ["ada"])
    #expect(try snapshot.document("ada")?.json == #"{"born":1815,"name":"Ada Lovelace"}"#)
    #expect(try snapshot.tombstone("zeno")?.revision?.generation == 2)
  }

  @Test func `the compacted segment of the page can replace its inputs`() throws {
    let page = try FormatPage()
    let database = try open(page, ["0000000001-0000000002.segment"])
    #expect(database.openingReport.damage.isEmpty)
    let snapshot = try database.snapshot()
    let documents = snapshot.documents()
    #expect(
      try documents.collect().map(\.json)
        == [#"{"born":1815,"name":"Ada Lovelace"}"#, #"{"pi":3.14,"primes":[2,3,5,7]}"#])
  }

  private func open(_ page: FormatPage, _ names: [String]) throws -> Database {
    let fileSystem = MemoryFileSystem()
    try fileSystem.makeDirectory("/page.divan")
    for file in page.files where names.contains(file.name) {
      let opened = try fileSystem.open("/page.divan/\(file.name)", .creating)
      try opened.write(SharedBytes(copying: file.bytes), at: 0)
    }
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    configuration.isReadOnly = true
    return try Database(at: "/page.divan", configuration: configuration)
  }

  @Test func `the example values of the page are encoded and decoded as shown`() throws {
    let rows = try FormatPage().rows(after: "| value | bytes |")
    #expect(rows.count >= 20)
    for row in rows {
      let value = try Value(json: row[0])
      let bytes = try ValueEncoder.encode(value)
      #expect(FormatPage.spaced(bytes.array) == row[1], "\(row[0])")
      let parsed = EncodedValue(SharedBytes(copying: try FormatPage.bytes(row[1])))
      #expect(try parsed.decode() == value, "\(row[0])")
      try parsed.validate()
    }
  }

  @Test func `the example revision IDs of the page are computed from their edits`() throws {
    let rows = try FormatPage().rows(after: "| parent | deletes | properties | revision ID |")
    #expect(rows.count == 3)
    for row in rows {
      let parent = row[0] == "none" ? nil : try RevisionID(parsing: row[0])
      let computed = try RevisionID.compute(
        parent: parent, isDeleted: row[1] == "yes",
        body: try ValueEncoder.encode(try Value(json: row[2])))
      #expect("\(computed)" == row[3])
    }
  }

  @Test func `the example revision trees of the page are encoded and decoded as shown`() throws {
    let rows = try FormatPage().rows(after: "| histories, newest first | bytes |")
    #expect(rows.count == 4)
    for row in rows {
      var tree = RevisionTree()
      for (sequence, history) in zip(UInt64(1)..., row[0].split(separator: " ")) {
        let isDeleted = history.hasSuffix("!")
        let digests = history.dropLast(isDeleted ? 1 : 0).split(separator: ",")
        let newest = try RevisionID(parsing: String(digests[0]))
        let revisions = try digests.enumerated().map { steps, digest in
          try steps == 0
            ? newest
            : #require(
              RevisionID(generation: newest.generation - UInt64(steps), digest: String(digest)))
        }
        tree.insert(try RevisionTree.Path(revisions), isDeleted: isDeleted, sequence: sequence)
      }
      var writer = ByteWriter()
      tree.encode(into: &writer)
      #expect(FormatPage.spaced(writer.array) == row[1], "\(row[0])")
      var reader = ByteReader(SharedBytes(copying: try FormatPage.bytes(row[1])))
      #expect(try RevisionTree(from: &reader) == tree && reader.isAtEnd, "\(row[0])")
    }
  }

  @Test func `the example attachments of the page are stored and read as shown`() throws {
    let rows = try FormatPage().rows(
      after: "| body | name of its file | content of its record |")
    let bodies: [String: String] = [
      "nothing": "", "Divan": "Divan", "100,000 times `a": String(repeating: "a", count: 100_000),
    ]
    #expect(Set(rows.map { $0[0] }) == Set(bodies.keys))
    for row in rows {
      let body = SharedBytes(utf8: try #require(bodies[row[0]]))
      let fileSystem = MemoryFileSystem()
      try fileSystem.makeDirectory("/page.divan")
      try fileSystem.makeDirectory("/page.divan/tmp")
      let files = AttachmentFiles(
        StoreDirectory("/page.divan", on: fileSystem), AttachmentFiles.Settings(isMapped: false))
      let record = try files.store(body).record
      var writer = ByteWriter()
      record.encode(to: &writer)
      #expect(FormatPage.spaced(writer.array) == row[2], "\(row[0])")
      let parsed = try AttachmentRecord.decode(
        SharedBytes(copying: try FormatPage.bytes(row[2])))
      #expect(parsed == record)
      #expect(try files.open(parsed).readAll() == body)
      guard row[1] != "none" else {
        #expect(try fileSystem.list("/page.divan") == ["tmp"])
        continue
      }
      #expect(
        try fileSystem.contents(of: "/page.divan/" + row[1], limit: 1 << 20) == body)
    }
  }
}

/// The examples of the page.
private struct FormatPage {
  let text: String
  private(set) var files: [(name: String, bytes: [UInt8])] = []

  init() throws {
    text = try ProjectFolder.text(of: "docs/FILE_FORMAT.md")
    var name: String?
    var bytes: [UInt8] = []
    var repeated: [UInt8]?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```hex ") {
        name = String(line.dropFirst(7))
        bytes = []
      } else if line == "```", let finished = name {
        files.append((finished, bytes))
        name = nil
      } else if name != nil {
        if line == "*" {
          repeated = Array(bytes.suffix(16))
          continue
        }
        let words = line.split(separator: " ")
        let offset = try #require(Int(words[0], radix: 16))
        if let line = repeated {
          while bytes.count < offset { bytes += line }
          repeated = nil
        }
        try #require(bytes.count == offset, "\(line)")
        bytes += try FormatPage.bytes(words.dropFirst().joined(separator: " "))
      }
    }
  }

  /// Returns the cells of the table with this head, without the code marks around them.
  func rows(after head: String) throws -> [[String]] {
    let start = try #require(text.range(of: head + "\n"))
    var rows: [[String]] = []
    for line in text[start.upperBound...].split(separator: "\n", omittingEmptySubsequences: false)
      .dropFirst()
    {
      guard line.hasPrefix("| ") else { break }
      rows.append(
        line.dropFirst(2).dropLast(2).components(separatedBy: " | ").map {
          $0.trimmingCharacters(in: CharacterSet(charactersIn: "` "))
        })
    }
    return rows
  }

  static func bytes(_ text: String) throws -> [UInt8] {
    try text.split(separator: " ").map { try #require(UInt8($0, radix: 16)) }
  }

  static func spaced(_ bytes: [UInt8]) -> String {
    bytes.map { String(format: "%02X", $0) }.joined(separator: " ")
  }

  /// Returns bytes in the page's notation.
  static func hexadecimal(_ bytes: [UInt8]) -> String {
    var lines: [String] = []
    var previous: ArraySlice<UInt8> = []
    for start in stride(from: 0, to: bytes.count, by: 16) {
      let line = bytes[start..<min(start + 16, bytes.count)]
      if line.elementsEqual(previous) {
        if lines.last != "*" { lines.append("*") }
        continue
      }
      lines.append(String(format: "%04x  ", start) + spaced(Array(line)))
      previous = line
    }
    lines.append(String(format: "%04x", bytes.count))
    return lines.joined(separator: "\n")
  }
}

/// The store that the page shows.
private final class ExampleStore: Sendable {
  private let fileSystem = MemoryFileSystem()
  private let clock = Atomic<UInt64>(1_700_000_000_000)
  private let count = Atomic<UInt64>(0)

  static func make() throws -> [(name: String, bytes: [UInt8])] {
    let store = ExampleStore()
    let first = try store.open()
    try first.write { transaction in
      try transaction.put(Document(id: "ada", ["name": "Ada", "born": 1815]))
      try transaction.put(Document(id: "zeno", ["name": "Zeno", "paradoxes": 9]))
    }
    try first.write { transaction in
      try transaction.replace("ada", with: ["name": "Ada Lovelace", "born": 1815])
      try transaction.delete("zeno")
    }
    try first.close()
    var files = [
      try store.file("0000000001.segment"), try store.file("HEAD"), try store.file("FLUSHED"),
    ]
    let second = try store.open()
    try second.write { transaction in
      try transaction.put(Document(id: "numbers", ["pi": 3.14, "primes": [2, 3, 5, 7]]))
    }
    try second.close()
    try store.compact()
    files.append(try store.file("0000000001-0000000002.segment"))
    return files
  }

  private func open() throws -> Database {
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    configuration.maintenance = .manual
    configuration.now = { [self] in clock.wrappingAdd(1000, ordering: .relaxed).oldValue }
    configuration.random = { [self] in random() }
    return try Database(at: "/page.divan", configuration: configuration)
  }

  private func random() -> UInt64 {
    count.wrappingAdd(1, ordering: .relaxed).newValue &* 0x9E37_79B9_7F4A_7C15
  }

  private func file(_ name: String) throws -> (name: String, bytes: [UInt8]) {
    (name, try fileSystem.contents(of: "/page.divan/\(name)", limit: 1 << 20).array)
  }

  /// Compacts both segments and drops the superseded records.
  private func compact() throws {
    let directory = StoreDirectory("/page.divan", on: fileSystem)
    let chain = try #require(
      try SegmentChain.choose(
        from: try directory.listing().files, in: directory, isMapped: false))
    var inputs = chain.segments
    let last = inputs.count - 1
    inputs[last].end = try LogRecovery.examine(inputs[last], from: nil, watermarks: []).end
    let order = SegmentCompaction.Order(
      inputs: inputs, fileID: 3, salt: random(),
      now: clock.wrappingAdd(1000, ordering: .relaxed).oldValue,
      evaluatedAt: inputs[last].end.commit,
      releasedThrough: 2, isMapped: false)
    _ = try SegmentCompaction.run(
      order, in: directory, keep: { (entry) throws(LogError) in entry.commit >= 2 }, flushLog: {})
  }
}
