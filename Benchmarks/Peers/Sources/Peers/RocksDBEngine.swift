import CRocksDB
import Foundation

/// RocksDB with the JSON as the value under the document's ID.
///
/// The choices are those of its wiki, "Setup Options and Basic Tuning": a block cache shared by
/// data, index and filters, blocks of 16 KiB, a Bloom filter of ten bits a key, dynamic level
/// sizes, LZ4 above and ZSTD on the last level, background jobs and steady background writeback. If
/// a commit must be durable, `sync` is set, which groups concurrent writers by itself ("WAL
/// Performance", "Group commit"). While loading, `sync` is not set, and at the end the log is
/// synced and the memtable flushed. Values are read without a copy (`rocksdb_get_pinned`).
///
/// `@unchecked Sendable`: all threads may use a database.
class RocksDBEngine: Engine, @unchecked Sendable {
  class var name: String { "rocksdb" }
  class var workloads: Set<Workload> { Set(Workload.allCases).subtracting([.records, .query]) }
  class var reads: [ReadKind] { [.value, .verifiedValue, .property] }
  class var scans: [ScanOrder] { [.id] }
  /// Whether blocks are compressed, as RocksDB's documentation recommends.
  class var compresses: Bool { true }

  private let database: OpaquePointer
  private let loading = rocksdb_writeoptions_create()
  private let durable = rocksdb_writeoptions_create()

  required init(directory: String, purpose: Purpose, cacheBytes: Int) throws {
    let options = rocksdb_options_create()
    defer { rocksdb_options_destroy(options) }
    rocksdb_options_set_create_if_missing(options, 1)
    rocksdb_options_set_max_background_jobs(
      options, Int32(max(2, ProcessInfo.processInfo.activeProcessorCount)))
    rocksdb_options_set_bytes_per_sync(options, 1 << 20)
    rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1)
    rocksdb_options_set_compression(
      options, Int32(Self.compresses ? rocksdb_lz4_compression : rocksdb_no_compression))
    rocksdb_options_set_bottommost_compression(
      options, Int32(Self.compresses ? rocksdb_zstd_compression : rocksdb_no_compression))

    let table = rocksdb_block_based_options_create()
    defer { rocksdb_block_based_options_destroy(table) }
    let cache = rocksdb_cache_create_lru(cacheBytes)
    defer { rocksdb_cache_destroy(cache) }
    rocksdb_block_based_options_set_block_cache(table, cache)
    rocksdb_block_based_options_set_block_size(table, 16 * 1024)
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1)
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1)
    rocksdb_block_based_options_set_filter_policy(
      table, rocksdb_filterpolicy_create_bloom_full(10))
    rocksdb_options_set_block_based_table_factory(options, table)

    database = try checked("open") { error in
      rocksdb_open(options, directory, error)
    }
    rocksdb_writeoptions_set_sync(durable, 1)
  }

  func load(_ batch: Batch) throws {
    let writes = rocksdb_writebatch_create()
    defer { rocksdb_writebatch_destroy(writes) }
    for document in batch.documents {
      rocksdb_writebatch_put(
        writes, characters(document.id), document.id.count, characters(document.body),
        document.body.count)
    }
    _ = try checked("write") { error in rocksdb_write(database, loading, writes, error) }
  }

  func flush() throws {
    _ = try checked("flush_wal") { error in rocksdb_flush_wal(database, 1, error) }
    let options = rocksdb_flushoptions_create()
    defer { rocksdb_flushoptions_destroy(options) }
    rocksdb_flushoptions_set_wait(options, 1)
    _ = try checked("flush") { error in rocksdb_flush(database, options, error) }
  }

  func commit(_ document: Document) throws {
    _ = try checked("put") { error in
      rocksdb_put(
        database, durable, characters(document.id), document.id.count, characters(document.body),
        document.body.count, error)
    }
  }

  func read(_ ids: IDList, _ kind: ReadKind) throws -> UInt64 {
    let options = rocksdb_readoptions_create()
    defer { rocksdb_readoptions_destroy(options) }
    var sum: UInt64 = 0
    try ids.forEach { id in
      var error: UnsafeMutablePointer<CChar>?
      guard let slice = rocksdb_get_pinned(database, options, characters(id), id.count, &error)
      else { throw PeerError("no document") }
      var size = 0
      if let value = rocksdb_pinnableslice_value(slice, &size) {
        sum &+= RawValue.read(value, size, kind)
      }
      rocksdb_pinnableslice_destroy(slice)
    }
    return sum
  }

  func scan(_ order: ScanOrder) throws -> (count: Int, sum: UInt64) {
    let options = rocksdb_readoptions_create()
    defer { rocksdb_readoptions_destroy(options) }
    let iterator = rocksdb_create_iterator(database, options)
    defer { rocksdb_iter_destroy(iterator) }
    var result = (count: 0, sum: UInt64(0))
    rocksdb_iter_seek_to_first(iterator)
    while rocksdb_iter_valid(iterator) != 0 {
      var size = 0
      if let value = rocksdb_iter_value(iterator, &size) {
        result.count += 1
        result.sum &+= RawValue.titleSize(value, size)
      }
      rocksdb_iter_next(iterator)
    }
    return result
  }

  func settle() throws {
    // At most a minute: any compaction that remains is part of the store's normal operation.
    for _ in 0..<600 {
      var pending: UInt64 = 0
      var running: UInt64 = 0
      rocksdb_property_int(database, "rocksdb.compaction-pending", &pending)
      rocksdb_property_int(database, "rocksdb.num-running-compactions", &running)
      if pending == 0, running == 0 { return }
      usleep(100_000)
    }
  }

  func close() throws { rocksdb_close(database) }
}

/// RocksDB without compression, like the other stores.
final class PlainRocksDBEngine: RocksDBEngine, @unchecked Sendable {
  override class var name: String { "rocksdb-plain" }
  override class var workloads: Set<Workload> { [.load, .read, .scan] }
  override class var compresses: Bool { false }
}

private func characters(_ bytes: UnsafeRawBufferPointer) -> UnsafePointer<CChar>? {
  bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
}

/// Calls a function that reports its error through a pointer, and throws that error.
private func checked<Result>(
  _ action: String, _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result?
) throws -> Result {
  var error: UnsafeMutablePointer<CChar>?
  let result = body(&error)
  if let error {
    defer { rocksdb_free(error) }
    throw PeerError("\(action): \(String(cString: error))")
  }
  guard let result else { throw PeerError("\(action) failed") }
  return result
}
