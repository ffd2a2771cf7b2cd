import GRDB

/// SQLite's FTS5 through GRDB, with an index of an external table that triggers keep.
///
/// The choices, and the parts of GRDB's documentation that they follow:
/// - an FTS5 table with external content, synchronized with the table of records ("External Content
///   Full-Text Tables");
/// - the tokenizer `unicode61`, which ignores accents as Divan does ("Choosing a Tokenizer");
/// - `ORDER BY rank LIMIT` for the most relevant ones ("Sorting by Relevance").
extension GRDBEngine: TextEngine {
  func putTexts(_ texts: [SampleText]) throws {
    try pool.write { database in
      try database.execute(
        sql: """
          CREATE TABLE IF NOT EXISTS texts(
            rowid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, body TEXT NOT NULL)
          """)
      let insertion = try database.makeStatement(
        sql: "INSERT INTO texts(id, title, body) VALUES (?, ?, ?)")
      for text in texts { try insertion.execute(arguments: [text.id, text.title, text.body]) }
    }
  }

  func addTextIndex() throws {
    try pool.write { database in
      try database.create(virtualTable: "textIndex", using: FTS5()) { table in
        table.synchronize(withTable: "texts")
        table.tokenizer = .unicode61()
        table.column("title")
        table.column("body")
      }
    }
  }

  func countTexts(_ question: TextQuestion) throws -> Int {
    try pool.read { database in
      try Int.fetchOne(
        database.cachedStatement(sql: "SELECT count(*) FROM textIndex WHERE textIndex MATCH ?"),
        arguments: [question.text]) ?? 0
    }
  }

  func topTexts(_ question: TextQuestion, limit: Int) throws -> [String] {
    try pool.read { database in
      try String.fetchAll(
        database.cachedStatement(
          sql: """
            SELECT texts.id FROM textIndex JOIN texts ON texts.rowid = textIndex.rowid
            WHERE textIndex MATCH ? ORDER BY rank LIMIT ?
            """), arguments: [question.text, limit])
    }
  }

  func updateText(_ id: String, body: String) throws {
    try pool.write { database in
      try database.execute(
        sql: "UPDATE texts SET body = ? WHERE id = ?", arguments: [body, id])
    }
  }

  func settleTexts() throws { try flush() }
}
