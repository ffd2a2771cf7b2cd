import Divan
import DivanSync
import DivanTesting
import Testing

/// Tests of replications whose connection is cut.
struct InterruptedReplicationTests {
  private func fill(_ database: Database) throws {
    try database.write { transaction in
      for number in 0..<10 {
        var document = Document(id: "doc-\(number)", ["number": .int(Int64(number))])
        if number % 3 == 0 {
          document.attachments["data"] = Document.Attachment(
            contentType: "text/plain", [UInt8](repeating: UInt8(number), count: 1000 * number))
        }
        try transaction.put(document)
      }
      try transaction.delete("doc-4")
    }
  }

  private var options: Replicator.Options {
    var options = Replicator.Options()
    options.batchCount = 4
    options.retryLimit = 0
    return options
  }

  @Test(arguments: [Replicator.Direction.pull, .push], CutPeer.Cut.allCases)
  func `a replication that is cut at any call is completed by the next one`(
    _ direction: Replicator.Direction, _ cut: CutPeer.Cut
  ) async throws {
    var call = 1
    while true {
      let (here, there) = (try Database.inMemory(), try Database.inMemory())
      let (source, target) = direction == .pull ? (there, here) : (here, there)
      try fill(source)
      let number = call
      let peer = CutPeer(there) { $0 == number ? cut : nil }
      var isCut = false
      do {
        try await Replicator(here, peer, direction: direction, options: options).replicate()
      } catch let error as ReplicationError where error.code == .unreachable {
        isCut = true
      }
      try await Replicator(
        here, DatabasePeer(there), direction: direction, options: options
      ).replicate()
      #expect(try Contents(of: here) == Contents(of: there), "cut at call \(call)")
      // Each revision is stored once: the last change is that of the last revision.
      #expect(try target.snapshot().sequence == 10, "cut at call \(call)")
      #expect(try await target.check().isSound)
      guard isCut else { break }
      call += 1
    }
    #expect(call > 9)
  }

  @Test func `a call that fails temporarily is repeated`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try fill(here)
    let peer = CutPeer(there) { $0 % 5 == 0 ? .before : nil }
    var options = options
    options.retryLimit = 50
    options.retryDelay = .milliseconds(1)
    try await Replicator(here, peer, options: options).replicate()
    #expect(try Contents(of: here) == Contents(of: there))
  }

  @Test func `a continuous replication says that the peer is offline, and returns`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try fill(here)
    let peer = CutPeer(there) { $0 < 8 ? .before : nil }
    var options = options
    options.retryDelay = .milliseconds(2)
    let run = Replicator(here, peer, direction: .push, options: options).start()
    var wasOffline = false
    for try await status in run.statuses {
      if case .offline = status.push.phase { wasOffline = true }
      if status.isUpToDate { break }
    }
    #expect(wasOffline)
    #expect(try Contents(of: here) == Contents(of: there))
    await run.cancel()
  }

  /// Regression test: a replication that was offline could wait for minutes after the network was
  /// back.
  @Test func `an offline replication tries again when it is asked to`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    try fill(here)
    let peer = CutPeer(there) { $0 < 3 ? .before : nil }
    var options = options
    options.retryDelay = .seconds(100)
    let run = Replicator(here, peer, direction: .push, options: options).start()
    for try await status in run.statuses {
      if case .offline = status.push.phase { run.retryNow() }
      if status.isUpToDate { break }
    }
    #expect(try Contents(of: here) == Contents(of: there))
    await run.cancel()
  }
}
