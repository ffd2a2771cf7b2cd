import GRDB

/// GRDB's queries over records, with an index on a column (README, "Requests").
///
/// `create(index:on:columns:)` makes the same index. Tags are stored in their column as JSON, so
/// they have the same additional table as in ``SQLiteEngine``.
extension GRDBEngine: QueryEngine {
  func addIndex() throws {
    try pool.writeWithoutTransaction { database in
      try database.execute(sql: "CREATE INDEX documents_created ON documents(created)")
    }
  }

  func addElementIndex() throws {
    try pool.write { database in
      try database.execute(
        sql: """
          CREATE TABLE document_tags(
            tag TEXT NOT NULL, document INTEGER NOT NULL, PRIMARY KEY(tag, document)) WITHOUT ROWID;
          INSERT INTO document_tags
            SELECT DISTINCT json_each.value, documents.rowid
            FROM documents, json_each(documents.tags) ORDER BY 1, 2;
          """)
    }
  }

  func removeIndexes() throws {
    try pool.writeWithoutTransaction { database in
      try database.execute(sql: "DROP INDEX IF EXISTS documents_created")
      try database.execute(sql: "DROP TABLE IF EXISTS document_tags")
    }
  }

  func answer(_ question: Question) throws -> Answer {
    try pool.read { database in
      switch question {
      case .equal(let created):
        return Self.answer(
          try SampleDocument.filter(Column("created") == created).fetchAll(database))
      case .range(let start):
        return Self.answer(
          try SampleDocument.filter(Column("created") >= start).order(Column("created"))
            .limit(Question.limit).fetchAll(database))
      case .count(let start, let end):
        return Answer(
          count: try SampleDocument.filter(Column("created") >= start && Column("created") < end)
            .fetchCount(database))
      case .filter(let year): return Answer(count: try Self.done(after: year).fetchCount(database))
      case .find(let year): return Self.answer(try Self.done(after: year).fetchAll(database))
      case .element(let tag):
        return Self.answer(
          try SampleDocument.fetchAll(
            database,
            sql: """
              SELECT documents.* FROM document_tags
              JOIN documents ON documents.rowid = document_tags.document
              WHERE document_tags.tag = ? LIMIT \(Question.limit)
              """, arguments: [tag]))
      }
    }
  }

  private static func done(after year: Int) -> QueryInterfaceRequest<SampleDocument> {
    SampleDocument.filter(Column("year") > year && Column("done") == true)
  }

  private static func answer(_ records: [SampleDocument]) -> Answer {
    Answer(
      count: records.count, titleSize: records.reduce(0) { $0 + UInt64($1.title.utf8.count) })
  }
}
