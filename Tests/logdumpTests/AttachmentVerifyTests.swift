import Divan
import DivanLog
import Testing
import logdump

/// Tests of the output of `verify` for attachments.
struct AttachmentVerifyTests {
  private let large = [UInt8](repeating: 7, count: 100_000)

  private func makeStore() throws -> DumpedStore {
    let store = DumpedStore()
    let database = try store.open()
    try database.write { transaction in
      var film = Document(id: "film")
      film.attachments["large"] = Document.Attachment(contentType: "x/y", large)
      film.attachments["small"] = Document.Attachment(contentType: "x/y", [1, 2, 3])
      try transaction.put(film)
    }
    try database.close()
    return store
  }

  private func file(_ store: DumpedStore) throws -> String {
    let folder = try store.fileSystem.list("\(store.path)/attachments")[0]
    return try "attachments/\(folder)/"
      + store.fileSystem.list("\(store.path)/attachments/\(folder)")[0]
  }

  @Test func `verify reads every referenced attachment`() throws {
    let store = try makeStore()
    let run = store.dump("verify")
    #expect(run.status == .sound)
    #expect(run.output.contains(", 2 attachments."), "\(run.output)")
    #expect(!run.output.contains("Not checked"))
    #expect(
      store.dump("verify", "--json").output.contains(
        #""attachments":2,"attachmentBytes":100003,"attachmentsNotRead":0"#))
  }

  /// Regression test: the output was `Sound`.
  @Test func `a store with missing attachments is not sound`() throws {
    let store = try makeStore()
    let name = try file(store)
    try store.fileSystem.remove("\(store.path)/\(name)")
    for option in [[], ["--sizes-only"]] {
      let run = store.dumpAll(["verify"] + option)
      #expect(run.status == .damage)
      #expect(run.output.contains("\(name) at byte 0: the attachment's file is missing"))
    }
    let folder = String(name.split(separator: "/")[1])
    try store.fileSystem.removeDirectory("\(store.path)/attachments/\(folder)")
    try store.fileSystem.removeDirectory("\(store.path)/attachments")
    #expect(store.dump("verify").status == .damage)
  }

  @Test func `a changed byte is found if contents are read, and a wrong length always`() throws {
    let store = try makeStore()
    let name = try file(store)
    var bytes = try store.bytes(name)
    bytes[70_000] ^= 1
    try store.withBytes(bytes, in: name) {
      #expect(store.dump("verify").status == .damage)
      let run = store.dump("verify", "--sizes-only")
      #expect(run.status == .sound)
      #expect(run.lines.last?.hasPrefix("Not checked: the contents of the attachments") == true)
    }
    bytes.removeLast()
    try store.withBytes(bytes, in: name) {
      #expect(store.dump("verify").status == .damage)
      #expect(store.dump("verify", "--sizes-only").status == .damage)
    }
  }

  @Test
  func `unreferenced attachments are no damage, and verify reports that it did not read them`()
    throws
  {
    let store = try makeStore()
    let name = try file(store)
    let database = try store.open()
    try database.write { try $0.purge("film") }
    // The database is still open, so the attachment was not removed yet.
    var bytes = try store.bytes(name)
    bytes[0] ^= 1
    try store.replace(name, with: bytes)
    let run = store.dump("verify")
    #expect(run.status == .sound, "\(run.output)")
    #expect(
      run.output.contains(
        "Not checked: 2 contents of attachments that nothing refers to any more."),
      "\(run.output)")
    try database.close()
  }

  @Test func `a file that is not an attachment is noted`() throws {
    let store = try makeStore()
    try store.replace("attachments/readme", with: [1])
    let run = store.dump("verify")
    #expect(run.status == .sound)
    #expect(
      run.output.contains(
        "note: /films.divan/attachments/readme at byte 0: not a file of the store"))
  }
}
