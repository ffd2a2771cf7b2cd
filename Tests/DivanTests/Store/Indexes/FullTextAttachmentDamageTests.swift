import DivanLog
import DivanTesting
import Foundation
import ProofKit
import Synchronization
import TestSupport
import Testing

@testable import Divan

/// Tests of full-text indexes while the files of attachments are missing or damaged.
struct FullTextAttachmentDamageTests {
  private typealias Fixture = AttachmentIndexFixture

  private let store = AttachmentIndexFixture()

  private func put(
    _ id: String, _ title: String, _ texts: [String: String], in database: Database
  ) throws {
    var document = Document(id: id, ["title": .string(title)])
    for (name, text) in texts { document.attachments[name] = Fixture.text(Fixture.long(text)) }
    try database.write { _ = try $0.put(document, onConflict: .overwrite) }
  }

  private func remove(
    _ name: String, of id: String, in database: Database
  ) throws -> (path: String, bytes: [UInt8]) {
    let path = try store.path(of: name, id, in: database)
    let bytes = try store.fixture.fileSystem.bytes(of: path)
    try store.fixture.fileSystem.vanish(path)
    return (path, bytes)
  }

  /// Returns the problems that a check reports of indexes.
  private func indexProblems(_ database: Database) throws -> [DatabaseError] {
    try database.check().problems.filter { $0.message.contains("full-text") }
  }

  @Test func `attachments that do not change are not read`() throws {
    let database = try store.open()
    try database.addIndex(store.index)
    try put("a", "elm", ["n": "oak"], in: database)
    _ = try remove("n", of: "a", in: database)
    try database.write { transaction in
      _ = try transaction.update("a") { $0["number"] = 1 }
      _ = try transaction.update("a") {
        $0.attachments["m"] = $0.attachments.removeValue(forKey: "n")
        $0.attachments["picture"] = Fixture.text("x", "image/png")
      }
      try transaction.setExpiry(Date(timeIntervalSince1970: 1e10), of: "a")
    }
    for word in ["oak", "elm"] {
      #expect(try store.found(word, in: database.snapshot()) == ["a"])
    }
    // A condition on the title alone does not read them either.
    let query = Query<Document>().filter {
      $0["title"].matches(.fullText("elm")) || $0["title"] == "none"
    }
    #expect(try database.snapshot().ids(query) == ["a"])
    // Neither does an index without attachments.
    try database.removeIndex(named: "text")
    try database.addIndex(DocumentIndex("text", fullText: "title"))
    try database.write { _ = try $0.update("a") { $0["title"] = "fir" } }
    #expect(try store.found("fir", in: database.snapshot()) == ["a"])
  }

  @Test func `a change of the text fails if an attachment cannot be read, and says which`() throws {
    let database = try store.open()
    try database.addIndex(store.index)
    try put("a", "elm", ["m": "ash", "n": "oak"], in: database)
    try put("b", "elm", ["n": "larch"], in: database)
    _ = try remove("n", of: "a", in: database)
    let error = #expect(throws: DatabaseError.self) {
      try database.write { transaction in
        _ = try transaction.update("b") { $0["title"] = "hazel" }
        _ = try transaction.update("a") { $0["title"] = "fir" }
      }
    }
    #expect(error?.code == .damaged && error?.documentID == "a")
    #expect(error?.message.contains("the attachment \"n\"") == true)
    #expect(error?.hint?.contains("Remove the attachment") == true && error?.path != nil)
    #expect(try store.found("hazel OR fir", in: database.snapshot()) == [])
    #expect(try indexProblems(database).isEmpty)
    // Without it, or with another one in its place, the change succeeds.
    try database.write { transaction in
      _ = try transaction.update("a") {
        $0["title"] = "fir"
        $0.attachments["n"] = Fixture.text(Fixture.long("cedar"))
      }
    }
    try store.expectAll(database.snapshot(), "replaced")
    #expect(try store.found("oak", in: database.snapshot()) == [])
    let fillers = Query<Document>().filter(.matches(.fullText("filler"), index: "text"))
    #expect(try database.snapshot().count(fillers) == 2)
    try store.expectSound(database, "replaced")
  }

  @Test func `a document whose attachment is gone can be deleted and purged`() throws {
    let database = try store.open()
    try database.addIndex(store.index)
    for id in ["a", "b", "c"] { try put(id, "elm", ["n": "oak \(id)"], in: database) }
    for id in ["a", "b"] { _ = try remove("n", of: id, in: database) }
    try database.write { transaction in
      _ = try transaction.delete("a")
      try transaction.purge("b")
    }
    #expect(try store.found("oak", in: database.snapshot()) == ["c"])
    try store.expectSound(database, "deleted")
  }

  @Test func `a revision that wins again is in the index with what can be read of it`() throws {
    let database = try store.open()
    try database.addIndex(store.index)
    try put("a", "elm", ["m": "ash", "n": "oak"], in: database)
    _ = try remove("n", of: "a", in: database)
    let other = try RevisionID(parsing: "2-ff")
    try database.write { transaction in
      var document = Document(id: "a", ["title": "fir"])
      document.attachments["n"] = Fixture.text(Fixture.long("larch"))
      _ = try transaction.insert(document, history: [other, RevisionID(parsing: "1-ff")])
    }
    #expect(try store.found("fir larch", in: database.snapshot()) == ["a"])
    #expect(try store.found("oak OR ash OR elm", in: database.snapshot()) == [])
    try database.write { transaction in
      let branches = try transaction.branches(of: "a")
      _ = try transaction.delete(try #require(branches.first { $0.revision == other }))
    }
    #expect(try store.found("elm ash", in: database.snapshot()) == ["a"])
    #expect(try store.found("oak OR larch", in: database.snapshot()) == [])
    #expect(try indexProblems(database).isEmpty)
  }

  @Test func `a leaf can be purged although the attachment of the other one is gone`() throws {
    let database = try store.open()
    try database.addIndex(store.index)
    try put("a", "elm", ["m": "ash", "n": "oak"], in: database)
    _ = try remove("n", of: "a", in: database)
    let other = try RevisionID(parsing: "2-ff")
    try database.write { transaction in
      let document = Document(id: "a", ["title": "fir"])
      _ = try transaction.insert(document, history: [other, RevisionID(parsing: "1-ff")])
    }
    try database.write { try $0.purge("a", revision: other) }
    #expect(try store.found("elm ash", in: database.snapshot()) == ["a"])
    #expect(try store.found("oak OR fir", in: database.snapshot()) == [])
    #expect(try indexProblems(database).isEmpty)
  }

  @Test func `an index is not built if an attachment cannot be read`() throws {
    let database = try store.open()
    try put("a", "elm", ["n": "oak"], in: database)
    try put("b", "elm", ["n": "ash"], in: database)
    let removed = try remove("n", of: "a", in: database)
    let error = #expect(throws: DatabaseError.self) { try database.addIndex(store.index) }
    #expect(error?.code == .damaged && error?.documentID == "a")
    #expect(error?.message.contains("the attachment \"n\"") == true)
    #expect(try database.indexes() == [])
    try store.fixture.fileSystem.appear(removed.path, removed.bytes)
    try database.addIndex(store.index)
    try store.expectSound(database, "built")
  }

  /// The builder keeps what a writer has added, so the words would be missing in the new index.
  @Test func `no write brings in a document without its attachment while an index is built`()
    throws
  {
    let database = try store.open()
    for number in 0..<20 { try put("a\(number)", "elm", ["n": "oak"], in: database) }
    var wasCalled = false
    try database.addIndex(store.index) { _ in
      guard !wasCalled else { return }
      wasCalled = true
      let lost = try remove("n", of: "a0", in: database)
      #expect(throws: DatabaseError.self) {
        try database.write { try $0.setExpiry(Date(timeIntervalSince1970: 1e10), of: "a0") }
      }
      try store.fixture.fileSystem.appear(lost.path, lost.bytes)
    }
    #expect(wasCalled)
    try store.expectSound(database, "built")
    #expect(try store.found("oak", in: database.snapshot()).count == 20)
  }

  @Test func `a query that has to read a missing attachment fails, and says which`() throws {
    let database = try store.open()
    try database.addIndex(store.index)
    try put("a", "elm", ["n": "oak"], in: database)
    _ = try remove("n", of: "a", in: database)
    let query = Query<Document>().filter {
      .matches(.fullText("larch"), index: "text") || $0["title"] == "none"
    }
    let error = #expect(throws: DatabaseError.self) { try database.snapshot().ids(query) }
    #expect(error?.code == .damaged && error?.documentID == "a")
    #expect(error?.message.contains("the attachment \"n\"") == true)
  }

  // MARK: After a crash

  @Test(arguments: [true, false])
  func `an opening goes on without an attachment that is gone, and reports it`(
    hasCheckpoint: Bool
  ) throws {
    let database = try store.open()
    try database.addIndex(store.index)
    try put("a", "elm", ["m": "ash"], in: database)
    try put("b", "elm", ["n": "cedar"], in: database)
    try database.writeCheckpoint()
    try put("a", "fir", ["m": "birch", "n": "oak"], in: database)
    let path = try store.path(of: "n", "a", in: database)
    let fixture = store.reopened(50)
    let bytes = try fixture.fileSystem.bytes(of: path)
    try fixture.fileSystem.vanish(path)
    if !hasCheckpoint {
      for name in fixture.fileSystem.names(in: CrashFixture.path)
      where name.hasSuffix(".checkpoint") {
        try fixture.fileSystem.vanish("\(CrashFixture.path)/\(name)")
      }
    }
    let events = EventLines()
    let again = try store.open(fixture) {
      $0.eventHandler = DatabaseEvent.Handler { event in
        events.lines.withLock { $0.append(event.logLine) }
      }
    }
    let note = try #require(again.openingReport.notes.first { $0.contains("full-text") })
    #expect(note.contains("\"a\"") && note.contains("the attachment \"n\""))
    #expect(again.openingReport.damage.isEmpty)
    #expect(try store.found("fir birch", in: again.snapshot()) == ["a"])
    #expect(try store.found("oak OR ash", in: again.snapshot()) == [])
    #expect(try store.found("cedar", in: again.snapshot()) == ["b"])
    // The check reports the file, and does not compare words that it does not know.
    let problems = try again.check().problems
    #expect(problems.count == 1 && problems.first?.path == path, "\(problems)")
    try again.writeCheckpoint()
    // With the file back, the check finds what the index lacks, and a change adds all words.
    try fixture.fileSystem.appear(path, bytes)
    #expect(try indexProblems(again).count == 1)
    try again.write { _ = try $0.update("a") { $0["title"] = "hazel fir" } }
    try store.expectSound(again, "changed")
    #expect(try store.found("oak birch hazel", in: again.snapshot()) == ["a"])
    try again.close()
    #expect(events.lines.withLock { $0.contains { $0.contains("the attachment \"n\"") } })
  }

  /// The index has the text after the missing one at the place where it has it with the file.
  @Test func `a phrase is found although an attachment without words was gone at the opening`()
    throws
  {
    let database = try store.open()
    try database.addIndex(store.index)
    var document = Document(id: "a", ["title": "elm"])
    document.attachments["1"] = Fixture.text(String(repeating: "- ", count: 40))
    document.attachments["2"] = Fixture.text(Fixture.long("oak"))
    try database.write { _ = try $0.put(document) }
    let path = try store.path(of: "1", "a", in: database)
    let fixture = store.reopened(50)
    let bytes = try fixture.fileSystem.bytes(of: path)
    try fixture.fileSystem.vanish(path)
    for name in fixture.fileSystem.names(in: CrashFixture.path) where name.hasSuffix(".checkpoint")
    {
      try fixture.fileSystem.vanish("\(CrashFixture.path)/\(name)")
    }
    let again = try store.open(fixture)
    #expect(again.openingReport.unreadAttachments.count == 1)
    try fixture.fileSystem.appear(path, bytes)
    try again.write {
      _ = try $0.update("a") { $0.attachments["2"] = Fixture.text(Fixture.long("oak ash")) }
    }
    #expect(try store.found("\"oak ash\"", in: again.snapshot()) == ["a"])
    #expect(try store.found("\"ash filler\"", in: again.snapshot()) == ["a"])
    try store.expectSound(again, "changed")
  }

  @Test(arguments: [
    SystemError.Code.noAccess, .notPermitted, .isADirectory, .notADirectory, .symbolicLink,
    .tooManyLinks, .staleHandle, .invalidArgument, .inputOutput, .notFound,
  ])
  func `an opening goes on without an attachment whose file the system refuses`(
    code: SystemError.Code
  ) throws {
    let (fixture, path) = try storeToReplay()
    fixture.fileSystem.refuseOpening(path, with: code)
    let database = try store.open(fixture)
    #expect(database.openingReport.unreadAttachments.count == 1)
    #expect(database.openingReport.damage.isEmpty)
    #expect(try store.found("elm", in: database.snapshot()) == ["a"])
    #expect(try store.found("oak", in: database.snapshot()) == [])
    // Nor does the refusal prevent a deletion.
    try database.write { _ = try $0.delete("a") }
    #expect(try store.found("elm OR oak", in: database.snapshot()) == [])
    fixture.fileSystem.observeCalls(nil)
    try store.expectSound(database, "deleted")
  }

  @Test(arguments: [SystemError.Code.tooManyOpenFiles, .tooManyOpenFilesInSystem, .outOfMemory])
  func `an opening fails for a lack of files or of memory, and loses no words`(
    code: SystemError.Code
  ) throws {
    let (fixture, path) = try storeToReplay()
    fixture.fileSystem.refuseOpening(path, with: code)
    let error = #expect(throws: DatabaseError.self) { try store.open(fixture) }
    #expect((error?.underlying as? SystemError)?.code == code)
    fixture.fileSystem.observeCalls(nil)
    let database = try store.open(fixture)
    #expect(try store.found("elm oak", in: database.snapshot()) == ["a"])
    // A check reports that it could not compare the words.
    fixture.fileSystem.refuseOpening(path, with: code)
    let problem = try #require(try indexProblems(database).first)
    #expect((problem.underlying as? SystemError)?.code == code)
    fixture.fileSystem.observeCalls(nil)
    try store.expectSound(database, "checked")
  }

  /// Returns a store whose log an opening replays, and the path of its only attachment.
  private func storeToReplay() throws -> (CrashFixture, path: String) {
    let database = try store.open()
    try database.addIndex(store.index)
    try put("a", "elm", ["n": "oak"], in: database)
    let path = try store.path(of: "n", "a", in: database)
    let fixture = store.reopened(50)
    for name in fixture.fileSystem.names(in: CrashFixture.path) where name.hasSuffix(".checkpoint")
    {
      try fixture.fileSystem.vanish("\(CrashFixture.path)/\(name)")
    }
    return (fixture, path)
  }

  /// Files of dropped attachments are deleted, so replay cannot know the terms that they had.
  @Test func `an attachment that was replaced since the checkpoint, and deleted, is no damage`()
    throws
  {
    let database = try store.open()
    try database.addIndex(store.index)
    for id in ["a", "b", "c"] { try put(id, "elm", ["n": "ash \(id)"], in: database) }
    try database.writeCheckpoint()
    try put("a", "fir", ["n": "oak"], in: database)
    try database.write { _ = try $0.delete("b") }
    let fixture = store.reopened(50)
    for path in [
      try store.path(of: "n", "c", in: database), try store.path(of: "n", "a", in: database),
    ] { #expect(try !fixture.fileSystem.bytes(of: path).isEmpty) }
    let kept = try Set(["a", "c"].map { try store.path(of: "n", $0, in: database) })
    for name in CrashFixture.attachmentFiles(on: fixture.fileSystem) {
      let path = "\(CrashFixture.path)/attachments/\(name.prefix(2))/\(name)"
      if !kept.contains(path) { try fixture.fileSystem.vanish(path) }
    }
    let again = try store.open(fixture)
    #expect(again.openingReport.unreadAttachments.isEmpty && again.openingReport.notes.isEmpty)
    try store.expectSound(again, "opened")
    #expect(try store.found("filler", in: again.snapshot()) == ["a", "c"])
    let count = Query<Document>().filter(.matches(.fullText("filler"), index: "text"))
    #expect(try again.snapshot().count(count) == 2)
  }
}

extension SimulatedFileSystem {
  /// Makes each opening of a file fail, until calls are no longer observed.
  fileprivate func refuseOpening(_ path: String, with code: SystemError.Code) {
    observeCalls { [unowned self] call in
      if call.path == path, call.verb == .open { fail(.open, with: code) }
    }
  }
}

/// The lines of the events that a database reported.
private final class EventLines: Sendable {
  let lines = Mutex<[String]>([])
}
