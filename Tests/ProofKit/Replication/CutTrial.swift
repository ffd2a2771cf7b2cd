import Divan
import DivanLog
import DivanSync
import DivanSyncTesting
import DivanTesting

/// An exchange of ten documents, some with attachments, that is cut once and continued.
struct CutTrial {
  private let direction: Replicator.Direction
  private let hereDisk = SimulatedDisk(seed: 1)
  private let thereDisk = SimulatedDisk(seed: 2)
  private let here: Database
  private let there: Database
  private let network: SimulatedNetwork
  private var model = PlainRevisions()

  private static let path = "/store.divan"

  private var source: Database { direction == .pull ? there : here }
  private var target: Database { direction == .pull ? here : there }

  init(_ direction: Replicator.Direction) throws {
    self.direction = direction
    here = try Database(
      at: Self.path, configuration: hereDisk.configuration(hasSmallFiles: false))
    let there = try Database(
      at: Self.path, configuration: thereDisk.configuration(hasSmallFiles: false))
    self.there = there
    network = SimulatedNetwork(
      { request, body in
        await CouchDBService.unlimited(["db": there]).respond(to: request, body: body)
      }, seed: 0)
    try fill()
  }

  /// Stores ten revisions: the documents, one of which is deleted.
  private mutating func fill() throws {
    for number in 0..<9 {
      let id = "document \(number)"
      var document = Document(id: id, ["number": .int(Int64(number))])
      var made = PlainRevisions.Made(properties: document.properties)
      if number % 3 == 0 {
        let bytes = (0..<(100 * number + 10)).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number) }
        made.attachments["data"] = bytes
        document.attachments["data"] = Document.Attachment(contentType: "image/png", bytes)
      }
      let stored = try source.write { [document] in try $0.put(document) }
      try model.add(made, stored.revision, of: id)
      guard number == 4 else { continue }
      let tombstone = try source.write { try $0.delete(stored) }
      made.parent = stored.revision
      made.isDeleted = true
      try model.add(made, tombstone.revision, of: id)
    }
    let added = try source.write { try $0.put(Document(id: "b/c +é", ["text": "tea"])) }
    try model.add(
      PlainRevisions.Made(properties: ["text": "tea"]), added.revision, of: "b/c +é")
  }

  private var replicator: Replicator {
    var options = Replicator.Options()
    options.batchCount = 4
    options.retryLimit = 0
    let peer = CouchDBPeer(url: ReplicationTrial.serverURL, transport: network)
    return Replicator(here, peer, direction: direction, options: options)
  }

  /// Returns the number of bytes of the exchange without a cut.
  func size() throws -> Int {
    let replicator = replicator
    _ = try waitFor { try await replicator.replicate() }
    return network.counts.bytes
  }

  /// Cuts the exchange at a byte, and continues it.
  func play(cutAt place: Int) throws {
    network.cut(afterBytes: place)
    let replicator = replicator
    do {
      _ = try waitFor { try await replicator.replicate() }
      throw CrashOracle.Mismatch("nothing was cut")
    } catch let error as ReplicationError {
      guard error.code == .unreachable else { throw error }
    }
    let status = try waitFor { try await replicator.replicate() }
    guard status.failures.isEmpty else { throw CrashOracle.Mismatch("\(status.failures)") }
    try model.compare(with: source, "the source")
    try model.compare(with: target, "the target")
    // Of the deleted document, only its last revision is sent.
    let sequence = try target.snapshot().sequence
    guard sequence == 10 else {
      throw CrashOracle.Mismatch("\(sequence) numbers were taken by 10 revisions")
    }
    try here.close()
    try there.close()
    let logged = try loggedRevisions().sorted()
    guard logged.count == 10, Set(logged).count == 10 else {
      throw CrashOracle.Mismatch("the log has \(logged)")
    }
  }

  /// Returns all revisions in the log of the closed target.
  private func loggedRevisions() throws -> [String] {
    let disk = direction == .pull ? hereDisk : thereDisk
    let directory = StoreDirectory(Self.path, on: disk.fileSystem)
    let files = try directory.listing().files
    guard
      var segments = try SegmentChain.choose(from: files, in: directory, isMapped: false)?
        .segments, let last = segments.last
    else { throw CrashOracle.Mismatch("the target has no log") }
    segments[segments.count - 1].end = try LogRecovery.examine(last, from: nil, watermarks: []).end
    var revisions: [String] = []
    for segment in segments {
      var scan = RecordScan(segment)
      scanning: while true {
        switch try scan.next() {
        case .record(let entry) where entry.record.kind == .document:
          let document = try InspectedDocument(entry.record.payload)
          revisions.append("\(document.id) \(document.revision)")
        case .record, .commit: continue
        case .damage(let damage): throw CrashOracle.Mismatch("\(damage)")
        case .end: break scanning
        }
      }
    }
    return revisions
  }
}
