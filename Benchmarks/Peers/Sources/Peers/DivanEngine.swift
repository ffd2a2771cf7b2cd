import Divan
import Foundation

/// Divan, to be attached here.
///
/// Until then its ``workloads`` are empty, so that its rows and ratios stay blank. To attach it:
/// open `directory + "/store.divan"` in ``init(directory:purpose:cacheBytes:)`` with durability
/// `.full` for ``Purpose/durable`` and else `.none`; implement the six other methods; conform to ``RecordEngine`` for the workload of models; and list the workloads. A batch
/// holds the documents as JSON, and with ``takesRecords`` as Swift values too; whichever is taken,
/// turning it into what the store keeps belongs to the time measured. A subclass named
/// `divan-buffered`, listed in ``allEngines``, can measure buffered reading beside mapped.
final class DivanEngine: Engine {
  static let name = "divan"
  static let workloads: Set<Workload> = []
  static let reads: [ReadKind] = []
  static let scans: [ScanOrder] = []

  init(directory: String, purpose: Purpose, cacheBytes: Int) throws { throw Self.notAttached }
  func load(_ batch: Batch) throws { throw Self.notAttached }
  func flush() throws { throw Self.notAttached }
  func commit(_ document: Document) throws { throw Self.notAttached }
  func read(_ ids: IDList, _ kind: ReadKind) throws -> UInt64 { throw Self.notAttached }
  func scan(_ order: ScanOrder) throws -> (count: Int, sum: UInt64) { throw Self.notAttached }
  func close() throws { throw Self.notAttached }

  private static let notAttached = PeerError("Divan is not attached yet")
}
