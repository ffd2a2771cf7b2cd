import Divan
import DivanSync
import Foundation
import SyncServer
import Testing

/// Tests of connections that are cut, with sockets and `URLSession`.
@Suite(.timeLimit(.minutes(5)))
struct CutSocketTests {
  private func fill(_ database: Database) throws {
    try database.write { transaction in
      for number in 0..<10 {
        var document = Document(id: "doc/\(number)", ["number": .int(Int64(number))])
        if number % 3 == 0 {
          document.attachments["data +\(number)"] = Document.Attachment(
            contentType: "text/plain", [UInt8](repeating: UInt8(number), count: 3000 * number))
        }
        try transaction.put(document)
      }
      try transaction.delete("doc/4")
    }
  }

  @Test(arguments: [Replicator.Direction.pull, .push])
  func `a replication whose sockets are closed at any byte is completed by the next one`(
    _ direction: Replicator.Direction
  ) async throws {
    let server = try ServiceServer()
    var options = Replicator.Options()
    (options.batchCount, options.retryLimit) = (4, 0)
    var cutCount = 0
    var byteLimit = 0
    while true {
      let (here, there) = (try Database.inMemory(), try Database.inMemory())
      let (source, target) = direction == .pull ? (there, here) : (here, there)
      try fill(source)
      server.add(there, named: "notes")
      let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/notes"))
      let replicator = Replicator(
        here, CouchDBPeer(url: url), direction: direction, options: options)
      server.cut(after: byteLimit)
      var isCut = false
      do {
        try await replicator.replicate()
      } catch let error as ReplicationError where error.isTemporary {
        isCut = true
      }
      server.cut(after: nil)
      let status = try await replicator.replicate()
      #expect(status.failures.isEmpty, "cut after \(byteLimit) bytes")
      #expect(try Contents(of: here) == Contents(of: there), "cut after \(byteLimit) bytes")
      // Each revision is stored once.
      #expect(try target.snapshot().sequence == 10, "cut after \(byteLimit) bytes")
      guard isCut else { break }
      cutCount += 1
      byteLimit += byteLimit < 400 ? 97 : 4001
    }
    #expect(cutCount > 10)
  }
}
