import DivanLog
import Foundation
import Testing
import logdump

@testable import Divan

/// Tests of the tool's output for purges, local documents, named snapshots, history and indexes.
struct RichStoreTests {
  private let store = DumpedStore()

  private func open(_ history: HistoryRetention = .unlimited) throws -> Database {
    var configuration = store.configuration
    configuration.history = history
    return try Database(at: store.path, configuration: configuration)
  }

  private func fill() throws -> Database {
    let database = try open()
    try database.write { transaction in
      try transaction.put(Document(id: "a", ["text": .string(String(repeating: "x", count: 900))]))
      try transaction.put(Document(id: "b"))
      for branch in ["p", "q"] {
        _ = try transaction.insert(
          Document(id: "c"), history: [RevisionID(parsing: "1-\(branch)")])
      }
      try transaction.putLocal("mark", ["n": 1])
    }
    try database.saveSnapshot(named: "first")
    try database.write { transaction in
      try transaction.replace("a", with: [:])
      try transaction.purge("b")
      try transaction.purge("c", revision: RevisionID(parsing: "1-p"))
      try transaction.removeLocal("mark")
    }
    try database.deleteSnapshot(named: "first")
    try database.addIndex(DocumentIndex("by text", on: "text.de", isUnique: true))
    try database.addIndex(DocumentIndex("by tag", on: "tags", eachElement: true))
    try database.removeIndex(named: "by tag")
    try database.addIndex(
      DocumentIndex(
        "open", on: "list", "made.due", where: [.equal("done", false), .isPresent("due")]))
    let options = FullTextOptions(
      stemming: .german, stopWords: [.german, .english], ignoresDiacritics: false,
      includesAttachments: true, weights: ["tags": 2.5])
    try database.addIndex(
      DocumentIndex("words", fullText: "text.de", "tags", options: options) { $0["done"] == false })
    try database.addIndex(DocumentIndex("plain", fullText: "text"))
    return database
  }

  @Test func `tx lists records of each kind`() throws {
    try fill().close()
    let lines = store.dump("tx", "--records").lines
    for text in [
      "local document mark", "local document mark  deleted",
      "snapshot first: sequence 4, commit 1, ",
      "snapshot first: removed", "purged b", "purged c, the record of sequence 3",
      "commit point: sequence 4, commit 1, ", "index by text: on text / de, unique, being built",
      "index by tag: on tags, each element", "index by tag: removed",
      "index open: on list, then made / due, where done = false and due is there",
      "index words: full text of text / de, tags, German stems, without English stop words, "
        + "without German stop words, with diacritics, with attachments, tags counts 2.5, "
        + "where done = false",
      "index plain: full text of text",
    ] {
      #expect(lines.contains { $0.contains(text) }, "\(text)")
    }
    let fields = store.dump("tx", "--records", "--json").lines
    for text in [
      #""local":"mark","deleted":true"#, #""named":"first","removed":true"#,
      #""named":"first","sequence":4,"version":1,"#, #""purged":"b","sequence":null"#,
      #""purged":"c","sequence":3"#, #""commitPoint":true,"sequence":4,"version":1,"#,
      #""index":"by text","path":["text","de"],"unique":true,"eachElement":false,"ready":true"#,
      #""index":"by tag","removed":true"#,
      #""index":"open","path":["list"],"further":[["made","due"]],"unique":false"#,
      #""eachElement":false,"conditions":["done = false","due is there"],"ready":true"#,
      #""index":"words","path":["text","de"],"further":[["tags"]],"unique":false,"#
        + #""eachElement":false,"fullText":{"stemming":"german","stopWords":["english","german"],"#
        + #""ignoresDiacritics":false,"includesAttachments":true,"weights":{"tags":2.5}},"#
        + #""conditions":["done = false"],"#
        + #""ready":true"#,
      #""fullText":{"stemming":null,"stopWords":[],"ignoresDiacritics":true,"includesAttachments":false,"weights":{}}"#,
    ] {
      #expect(fields.contains { $0.contains(text) }, "\(text)")
    }
  }

  /// An unreadable record of a known kind is listed with its kind.
  @Test func `a record whose name is not UTF-8 is listed by its kind`() throws {
    let database = try open()
    try database.write { transaction in
      let record = LocalDocumentRecord(
        idBytes: SharedBytes(copying: [0xFF]), superseded: nil, body: nil)
      _ = try transaction.appendRecord(.localDocument, id: nil) { record.encode(to: &$0) }
    }
    try database.close()
    #expect(store.dump("tx", "--records").output.contains("a record of kind 5"))
  }

  @Test func `salvage reports a local document that no store accepts, and saves the others`()
    throws
  {
    let database = try store.open()
    try database.write { transaction in
      try transaction.putLocal("sound", ["n": 1])
      // IDs do not begin with an underscore.
      let record = LocalDocumentRecord(
        idBytes: SharedBytes(utf8: "_id"), superseded: nil,
        body: try Document(id: "x", ["n": 1]).encoded().bytes)
      _ = try transaction.appendRecord(.localDocument, id: nil) { record.encode(to: &$0) }
    }
    try database.close()
    let run = store.dump("salvage", "--to", "/new.divan")
    #expect(run.status == .damage)
    #expect(run.lines.contains("lost: local document _id"), "\(run.output)")
    let json = store.dump("salvage", "--to", "/newer.divan", "--json").output
    #expect(json.contains(#"{"localDocument":"_id","saved":"none"}"#))
    #expect(json.contains(#""localDocuments":1"#))
  }

  @Test func `stats counts revisions retained by history as pinned, and verify finds no problems`()
    throws
  {
    let database = try fill()
    let retained = try database.statistics.pinnedSize
    #expect(retained > 900)
    try database.writeCheckpoint()
    try database.close()
    #expect(store.dump("stats", "--json").output.contains(#""pinned":\#(retained)}"#))
    #expect(store.dump("verify").status == .sound)
  }

  @Test func `verify accepts history that is pruned in the index but not yet in the log`()
    throws
  {
    try fill().close()
    let database = try open(HistoryRetention(revisions: 0))
    try database.store.pruneHistory()
    #expect(try database.statistics.pinnedSize == 0)
    try database.writeCheckpoint()
    try database.close()
    let run = store.dump("verify")
    #expect(run.status == .sound, "\(run.output)\(run.problems)")
  }

  @Test func `verify accepts the backup of a store with a conflict that was made in it`() throws {
    let database = try store.open()
    try database.write { transaction in
      var other = try transaction.put(Document(id: "a", ["n": 1]))
      try transaction.replace("a", with: ["n": 2])
      for id in ["b", "y"] { try transaction.put(Document(id: id)) }
      other["n"] = 3
      try transaction.put(other, onConflict: .branch)
    }
    try database.backup(to: "/backup.divan")
    try database.close()
    // The backup has both leaves of the document, the older one too, after all other documents.
    let run = store.dump("verify", path: "/backup.divan")
    #expect(run.status == .sound, "\(run.output)\(run.problems)")
  }
}
