import CChecksum
import Foundation

/// What a store must do to be measured.
///
/// An adapter sets its store up as the store's own documentation recommends and says where it says
/// so. All flushing is equal: ``Purpose/durable`` means that ``commit(_:)`` returns after the
/// operating system was asked to flush; with the others no commit waits for a flush of its own.
protocol Engine: AnyObject, Sendable {
  /// The name that `--engines` takes.
  static var name: String { get }
  /// The workloads that make sense for this store.
  static var workloads: Set<Workload> { get }
  /// The ways of reading that this store has.
  static var reads: [ReadKind] { get }
  /// The orders of scanning that this store has.
  static var scans: [ScanOrder] { get }
  /// The form in which documents are given to this store, made ready before the clock starts.
  static var form: DocumentForm { get }

  /// Opens the store in `directory`, which exists, and creates it when there is none.
  init(directory: String, purpose: Purpose, cacheBytes: Int) throws

  /// Inserts or replaces documents in one transaction without flushing.
  func load(_ batch: Batch) throws

  /// Makes everything loaded so far durable, in the form that the store keeps it in.
  func flush() throws

  /// Inserts or replaces one document durably; any thread may call it.
  func commit(_ document: Document) throws

  /// Reads every document of the list within one snapshot and returns a sum that proves it:
  /// of the bytes of the titles for ``ReadKind/property``, else of the first and last bytes.
  func read(_ ids: IDList, _ kind: ReadKind) throws -> UInt64

  /// Visits every document, reads its title, and returns the count and the sum of titles' bytes.
  func scan(_ order: ScanOrder) throws -> (count: Int, sum: UInt64)

  /// Lets background work that loading left behind end, so that it does not disturb reading.
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
  /// Loads the records with these IDs, one after the other, and returns the sum of one property.
  func loadRecords(ids: [String]) throws -> Int
}

/// The form in which a store takes documents.
///
/// Each store is given what its own API takes; turning that into what it keeps is measured.
enum DocumentForm {
  /// The bytes of the ID and of the JSON.
  case json
  /// ``SampleDocument`` besides, for stores that map properties to columns.
  case record
  /// Divan's `Document` besides.
  case divan
}

/// What a store is opened for.
enum Purpose: String, Codable {
  /// Loading much at once: nothing is flushed before ``Engine/flush()``.
  case bulk
  /// Ordinary work whose commits need not survive a power cut.
  case relaxed
  /// Every commit is flushed before it returns.
  case durable
}

/// How much of a document is read.
enum ReadKind: String, CaseIterable {
  /// The bytes are found, and the first and the last one touched.
  case value
  /// The same, and a CRC-32C of the value is computed: what a lookup that verifies costs at least.
  case verifiedValue
  /// One property, the title, is read.
  case property
}

/// The order of a scan.
enum ScanOrder: String, CaseIterable {
  /// By ID.
  case id
  /// As the documents were written.
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
  /// The number of bytes of the title, found the cheapest way there is.
  ///
  /// It is the first property and holds no escapes. A store that knows nothing of JSON cannot be
  /// asked for less.
  @inline(__always)
  static func titleSize(_ value: UnsafeRawPointer, _ size: Int) -> UInt64 {
    let start = 10  // past {"title":"
    guard size > start, let end = memchr(value + start, 0x22, size - start) else { return 0 }
    return UInt64(UnsafeRawPointer(end) - (value + start))
  }

  /// The first and the last byte.
  @inline(__always)
  static func touch(_ value: UnsafeRawPointer, _ size: Int) -> UInt64 {
    guard size > 0 else { return 0 }
    return UInt64(value.load(as: UInt8.self))
      &+ UInt64(value.load(fromByteOffset: size - 1, as: UInt8.self))
  }

  /// What `kind` asks for.
  @inline(__always)
  static func read(_ value: UnsafeRawPointer, _ size: Int, _ kind: ReadKind) -> UInt64 {
    switch kind {
    case .value: touch(value, size)
    case .verifiedValue: touch(value, size) &+ UInt64(peers_crc32c(value, size) & 1)
    case .property: titleSize(value, size)
    }
  }
}
