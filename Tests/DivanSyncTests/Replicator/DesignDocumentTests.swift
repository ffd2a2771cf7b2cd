import Divan
import DivanSync
import Foundation
import Testing

/// Tests that design documents are copied when they are asked for, and not otherwise.
struct DesignDocumentTests {
  private let here: Database
  private let there: Database

  init() throws {
    (here, there) = (try Database.inMemory(), try Database.inMemory())
    for (database, name) in [(here, "here"), (there, "there")] {
      try database.write { transaction in
        try transaction.put(Document(id: "_design/\(name)", ["language": "javascript"]))
        try transaction.put(Document(id: name, [:]))
      }
    }
  }

  private func replicate(
    _ peer: any ReplicationPeer, _ direction: Replicator.Direction, withDesigns: Bool
  ) async throws -> ReplicationStatus {
    var options = Replicator.Options()
    options.copiesDesignDocuments = withDesigns
    func replicate(_ peer: some ReplicationPeer) async throws -> ReplicationStatus {
      try await Replicator(here, peer, direction: direction, options: options).replicate()
    }
    return try await replicate(peer)
  }

  private func server() throws -> CouchDBPeer {
    CouchDBPeer(
      url: try #require(URL(string: "http://server.invalid/notes")),
      transport: ServiceTransport(CouchDBService(["notes": there])))
  }

  private func ids(_ database: Database) throws -> [String] {
    try database.snapshot().ids().collect()
  }

  @Test(arguments: Replicator.Direction.allCases, [false, true])
  func `design documents are copied when they are asked for`(
    _ direction: Replicator.Direction, overHTTP: Bool
  ) async throws {
    let peer: any ReplicationPeer = overHTTP ? try server() : DatabasePeer(there)
    let (pulls, pushes) = (direction != .push, direction != .pull)
    _ = try await replicate(peer, direction, withDesigns: false)
    #expect(try ids(here) == ["_design/here", "here"] + (pulls ? ["there"] : []))
    #expect(try ids(there) == ["_design/there"] + (pushes ? ["here"] : []) + ["there"])
    // It has checkpoints of its own, so it finds what was skipped.
    let status = try await replicate(peer, direction, withDesigns: true)
    #expect(status.failures.isEmpty)
    let all = ["_design/here", "_design/there", "here", "there"]
    #expect(try ids(here) == (pulls ? all : ["_design/here", "here"]))
    #expect(try ids(there) == (pushes ? all : ["_design/there", "there"]))
    let again = try await replicate(peer, direction, withDesigns: true)
    #expect(again.pull.counts.revisionsWritten + again.push.counts.revisionsWritten == 0)
  }

  /// Regression test: a service did not answer for an attachment below an ID with an encoded slash.
  @Test(arguments: [Replicator.Direction.pull, .push])
  func `design documents are copied with their attachments`(
    _ direction: Replicator.Direction
  ) async throws {
    let source = direction == .pull ? there : here
    try await source.write { transaction in
      var design = Document(id: "_design/app", [:])
      design.attachments["index.html"] = Document.Attachment(contentType: "text/html", [1, 2, 3])
      try transaction.put(design)
    }
    let status = try await replicate(try server(), direction, withDesigns: true)
    #expect(status.failures.isEmpty)
    for database in [here, there] {
      let design = try database.snapshot().document("_design/app")
      #expect(try await design?.attachments["index.html"]?.data() == Data([1, 2, 3]))
    }
  }

  @Test func `a server that refuses a design document gets the rest`() async throws {
    // CouchDB does so for all users except administrators.
    there.setValidation(named: "administrators only") { revision in
      if revision.document.id.hasPrefix("_design/") {
        try revision.reject("You are not a db or server admin.")
      }
    }
    let status = try await replicate(try server(), .push, withDesigns: true)
    #expect(status.failures.map(\.id) == ["_design/here"])
    let error = try #require(status.failures.first?.error as? ReplicationError)
    #expect(error.code == .refused && "\(error)".contains("You are not a db or server admin."))
    #expect(try ids(there) == ["_design/there", "here", "there"])
  }
}
