import Divan
import DivanSync
import DivanTesting
import Foundation
import TestSupport
import Testing

/// Tests of copying revisions from one database to another.
struct ReplicatorTests {
  private func makeDatabases() throws -> (Database, Database) {
    (try Database.inMemory(), try Database.inMemory())
  }

  @Test func `both sides have the documents of the other afterwards`() async throws {
    let (here, there) = try makeDatabases()
    try await here.write { try _ = $0.put(Document(id: "a", ["text": "Tea"])) }
    try await there.write { try _ = $0.put(Document(id: "b", ["text": "Cake"])) }
    let status = try await Replicator(here, DatabasePeer(there)).replicate()
    #expect(status.pull.counts.revisionsWritten == 1)
    #expect(status.push.counts.revisionsWritten == 1)
    #expect(status.failures.isEmpty && status.pull.phase == .inactive)
    #expect(try Contents(of: here) == Contents(of: there))
    #expect(try here.snapshot().document("b")?["text"] == "Cake")
  }

  @Test(arguments: Replicator.Direction.allCases)
  func `a direction copies one way only`(_ direction: Replicator.Direction) async throws {
    let (here, there) = try makeDatabases()
    try await here.write { try _ = $0.put(Document(id: "mine", [:])) }
    try await there.write { try _ = $0.put(Document(id: "theirs", [:])) }
    try await Replicator(here, DatabasePeer(there), direction: direction).replicate()
    #expect(try here.snapshot().exists("theirs") == (direction != .push))
    #expect(try there.snapshot().exists("mine") == (direction != .pull))
  }

  @Test func `histories, branches, tombstones and attachments are copied`() async throws {
    let (here, there) = try makeDatabases()
    let photo = [UInt8](repeating: 7, count: 300_000)
    try await here.write { transaction in
      var base = try transaction.put(Document(id: "note", ["text": "Tea"]))
      try transaction.update("note") { $0["text"] = "Coffee" }
      base["text"] = "Green tea"
      try transaction.put(base, onConflict: .branch)
      var gone = try transaction.put(Document(id: "gone", ["text": "Soup"]))
      gone["reason"] = "cold"
      try transaction.delete(gone)
      var picture = Document(id: "picture", [:])
      picture.attachments["photo"] = Document.Attachment(contentType: "image/png", photo)
      picture.attachments["text"] = Document.Attachment(
        contentType: "text/plain", Array("Sea".utf8))
      picture.attachments["text"]?.foreignDigest = .init("md5-rL0Y20zC+Fzt72VPzMSk2A==")
      try transaction.put(picture)
    }
    let status = try await Replicator(here, DatabasePeer(there), direction: .push).replicate()
    #expect(status.push.counts.attachmentsWritten == 2)
    #expect(status.push.counts.attachmentBytes == 300_003)
    #expect(try Contents(of: here) == Contents(of: there))
    let (before, after) = (try here.snapshot(), try there.snapshot())
    #expect(try after.branches(of: "note").count == 2)
    #expect(try after.tombstone("gone")?["reason"] == "cold")
    for id in ["note", "gone", "picture"] {
      for leaf in try before.leafRevisions(of: id) {
        #expect(
          try before.revisions(leadingTo: leaf.id, of: id)
            == after.revisions(leadingTo: leaf.id, of: id))
      }
    }
    let copied = try after.document("picture")?.attachments["text"]
    #expect(copied?.foreignDigest == .init("md5-rL0Y20zC+Fzt72VPzMSk2A=="))
    #expect(copied?.generation == 1)
  }

  @Test func `an attachment that an ancestor has is not copied again`() async throws {
    let (here, there) = try makeDatabases()
    try await here.write { transaction in
      var picture = Document(id: "picture", [:])
      picture.attachments["photo"] = Document.Attachment(
        contentType: "image/png", [UInt8](repeating: 7, count: 200_000))
      try transaction.put(picture)
    }
    let replicator = Replicator(here, DatabasePeer(there), direction: .push)
    try await replicator.replicate()
    let size = try there.statistics.attachmentFileSize
    try await here.update("picture") { $0["seen"] = true }
    try await replicator.replicate()
    #expect(try there.statistics.attachmentFileSize == size)
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test func `an attachment whose type was corrected is copied`() async throws {
    let (here, there) = try makeDatabases()
    try await here.write { transaction in
      var picture = Document(id: "picture", [:])
      picture.attachments["photo"] = Document.Attachment(contentType: "a/b", [1, 2, 3])
      try transaction.put(picture)
    }
    let replicator = Replicator(here, DatabasePeer(there), direction: .push)
    try await replicator.replicate()
    try await here.update("picture") { document in
      document.attachments["photo"] = Document.Attachment(contentType: "image/png", [1, 2, 3])
    }
    try await replicator.replicate()
    let copied = try there.snapshot().document("picture")?.attachments["photo"]
    #expect(copied?.contentType == "image/png")
  }

  @Test func `names that are equal as characters and not as bytes are told apart`() async throws {
    let (here, there) = try makeDatabases()
    let names = ["\u{E9}", "e\u{301}"]
    try await here.write { transaction in
      for (number, name) in names.enumerated() {
        // The same revision ID in both, as other engines make them.
        let revision = RevisionID("1-00000000000000000000000000000001")
        var document = Document(id: name, ["number": .int(Int64(number))])
        for name in names {
          document.attachments[name] = Document.Attachment(
            contentType: "a/b", Array(name.utf8))
        }
        try transaction.insert(document, history: [revision].compactMap { $0 })
      }
    }
    try await Replicator(here, DatabasePeer(there), direction: .push).replicate()
    #expect(try there.snapshot().count == 2)
    for (number, name) in names.enumerated() {
      let document = try there.snapshot().document(name)
      #expect(document?["number"] == .int(Int64(number)))
      #expect(try await document?.attachments[name]?.data() == Data(name.utf8))
    }
  }

  @Test func `an error in one direction ends a continuous replication`() async throws {
    let (here, there) = try makeDatabases()
    try await here.write { try _ = $0.put(Document(id: "a", [:])) }
    try await there.write { try _ = $0.put(Document(id: "b", [:])) }
    var peer = NamedPeer(there, "there")
    peer.insertion = { throw ReplicationError(.forbidden, "the peer can only be read") }
    let run = Replicator(here, peer).start()
    let error = await #expect(throws: ReplicationError.self) {
      for try await _ in run.statuses {}
    }
    #expect(error?.code == .forbidden)
  }

  @Test func `a revision without a result does not count as stored`() async throws {
    let (here, there) = try makeDatabases()
    try await here.write { try _ = $0.put(Document(id: "a", [:])) }
    var peer = NamedPeer(there, "there")
    peer.insertion = { [] }
    let error = await #expect(throws: ReplicationError.self) {
      try await Replicator(here, peer, direction: .push).replicate()
    }
    #expect(error?.code == .invalidAnswer)
    try await Replicator(here, NamedPeer(there, "there"), direction: .push).replicate()
    #expect(try there.snapshot().exists("a"))
  }

  @Test func `purges, expiry dates and local documents stay where they are`() async throws {
    let (here, there) = try makeDatabases()
    let replicator = Replicator(here, DatabasePeer(there), direction: .push)
    try await here.write { transaction in
      for id in ["a", "b"] { try transaction.put(Document(id: id, [:])) }
      try transaction.putLocal("settings", ["size": 1])
      try transaction.setExpiry(Date(timeIntervalSinceNow: 3600), of: "a")
    }
    try await replicator.replicate()
    try await here.write { try _ = $0.purge("b") }
    try await replicator.replicate()
    let snapshot = try there.snapshot()
    #expect(try snapshot.exists("b") && snapshot.expiry(of: "a") == nil)
    #expect(try snapshot.localDocument("settings") == nil)
  }

  @Test func `a replication continues where the last one ended`() async throws {
    let (here, there) = try makeDatabases()
    let replicator = Replicator(here, DatabasePeer(there), direction: .push)
    try await here.write { transaction in
      for number in 0..<1200 { try transaction.put(Document(id: "doc-\(number)", [:])) }
    }
    #expect(try await replicator.replicate().push.counts.revisionsChecked == 1200)
    #expect(try await replicator.replicate().push.counts.revisionsChecked == 0)
    try await here.update("doc-7") { $0["seen"] = true }
    let third = try await replicator.replicate().push.counts
    #expect(third.revisionsChecked == 1 && third.revisionsWritten == 1)
    try await replicator.removeCheckpoints()
    let all = try await replicator.replicate().push.counts
    #expect(all.revisionsChecked == 1200 && all.revisionsMissing == 0)
  }

  @Test func `a target that was replaced by an older copy gets what it lost`() async throws {
    let directory = try TemporaryDirectory()
    let here = try Database.inMemory()
    var there = try Database(at: directory.path + "/There.divan")
    try await here.write { try _ = $0.put(Document(id: "a", [:])) }
    let peerName = DatabasePeer(there).name
    try await Replicator(here, NamedPeer(there, peerName), direction: .push).replicate()
    try await there.backup(to: directory.path + "/Copy.divan")
    try await here.write { try _ = $0.put(Document(id: "b", [:])) }
    try await Replicator(here, NamedPeer(there, peerName), direction: .push).replicate()
    try await there.close()

    there = try Database(at: directory.path + "/Copy.divan")
    #expect(try !there.snapshot().exists("b"))
    let counts = try await Replicator(here, NamedPeer(there, peerName), direction: .push)
      .replicate().push.counts
    // It continues after what the copy has: only the second document is compared.
    #expect(counts.revisionsChecked == 1 && counts.revisionsWritten == 1)
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test func `a refused revision is reported, and the others are copied`() async throws {
    let (here, there) = try makeDatabases()
    there.setValidation(named: "no soup") { revision in
      if revision.document["text"] == "Soup" { try revision.reject("no soup") }
    }
    try await here.write { transaction in
      for (id, text) in [("a", "Tea"), ("b", "Soup"), ("c", "Cake")] {
        try transaction.put(Document(id: id, ["text": .string(text)]))
      }
    }
    let status = try await Replicator(here, DatabasePeer(there), direction: .push).replicate()
    #expect(status.push.counts.revisionsWritten == 2 && status.push.counts.revisionsFailed == 1)
    let failure = try #require(status.failures.first)
    #expect(failure.id == "b" && !failure.isPulled)
    #expect((failure.error as? DatabaseError)?.code == .validationFailed)
    #expect(try there.snapshot().ids().collect() == ["a", "c"])
  }

  @Test func `a value that must be unique refuses one document of a batch`() async throws {
    let (here, there) = try makeDatabases()
    try await there.addIndex(DocumentIndex("name", on: "name", isUnique: true))
    try await there.write { try _ = $0.put(Document(id: "x", ["name": "Ada"])) }
    try await here.write { transaction in
      for (id, name) in [("a", "Eva"), ("b", "Ada"), ("c", "Ute")] {
        try transaction.put(Document(id: id, ["name": .string(name)]))
      }
    }
    let status = try await Replicator(here, DatabasePeer(there), direction: .push).replicate()
    #expect(status.failures.map(\.id) == ["b"])
    #expect(try there.snapshot().ids().collect() == ["a", "c", "x"])
  }

  @Test func `filters choose documents by ID, type or closure`() async throws {
    let (here, there) = try makeDatabases()
    try await here.write { transaction in
      for (id, type) in [("n1", "Note"), ("n2", "Note"), ("f1", "Folder")] {
        try transaction.put(Document(id: id, ["type": .string(type)]))
      }
      try transaction.delete("n2")
    }
    func copied(_ filter: ReplicationFilter) async throws -> [String] {
      let target = try Database.inMemory()
      try await Replicator(here, DatabasePeer(target), direction: .push, filter: filter)
        .replicate()
      return try target.snapshot().changes().collect().map(\.id)
    }
    #expect(try await copied(.documentIDs(["f1", "n2"])) == ["f1", "n2"])
    #expect(try await copied(.documentTypes("Note")) == ["n1", "n2"])
    #expect(try await copied(.documentTypes("Folder")) == ["f1", "n2"])
    #expect(try await copied(.named("n1 only") { $0.id == "n1" }) == ["n1"])
    _ = there
  }

  @Test func `a continuous replication copies later changes, and pauses`() async throws {
    let (here, there) = try makeDatabases()
    let run = Replicator(here, DatabasePeer(there)).start()
    try await here.write { try _ = $0.put(Document(id: "a", [:])) }
    try await there.write { try _ = $0.put(Document(id: "b", [:])) }
    for try await status in run.statuses
    where try status.isUpToDate && here.snapshot().count == 2 && there.snapshot().count == 2 {
      break
    }
    run.pause()
    #expect(run.status.isPaused)
    try await here.write { try _ = $0.put(Document(id: "c", [:])) }
    try await Task.sleep(for: .milliseconds(50))
    #expect(try !there.snapshot().exists("c"))
    run.resume()
    for try await status in run.statuses where status.isUpToDate {
      if try there.snapshot().exists("c") { break }
    }
    await run.cancel()
    #expect(run.status.push.phase == .inactive)
    await #expect(throws: CancellationError.self) { for try await _ in run.statuses {} }
  }

  @Test func `a large document and many small ones take several batches`() async throws {
    let (here, there) = try makeDatabases()
    try await here.write { transaction in
      for number in 0..<40 {
        let text = String(repeating: "x", count: number % 10 == 0 ? 300_000 : 1000)
        try transaction.put(Document(id: "doc-\(number)", ["text": .string(text)]))
      }
    }
    var options = Replicator.Options()
    (options.batchCount, options.batchSize) = (7, 100_000)
    let status = try await Replicator(
      here, DatabasePeer(there), direction: .push, options: options
    ).replicate()
    #expect(status.push.counts.revisionsWritten == 40)
    #expect(try Contents(of: here) == Contents(of: there))
  }
}

/// A peer with a name that it keeps when its store is replaced, as a server's URL is.
///
/// It can answer to insertions in another way than its store.
struct NamedPeer: ReplicationPeer {
  private let peer: DatabasePeer
  let name: String
  var insertion: (@Sendable () throws -> [Result<Bool, any Error>])?
  /// Receives the number of revisions of each insertion.
  var observer: (@Sendable (Int) -> Void)?

  init(_ database: Database, _ name: String) {
    peer = DatabasePeer(database)
    self.name = name
  }

  func changes(
    since position: ReplicationPosition?, limit: Int, filter: ReplicationFilter
  ) async throws -> ReplicationChanges {
    try await peer.changes(since: position, limit: limit, filter: filter)
  }
  func waitForChanges(since position: ReplicationPosition?) async throws {
    try await peer.waitForChanges(since: position)
  }
  func missingRevisions(
    among revisions: [String: [RevisionID]]
  ) async throws -> [String: MissingRevisions] {
    try await peer.missingRevisions(among: revisions)
  }
  func revisions(
    _ requests: ArraySlice<RevisionRequest>, sizeLimit: Int
  ) async throws -> [RevisionAnswer] {
    try await peer.revisions(requests, sizeLimit: sizeLimit)
  }
  func insert(
    _ revisions: [ReplicatedRevision], from origin: String
  ) async throws -> [Result<Bool, any Error>] {
    observer?(revisions.count)
    if let insertion { return try insertion() }
    return try await peer.insert(revisions, from: origin)
  }
  func flush() async throws { try await peer.flush() }
  func replicationLog(_ id: String) async throws -> ReplicationLog? {
    try await peer.replicationLog(id)
  }
  func setReplicationLog(_ log: ReplicationLog?, _ id: String) async throws {
    try await peer.setReplicationLog(log, id)
  }
}
