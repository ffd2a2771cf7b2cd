import Divan
import DivanLog
import DivanTesting
import Foundation
import TestSupport
import Testing
import logdump

/// Tests of the file that `report` writes, and of the files that it leaves alone.
struct ReportCommandTests {
  private func text(_ path: String, _ store: DumpedStore) throws -> String {
    String(
      decoding: try store.fileSystem.contents(of: path, limit: 1 << 22).array, as: UTF8.self)
  }

  @Test func `an existing file is replaced only with force`() throws {
    let store = try DumpedStore.films()
    #expect(store.dump("report", "--html", "/page.html").status == .sound)
    let first = try text("/page.html", store)
    let again = store.dump("report", "--html", "/page.html")
    #expect(again.status == .usage)
    #expect(again.problems.contains("/page.html exists already; `--force` replaces it"))
    let database = try store.open()
    try database.write { try $0.put(Document(id: "a new one")) }
    try database.close()
    #expect(store.dump("report", "--html", "/page.html").status == .usage)
    #expect(try text("/page.html", store) == first)
    #expect(store.dump("report", "--html", "/page.html", "--force").status == .sound)
    #expect(try text("/page.html", store).contains("a new one"))
    #expect(try store.fileSystem.list("/") == ["films.divan", "page.html"])
  }

  @Test func `the same store makes the same page`() throws {
    let store = try DumpedStore.aged()
    #expect(store.dump("report", "--html", "/a.html").status == .sound)
    #expect(store.dump("report", "--html", "/b.html").status == .sound)
    #expect(try text("/a.html", store) == text("/b.html", store))
  }

  @Test(arguments: [
    "/films.divan/page.html", "/films.divan/tmp/page.html", "/films.divan/../films.divan/HEAD",
    "/films.divan/tmp/../x", "/films.divan/", "/", "",
  ])
  func `a file in the store is refused, and nothing is written`(path: String) throws {
    let store = try DumpedStore.films()
    let before = store.fileSystem.contentsByPath
    for force in [[], ["--force"]] {
      let run = store.dumpAll(["report", "--html", path] + force)
      #expect(run.status == .usage, "\(run.problems)")
    }
    #expect(store.fileSystem.contentsByPath == before)
  }

  @Test func `a directory is refused, and a folder that does not exist is an error`() throws {
    let store = try DumpedStore.films()
    try store.fileSystem.makeDirectory("/folder")
    #expect(store.dump("report", "--html", "/folder", "--force").status == .usage)
    #expect(store.dump("report", "--html", "/nowhere/page.html").status == .unreadable)
    #expect(store.dump("report", "--html", "/folder/page.html").status == .sound)
  }

  @Test func `nothing in the store changes`() throws {
    let store = try ModeledStore(seed: 8).store
    let before = store.fileSystem.contentsByPath
    #expect(store.dump("report", "--html", "/page.html").status == .sound)
    var after = store.fileSystem.contentsByPath
    #expect(after.removeValue(forKey: "/page.html") != nil)
    #expect(after == before)
  }

  @Test func `the answer is a line for people, or an object for programs`() throws {
    let store = try DumpedStore.films()
    let run = store.dump("report", "--html", "/page.html", "--json")
    let size = try text("/page.html", store).utf8.count
    #expect(
      run.output
        == #"{"path":"/page.html","size":\#(size),"documents":2,"segments":2,"damage":0}"# + "\n")
    #expect(
      store.dump("report", "--html", "/other.html").output
        == "/other.html shows 2 documents in 2 segments.\n")
  }

  @Test func `a torn tail is reported as by the other commands, and is no damage`() throws {
    let store = try DumpedStore.films()
    var bytes = try store.bytes("0000000002.segment")
    bytes += [UInt8](repeating: 7, count: 100)
    try store.replace("0000000002.segment", with: bytes)
    let info = store.dump("info").status
    let run = store.dump("report", "--html", "/page.html")
    #expect(run.status == info && info == .tornTail)
    #expect(try text("/page.html", store).contains("an unfinished transaction"))
  }

  /// Regression test: the same damage was listed twice, by two paths.
  ///
  /// The log has the path that was given, and the database the absolute one.
  @Test func `damage of a store at a relative path is listed once, by the path in the store`()
    throws
  {
    let folder = try TemporaryDirectory()
    let path = "\(folder.path)/a.divan"
    let database = try Database(at: path)
    try database.write { transaction in
      for id in ["a", "b"] {
        var document = Document(id: id)
        let content = [UInt8](repeating: UInt8(id.utf8.count), count: 100_000)
        document.attachments["a"] = Document.Attachment(contentType: "x/y", content)
        try transaction.put(document)
      }
    }
    try database.writeCheckpoint()
    try database.close()
    try FileManager.default.removeItem(atPath: "\(path)/attachments")
    let segment = URL(fileURLWithPath: "\(path)/0000000001.segment")
    var bytes = try Data(contentsOf: segment)
    bytes[4200] ^= 1
    try bytes.write(to: segment)

    let up = FileManager.default.currentDirectoryPath.split(separator: "/").map { _ in ".." }
    let relative = up.joined(separator: "/") + path
    let silent = Output { (_: borrowing ByteWriter) in }
    let tool = LogDump(fileSystem: POSIXFileSystem(), output: silent, problems: silent)
    let page = "\(folder.path)/page.html"
    #expect(tool.run(["report", relative, "--html", page]) == .damage)
    let damage = try HTMLPage(try String(contentsOfFile: page, encoding: .utf8)).section("damage")
    let rows = damage.filter { $0.name == "tr" && $0.text.contains("ment") }.map(\.text)
    let files = damage.filter { $0.name == "bdi" }.map(\.text)
    #expect(files.contains { $0.hasPrefix("attachments/") })
    // The transaction, its damaged record, and its segment in the drawing.
    #expect(files.count { $0 == "0000000001.segment" } == 2)
    #expect(Set(rows).count == rows.count && files.allSatisfy { !$0.contains("..") }, "\(rows)")
  }

  @Test func `a path without a store is an error, and writes nothing`() throws {
    let store = DumpedStore()
    try store.fileSystem.makeDirectory("/empty")
    #expect(store.dump("report", "--html", "/page.html", path: "/empty").status == .unreadable)
    #expect(store.dump("report", "--html", "/page.html", path: "/nothing").status == .unreadable)
    #expect(try !store.fileSystem.exists("/page.html"))
  }
}

extension MemoryFileSystem {
  /// The bytes of all files, by their paths.
  fileprivate var contentsByPath: [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    func add(_ folder: String) {
      for name in (try? list(folder)) ?? [] {
        let path = folder == "/" ? "/\(name)" : "\(folder)/\(name)"
        if (try? status(path))?.kind == .directory {
          add(path)
        } else {
          found[path] = (try? contents(of: path, limit: 1 << 30))?.array ?? []
        }
      }
    }
    add("/")
    return found
  }
}
