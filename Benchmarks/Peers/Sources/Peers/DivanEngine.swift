import Divan
import Foundation

/// Divan in its default configuration.
///
/// - Documents are passed as Divan's own `Document` values, created before the clock starts, like
///   the bytes of the JSON for stores that keep bytes, and records for those that have columns.
///   Encoding them, and the SHA-256 for the revision ID, is measured.
/// - A load is `put(contentsOf:)` in transactions of durability `.none`, and `flush()` at the end.
///   If documents may exist, each is stored by `replace`, which does not need the revision it
///   replaces.
/// - A durable commit is `write { put }` at `.full`.
/// - All reads of a measurement use one snapshot. Every read of Divan checks the document's
///   checksum; there is no unchecked read.
/// - The cache size is not used: Divan maps the files it reads, and its index is paged in on
///   access.
class DivanEngine: Engine, @unchecked Sendable {
  class var name: String { "divan" }
  class var workloads: Set<Workload> { Set(Workload.allCases) }
  class var reads: [ReadKind] { [.verifiedValue, .property] }
  class var scans: [ScanOrder] { [.id, .sequence] }
  class var form: DocumentForm { .divan }
  /// The way in which segments and checkpoints are read.
  class var readMode: ReadMode { .mapped }

  private(set) var database: Database
  private let purpose: Purpose
  private let path: String
  private let configuration: Configuration

  required init(directory: String, purpose: Purpose, cacheBytes: Int) throws {
    self.purpose = purpose
    var configuration = Configuration()
    configuration.durability = purpose == .durable ? .full : .none
    configuration.readMode = Self.readMode
    path = directory + "/store.divan"
    self.configuration = configuration
    database = try Database(at: path, configuration: configuration)
  }

  func load(_ batch: Batch) throws {
    try database.write { transaction in
      if purpose == .bulk {
        try transaction.put(contentsOf: batch.documents.lazy.compactMap(\.divan))
      } else {
        for case let document? in batch.documents.lazy.map(\.divan) {
          try transaction.replace(document.id, with: document.properties)
        }
      }
    }
  }

  func flush() throws { try database.flush() }

  func commit(_ document: Document) throws {
    guard let document = document.divan else { throw PeerError("no document given") }
    try database.write { transaction in _ = try transaction.put(document) }
  }

  func read(_ ids: IDList, _ kind: ReadKind) throws -> UInt64 {
    let snapshot = try database.snapshot()
    var sum: UInt64 = 0
    for id in ids.strings {
      guard let document = try snapshot.document(id) else { throw PeerError("no document \(id)") }
      sum &+= kind == .property ? Self.titleSize(document) : document.sequence
    }
    return sum
  }

  func scan(_ order: ScanOrder) throws -> (count: Int, sum: UInt64) {
    let snapshot = try database.snapshot()
    var result = (count: 0, sum: UInt64(0))
    switch order {
    case .id:
      var documents = snapshot.documents()
      while let document = try documents.next() {
        result.count += 1
        result.sum &+= Self.titleSize(document)
      }
    case .sequence:
      var changes = snapshot.changes()
      while let change = try changes.next() {
        result.count += 1
        result.sum &+= Self.titleSize(change.document)
      }
    }
    return result
  }

  func close() throws { try database.close() }

  /// Closes the database, which writes what is in memory to its files, and opens it again.
  func reopen() throws {
    try database.close()
    database = try Database(at: path, configuration: configuration)
  }

  static func titleSize(_ document: Divan.Document) -> UInt64 {
    guard case .string(let title) = document["title"] else { return 0 }
    return UInt64(title.utf8.count)
  }
}

/// Divan with buffered reads, so that a media error is thrown instead of ending the process.
final class BufferedDivanEngine: DivanEngine, @unchecked Sendable {
  override class var name: String { "divan-buffered" }
  override class var workloads: Set<Workload> { [.load, .read, .scan, .open] }
  override class var readMode: ReadMode { .buffered }
}

extension SampleDocument {
  /// The document as a `Document` of Divan.
  var divanDocument: Divan.Document {
    Divan.Document(
      id: id,
      [
        "title": .string(title), "year": .int(Int64(year)), "rating": .double(rating),
        "done": .bool(done), "tags": .array(tags.map { .string($0) }), "note": .string(note),
        "created": .string(created),
      ])
  }
}
