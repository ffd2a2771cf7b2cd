import CChecksum
import Foundation

/// The operations that a measured store must support.
///
/// An adapter configures its store as the store's own documentation recommends, and cites it. All
/// flushing is equal: ``Purpose/durable`` means that ``commit(_:)`` returns after the operating
/// system was requested to flush; for the others no commit waits for a flush of its own.
protocol Engine: AnyObject, Sendable {
  /// The engine's name for `--engines`.
  static var name: String { get }
  /// The workloads that make sense for this store.
  static var workloads: Set<Workload> { get }
  /// The kinds of reads that this store supports.
  static var reads: [ReadKind] { get }
  /// The orders of scanning that this store supports.
  static var scans: [ScanOrder] { get }
  /// The form in which documents are passed to this store, prepared before the clock starts.
  static var form: DocumentForm { get }

  /// Opens the store in `directory`, which exists, or creates the store if there is none.
  init(directory: String, purpose: Purpose, cacheBytes: Int) throws

  /// Inserts or replaces documents in one transaction without flushing.
  func load(_ batch: Batch) throws

  /// Makes everything loaded so far durable, in the store's own form.
  func flush() throws

  /// Inserts or replaces one document durably; any thread may call it.
  func commit(_ document: Document) throws

  /// Reads every document of the list in one snapshot and returns a checksum.
  ///
  /// It is the sum of the titles' sizes for ``ReadKind/property``, otherwise of the first and last
  /// bytes.
  func read(_ ids: IDList, _ kind: ReadKind) throws -> UInt64

  /// Visits every document, reads its title, and returns the count and the sum of titles' bytes.
  func scan(_ order: ScanOrder) throws -> (count: Int, sum: UInt64)

  /// Waits for background work after loading, so that it does not disturb reading.
  func settle() throws

  /// Closes the store cleanly.
  func close() throws
}

extension Engine {
  static var form: DocumentForm { .json }
  func settle() throws {}
}

/// A store that also maps records to documents by itself.
protocol RecordEngine: Engine {
  /// Inserts records in one durable transaction.
  func insertRecords(_ records: [SampleDocument]) throws
  /// Loads every record and returns the sum of one property of each.
  func loadRecords() throws -> Int
  /// Loads the records with these IDs one by one, and returns the sum of one property.
  func loadRecords(ids: [String]) throws -> Int
}

/// The form in which a store takes documents.
///
/// Each store gets the input of its own API; the conversion to its stored form is measured.
enum DocumentForm {
  /// The bytes of the ID and of the JSON.
  case json
  /// In addition, ``SampleDocument``, for stores that map properties to columns.
  case record
  /// In addition, Divan's `Document`.
  case divan
}

/// The purpose for which a store is opened.
enum Purpose: String, Codable {
  /// Bulk loading: nothing is flushed before ``Engine/flush()``.
  case bulk
  /// Ordinary work whose commits need not survive a power cut.
  case relaxed
  /// Every commit is flushed before it returns.
  case durable
}

/// The part of a document that is read.
enum ReadKind: String, CaseIterable {
  /// The bytes are found, and the first and the last one are read.
  case value
  /// The same, and a CRC-32C of the value: the minimum cost of a verified lookup.
  case verifiedValue
  /// One property, the title, is read.
  case property
}

/// The order of a scan.
enum ScanOrder: String, CaseIterable {
  /// By ID.
  case id
  /// In the order in which the documents were written.
  case sequence
}

/// A failure that ends one measurement, not the run.
struct PeerError: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

/// All engines, in the order of the tables.
let allEngines: [any Engine.Type] = [
  DivanEngine.self, BufferedDivanEngine.self, SQLiteEngine.self, SQLiteColumnsEngine.self,
  GRDBEngine.self, LMDBEngine.self,
  RocksDBEngine.self, PlainRocksDBEngine.self, AppendEngine.self, PreallocatedAppendEngine.self,
]

/// Reads of raw JSON that stores without a query language share.
enum RawValue {
  /// Returns the number of bytes of the title, found in the cheapest way.
  ///
  /// It is the first property and contains no escapes. A store without knowledge of JSON cannot do
  /// less.
  @inline(__always)
  static func titleSize(_ value: UnsafeRawPointer, _ size: Int) -> UInt64 {
    let start = 10  // past {"title":"
    guard size > start, let end = memchr(value + start, 0x22, size - start) else { return 0 }
    return UInt64(UnsafeRawPointer(end) - (value + start))
  }

  /// Returns the sum of the first and the last byte.
  @inline(__always)
  static func prefetch(_ value: UnsafeRawPointer, _ size: Int) -> UInt64 {
    guard size > 0 else { return 0 }
    return UInt64(value.load(as: UInt8.self))
      &+ UInt64(value.load(fromByteOffset: size - 1, as: UInt8.self))
  }

  /// Reads a value as `kind` specifies.
  @inline(__always)
  static func read(_ value: UnsafeRawPointer, _ size: Int, _ kind: ReadKind) -> UInt64 {
    switch kind {
    case .value: prefetch(value, size)
    case .verifiedValue: prefetch(value, size) &+ UInt64(peers_crc32c(value, size) & 1)
    case .property: titleSize(value, size)
    }
  }
}
