import Divan
import DivanSync
import DivanTesting
import Foundation
import Testing

/// Tests of replications with a selector as their filter.
struct SelectorReplicationTests {
  /// A way to another database.
  enum Route: CaseIterable { case pull, push, pullOverHTTP, pushOverHTTP }

  private func replicate(
    from source: Database, to target: Database, _ filter: ReplicationFilter, _ route: Route
  ) async throws -> ReplicationStatus {
    switch route {
    case .push:
      return try await Replicator(
        source, DatabasePeer(target), direction: .push, filter: filter
      ).replicate()
    case .pull:
      return try await Replicator(
        target, DatabasePeer(source), direction: .pull, filter: filter
      ).replicate()
    case .pushOverHTTP:
      return try await Replicator(
        source, server(target).peer, direction: .push, filter: filter
      ).replicate()
    case .pullOverHTTP:
      return try await Replicator(
        target, server(source).peer, direction: .pull, filter: filter
      ).replicate()
    }
  }

  private func server(_ database: Database) throws -> (peer: CouchDBPeer, ServiceTransport) {
    let transport = ServiceTransport(CouchDBService(["notes": database]))
    let url = try #require(URL(string: "http://server.invalid/notes"))
    return (CouchDBPeer(url: url, transport: transport), transport)
  }

  private func selector(_ json: String) throws -> ReplicationFilter {
    .selector(try MangoSelector(Value(json: json)))
  }

  // MARK: A random store

  /// Fills a store with documents of several types, branches, and tombstones with and without text.
  private func fill(_ database: Database, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for number in 0..<150 {
      try database.write { transaction in
        let id = "document \(number % 60)"
        let old = try transaction.document(id)
        var document = old ?? Document(id: id)
        document["kind"] = ["note", "folder", .null].randomElement(using: &random)
        document["words"] = .int(Int64.random(in: 0..<100, using: &random))
        switch Int.random(in: 0..<6, using: &random) {
        case 0 where old != nil: try transaction.delete(id)
        case 1 where old != nil: try transaction.delete(document)
        case 2 where old != nil:
          try transaction.update(id) { $0["words"] = 7 }
          try transaction.put(document, onConflict: .branch)
        default: try transaction.put(document, onConflict: .branch)
        }
      }
    }
  }

  /// Returns the leaves of a store for which a closure is true: the truth.
  private func leaves(
    of database: Database, where isIncluded: (Document) -> Bool
  ) throws -> [String: [Leaf]] {
    let snapshot = try database.snapshot()
    var expected: [String: [Leaf]] = [:]
    for change in try snapshot.changes().collect() {
      let leaves = try snapshot.leaves(of: change.id).filter(isIncluded).map { try Leaf($0) }
      if !leaves.isEmpty { expected[change.id] = leaves.sorted() }
    }
    return expected
  }

  @Test(arguments: Route.allCases, [1, 2, 3] as [UInt64])
  func `the leaf revisions that match are copied, and no others`(
    _ route: Route, seed: UInt64
  ) async throws {
    let source = try Database.inMemory()
    try fill(source, seed: seed)
    let filters: [(String, (Document) -> Bool)] = [
      (
        #"{"kind": "note", "words": {"$gte": 30}}"#,
        { $0["kind"] == "note" && $0["words"]?.intValue ?? 0 >= 30 }
      ),
      (
        #"{"$or": [{"kind": {"$ne": "note"}}, {"_deleted": true}]}"#,
        { $0.isDeleted || $0["kind"] != nil && $0["kind"] != "note" }
      ),
      (#"{"_deleted": {"$exists": false}}"#, { !$0.isDeleted }),
      (#"{"_id": {"$regex": "^document .$"}}"#, { $0.id.utf8.count == 10 }),
      (#"{}"#, { _ in true }), (#"{"$or": []}"#, { _ in false }),
      (
        #"{"$nor": [{"words": {"$mod": [3, 0]}}]}"#,
        { ($0["words"]?.intValue).map { $0 % 3 != 0 } ?? false }
      ),
    ]
    for (json, isIncluded) in filters {
      let target = try Database.inMemory()
      let status = try await replicate(from: source, to: target, selector(json), route)
      #expect(status.failures.isEmpty)
      let expected = try leaves(of: source, where: isIncluded)
      let contents = try Contents(of: target)
      #expect(contents.leaves == expected, "\(json), seed \(seed)")
      #expect(json.contains("$or\": []") || expected.count > 5, "\(json), seed \(seed)")
      let again = try await replicate(from: source, to: target, selector(json), route)
      #expect(again.pull.counts.revisionsChecked + again.push.counts.revisionsChecked == 0)
    }
  }

  // MARK: Details

  @Test(arguments: Route.allCases)
  func `of a document in conflict, the branches that match are copied`(
    _ route: Route
  ) async throws {
    let (source, target) = (try Database.inMemory(), try Database.inMemory())
    try await source.write { transaction in
      var other = try transaction.put(Document(id: "a", ["kind": "draft"]))
      try transaction.update("a") { $0["kind"] = "draft 2" }
      try transaction.update("a") { $0["kind"] = "draft 3" }
      other["kind"] = "note"
      try transaction.put(other, onConflict: .branch)
    }
    let branch = try #require(
      source.snapshot().branches(of: "a").first { $0["kind"] == "note" }?.revision)
    #expect(try source.snapshot().revision(of: "a") != branch)
    _ = try await replicate(from: source, to: target, selector(#"{"kind": "note"}"#), route)
    #expect(try Contents(of: target).winners == ["a": branch])
    #expect(try target.snapshot().leafRevisions(of: "a").count == 1)
  }

  @Test(arguments: Route.allCases)
  func `of a document in conflict, the branches of the types are copied`(
    _ route: Route
  ) async throws {
    let (source, target) = (try Database.inMemory(), try Database.inMemory())
    try await source.write { transaction in
      for (winner, loser) in [("Draft", "Note"), ("Note", "Draft")] {
        var other = try transaction.put(Document(id: winner, ["type": "Old"]))
        for _ in 0..<2 { try transaction.update(winner) { $0["type"] = .string(winner) } }
        other["type"] = .string(loser)
        try transaction.put(other, onConflict: .branch)
      }
    }
    _ = try await replicate(from: source, to: target, .documentTypes("Note"), route)
    let types = try Contents(of: target).leaves.mapValues { $0.map(\.properties) }
    #expect(types == ["Draft": [#"{"type":"Note"}"#], "Note": [#"{"type":"Note"}"#]])
  }

  @Test(arguments: Route.allCases)
  func `a deletion is copied if its tombstone matches`(_ route: Route) async throws {
    let (source, target) = (try Database.inMemory(), try Database.inMemory())
    let ids = ["kept", "plain", "with kind"]
    try await source.write { transaction in
      for id in ids { try transaction.put(Document(id: id, ["kind": "note"])) }
    }
    let notes = try selector(#"{"kind": "note"}"#)
    _ = try await replicate(from: source, to: target, notes, route)
    try await source.write { transaction in
      try transaction.delete("plain")
      let document = try #require(try transaction.document("with kind"))
      try transaction.delete(document)
    }
    #expect(try source.snapshot().tombstone("with kind")?["kind"] == "note")
    _ = try await replicate(from: source, to: target, notes, route)
    #expect(try target.snapshot().ids().collect() == ["kept", "plain"])
    let withDeletions = try selector(#"{"$or": [{"kind": "note"}, {"_deleted": true}]}"#)
    _ = try await replicate(from: source, to: target, withDeletions, route)
    #expect(try target.snapshot().ids().collect() == ["kept"])
  }

  @Test func `a selector is a part of the replication's identity`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try await here.write { transaction in
      for number in 0..<10 {
        try transaction.put(Document(id: "\(number)", ["n": .int(Int64(number))]))
      }
    }
    for (json, count) in [(#"{"n": {"$lt": 3}}"#, 3), (#"{"n": {"$lt": 6}}"#, 6), ("{}", 10)] {
      _ = try await replicate(from: here, to: there, selector(json), .push)
      #expect(try there.snapshot().count == count)
    }
    let again = try await replicate(
      from: here, to: there, selector(#"{ "n" : {"$lt":3}}"#), .push)
    #expect(again.push.counts.revisionsChecked == 0)
  }

  @Test func `an attachment's length can be a condition`() async throws {
    let (source, target) = (try Database.inMemory(), try Database.inMemory())
    try await source.write { transaction in
      for length in [1, 10, 100] {
        var document = Document(id: "\(length)")
        document.attachments["p"] = Document.Attachment(
          contentType: "a/b", [UInt8](repeating: 1, count: length))
        try transaction.put(document)
      }
    }
    let filter = try selector(#"{"_attachments.p.length": {"$gte": 10}}"#)
    _ = try await replicate(from: source, to: target, filter, .push)
    #expect(try target.snapshot().ids().collect() == ["10", "100"])
  }

  @Test func `a server is sent the selector, and evaluates it`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try await there.write { transaction in
      try transaction.put(Document(id: "a", ["kind": "note"]))
      try transaction.put(Document(id: "b", ["kind": "folder"]))
    }
    let (peer, transport) = try server(there)
    let filter = try selector(#"{"kind": "note"}"#)
    try await Replicator(here, peer, direction: .pull, filter: filter).replicate()
    #expect(transport.requests.contains("POST /notes/_changes"))
    #expect(!transport.requests.contains("GET /notes/_changes"))
    #expect(try here.snapshot().ids().collect() == ["a"])
  }

  @Test func `the service refuses an invalid selector with its reason`() async throws {
    let service = CouchDBService(["notes": try Database.inMemory()])
    let url = try #require(URL(string: "http://server.invalid/notes/_changes?filter=_selector"))
    for (body, reason) in [
      (#"{"selector": {"a": {"$in": 1}}}"#, "at a › $in: the operator needs an array, and has 1"),
      (#"{"selector": []}"#, "a selector is an object, not []"),
      ("{}", "a selector is an object, not null"),
    ] {
      let response = await service.respond(
        to: HTTPRequest("POST", url), body: HTTPBody(Data(body.utf8)))
      var content = Data()
      for try await piece in response.body { content.append(piece) }
      let answer = try Value(json: content)
      #expect(response.status == 400 && answer["error"] == "bad_request", "\(body)")
      #expect(answer["reason"]?.stringValue?.hasSuffix(reason) == true, "\(answer.json)")
    }
  }
}
