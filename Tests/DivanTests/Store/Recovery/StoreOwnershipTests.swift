import DivanLog
import Foundation
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests that files of other programs are left alone.
///
/// They open, delete and back up stores in which other files replace the store's own ones. All
/// tests run on the machine's file system.
struct StoreOwnershipTests {
  private let directory: TemporaryDirectory
  private let files = FileManager.default

  init() throws { directory = try TemporaryDirectory() }

  private func path(_ name: String) -> String { "\(directory.path)/\(name)" }

  private func write(_ text: String, to name: String) throws {
    try files.createDirectory(
      atPath: (path(name) as NSString).deletingLastPathComponent,
      withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: path(name)))
  }

  /// Returns all entries below a directory, with their contents; links are not followed.
  private func tree(_ name: String = "") throws -> [String] {
    try files.subpathsOfDirectory(atPath: path(name)).sorted().map { entry in
      let entryPath = path(name) + "/" + entry
      let attributes = try files.attributesOfItem(atPath: entryPath)
      switch attributes[.type] as? FileAttributeType {
      case .typeSymbolicLink?:
        return "\(entry) -> \(try files.destinationOfSymbolicLink(atPath: entryPath))"
      case .typeDirectory?: return entry + "/"
      // Reading a named pipe would wait for a writer.
      case .typeUnknown?: return entry + " is no file"
      default:
        return "\(entry): \((files.contents(atPath: entryPath) ?? Data()).base64EncodedString())"
      }
    }
  }

  private func code(_ body: () throws -> Void) -> DatabaseError.Code? {
    do {
      try body()
      return nil
    } catch let error as DatabaseError {
      #expect(error.hint != nil, "\(error)")
      return error.code
    } catch {
      Issue.record("not an error of Divan: \(error)")
      return nil
    }
  }

  private func configuration() -> Configuration {
    var configuration = Configuration()
    configuration.setFilesSmallForTests()
    configuration.maintenance = .manual
    return configuration
  }

  private func reading() -> Configuration {
    var configuration = configuration()
    configuration.isReadOnly = true
    return configuration
  }

  /// Creates a closed store with a document and an attachment in a file of its own.
  private func makeStore(_ name: String = "a.divan", closing: Bool = true) throws {
    let database = try Database(at: path(name), configuration: configuration())
    try database.write { transaction in
      var document = Document(id: "film", ["title": "Metropolis"])
      document.attachments["poster"] = Document.Attachment(
        contentType: "x/y", [UInt8](repeating: 7, count: 200_000))
      _ = try transaction.put(document)
    }
    try database.close()
    guard !closing else { return }
    // The state that a crash leaves.
    try files.removeItem(atPath: path(name) + "/HEAD")
  }

  private func expectWhole(_ name: String = "a.divan") throws {
    let database = try Database(at: path(name), configuration: configuration())
    #expect(try database.snapshot().document("film")?["title"] == "Metropolis")
    #expect(try database.check().isSound)
    try database.close()
  }

  // MARK: Directories of other programs

  /// Regression test: directories of other programs were treated as stores.
  ///
  /// `Database(at: ".")` in a project emptied its folder `tmp`, and a deletion removed a
  /// repository's `HEAD`.
  @Test(arguments: [
    ["tmp/work.txt", "main.swift"], ["tmp/HEAD"], ["HEAD", "objects/aa/bb", "config"],
    ["LOCK", "tmp/x"], ["attachments/3f/x", "letter.txt"], ["RESERVE"], ["LOCK"],
  ])
  func `another program's directory is neither opened as a store nor deleted`(names: [String])
    throws
  {
    for name in names { try write("ref: \(name)\n", to: "project/" + name) }
    let before = try tree()
    for _ in 0..<2 {
      #expect(code { _ = try Database(at: path("project")) } == .notAStore)
      #expect(
        code { _ = try Database(at: path("project"), configuration: reading()) } == .notAStore)
      #expect(code { try Database.delete(at: path("project")) } == .notAStore)
      #expect(!Database.exists(at: path("project")))
      #expect(try tree() == before)
    }
  }

  @Test func `a leftover lock file does not make another program's directory a store`()
    throws
  {
    try write("ref: refs/heads/main\n", to: "project/HEAD")
    try write("process 4711", to: "project/LOCK")
    try files.createDirectory(atPath: path("project/tmp"), withIntermediateDirectories: true)
    let before = try tree()
    #expect(code { _ = try Database(at: path("project")) } == .notAStore)
    #expect(code { try Database.delete(at: path("project")) } == .notAStore)
    #expect(try tree() == before)
  }

  @Test func `an empty directory, or one with an unfinished store, becomes a store`()
    throws
  {
    try files.createDirectory(atPath: path("a.divan"), withIntermediateDirectories: false)
    try makeStore()
    try expectWhole()
    for (index, content) in ["", "process 12", "\0\0\0\0", "Divan store\n"].enumerated() {
      try write(content, to: "b\(index)/LOCK")
      try makeStore("b\(index)")
      try expectWhole("b\(index)")
      try write(content, to: "c\(index)/LOCK")
      try write("half", to: "c\(index)/tmp/0000000001.segment")
      try makeStore("c\(index)")
      try expectWhole("c\(index)")
      #expect(try tree("c\(index)/tmp").isEmpty)
    }
  }

  @Test func `a store without its lock file is recognized by the first bytes of its files`() throws
  {
    try makeStore()
    try files.removeItem(atPath: path("a.divan/LOCK"))
    #expect(Database.exists(at: path("a.divan")))
    try expectWhole()
    try files.removeItem(atPath: path("a.divan/LOCK"))
    #expect(try Database.delete(at: path("a.divan")) == [])
    #expect(try tree().isEmpty)
  }

  // MARK: Files of other programs in a store

  @Test func `openings and deletions keep files of other programs, and deletions report them`()
    throws
  {
    try makeStore()
    let foreign = [
      "attachments/3f/letter.txt", "attachments/notes/x", "letter.txt", "tmp/folder/x",
      "tmp/notes.txt",
    ]
    for name in foreign { try write("mine", to: "a.divan/" + name) }
    try write("half", to: "a.divan/tmp/0000000009.segment")
    try expectWhole()
    #expect(!files.fileExists(atPath: path("a.divan/tmp/0000000009.segment")))
    let database = try Database(at: path("a.divan"))
    try database.write { _ = try $0.replace("more", with: [:]) }
    try database.close()
    let left = try Database.delete(at: path("a.divan"))
    #expect(
      left.sorted() == [
        "attachments/3f/letter.txt", "attachments/notes", "letter.txt", "tmp/folder",
        "tmp/notes.txt",
      ])
    let files = try tree("a.divan").filter { !$0.hasSuffix("/") }
    #expect(files == foreign.map { "\($0): \(Data("mine".utf8).base64EncodedString())" })
    #expect(code { try Database.delete(at: path("a.divan")) } == .notAStore)
  }

  /// Regression test: a folder in `tmp` made a store unwritable.
  ///
  /// Found by an external trial.
  @Test func `folders in tmp do not prevent writes, and stay`() throws {
    try makeStore()
    let folders = [
      "HEAD", "FLUSHED", "RESERVE", "0000000002.segment", "0000000001.checkpoint", "attachment-1",
      "file-1", "0000000001-0000000002.segment",
    ]
    for name in folders { try write("mine", to: "a.divan/tmp/\(name)/x") }
    for round in 0..<2 {
      let database = try Database(at: path("a.divan"))
      try database.write { transaction in
        var document = Document(id: "round \(round)")
        document.attachments["large"] = Document.Attachment(
          contentType: "x/y", [UInt8](repeating: 7, count: 100_000))
        _ = try transaction.put(document)
      }
      try database.writeCheckpoint()
      try database.compact()
      try database.close()
    }
    let database = try Database(at: path("a.divan"))
    for round in 0..<2 {
      let attachment = try database.snapshot().document("round \(round)")?.attachments["large"]
      #expect(try attachment?.data().count == 100_000)
    }
    #expect(try database.check().isSound)
    try database.close()
    #expect(
      try tree("a.divan/tmp").filter { !$0.hasSuffix("/") }.count == folders.count)
  }

  @Test(arguments: ["tmp", "attachments", "attachments/xx"], [false, true])
  func `a symbolic link that replaces a store's folder is not followed`(
    name: String, isClosed: Bool
  )
    throws
  {
    try makeStore("other.divan")
    try makeStore(closing: isClosed)
    let folder = try #require(
      files.contentsOfDirectory(atPath: path("other.divan/attachments")).first)
    let name = name.replacing("xx", with: folder)
    let target = name == "tmp" ? "work" : "other.divan/" + name
    try write("mine", to: target + "/HEAD")
    try files.removeItem(atPath: path("a.divan/" + name))
    try makeSymbolicLink(at: path("a.divan/" + name), to: path(target))
    let before = try tree()
    #expect(code { _ = try Database(at: path("a.divan")) } == .notAStore)
    // The existing contents can be read.
    let reader = try Database(at: path("a.divan"), configuration: reading())
    #expect(try reader.snapshot().document("film")?["title"] == "Metropolis")
    #expect(reader.openingReport.damage.count == (name.contains("/") ? 0 : 1))
    try reader.close()
    #expect(try tree() == before)
    #expect(try Database.delete(at: path("a.divan")) == [name])
    #expect(
      try tree(target)
        == before.filter { $0.hasPrefix(target + "/") && $0 != target + "/" }
        .map { String($0.dropFirst(target.count + 1)) })
    try expectWhole("other.divan")
  }

  @Test(arguments: ["symbolic", "dangling", "hard"], ["", "process 1", "a letter"])
  func `a link that replaces the lock file is not written through`(kind: String, content: String)
    throws
  {
    try makeStore()
    try files.removeItem(atPath: path("a.divan/LOCK"))
    // Apart from the lock file, nothing shows that this directory is a store, or will become one.
    try files.createDirectory(atPath: path("new.divan"), withIntermediateDirectories: false)
    for store in ["a.divan", "new.divan"] {
      let target = "precious of \(store)"
      if kind != "dangling" { try write(content, to: target) }
      if kind == "hard" {
        try files.linkItem(atPath: path(target), toPath: path(store + "/LOCK"))
      } else {
        try makeSymbolicLink(at: path(store + "/LOCK"), to: path(target))
      }
    }
    let before = try tree()
    for store in ["a.divan", "new.divan"] {
      #expect(code { _ = try Database(at: path(store)) } == .notAStore)
      #expect(code { try Database.delete(at: path(store)) } == .notAStore)
    }
    #expect(try tree() == before)
  }

  @Test(arguments: ["directory", "pipe"])
  func `a directory or pipe that replaces the lock file is left alone`(kind: String) throws {
    try makeStore()
    try files.removeItem(atPath: path("a.divan/LOCK"))
    if kind == "pipe" {
      try #require(unsafe mkfifo(path("a.divan/LOCK"), 0o600) == 0)
    } else {
      try write("mine", to: "a.divan/LOCK/HEAD")
    }
    let before = try tree()
    #expect(code { _ = try Database(at: path("a.divan")) } != nil)
    #expect(code { try Database.delete(at: path("a.divan")) } != nil)
    #expect(try tree() == before)
  }

  @Test func `a link that replaces a segment is not read, and deletion does not follow it`() throws
  {
    try makeStore()
    try files.moveItem(
      atPath: path("a.divan/0000000001.segment"), toPath: path("precious"))
    try makeSymbolicLink(at: path("a.divan/0000000001.segment"), to: path("precious"))
    let before = try Data(contentsOf: URL(filePath: path("precious")))
    #expect(code { _ = try Database(at: path("a.divan")) } != nil)
    #expect(try Database.delete(at: path("a.divan")) == ["0000000001.segment"])
    #expect(try Data(contentsOf: URL(filePath: path("precious"))) == before)
  }

  /// Regression: the name to which it is moved was too long, and it could not be deleted.
  @Test(arguments: [229, 230, 255])
  func `a store with the longest names can be deleted`(length: Int) throws {
    let name = String(repeating: "n", count: length)
    try makeStore(name)
    #expect(try Database.delete(at: path(name)) == [])
    #expect(try files.contentsOfDirectory(atPath: directory.path) == [])
  }

  // MARK: Backups

  @Test(arguments: [
    "backup.divan", "backup.divan/", "a.divan", "a.divan/tmp/x", "a.divan/x", "other.divan/x",
    "other.divan/attachments/x", "alias/x", "alias/tmp/x", "dangling", "old.divan/x",
  ])
  func `a backup to an existing path or into a store is refused`(name: String) throws {
    try makeStore()
    try makeStore("other.divan")
    try write("mine", to: "backup.divan/letter.txt")
    try makeSymbolicLink(at: path("alias"), to: path("a.divan"))
    try makeSymbolicLink(at: path("dangling"), to: path("nowhere"))
    try makeStore("old.divan")
    try files.removeItem(atPath: path("old.divan/LOCK"))
    let database = try Database(at: path("a.divan"), configuration: configuration())
    let before = try tree()
    #expect(code { try database.backup(to: path(name)) } == .alreadyExists)
    #expect(try tree() == before)
    try database.close()
  }

  @Test(arguments: ["folder", "store", "link", "file"])
  func `backups and deletions do not use temporary names that already exist`(other: String) throws {
    try makeStore()
    var configuration = configuration()
    configuration.random = { 7 }
    let database = try Database(at: path("a.divan"), configuration: configuration)
    // The names that a backup and a deletion try first.
    let first = try #require(UInt64(database.storeID.prefix(16), radix: 16))
    let building = (0..<8).map { (number: UInt64) -> String in
      let digits = String(first &+ number, radix: 16)
      return "b." + String(repeating: "0", count: 16 - digits.count) + digits + ".building"
    }
    let foreign = [
      "b.0000000000000007.deleting", building[0], building[1], building[3], building[4],
    ]
    for name in foreign { try write("mine", to: name + "/tmp/HEAD") }
    try write("mine", to: "target/HEAD")
    for name in [building[2], building[5]] {
      try makeSymbolicLink(at: path(name), to: path("target"))
    }
    switch other {
    case "store": try makeStore("b.building")
    case "link": try makeSymbolicLink(at: path("b.building"), to: path("target"))
    case "file": try write("mine", to: "b.building")
    default: try write("mine", to: "b.building/tmp/HEAD")
    }
    let before = try tree().filter { !$0.hasPrefix("a.divan") }
    try database.backup(to: path("b"))
    try database.close()
    try expectWhole("b")
    try Database.delete(at: path("b"), configuration: configuration)
    #expect(try tree().filter { !$0.hasPrefix("a.divan") } == before)
  }

  @Test func `the next backup or deletion removes leftovers of crashed ones`() throws {
    try makeStore()
    try makeStore("b.00000000000000aa.building")
    try makeStore("b.00000000000000ab.deleting")
    for name in ["b.00000000000000ac.building", "b.00000000000000ad.deleting"] {
      try files.createDirectory(atPath: path(name), withIntermediateDirectories: false)
    }
    let used = try Database(at: path("b.00000000000000aa.building"))
    let database = try Database(at: path("a.divan"), configuration: configuration())
    try database.backup(to: path("b"))
    #expect(
      try files.contentsOfDirectory(atPath: directory.path).sorted() == [
        "a.divan", "b", "b.00000000000000aa.building", "b.00000000000000ab.deleting",
        "b.00000000000000ad.deleting",
      ])
    try used.close()
    try Database.delete(at: path("b"))
    try database.backup(to: path("b"))
    #expect(try files.contentsOfDirectory(atPath: directory.path).sorted() == ["a.divan", "b"])
    try database.close()
  }

  // MARK: A lost lock

  /// Regression test: a second process could open the store, and acknowledged commits were lost.
  @Test(
    arguments: ["removed", "replaced", "store deleted"],
    [Durability.full, .none, .relaxed(maxDelay: .seconds(60))])
  func `a writer that has lost its lock file stops and acknowledges nothing`(
    how: String, durability: Durability
  ) throws {
    let database = try Database(at: path("a.divan"), configuration: configuration())
    try database.write { _ = try $0.replace("first", with: [:]) }
    if how == "store deleted" {
      try files.removeItem(atPath: path("a.divan"))
    } else {
      try files.removeItem(atPath: path("a.divan/LOCK"))
      if how == "replaced" { try write("Divan store\n", to: "a.divan/LOCK") }
    }
    var codes: [DatabaseError.Code?] = []
    for number in 0..<3 {
      codes.append(
        code {
          try database.write(durability: durability) {
            _ = try $0.replace("\(number)", with: [:])
          }
        })
    }
    #expect(codes == [.outcomeUnknown, .writerStopped, .writerStopped])
    #expect(try database.snapshot().count == 1)
    #expect(code { try database.close() } == .outcomeUnknown)
    if how == "store deleted" {
      #expect(try tree().isEmpty)
    } else {
      let again = try Database(at: path("a.divan"), configuration: configuration())
      #expect(try again.snapshot().exists("first"))
      #expect(try again.check().isSound)
      try again.close()
    }
  }

  // MARK: Paths

  @Test func `a relative path becomes absolute when the database is opened`() throws {
    let files = POSIXFileSystem()
    let working = try files.canonicalPath(".")
    #expect(try files.absolutePath("a") == working + "/a")
    #expect(try files.absolutePath("./a//b/.") == working + "/a/b")
    #expect(try files.absolutePath(".") == working)
    #expect(try files.absolutePath("/a/../b/") == "/a/../b")
    try files.makeDirectory(directory.path + "/x")
    #expect(try files.absolutePath(directory.path + "/x/..") == directory.path)
    #expect(try files.absolutePath("/") == "/")
    #expect(try files.absolutePath("") == "")
    let name = "divan-relative-\(getpid()).divan"
    defer { _ = try? Database.delete(at: name) }
    let database = try Database(at: name)
    #expect(database.path == working + "/" + name)
    try database.close()
  }

  // MARK: Modes

  private func mode(_ name: String) throws -> Int {
    try #require(files.attributesOfItem(atPath: path(name))[.posixPermissions] as? Int)
  }

  @Test func `files are private to their owner, unless the configuration says otherwise`() throws {
    try makeStore()
    let database = try Database(at: path("a.divan"), configuration: configuration())
    try database.backup(to: path("b.divan"))
    try database.close()
    for store in ["a.divan", "b.divan"] {
      #expect(try mode(store) == 0o700)
      for name in try files.subpathsOfDirectory(atPath: path(store)) {
        let kind = try POSIXFileSystem().entry(path("\(store)/\(name)")).kind
        #expect(try mode("\(store)/\(name)") == (kind == .directory ? 0o700 : 0o600), "\(name)")
      }
    }
    let mask = umask(0)
    umask(mask)
    var shared = Configuration()
    shared.isPrivate = false
    let open = try Database(at: path("c.divan"), configuration: shared)
    try open.write { _ = try $0.replace("a", with: [:]) }
    try open.close()
    #expect(try mode("c.divan") == 0o777 & ~Int(mask))
    #expect(try mode("c.divan/HEAD") == 0o666 & ~Int(mask))
  }

  // MARK: Error messages

  @Test func `errors about paths have a message, a path and a hint`() throws {
    func error(_ body: () throws -> Void) throws -> DatabaseError {
      try #require(#expect(throws: DatabaseError.self) { try body() })
    }
    try makeStore()
    let database = try Database(at: path("a.divan"), configuration: configuration())
    let missing = try error { try database.backup(to: path("no/where.divan")) }
    #expect(missing.code == .notFound)
    #expect(missing.message.contains("its parent directory does not exist"))
    #expect(missing.hint?.contains(path("no")) == true)
    #expect(missing.path == path("no/where.divan"))
    let taken = try error { try database.backup(to: path("a.divan")) }
    #expect(taken.message.contains("the backup cannot be created: its path is taken"))
    let nowhere = try error { try database.backup(to: path("no/where.divan")) }
    #expect(nowhere.message.contains("its parent directory does not exist"))
    let within = try error { try database.backup(to: path("a.divan/tmp/x")) }
    #expect(within.message.contains("within a store"))
    try database.close()
    let foreign = try error { _ = try Database(at: "/etc") }
    #expect(foreign.code == .notAStore && foreign.message.contains("not the directory of a store"))
  }
}
