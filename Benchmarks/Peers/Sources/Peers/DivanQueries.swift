import Divan

/// Divan's queries over plain documents, with the indexes that they can use.
///
/// Each query uses a snapshot of its own, as each statement of the others sees a version of its
/// own.
extension DivanEngine: QueryEngine {
  func addIndex() throws {
    try database.addIndex(DocumentIndex("created", on: "created"))
  }

  func addElementIndex() throws {
    try database.addIndex(DocumentIndex("tags", on: "tags", eachElement: true))
  }

  func removeIndexes() throws {
    for name in ["created", "tags"] { try database.removeIndex(named: name) }
  }

  func answer(_ question: Question) throws -> Answer {
    let all = Query<Divan.Document>()
    switch question {
    case .equal(let created): return try found(all.filter { $0["created"] == .string(created) })
    case .range(let start):
      return try found(
        all.filter { $0["created"] >= .string(start) }.sorted(by: "created", texts: .bytes)
          .limit(Question.limit))
    case .count(let start, let end):
      return Answer(
        count: try database.snapshot().count(
          all.filter { $0["created"] >= .string(start) && $0["created"] < .string(end) }))
    case .filter(let year): return Answer(count: try database.snapshot().count(done(after: year)))
    case .find(let year): return try found(done(after: year))
    case .element(let tag):
      return try found(all.filter { $0["tags"].contains(.string(tag)) }.limit(Question.limit))
    }
  }

  private func done(after year: Int) -> Query<Divan.Document> {
    Query().filter { $0["year"] > .int(Int64(year)) && $0["done"] == true }
  }

  /// Returns the titles that a query finds, which statements of SQL return, too.
  private func found(_ query: Query<Divan.Document>) throws -> Answer {
    var answer = Answer()
    for title in try database.snapshot().values(query, { $0["title"] }) {
      answer.count += 1
      guard let title = title.stringValue else { continue }
      answer.titleSize &+= UInt64(title.utf8.count)
    }
    return answer
  }
}
