import Divan
import DivanLog
import DivanTesting
import Foundation
import Testing
import logdump

/// Tests of the contents other than documents that `export` and `salvage` preserve.
struct RescueTests {
  private let large = [UInt8](repeating: 7, count: 100_000)

  /// Returns a store with a conflict, deletions, attachments, an expiry and purges.
  ///
  /// It also has a local document.
  private func makeStore() throws -> DumpedStore {
    let store = DumpedStore()
    let database = try store.open()
    func revision(_ generation: UInt64, _ digest: String) throws -> RevisionID {
      try #require(RevisionID(generation: generation, digest: digest))
    }
    try database.write { transaction in
      try transaction.put(Document(id: "purged"))
      try transaction.put(Document(id: "again", ["n": 1]))
      for digest in ["b", "c"] {
        try transaction.insert(
          Document(id: "both", ["d": .string(digest)]),
          history: [try revision(2, digest), try revision(1, "a")])
      }
      var document = Document(id: "attached", ["n": 1])
      document.attachments["large"] = Document.Attachment(contentType: "x/y", large)
      document.attachments["small"] = Document.Attachment(contentType: "x/y", [1, 2, 3])
      try transaction.put(document)
      try transaction.putLocal("l", ["n": 2])
      try transaction.putLocal("removed", ["n": 2])
    }
    try database.saveSnapshot(named: "then")
    try database.write { transaction in
      try transaction.setExpiry(Date(timeIntervalSince1970: 1_000_000_000), of: "attached")
      try transaction.purge("purged")
      try transaction.purge("again")
      try transaction.put(Document(id: "again", ["n": 2]))
      try transaction.put(Document(id: "gone"))
      try transaction.delete("gone")
      try transaction.removeLocal("removed")
    }
    try database.deleteSnapshot(named: "then")
    try database.close()
    return store
  }

  @Test func `att lists every attachment content with the documents that refer to it`() throws {
    let store = try makeStore()
    let database = try store.open()
    try database.write { transaction in
      var document = Document(id: "sharing")
      document.attachments["s"] = Document.Attachment(contentType: "x/y", [1, 2, 3])
      try transaction.put(document)
      document = Document(id: "passing")
      document.attachments["t"] = Document.Attachment(contentType: "x/y", [4])
      try transaction.put(document)
    }
    try database.write { try $0.purge("passing") }
    try database.close()
    func facts(_ bytes: [UInt8]) -> String {
      SHA256.digest(of: SharedBytes(copying: bytes)).description
    }
    let lines = Set(store.dumpAll(["att"]).lines)
    #expect(lines.contains("\(facts(large))        100000  file  attached"))
    #expect(lines.contains("\(facts([1, 2, 3]))             3  log   attached  sharing"))
    #expect(
      lines.count == 5
        && lines.contains { $0.hasPrefix("Digest ") }
        && lines.contains { $0.hasPrefix("Total of 3 ") && $0.hasSuffix("        100004") }
        && lines.contains("\(facts([4]))             1  log   nothing refers to it any more"))
    let json = store.dumpAll(["att", "--json"]).lines
    #expect(
      json.contains(
        #"{"digest":"\#(facts([1, 2, 3]))","length":3,"isFile":false,"#
          + #""documents":["attached","sharing"]}"#))
  }

  @Test func `doc shows the attachments, the other leaves and the expiry of a document`()
    throws
  {
    let store = try makeStore()
    func digest(_ bytes: [UInt8]) -> String {
      Document.Attachment(contentType: "x/y", bytes).digest ?? ""
    }
    let lines = store.dump("doc", "attached").lines
    #expect(
      lines.contains("Attached  large, x/y, 100000 bytes, since generation 1, \(digest(large))"))
    #expect(
      lines.contains("          small, x/y, 3 bytes, since generation 1, \(digest([1, 2, 3]))"))
    #expect(lines.contains("Expires   2001-09-09T01:46:40.000Z"))
    #expect(store.dump("doc", "both").lines.contains("Conflicts 2-b"))
    let json = store.dump("doc", "both", "--json").output
    #expect(json.contains(#""otherLeaves":[{"revision":"2-b","deleted":false}],"attachments":[]"#))
    #expect(
      store.dump("doc", "attached", "--json").output.contains(
        #"{"name":"small","contentType":"x/y","length":3,"generation":1,"digest":"\#(digest([1, 2, 3]))"}"#
          + #"],"expiry":1000000000000"#))
  }

  @Test func `export writes the contents that its options select`() throws {
    let store = try makeStore()
    func lines(_ options: String...) -> [String] {
      store.dumpAll(["export"] + options).lines.map { String($0.prefix(17)) }
    }
    #expect(lines() == [#"{"_id":"again","_"#, #"{"_id":"attached""#, #"{"_id":"both","_r"#])
    #expect(lines("--attachments").count == 3)
    #expect(store.dump("export", "--attachments").output.contains(#""data":"AQID""#))
    #expect(lines("--revisions").count == 5)
    #expect(lines("--local").last == #"{"_id":"_local/l""#)
    #expect(store.dump("export", "--expiries").output.contains("2001-09-09T01:46:40.000Z"))
    #expect(lines("--everything", "--by", "sequence").count == 6)
    // The export of the library.
    let database = try store.open()
    var text = Data()
    try database.snapshot().exportJSONLines { text.append($0) }
    #expect(store.dump("export", "--everything").output == String(decoding: text, as: UTF8.self))
  }

  @Test func `salvage of a sound store preserves all of its contents`() throws {
    let store = try makeStore()
    try addLongHistoryAndForeign(to: store)
    let run = store.dump("salvage", "--to", "/new.divan", "--json")
    #expect(run.status == .sound, "\(run.problems)")
    #expect(
      run.output
        == #"{"documents":4,"deleted":1,"localDocuments":1,"attachments":2,"isWhole":true,"#
        + #""path":"/new.divan"}"# + "\n")
    #expect(
      store.dump("export", "--everything", path: "/new.divan").output
        == store.dump("export", "--everything").output)
    #expect(store.dump("verify").status == .sound)
    let verified = store.dump("verify", path: "/new.divan")
    #expect(verified.status == .sound, "\(verified.output)")
    // The export has no origins.
    let salvaged = try Database(at: "/new.divan", configuration: store.configuration)
    let changes = try salvaged.snapshot().changes().collect()
    #expect(changes.first { $0.id == "foreign" }?.origin == "peer")
    try salvaged.close()
  }

  /// Adds a history that is longer than the default depth, and the expiry of a deleted document.
  ///
  /// Also a revision of another store, with that store's digest of an attachment.
  private func addLongHistoryAndForeign(to store: DumpedStore) throws {
    var configuration = store.configuration
    configuration.revisionDepth = 50
    let database = try Database(at: store.path, configuration: configuration)
    let revision = try #require(RevisionID(generation: 1, digest: "f"))
    try database.write { transaction in
      for number in 0..<30 {
        try transaction.replace("again", with: ["n": .int(Int64(number))])
      }
      try transaction.setExpiry(Date(timeIntervalSince1970: 4_000_000_000), of: "gone")
      var attachment = Document.Attachment(contentType: "x/y", [1, 2, 3])
      attachment.foreignDigest = Document.Attachment.ForeignDigest(
        "md5-x", encoding: "gzip", encodedLength: 9)
      var document = Document(id: "foreign", ["n": 1])
      document.attachments["small"] = attachment
      try transaction.insert(document, history: [revision], origin: "peer")
    }
    try database.close()
  }

  @Test func `salvage takes several transactions for many attachments and local documents`()
    throws
  {
    let store = DumpedStore()
    let database = try store.open()
    // Small enough to be in the log: 4.5 MB in all, and as much in local documents.
    let text = Value.string(String(repeating: "lorem ipsum ", count: 5000))
    try database.write { transaction in
      for number in UInt8(0)..<75 {
        var document = Document(id: "d\(number)")
        document.attachments["a"] = Document.Attachment(
          contentType: "x/y", [UInt8](repeating: number, count: 60_000))
        try transaction.put(document)
        try transaction.putLocal("l\(number)", ["text": text])
      }
    }
    try database.close()
    let run = store.dump("salvage", "--to", "/new.divan", "--json")
    #expect(run.status == .sound, "\(run.problems)")
    #expect(
      run.output.hasPrefix(
        #"{"documents":75,"deleted":0,"localDocuments":75,"attachments":75,"isWhole":true"#))
    #expect(
      store.dump("export", "--everything", path: "/new.divan").output
        == store.dump("export", "--everything").output)
    #expect(store.dump("tx", path: "/new.divan").lines.count >= 4)
  }

  private func attachmentFile(_ store: DumpedStore) throws -> String {
    let folder = try store.fileSystem.list("\(store.path)/attachments")[0]
    return try "attachments/\(folder)/"
      + store.fileSystem.list("\(store.path)/attachments/\(folder)")[0]
  }

  @Test(arguments: [true, false])
  func `a lost attachment is reported, and its document gets a revision without it`(
    isGone: Bool
  ) throws {
    let store = try makeStore()
    let file = try attachmentFile(store)
    let before = store.dump("export", "--everything").lines
    if isGone {
      try store.fileSystem.remove("\(store.path)/\(file)")
    } else {
      var bytes = try store.bytes(file)
      bytes[50_000] ^= 1
      try store.replace(file, with: bytes)
    }
    // An export continues after the damage and reports it.
    let export = store.dump("export", "--everything")
    #expect(export.status == .damage && export.lines.count == before.count)
    #expect(export.problems.contains("attachment"))
    let run = store.dump("salvage", "--to", "/new.divan")
    #expect(run.status == .damage)
    #expect(run.lines.first == "lost: attachment large of attached")
    let text = store.dump("export", "--everything", path: "/new.divan").output
    let line = try #require(text.split(separator: "\n").first { $0.contains("\"attached\"") })
    #expect(
      line.contains(#"_rev":"2-"#) && line.contains("\"small\"") && !line.contains("\"large\""))
    #expect(line.contains("2001-09-09"))
    #expect(store.dump("verify", path: "/new.divan").status == .sound)
    let json = store.dump("salvage", "--to", "/newer.divan", "--json").lines.first
    #expect(json?.contains(#""attachment":"large","saved":"none""#) == true)
  }

  @Test func `an attachment whose record is lost is found by its file`() throws {
    let store = try makeStore()
    let before = store.dump("export", "--everything").lines
    let digest = SHA256.digest(of: SharedBytes(copying: large)).bytes
    var bytes = try store.bytes("0000000001.segment")
    // The attachment's record begins with its form and its digest. The document's record contains
    // these bytes, too, but later.
    let offset = try #require(
      bytes.indices.first { Array(bytes[$0...].prefix(33)) == [2] + digest })
    bytes[offset + 1] ^= 1
    try store.replace("0000000001.segment", with: bytes)
    let run = store.dump("salvage", "--to", "/new.divan")
    #expect(run.status == .damage && !run.output.contains("attachment"), "\(run.output)")
    #expect(store.dump("export", "--everything", path: "/new.divan").lines == before)
  }

  @Test func `an attachment whose record and file are both lost is reported`() throws {
    let store = try makeStore()
    try store.fileSystem.remove("\(store.path)/\(attachmentFile(store))")
    let digest = SHA256.digest(of: SharedBytes(copying: large)).bytes
    var bytes = try store.bytes("0000000001.segment")
    let offset = try #require(
      bytes.indices.first { Array(bytes[$0...].prefix(33)) == [2] + digest })
    bytes[offset + 1] ^= 1
    try store.replace("0000000001.segment", with: bytes)
    let run = store.dump("salvage", "--to", "/new.divan")
    #expect(run.status == .damage)
    #expect(run.lines.contains("lost: attachment large of attached"), "\(run.output)")
  }

  @Test func `a lost branch is reported, and the others are saved`() throws {
    let store = try makeStore()
    let database = try store.open()
    let both = try database.snapshot().leaves(of: "both")
    #expect(both.count == 2)
    try database.close()
    var bytes = try store.bytes("0000000001.segment")
    // The properties of the branch that was stored first, which is not the newest record of its
    // document.
    let body = try Document(id: "x", ["d": "b"]).encoded().bytes.array
    let offset = try #require(
      bytes.indices.first { Array(bytes[$0...].prefix(body.count)) == body })
    bytes[offset + body.count - 1] ^= 1
    try store.replace("0000000001.segment", with: bytes)
    let run = store.dump("salvage", "--to", "/new.divan")
    #expect(run.lines.contains("lost: revision 2-b of both"), "\(run.output)")
    #expect(
      store.dump("export", "--revisions", path: "/new.divan").lines.count {
        $0.contains("\"both\"")
      }
        == 1)
    let json = store.dump("salvage", "--to", "/newer.divan", "--json").output
    #expect(json.contains(#"{"document":"both","revision":"2-b","saved":"none"}"#))
  }
}
