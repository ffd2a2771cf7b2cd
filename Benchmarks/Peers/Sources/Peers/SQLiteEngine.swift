import CSQLite
import Foundation

/// SQLite with one JSON text per document: `documents(id TEXT PRIMARY KEY, body TEXT)`.
///
/// The choices, and the parts of SQLite's documentation that they follow:
/// - a rowid table: `WITHOUT ROWID` is advised for rows of less than about a twentieth of a page,
///   and ours are larger (withoutrowid.html §4);
/// - WAL, and `synchronous=FULL` if a commit must survive a power cut; `NORMAL` gives that up for
///   commits and keeps consistency, and is used for the bulk load (pragma.html, `synchronous`);
/// - while loading, checkpoints are far apart, as advised for the best write speed, and the last
///   one empties the log (wal.html §2.3, §3.1);
/// - statements are prepared once (c3ref/prepare.html, cintro.html §4);
/// - `mmap_size` covers the whole file, which avoids copying into the cache (mmap.html);
/// - one thread at a time uses the connection, guarded here instead of in the library
///   (threadsafe.html): SQLite has only one writer, and waiting costs less than `SQLITE_BUSY`.
///
/// `@unchecked Sendable`: `lock` guards the connection in the only method that threads share.
class SQLiteEngine: Engine, @unchecked Sendable {
  class var name: String { "sqlite" }
  class var workloads: Set<Workload> { Set(Workload.allCases).subtracting([.records]) }
  class var reads: [ReadKind] { [.value, .verifiedValue, .property] }
  class var scans: [ScanOrder] { [.id, .sequence] }
  class var form: DocumentForm { .json }

  /// The table, and the SQL that differs between this layout and the one with columns.
  class var createTable: String {
    "CREATE TABLE IF NOT EXISTS documents(id TEXT PRIMARY KEY NOT NULL, body TEXT NOT NULL)"
  }
  class var upsert: String {
    "INSERT INTO documents(id, body) VALUES(?1, ?2) "
      + "ON CONFLICT(id) DO UPDATE SET body = excluded.body"
  }
  /// Returns the SQL expression for a property.
  class func expression(for property: String) -> String { "json_extract(body, '$.\(property)')" }
  /// The arguments of `json_each` for the tags.
  class var tags: String { "documents.body, '$.tags'" }
  static var title: String { expression(for: "title") }

  private let connection: OpaquePointer
  private let lock = NSLock()
  private var statements: [String: OpaquePointer] = [:]

  required init(directory: String, purpose: Purpose, cacheBytes: Int) throws {
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    guard sqlite3_open_v2(directory + "/store.sqlite", &opened, flags, nil) == SQLITE_OK,
      let opened
    else { throw PeerError("sqlite3_open_v2 failed") }
    connection = opened
    try execute("PRAGMA journal_mode = WAL")
    try execute("PRAGMA synchronous = \(purpose == .durable ? "FULL" : "NORMAL")")
    // Has an effect only on Apple's systems, where a plain fsync does not flush the drive.
    try execute("PRAGMA fullfsync = 1")
    try execute("PRAGMA checkpoint_fullfsync = 1")
    try execute("PRAGMA cache_size = -\(cacheBytes / 1024)")
    try execute("PRAGMA mmap_size = \(1 << 34)")
    if purpose == .bulk { try execute("PRAGMA wal_autocheckpoint = 16384") }
    try execute(Self.createTable)
  }

  func load(_ batch: Batch) throws {
    try execute("BEGIN IMMEDIATE")
    let statement = try prepared(Self.upsert)
    for document in batch.documents { try write(document, statement) }
    try execute("COMMIT")
  }

  func flush() throws {
    // Flushes the log, then the database, and then truncates the log.
    try execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  func commit(_ document: Document) throws {
    try lock.withLock { try write(document, prepared(Self.upsert)) }
  }

  func read(_ ids: IDList, _ kind: ReadKind) throws -> UInt64 {
    let column = kind == .property ? Self.title : "body"
    let statement = try prepared("SELECT \(column) FROM documents WHERE id = ?1")
    var sum: UInt64 = 0
    try execute("BEGIN")
    try ids.forEach { id in
      bind(id, 1, statement)
      guard sqlite3_step(statement) == SQLITE_ROW else { throw failure("SELECT") }
      sum &+= Self.sum(statement, kind)
      sqlite3_reset(statement)
    }
    try execute("COMMIT")
    return sum
  }

  func scan(_ order: ScanOrder) throws -> (count: Int, sum: UInt64) {
    let key = order == .id ? "id" : "rowid"
    let statement = try prepared("SELECT \(Self.title) FROM documents ORDER BY \(key)")
    defer { sqlite3_reset(statement) }
    var result = (count: 0, sum: UInt64(0))
    while sqlite3_step(statement) == SQLITE_ROW {
      result.count += 1
      result.sum &+= Self.sum(statement, .property)
    }
    return result
  }

  func close() throws {
    for statement in statements.values { sqlite3_finalize(statement) }
    statements = [:]
    guard sqlite3_close(connection) == SQLITE_OK else { throw failure("close") }
  }

  /// Binds the properties of `document` after its ID.
  func bindBody(of document: Document, _ statement: OpaquePointer) {
    bind(document.body, 2, statement)
  }
}

extension SQLiteEngine {
  func bind(_ text: UnsafeRawBufferPointer, _ index: Int32, _ statement: OpaquePointer) {
    // No destructor: the text outlives the step, so SQLite need not copy it.
    sqlite3_bind_text(
      statement, index, text.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(text.count),
      nil)
  }

  func bindCopied(_ text: String, _ index: Int32, _ statement: OpaquePointer) {
    // SQLITE_TRANSIENT, which the importer does not translate: SQLite copies the text immediately.
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    sqlite3_bind_text(statement, index, text, Int32(text.utf8.count), transient)
  }

  private func write(_ document: Document, _ statement: OpaquePointer) throws {
    bind(document.id, 1, statement)
    bindBody(of: document, statement)
    let result = sqlite3_step(statement)
    sqlite3_reset(statement)
    guard result == SQLITE_DONE else { throw failure("INSERT") }
  }

  @inline(__always)
  private static func sum(_ statement: OpaquePointer, _ kind: ReadKind) -> UInt64 {
    guard let text = sqlite3_column_text(statement, 0) else { return 0 }
    let size = Int(sqlite3_column_bytes(statement, 0))
    return kind == .property ? UInt64(size) : RawValue.read(text, size, kind)
  }

  func prepared(_ sql: String) throws -> OpaquePointer {
    if let statement = statements[sql] { return statement }
    var statement: OpaquePointer?
    let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
    guard sqlite3_prepare_v3(connection, sql, -1, flags, &statement, nil) == SQLITE_OK,
      let statement
    else { throw failure(sql) }
    statements[sql] = statement
    return statement
  }

  func execute(_ sql: String) throws {
    guard sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK else { throw failure(sql) }
  }

  func failure(_ action: String) -> PeerError {
    PeerError("\(action): \(String(cString: sqlite3_errmsg(connection)))")
  }
}

/// SQLite with each property in a column of its own; everything else as in ``SQLiteEngine``.
///
/// The tags are an array, which a row cannot hold; they are JSON text in their column.
final class SQLiteColumnsEngine: SQLiteEngine, @unchecked Sendable {
  override class var name: String { "sqlite-columns" }
  override class var workloads: Set<Workload> { [.load, .read, .scan, .commit, .query] }
  override class var reads: [ReadKind] { [.property] }
  override class var form: DocumentForm { .record }

  override class var createTable: String {
    """
    CREATE TABLE IF NOT EXISTS documents(
      id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, year INTEGER NOT NULL,
      rating REAL NOT NULL, done INTEGER NOT NULL, tags TEXT NOT NULL, note TEXT NOT NULL,
      created TEXT NOT NULL)
    """
  }
  override class var upsert: String {
    """
    INSERT INTO documents(id, title, year, rating, done, tags, note, created)
    VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT(id) DO UPDATE SET title = excluded.title, year = excluded.year,
      rating = excluded.rating, done = excluded.done, tags = excluded.tags, note = excluded.note,
      created = excluded.created
    """
  }
  override class func expression(for property: String) -> String { property }
  override class var tags: String { "documents.tags" }

  override func bindBody(of document: Document, _ statement: OpaquePointer) {
    guard let record = document.record else { return }
    bindCopied(record.title, 2, statement)
    sqlite3_bind_int64(statement, 3, Int64(record.year))
    sqlite3_bind_double(statement, 4, record.rating)
    sqlite3_bind_int(statement, 5, record.done ? 1 : 0)
    bindCopied("[\"" + record.tags.joined(separator: "\",\"") + "\"]", 6, statement)
    bindCopied(record.note, 7, statement)
    bindCopied(record.created, 8, statement)
  }
}
