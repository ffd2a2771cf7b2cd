import CLMDB
import Foundation

/// LMDB with the JSON as the value under the document's ID.
///
/// The choices, and the parts of LMDB's documentation (`lmdb.h`) that they follow:
/// - the default flags if a commit must be durable: each commit flushes;
/// - `MDB_NOSYNC` if it need not be, and `mdb_env_sync(env, 1)` at the end of a load
///   (`mdb_env_set_flags`, `mdb_env_sync`);
/// - a map far larger than the data, of which only the used part takes space
///   (`mdb_env_set_mapsize`);
/// - no `MDB_WRITEMAP`, which would let a stray pointer of the program damage the store
///   ("Restrictions/caveats"), a risk that none of the others takes;
/// - all reads of a measurement in one read transaction, values used in place in the map
///   (`mdb_get`).
///
/// `@unchecked Sendable`: all threads may use an environment, and LMDB itself lets one write
/// transaction run at a time.
final class LMDBEngine: Engine, @unchecked Sendable {
  static let name = "lmdb"
  static let workloads: Set<Workload> = Set(Workload.allCases).subtracting([.records, .query])
  static let reads: [ReadKind] = [.value, .verifiedValue, .property]
  static let scans: [ScanOrder] = [.id]

  private let environment: OpaquePointer
  private var table: MDB_dbi = 0

  init(directory: String, purpose: Purpose, cacheBytes: Int) throws {
    var created: OpaquePointer?
    try check(mdb_env_create(&created))
    guard let created else { throw PeerError("mdb_env_create failed") }
    environment = created
    try check(mdb_env_set_mapsize(environment, 1 << 36))
    let flags = purpose == .durable ? 0 : UInt32(MDB_NOSYNC)
    try check(mdb_env_open(environment, directory, flags, 0o644))
    try transaction(UInt32(0)) { try check(mdb_dbi_open($0, nil, 0, &table)) }
  }

  func load(_ batch: Batch) throws {
    try transaction(0) { transaction in
      for document in batch.documents { try put(document, transaction) }
    }
  }

  func flush() throws { try check(mdb_env_sync(environment, 1)) }

  func commit(_ document: Document) throws {
    try transaction(0) { try put(document, $0) }
  }

  func read(_ ids: IDList, _ kind: ReadKind) throws -> UInt64 {
    var sum: UInt64 = 0
    try transaction(UInt32(MDB_RDONLY)) { transaction in
      try ids.forEach { id in
        var key = Self.value(id)
        var value = MDB_val()
        let result = mdb_get(transaction, table, &key, &value)
        guard result == 0, let bytes = value.mv_data else { throw failure(result) }
        sum &+= RawValue.read(bytes, value.mv_size, kind)
      }
    }
    return sum
  }

  func scan(_ order: ScanOrder) throws -> (count: Int, sum: UInt64) {
    var result = (count: 0, sum: UInt64(0))
    try transaction(UInt32(MDB_RDONLY)) { transaction in
      var cursor: OpaquePointer?
      try check(mdb_cursor_open(transaction, table, &cursor))
      defer { mdb_cursor_close(cursor) }
      var key = MDB_val()
      var value = MDB_val()
      while mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0, let bytes = value.mv_data {
        result.count += 1
        result.sum &+= RawValue.titleSize(bytes, value.mv_size)
      }
    }
    return result
  }

  func close() throws { mdb_env_close(environment) }
}

extension LMDBEngine {
  private func put(_ document: Document, _ transaction: OpaquePointer) throws {
    var key = Self.value(document.id)
    var value = Self.value(document.body)
    try check(mdb_put(transaction, table, &key, &value, 0))
  }

  /// Runs `body` in a transaction that is committed unless `body` throws.
  private func transaction(_ flags: UInt32, _ body: (OpaquePointer) throws -> Void) throws {
    var begun: OpaquePointer?
    try check(mdb_txn_begin(environment, nil, flags, &begun))
    guard let begun else { throw PeerError("mdb_txn_begin failed") }
    do {
      try body(begun)
    } catch {
      mdb_txn_abort(begun)
      throw error
    }
    try check(mdb_txn_commit(begun))
  }

  private static func value(_ bytes: UnsafeRawBufferPointer) -> MDB_val {
    // LMDB takes a mutable pointer and does not write through it.
    MDB_val(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }
}

private func check(_ result: Int32) throws {
  guard result == 0 else { throw failure(result) }
}

private func failure(_ result: Int32) -> PeerError {
  PeerError(String(cString: mdb_strerror(result)))
}
