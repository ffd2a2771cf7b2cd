import Divan
import DivanLog
import ProofKit

/// Searches for any text in any text.
///
/// The first byte of an input selects the options of an index. A query follows, then a line break,
/// and then the text of a document.
enum FuzzQueries {
  private static let options = [
    FullTextOptions(),
    FullTextOptions(stemming: .english, stopWords: [.english], weights: ["title": 3]),
    FullTextOptions(stemming: .german, stopWords: [.german], ignoresDiacritics: true),
    FullTextOptions(stemming: .german, ignoresDiacritics: false),
  ]

  /// Checks that an index finds the documents that the filter takes when it reads their text, and
  /// that highlights and snippets are parts of the text.
  static func read(_ input: [UInt8]) throws {
    guard let first = input.first else { return }
    let parts = input.dropFirst().split(
      separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
    let query = String(decoding: parts[0], as: UTF8.self)
    let text = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : ""
    let options = options[Int(first) % options.count]
    let database = try makeDatabase(query, text, options)
    let snapshot = try database.snapshot()
    var queries = [FullTextQuery(query), FullTextQuery(typing: query)]
    if let strict = parsed(query) { queries.append(strict) }
    for query in queries {
      try check(query, snapshot)
      try checkHighlights(of: query, in: text, options)
    }
    _ = try snapshot.suggestions(for: query, index: "text")
    _ = try snapshot.correction(of: FullTextQuery(query), index: "text")
    if let problem = try database.check().problems.first {
      throw FuzzFinding("the index is not sound: \(problem)")
    }
    try database.close()
  }

  private static func makeDatabase(
    _ query: String, _ text: String, _ options: FullTextOptions
  ) throws -> Database {
    var configuration = Configuration()
    configuration.fileSystem = MemoryFileSystem()
    configuration.maintenance = .manual
    let database = try Database(at: "/store", configuration: configuration)
    try database.addIndex(DocumentIndex("text", fullText: "title", "text", options: options))
    try database.write { transaction in
      _ = try transaction.replace("text", with: ["text": .string(text)])
      _ = try transaction.replace("both", with: ["title": .string(query), "text": .string(text)])
      _ = try transaction.replace("list", with: ["text": [.string(text), .string(query), 7]])
      _ = try transaction.replace("none", with: ["text": 7])
    }
    return database
  }

  /// Returns a query in the language; nil if the text is not in it.
  private static func parsed(_ text: String) -> FullTextQuery? {
    // An error is the answer to a mistake.
    try? FullTextQuery(parsing: text)
  }

  private static func check(_ query: FullTextQuery, _ snapshot: Snapshot) throws {
    let filter = Filter.matches(query, index: "text")
    let found: [String]
    do {
      found = try snapshot.find(Query<Document>().filter(filter)).map(\.id)
    } catch let error as DatabaseError where error.code == .invalidQuery {
      // A strict query may name a property that the index does not have.
      return
    }
    let others = try snapshot.find(Query<Document>().filter(!filter)).map(\.id)
    try expect(
      (found + others).sorted() == ["both", "list", "none", "text"],
      "the index finds \(found), and without it \(others) do not match")
    let ranked = try snapshot.find(Query<Document>().filter(filter).sort(.relevance)).map(\.id)
    try expect(ranked.sorted() == found.sorted(), "ranked, \(ranked) are found and not \(found)")
    let count = try snapshot.count(Query<Document>().filter(filter))
    try expect(count == found.count, "\(count) of \(found) are counted")
  }

  private static func checkHighlights(
    of query: FullTextQuery, in text: String, _ options: FullTextOptions
  ) throws {
    var end = text.startIndex
    for range in query.highlights(in: text, property: "text", options: options) {
      try expect(end <= range.lowerBound && !range.isEmpty, "highlights overlap or are empty")
      end = range.upperBound
    }
    try expect(end <= text.endIndex, "a highlight ends behind the text")
    let snippet = query.snippet(of: text, wordCount: 3, property: "text", options: options)
    let parts = snippet.parts.map { String($0.text) }.joined()
    try expect(
      Array(parts.utf8) == Array(snippet.text.utf8), "a snippet differs from its parts")
  }

  static let seeds: [(name: String, bytes: [UInt8])] = [
    ("words", "\u{0}urgent milk*\nBuy milk. It is urgent!"),
    ("phrase", "\u{1}\"the quick fox\" -dog\nThe quick foxes jumped over a lazy dog."),
    ("operators", "\u{2}(äpfel OR birnen) NOT saft\nÄpfel und Birnen: kein Saft."),
    ("near", "\u{3}NEAR(straße \"am see\"~1, 3) title:haus*\nHaus, Straße am See"),
    ("fuzzy", "\u{0}chaplan~2 AND 3.5 don't\nCharlie Chaplin, 3.5 stars, don’t miss"),
    ("scripts", "\u{1}東京都 ไทย カメラ\n東京都に住む。ภาษาไทย カメラ 👩‍👩‍👧 🇩🇪"),
  ].map { ($0.0, Array($0.1.utf8)) }
}
