import DivanLog
import DivanTesting
import Testing

@testable import Divan

/// Tests that compare searches for text, beside other conditions, with a plain search.
struct FullTextAgreementTests {
  /// A query, and a plain test of documents.
  private struct Trial {
    var query = Query<Document>()
    var accepts: (Value.Object) -> Bool = { _ in true }
    /// The text condition that ranks the results, and the properties that it searches.
    var ranking: (FullTextExpression, Set<Int>)?
  }

  private typealias Condition = (filter: Filter, accepts: (Value.Object) -> Bool)

  private static func condition(
    _ expression: FullTextExpression, _ texts: inout RandomTexts
  ) throws -> (condition: Condition, fields: Set<Int>) {
    let text = expression.description
    let query = texts.random.below(2) == 0 ? .fullText(text) : try FullTextQuery(parsing: text)
    var fields = Set(PlainTextSearch.fields.indices)
    let filter: Filter
    if texts.random.below(2) == 0 {
      filter = .matches(query, index: "text")
    } else {
      let field = texts.random.below(PlainTextSearch.fields.count)
      fields = [field]
      filter = QuerySubject<Document>()[PlainTextSearch.fields[field]].matches(query)
    }
    let found = fields
    let accepts = { (document: Value.Object) in
      PlainTextSearch.matches(expression, PlainTextSearch.places(document), in: found)
    }
    return ((filter, accepts), fields)
  }

  private static func otherCondition(_ texts: inout RandomTexts) -> Condition {
    let number = texts.random.below(30)
    let document = QuerySubject<Document>()
    return switch texts.random.below(4) {
    case 0: (document["n"] < .int(Int64(number)), { ($0["n"]?.intValue ?? 99) < number })
    case 1: (document["n"] == .int(Int64(number)), { $0["n"]?.intValue == number })
    case 2: (document["done"] == true, { $0["done"] == true })
    default: (!(document["done"] == true), { $0["done"] != true })
    }
  }

  private static func trial(_ texts: inout RandomTexts) throws -> Trial {
    var trial = Trial()
    if texts.random.below(3) == 0 {
      let expression = texts.rankedExpression()
      let (text, fields) = try condition(expression, &texts)
      trial.ranking = (expression, fields)
      trial.query = trial.query.filter(text.filter).sort(.relevance)
      trial.accepts = text.accepts
    } else {
      let (text, _) = try condition(texts.expression(), &texts)
      var whole = text
      switch texts.random.below(5) {
      case 0: whole = (!text.filter, { !text.accepts($0) })
      case 1:
        let other = otherCondition(&texts)
        whole = (text.filter || other.filter, { text.accepts($0) || other.accepts($0) })
      case 2:
        let (more, _) = try condition(texts.expression(), &texts)
        whole = (text.filter && more.filter, { text.accepts($0) && more.accepts($0) })
      default: break
      }
      trial.query = trial.query.filter(whole.filter)
      trial.accepts = whole.accepts
      if texts.random.below(3) == 0 {
        trial.query = trial.query.sorted(
          by: "n", texts.random.below(2) == 0 ? .ascending : .descending)
      }
    }
    if texts.random.below(2) == 0 {
      let (other, before) = (otherCondition(&texts), trial.accepts)
      trial.query = trial.query.filter(other.filter)
      trial.accepts = { before($0) && other.accepts($0) }
    }
    if texts.random.below(3) == 0 { trial.query = trial.query.limit(texts.random.below(12)) }
    if texts.random.below(4) == 0 { trial.query = trial.query.offset(texts.random.below(6)) }
    return trial
  }

  private func expect(
    _ trial: Trial, in source: some QuerySource, _ documents: [String: Value.Object], _ note: String
  ) throws {
    let explanation = try source.explain(trial.query)
    let comment: Comment = "\(note): \(trial.query)\n\(explanation)"
    let found = try source.ids(trial.query)
    let matching = documents.filter { trial.accepts($0.value) }
    let (limit, offset) = (trial.query.core.limit ?? .max, trial.query.core.offset)
    let count = min(limit, max(0, matching.count - offset))
    #expect(try source.count(trial.query) == count, comment)
    #expect(try source.exists(trial.query) == (count > 0), comment)
    #expect(try source.find(trial.query).map(\.id) == found, comment)
    #expect(explanation.results == count, comment)
    if let (expression, fields) = trial.ranking {
      let scores = PlainTextSearch.scores(expression, documents, in: fields)
      let own = found.compactMap { scores[$0] }
      #expect(found.count == count && Set(found).count == count, comment)
      #expect(found.allSatisfy { matching[$0] != nil }, comment)
      // Equal scores may be computed with other rounding.
      let best = matching.keys.compactMap { scores[$0] }.sorted(by: >).dropFirst(offset)
      #expect(zip(own, best).allSatisfy { abs($0 - $1) < 1e-9 }, comment)
    } else {
      var core = trial.query.core
      core.conditions = nil
      #expect(found == PlainQuery(documents: matching).ids(core), comment)
    }
  }

  private func store(
    _ seed: UInt64, _ texts: inout RandomTexts
  ) throws -> (Database, documents: [String: Value.Object]) {
    let database = try Database.inMemory()
    var documents: [String: Value.Object] = [:]
    let options = FullTextOptions(
      includesAttachments: true,
      weights: Dictionary(
        uniqueKeysWithValues: zip(PlainTextSearch.fields, PlainTextSearch.weights)))
    let index = DocumentIndex("text", fullText: "title", "body", "tags", options: options)
    if seed % 2 == 0 { try database.addIndex(index) }
    try database.write { transaction in
      for number in 0..<100 {
        documents["doc-\(number)"] = texts.document()
        let properties = documents["doc-\(number)"] ?? [:]
        _ = try transaction.put(PlainTextSearch.document("doc-\(number)", properties))
      }
    }
    if seed % 2 == 1 { try database.addIndex(index) }
    if seed % 3 > 0 { try database.addIndex(DocumentIndex("n", on: "n")) }
    if seed % 3 > 1 { try database.addIndex(DocumentIndex("done", on: "done", "n")) }
    return (database, documents)
  }

  private func change(
    _ transaction: WriteTransaction, _ texts: inout RandomTexts,
    _ documents: inout [String: Value.Object]
  ) throws {
    for _ in 0..<20 {
      let id = "doc-\(texts.random.below(120))"
      if texts.random.below(3) == 0 {
        _ = try transaction.delete(id)
        documents[id] = nil
      } else {
        documents[id] = texts.document()
        let document = PlainTextSearch.document(id, documents[id] ?? [:])
        _ = try transaction.replace(id, with: document.properties)
        _ = try transaction.update(id) { $0.attachments = document.attachments }
      }
    }
  }

  @Test(arguments: 1...12)
  func `random searches agree with a plain one, in snapshots and in transactions`(
    seed: UInt64
  ) throws {
    print("seed", seed)
    var texts = RandomTexts(seed: seed)
    var (database, documents) = try store(seed, &texts)
    let before = documents
    let snapshot = try database.snapshot()
    for _ in 0..<60 {
      try expect(FullTextAgreementTests.trial(&texts), in: snapshot, documents, "seed \(seed)")
    }
    try database.write { transaction in
      try change(transaction, &texts, &documents)
      for _ in 0..<30 {
        let trial = try FullTextAgreementTests.trial(&texts)
        try expect(trial, in: transaction, documents, "seed \(seed), in the transaction")
      }
    }
    for _ in 0..<10 {
      let trial = try FullTextAgreementTests.trial(&texts)
      try expect(trial, in: snapshot, before, "seed \(seed), before")
      try expect(trial, in: database.snapshot(), documents, "seed \(seed), after")
    }
    try database.close()
  }

  @Test(arguments: 21...26)
  func `live searches have the results of the query, and each difference leads to them`(
    seed: UInt64
  ) throws {
    print("seed", seed)
    var texts = RandomTexts(seed: seed)
    var (database, documents) = try store(seed, &texts)
    var live: [(trial: Trial, rows: LiveRows, shown: [String])] = []
    for _ in 0..<12 {
      let trial = try FullTextAgreementTests.trial(&texts)
      live.append((trial, LiveRows(trial.query.core, spareCount: 3, load: nil), []))
    }
    for step in 0..<12 {
      let snapshot = try database.snapshot()
      for index in live.indices {
        let comment: Comment = "seed \(seed), step \(step): \(live[index].trial.query)"
        let difference = try live[index].rows.advance(to: snapshot.view)
        let rows = live[index].rows
        let ids = (0..<rows.window.count).map { rows.row(at: $0).id }
        #expect(TableView.show(live[index].shown, ids, difference) == ids, comment)
        // Where no change concerned a ranked query, its order is that of an earlier version.
        if live[index].trial.ranking == nil || !difference.isEmpty {
          #expect(try ids == snapshot.ids(live[index].trial.query), comment)
        }
        live[index].shown = ids
      }
      try database.write { try change($0, &texts, &documents) }
    }
    try database.close()
  }
}
