import Divan
import Foundation
import TestSupport
import Testing

/// Tests of calls that take the URL of a file instead of its path.
struct FileURLTests {
  private let directory: TemporaryDirectory
  private var folder: URL { URL(filePath: directory.path, directoryHint: .isDirectory) }

  init() throws { directory = try TemporaryDirectory() }

  private func code(_ body: () throws -> Void) -> DatabaseError.Code? {
    (#expect(throws: DatabaseError.self) { try body() })?.code
  }

  @Test func `a store is backed up, restored and deleted by URLs, with spaces in their paths`()
    async throws
  {
    let store = folder.appending(path: "My films.divan")
    let database = try Database(url: store)
    try await database.write { _ = try $0.put(Document(id: "m", ["year": 1931])) }
    try database.backUpOnThisThread(to: folder.appending(path: "Backup 1.divan"))
    try await database.backup(to: folder.appending(path: "Backup 2.divan"))
    try await database.close()
    #expect(Database.exists(at: store) && Database.exists(at: store.path(percentEncoded: false)))
    #expect(try Database.delete(at: store).isEmpty)
    #expect(!Database.exists(at: store))
    try await Database.restore(from: folder.appending(path: "Backup 2.divan"), to: store)
    let restored = try await Database.open(url: store)
    #expect(try restored.snapshot().document("m")?["year"] == 1931)
    try await restored.close()
    #expect(Database.exists(at: folder.appending(path: "Backup 1.divan")))
  }

  @Test func `documents and attachments are written to URLs, and read from them`() async throws {
    let text = folder.appending(path: "a text.txt")
    try Data("Metropolis".utf8).write(to: text)
    let database = try Database.inMemory()
    let attachment = try await database.storeAttachment(contentType: "text/plain", file: text)
    try await database.write { transaction in
      var film = Document(id: "m", ["year": 1931])
      film.attachments["early"] = attachment
      film.attachments["late"] = try Document.Attachment(contentType: "text/plain", file: text)
      try transaction.put(film)
    }
    let film = try #require(try database.snapshot().document("m"))
    let copy = folder.appending(path: "a copy.txt")
    try await film.attachments["early"]?.write(to: copy)
    #expect(try Data(contentsOf: copy) == Data("Metropolis".utf8))
    #expect(film.attachments["late"]?.length == 10)

    let lines = folder.appending(path: "all films.jsonl")
    #expect(try await database.exportJSONLines(to: lines).documentCount == 1)
    let snapshot = try database.snapshot()
    let some = folder.appending(path: "some films.jsonl")
    #expect(try await snapshot.exportJSONLines(to: some).documentCount == 1)
    #expect(try Data(contentsOf: some) == Data(contentsOf: lines))
    let other = try Database.inMemory()
    #expect(try await other.importJSONLines(from: lines).storedCount > 0)
    #expect(try other.snapshot().document("m")?.attachments["early"]?.length == 10)
  }

  @Test func `the URL of a site is refused`() throws {
    let site = try #require(URL(string: "https://example.org/films"))
    let database = try Database.inMemory()
    #expect(!Database.exists(at: site))
    #expect(code { _ = try Database.delete(at: site) } == .notFound)
    #expect(code { _ = try database.importJSONLines(from: site) } == .notFound)
    #expect(code { try database.backup(to: site) } == .notFound)
    #expect(code { _ = try Database(url: site) } == .notAStore)
  }
}

extension Database {
  /// Makes a backup by the synchronous call, also for an asynchronous test.
  fileprivate func backUpOnThisThread(to url: URL) throws { try backup(to: url) }
}
