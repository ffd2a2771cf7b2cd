import Divan
import DivanLog
import Testing
import logdump

/// Tests of options, of texts that are unsafe for terminals, and of long-running work.
struct CommandLineTests {
  @Test(arguments: [
    ["info", "--to", "x"], ["ls", "--revs"], ["doc", "m", "--records"], ["tx", "--revs"],
    ["stats", "--everything"], ["verify", "--by", "sequence"], ["export", "--sizes-only"],
    ["salvage", "--to", "/new.divan", "--local"], ["--attachments"],
    ["report", "--html", "/x.html", "--revs"], ["doc", "m", "--html", "/x.html"],
    ["salvage", "--to", "/new.divan", "--force"], ["stats", "--document", "m"],
  ])
  func `an option that a command does not have is refused`(arguments: [String]) throws {
    let run = try DumpedStore.films().dumpAll(arguments)
    #expect(run.status == .usage, "\(run.output)")
    #expect(run.problems.contains("has no option `--"))
    #expect(run.output == "")
  }

  @Test
  func `an ID that begins with a hyphen is accepted after two hyphens, as the error explains`()
    throws
  {
    let store = DumpedStore()
    let database = try store.open()
    try database.write { try $0.put(Document(id: "-OabcXYZ")) }
    try database.close()
    let run = store.dump("doc", "-OabcXYZ")
    #expect(run.status == .usage)
    #expect(run.problems.contains("write `--` before an ID that begins with `-`"))
    #expect(store.dump("doc", "--", "-OabcXYZ").lines.first == "Document  -OabcXYZ")
    // Generated IDs do not begin with a hyphen.
    let made = try store.open()
    let id = try made.write { try $0.put(Document()).id }
    try made.close()
    #expect(store.dump("doc", id).status == .sound)
  }

  @Test func `the version option prints the format version`() {
    let run = DumpedStore().run(["--version"])
    #expect(run.status == .sound)
    #expect(run.output.hasSuffix("format 1.0\n"))
  }

  /// An escape sequence, line separators, and control characters that reverse the text direction.
  static let hostile = "a\u{1B}[2J\nb\u{202E}c\u{2028}d\u{85}\u{2066}"

  private static func isSafe(_ text: String) -> Bool {
    text.split(separator: "\n", omittingEmptySubsequences: false).allSatisfy { line in
      printable(String(line)) == String(line)
    }
  }

  @Test func `readable output contains no control characters`() throws {
    let store = DumpedStore()
    let database = try store.open()
    try database.write { transaction in
      var document = Document(id: Self.hostile, [Self.hostile: .string(Self.hostile)])
      document.attachments[Self.hostile.filter { $0 != "\n" }] = Document.Attachment(
        contentType: "x/y", [1])
      try transaction.put(document)
      try transaction.putLocal(Self.hostile, [:])
    }
    try database.write { transaction in
      try transaction.replace(Self.hostile, with: [Self.hostile: "x\u{202E}"])
    }
    try database.saveSnapshot(named: Self.hostile)
    try database.addIndex(DocumentIndex(Self.hostile, on: Self.hostile))
    try database.close()
    let commands = [
      ["info"], ["ls"], ["frames"], ["tx", "--records"], ["att"], ["stats"], ["verify"],
      ["doc", "--revs", "--", Self.hostile], ["doc", "--", "no\u{1B}[2J"], ["frames", "\u{202E}1"],
      ["\u{1B}c"], ["report", "--html", "/page\u{1B}[2J.html"],
      ["report", "--html", "/page\u{202E}.html", "--document", "no\u{1B}"],
    ]
    for command in commands {
      let run = store.dumpAll(command)
      #expect(Self.isSafe(run.output), "\(command): \(run.output.debugDescription)")
      #expect(Self.isSafe(run.problems), "\(command): \(run.problems.debugDescription)")
    }
    #expect(Self.isSafe(store.dump(path: "/no\u{1B}[2Jwhere").problems))
    var bytes = try store.bytes("0000000001.segment")
    for index in 4300..<4400 { bytes[index] ^= 1 }
    try store.replace("0000000001.segment", with: bytes)
    let run = store.dump("salvage", "--to", "/ne\u{1B}w.divan")
    #expect(Self.isSafe(run.output), "\(run.output.debugDescription)")
  }

  /// Regression test: the output was 0.
  ///
  /// The log is damaged before the position of a checkpoint, and the checkpoint is enough to open
  /// the store.
  @Test func `info counts the documents that the store has when it is opened`() throws {
    let store = DumpedStore()
    let database = try store.open()
    try database.write { transaction in
      for number in 0..<300 { try transaction.put(Document(id: "\(number)")) }
    }
    try database.writeCheckpoint()
    try database.close()
    var bytes = try store.bytes("0000000001.segment")
    bytes[5000] ^= 1
    try store.replace("0000000001.segment", with: bytes)
    var configuration = store.configuration
    configuration.isReadOnly = true
    let opened = try Database(at: store.path, configuration: configuration)
    #expect(try opened.statistics.documentCount == 300)
    let run = store.dump("info")
    #expect(run.status == .damage)
    #expect(run.output.contains("Documents     300\n"), "\(run.output)")
  }

  @Test func `on a terminal, long commands show their progress and erase it at the end`() throws {
    let store = try DumpedStore.aged()
    var shown = ""
    let terminal = Output { (bytes: borrowing ByteWriter) in
      shown += bytes.withSpan { span in
        String(decoding: span.indices.map { span[$0] }, as: UTF8.self)
      }
    }
    var time: UInt64 = 0
    for command in ["verify", "stats", "att", "export", "salvage", "report"] {
      shown = ""
      let silent = Output { (_: borrowing ByteWriter) in }
      var tool = LogDump(fileSystem: store.fileSystem, output: silent, problems: silent)
      tool.progress = Progress(terminal) {
        time += 2000
        return time
      }
      let targets = ["salvage": ["--to", "/new.divan"], "report": ["--html", "/page.html"]]
      let target = targets[command] ?? []
      _ = tool.run([store.path, command] + target)
      #expect(shown.count > 10, "\(command)")
      #expect(shown.hasSuffix("\r\u{1B}[2K"), "\(command)")
    }
    shown = ""
    Progress(terminal, now: { 5 }).step("nothing yet")
    #expect(shown == "")
  }
}
