import DivanLog
import DivanTesting
import Foundation
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of attachments through the public API.
struct AttachmentTests {
  private let disk = SimulatedDisk()
  private let database: Database

  init() throws { database = try Database(at: "/s", configuration: disk.configuration()) }

  /// Returns content that is too large for the log.
  private func long(_ seed: UInt8, count: Int = 200_000) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) ^ seed }
  }

  private func filesInStore() throws -> [String] {
    let fileSystem = disk.fileSystem
    guard try fileSystem.exists("/s/attachments") else { return [] }
    return try fileSystem.list("/s/attachments").flatMap { folder in
      try fileSystem.list("/s/attachments/\(folder)")
    }
  }

  private func checkIsSound(_ database: Database) throws {
    let problems = try database.check().problems
    #expect(problems.map(\.description) == [])
  }

  @Test func `small and large attachments survive an update of their document and reopening`()
    throws
  {
    var film = Document(id: "film", ["title": "Metropolis"])
    film.attachments["note"] = Document.Attachment(contentType: "text/plain", "A note".utf8)
    film.attachments["poster"] = Document.Attachment(contentType: "image/jpeg", long(1))
    var stored = try database.write { try $0.put(film) }
    #expect(stored.attachments == film.attachments)
    stored["year"] = 1927
    try database.write { _ = try $0.put(stored) }
    let read = try #require(try database.read { try $0.document("film") })
    let note = try #require(read.attachments["note"])
    #expect(try note.data() == Data("A note".utf8))
    #expect(note.length == 6)
    #expect(note.generation == 1)
    #expect(note.digest?.hasPrefix("sha256-") == true)
    let poster = try #require(read.attachments["poster"])
    #expect(try poster.data() == Data(long(1)))
    #expect(try poster.data(in: 99_990..<100_010) == Data(long(1)[99_990..<100_010]))
    #expect(try filesInStore().count == 1)
    try checkIsSound(database)
    try database.close()
    #expect(throws: DatabaseError.self) { try poster.data() }
    let again = try Database(at: "/s", configuration: disk.configuration())
    #expect(try again.read { try $0.document("film") }?.attachments == film.attachments)
    try checkIsSound(again)
  }

  @Test func `ten thousand documents that share ten blobs store ten files`() throws {
    let blobs = try (0..<10).map { seed in
      var pieces = [long(UInt8(seed))].makeIterator()
      return try database.storeAttachment(contentType: "image/jpeg") { pieces.next() }
    }
    for start in stride(from: 0, to: 10_000, by: 2500) {
      try database.write { transaction in
        for index in start..<start + 2500 {
          var document = Document(id: "d\(index)")
          document.attachments["poster"] = blobs[index % 10]
          try transaction.put(document)
        }
      }
    }
    #expect(try filesInStore().count == 10)
    let size = try filesInStore().reduce(0) { size, name in
      try size + disk.fileSystem.status("/s/attachments/\(name.prefix(2))/\(name)").size
    }
    #expect((2_000_000..<2_100_000).contains(size))
    let document = try #require(try database.read { try $0.document("d4321") })
    #expect(try document.attachments["poster"]?.data() == Data(long(1)))
  }

  @Test func `equal attachment content is stored once and removed with its last reference`() throws
  {
    let poster = Document.Attachment(contentType: "image/jpeg", long(2))
    try database.write { transaction in
      for index in 0..<20 {
        var document = Document(id: "d\(index)")
        document.attachments["poster"] = poster
        document.attachments["note"] = Document.Attachment(contentType: "text/plain", [7])
        try transaction.put(document)
      }
    }
    #expect(try filesInStore().count == 1)
    for index in 0..<19 { try database.write { _ = try $0.delete("d\(index)") } }
    try database.compact()
    #expect(try filesInStore().count == 1)
    try checkIsSound(database)
    // A snapshot and a document that was read keep the content that they refer to.
    var document = try database.read { try $0.document("d19") }
    try database.write { _ = try $0.purge("d19") }
    try database.compact()
    #expect(try document?.attachments["poster"]?.data() == Data(long(2)))
    document = nil
    try database.compact()
    #expect(try filesInStore().isEmpty)
    var catalog = try database.store.view().state.catalog.scan()
    #expect(try catalog.next() == nil)
    try checkIsSound(database)
  }

  @Test func `compaction keeps the attachments that an open snapshot refers to`()
    throws
  {
    for name in ["a", "b"] {
      var document = Document(id: name)
      document.attachments["file"] = Document.Attachment(
        contentType: "x/y", long(name.utf8.first ?? 0))
      try database.write { _ = try $0.put(document) }
    }
    let snapshot = try database.snapshot()
    for name in ["a", "b"] {
      try database.write { _ = try $0.delete(name) }
      try database.compact()
    }
    for name in ["a", "b"] {
      let file = try #require(try snapshot.document(name)?.attachments["file"])
      #expect(try file.data() == Data(long(name.utf8.first ?? 0)), "\(name)")
    }
  }

  @Test func `attachment content can come from files, streams, other documents and other stores`()
    throws
  {
    let folder = try TemporaryDirectory()
    let path = folder.path + "/source"
    try Data(long(3)).write(to: URL(fileURLWithPath: path))
    var document = Document(id: "a")
    document.attachments["file"] = try Document.Attachment(contentType: "x/y", file: path)
    document.attachments["stored"] = try database.storeAttachment(contentType: "x/y", file: path)
    var rest = long(4)[...]
    document.attachments["stream"] = try database.storeAttachment(contentType: "x/y") {
      () -> [UInt8]? in
      defer { rest = rest.dropFirst(50_000) }
      return rest.isEmpty ? nil : Array(rest.prefix(50_000))
    }
    let stored = try database.write { try $0.put(document) }
    #expect(try filesInStore().count == 2)
    #expect(try stored.attachments["file"]?.data() == Data(long(3)))
    #expect(try stored.attachments["stream"]?.data() == Data(long(4)))
    let other = try Database.inMemory()
    var copy = Document(id: "b")
    copy.attachments = stored.attachments
    try other.write { _ = try $0.put(copy) }
    #expect(try other.read { try $0.document("b") }?.attachments == stored.attachments)
    try checkIsSound(other)
    try database.backup(to: "/copy")
    let backup = try Database(at: "/copy", configuration: disk.configuration())
    #expect(try backup.read { try $0.document("a") } == stored)
    try checkIsSound(backup)
  }

  @Test func `attachment content is written to a new file, or to none`() async throws {
    let folder = try TemporaryDirectory()
    let (source, copy) = (folder.path + "/source", folder.path + "/copy")
    try Data(long(3)).write(to: URL(fileURLWithPath: source))
    let stored = try await database.storeAttachment(contentType: "x/y", file: source)
    let attachments = [
      Document.Attachment(contentType: "x/y", [1, 2]), stored,
      try Document.Attachment(contentType: "x/y", file: source),
    ]
    for attachment in attachments {
      try await attachment.write(to: copy)
      let content = try await attachment.data()
      #expect(try Data(contentsOf: URL(fileURLWithPath: copy)) == content)
      let error = await #expect(throws: DatabaseError.self) { try await attachment.write(to: copy) }
      #expect(error?.code == .alreadyExists)
      try FileManager.default.removeItem(atPath: copy)
    }
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      try await stored.write(to: copy)
    }
    task.cancel()
    let result = await task.result
    #expect(throws: DatabaseError.self) { try result.get() }
    try FileManager.default.removeItem(atPath: source)
    await #expect(throws: DatabaseError.self) { try await attachments[2].write(to: copy) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }

  @Test func `an invalid attachment is refused and leaves no file behind`() throws {
    #expect(throws: DatabaseError.self) {
      try Document.Attachment(contentType: "x/y", file: "/nowhere/at/all")
    }
    let folder = try TemporaryDirectory()
    let path = folder.path + "/source"
    try Data(long(5)).write(to: URL(fileURLWithPath: path))
    var document = Document(id: "a")
    document.attachments["gone"] = try Document.Attachment(contentType: "x/y", file: path)
    try FileManager.default.removeItem(atPath: path)
    #expect(throws: DatabaseError.self) { try database.write { try $0.put(document) } }
    for (name, type) in [
      ("", "x/y"), ("_a", "x/y"), ("a", ""), (String(repeating: "n", count: 1025), "x"),
    ] {
      var document = Document(id: "a")
      document.attachments[name] = Document.Attachment(contentType: type, [1])
      let error = #expect(throws: DatabaseError.self) {
        try database.write { try $0.put(document) }
      }
      #expect(error?.code == .invalidAttachment)
    }
    #expect(try database.read { try $0.document("a") } == nil)
    #expect(try filesInStore().isEmpty)
    try checkIsSound(database)
  }

  @Test func `a missing blob fails only its own attachment and is repaired by storing it again`()
    throws
  {
    var document = Document(id: "a", ["n": 1])
    document.attachments["large"] = Document.Attachment(contentType: "x/y", long(6))
    document.attachments["small"] = Document.Attachment(contentType: "x/y", [1, 2, 3])
    try database.write { _ = try $0.put(document) }
    try database.close()
    let file = try #require(try filesInStore().first)
    try disk.fileSystem.remove("/s/attachments/\(file.prefix(2))/\(file)")
    let again = try Database(at: "/s", configuration: disk.configuration())
    let read = try #require(try again.read { try $0.document("a") })
    #expect(read["n"] == 1)
    #expect(try read.attachments["small"]?.data() == Data([1, 2, 3]))
    let error = #expect(throws: DatabaseError.self) { try read.attachments["large"]?.data() }
    #expect(error?.code == .damaged)
    #expect(error?.path?.hasSuffix(file) == true)
    #expect(try again.check().problems.count == 1)
    // Storing the same content again repairs it.
    try again.write { transaction in
      var healed = read
      healed.attachments["large"] = Document.Attachment(contentType: "x/y", long(6))
      try transaction.put(healed)
    }
    #expect(try read.attachments["large"]?.data() == Data(long(6)))
    try checkIsSound(again)
  }

  /// Regression: storing it again succeeded, and healed nothing until the database was reopened.
  @Test func `an attachment that rots while the database is open is repaired by storing it again`()
    throws
  {
    let content = long(7, count: 1 << 20)
    var document = Document(id: "a")
    document.attachments["large"] = Document.Attachment(contentType: "x/y", content)
    let stored = try database.write { try $0.put(document) }
    let file = try #require(try filesInStore().first)
    let path = "/s/attachments/\(file.prefix(2))/\(file)"
    for offset in [0, 500_000, content.count - 1] {
      try disk.corrupt(path, atOffset: offset, mask: 1)
      let error = #expect(throws: DatabaseError.self) { try stored.attachments["large"]?.data() }
      #expect(error?.code == .damaged)
      try database.write { transaction in
        var healed = try #require(try transaction.document("a"))
        healed.attachments["large"] = Document.Attachment(contentType: "x/y", content)
        try transaction.put(healed)
      }
      #expect(try stored.attachments["large"]?.data() == Data(content))
    }
    try checkIsSound(database)
  }

  @Test func `an attachment's generation is that of the document's own revision that added it`()
    throws
  {
    func put(_ id: String, _ note: Document.Attachment?) throws -> Document.Attachment? {
      var document = try database.snapshot().document(id) ?? Document(id: id)
      if let note { document.attachments["note"] = note }
      document["n"] = .int(.random(in: 0...(.max)))
      return try database.write { try $0.put(document) }.attachments["note"]
    }
    func note(_ contentType: String = "text/plain") -> Document.Attachment {
      Document.Attachment(contentType: contentType, "Note".utf8)
    }
    let first = try put("first", note())
    #expect(first?.generation == 1)
    #expect(try put("first", nil)?.generation == 1)
    // The same attachment again is no change; another type is one.
    #expect(try put("first", note())?.generation == 1)
    #expect(try put("first", note("text/markdown"))?.generation == 4)
    for _ in 1...3 { #expect(try put("second", nil) == nil) }
    #expect(try put("second", first)?.generation == 4)
    // The generations of an external revision are trusted, up to that revision's own generation.
    var external = Document(id: "external")
    external.attachments["note"] = first
    external.attachments["note"]?.generation = 9
    external.attachments["old"] = first
    external.attachments["old"]?.generation = 2
    external.attachments["new"] = note()
    let history = try [RevisionID(parsing: "3-c")]
    try database.write { try $0.insert(external, history: history) }
    let stored = try database.snapshot().document("external")?.attachments.mapValues(\.generation)
    #expect(stored == ["note": 3, "old": 2, "new": 3])
    try checkIsSound(database)
  }

  @Test func `a branch keeps an attachment's generation even if another branch wins`() throws {
    var document = Document(id: "a", ["n": 1])
    document.attachments["note"] = Document.Attachment(contentType: "x/y", "Note".utf8)
    let first = try database.write { try $0.put(document) }
    let mine = try database.write { transaction in
      var mine = first
      mine["n"] = 2
      return try transaction.put(mine)
    }
    let theirs = try database.write { transaction in
      var theirs = first
      theirs.attachments = [:]
      return try transaction.put(theirs, onConflict: .branch)
    }
    for leaf in [mine, theirs] {
      var next = leaf
      next["n"] = 3
      next.attachments["note"] = document.attachments["note"]
      let stored = try database.write { try $0.put(next) }
      #expect(stored.attachments["note"]?.generation == (leaf == mine ? 1 : 3))
    }
    try checkIsSound(database)
  }

  @Test func `inserting a known revision stores none of its attachments`() throws {
    var document = Document(id: "a")
    let history = try ["2-b", "1-a"].map { try RevisionID(parsing: $0) }
    #expect(try database.write { try $0.insert(document, history: history) })
    document.attachments["large"] = Document.Attachment(contentType: "x/y", long(10))
    for known in [history, Array(history.dropFirst())] {
      #expect(try !database.write { try $0.insert(document, history: known) })
    }
    #expect(try filesInStore().isEmpty)
    #expect(try database.statistics.attachmentCount == 0)
  }

  @Test func `attachment files that no document refers to are deleted`() throws {
    struct Refusal: Error {}
    #expect(throws: Refusal.self) {
      try database.write { transaction in
        var document = Document(id: "a")
        document.attachments["large"] = Document.Attachment(contentType: "x/y", long(7))
        try transaction.put(document)
        throw Refusal()
      }
    }
    var staged: Document.Attachment? = try database.storeAttachment(
      contentType: "x/y", pieces: once(long(8)))
    #expect(try filesInStore().count == 2)
    try database.compact()
    #expect(try filesInStore().count == 1)
    #expect(try staged?.data() == Data(long(8)))
    staged = nil
    try database.compact()
    #expect(try filesInStore().isEmpty)
    // It cannot be used after the database is closed.
    staged = try database.storeAttachment(contentType: "x/y", pieces: once(long(9)))
    try database.close()
    #expect(try filesInStore().isEmpty)
    #expect(throws: DatabaseError.self) { try staged?.data() }
  }

  /// Returns a closure that gives `bytes` once, then `nil`.
  private func once(_ bytes: [UInt8]) -> () -> [UInt8]? {
    var rest: [UInt8]? = bytes
    return {
      defer { rest = nil }
      return rest
    }
  }

  @Test func `attachment content can come from an asynchronous sequence`()
    async throws
  {
    let pieces = AsyncStream { continuation in
      for index in 0..<4 { continuation.yield(long(UInt8(index), count: 60_000)) }
      continuation.finish()
    }
    let attachment = try await database.storeAttachment(contentType: "x/y", pieces: pieces)
    #expect(try await attachment.data() == Data((0..<4).flatMap { long(UInt8($0), count: 60_000) }))
  }

  /// Regression: the part that had arrived by then was stored as if it were complete.
  @Test func `storing an attachment throws when its task is cancelled`() async throws {
    let (pieces, continuation) = AsyncStream.makeStream(of: [UInt8].self)
    let database = database
    let storing = Task { try await database.storeAttachment(contentType: "x/y", pieces: pieces) }
    continuation.yield(long(1, count: 60_000))
    storing.cancel()
    let error = await #expect(throws: DatabaseError.self) { try await storing.value }
    #expect(error?.code == .cancelled)
  }

  @Test(arguments: [0..<Int.max, -5..<3, 199_990..<Int.max, 300_000..<400_000])
  func `content ranges are clamped to the attachment's length`(range: Range<Int>) throws {
    var document = Document(id: "a")
    document.attachments["small"] = Document.Attachment(contentType: "x/y", [1, 2, 3, 4])
    document.attachments["large"] = Document.Attachment(contentType: "x/y", long(1))
    let stored = try database.write { try $0.put(document) }
    for (name, bytes) in [("small", [1, 2, 3, 4]), ("large", long(1))] {
      let expected = Data(bytes[range.clamped(to: 0..<bytes.count)])
      #expect(try document.attachments[name]?.data(in: range) == expected)
      #expect(try stored.attachments[name]?.data(in: range) == expected)
    }
  }

  @Test func `opening after a crash removes attachment files that no document refers to`() throws {
    var count = 0
    let staged = try database.storeAttachment(contentType: "x/y") { () -> [UInt8]? in
      count += 1
      return count < 4 ? long(UInt8(count), count: 100_000) : nil
    }
    #expect(try staged.data().count == 300_000)
    #expect(try filesInStore().count == 1)
    let after = disk.restarted(.everything)
    #expect(try after.fileSystem.list("/s/attachments").count == 1)
    let again = try Database(at: "/s", configuration: after.configuration())
    #expect(try again.store.attachments.forEachFile { _ in Issue.record("a file remains") } == [])
    try checkIsSound(again)
  }
}
