import CSQLite

/// SQLite's queries over JSON, and over columns.
///
/// The choices, and the parts of SQLite's documentation that they follow:
/// - an index on the expression of `json_extract`, and the same expression in the queries
///   (expridx.html §1); with columns, an index on the column;
/// - for the tags an additional table, `WITHOUT ROWID` with the key tag and row, filled from
///   `json_each` (json1.html §4.22, withoutrowid.html): an index has one entry for each row, and so
///   none for each element. Nothing here writes to the documents while the table exists, so it has
///   no triggers, which would be its cost;
/// - statements are prepared once, and no statistics are gathered, because each query has one
///   suitable index.
extension SQLiteEngine: QueryEngine {
  func addIndex() throws {
    try execute("CREATE INDEX documents_created ON documents(\(Self.expression(for: "created")))")
  }

  func addElementIndex() throws {
    try execute(
      """
      CREATE TABLE document_tags(
        tag TEXT NOT NULL, document INTEGER NOT NULL, PRIMARY KEY(tag, document)) WITHOUT ROWID;
      INSERT INTO document_tags
        SELECT DISTINCT json_each.value, documents.rowid
        FROM documents, json_each(\(Self.tags)) ORDER BY 1, 2;
      """)
  }

  func removeIndexes() throws {
    try execute("DROP INDEX IF EXISTS documents_created")
    try execute("DROP TABLE IF EXISTS document_tags")
  }

  func answer(_ question: Question) throws -> Answer {
    let created = Self.expression(for: "created")
    switch question {
    case .equal(let moment):
      return try titles("FROM documents WHERE \(created) = ?1", moment)
    case .range(let start):
      return try titles(
        "FROM documents WHERE \(created) >= ?1 ORDER BY \(created) LIMIT \(Question.limit)", start)
    case .count(let start, let end):
      return try count("\(created) >= ?1 AND \(created) < ?2") { statement in
        bindCopied(start, 1, statement)
        bindCopied(end, 2, statement)
      }
    case .filter(let year):
      return try count(Self.isDone) { sqlite3_bind_int64($0, 1, Int64(year)) }
    case .find(let year):
      return try titles("FROM documents WHERE \(Self.isDone)") {
        sqlite3_bind_int64($0, 1, Int64(year))
      }
    case .element(let tag):
      return try titles(
        "FROM document_tags JOIN documents ON documents.rowid = document_tags.document "
          + "WHERE document_tags.tag = ?1 LIMIT \(Question.limit)", tag)
    }
  }

  /// The condition for documents that are done, and later than a year.
  private static var isDone: String {
    "\(expression(for: "year")) > ?1 AND \(expression(for: "done")) = 1"
  }

  /// Returns the titles that a statement finds.
  private func titles(_ source: String, _ text: String) throws -> Answer {
    try titles(source) { bindCopied(text, 1, $0) }
  }

  private func titles(_ source: String, _ bind: (OpaquePointer) -> Void) throws -> Answer {
    let statement = try prepared("SELECT \(Self.title) \(source)")
    defer { sqlite3_reset(statement) }
    bind(statement)
    var answer = Answer()
    while try step(statement) {
      answer.count += 1
      guard sqlite3_column_text(statement, 0) != nil else { continue }
      answer.titleSize &+= UInt64(sqlite3_column_bytes(statement, 0))
    }
    return answer
  }

  private func count(_ condition: String, _ bind: (OpaquePointer) -> Void) throws -> Answer {
    let statement = try prepared("SELECT count(*) FROM documents WHERE \(condition)")
    defer { sqlite3_reset(statement) }
    bind(statement)
    guard try step(statement) else { return Answer() }
    return Answer(count: Int(sqlite3_column_int64(statement, 0)))
  }

  /// Returns whether there is another row.
  private func step(_ statement: OpaquePointer) throws -> Bool {
    switch sqlite3_step(statement) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw failure("SELECT")
    }
  }
}
