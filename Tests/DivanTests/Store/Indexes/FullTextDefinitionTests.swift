import Divan
import Testing

/// Tests of definitions of full-text indexes: their weights, conditions, and what they are not.
struct FullTextDefinitionTests {
  private let database: Database

  init() throws { database = try Database.inMemory() }

  @Test(
    arguments: [
      (["title": -1.0], "not negative, and that of \"title\" is -1.0"),
      (["body": .infinity], "finite"), (["body": .nan], "finite"),
      (["body": 1_000_001], "at most 1,000,000, and that of \"body\" is 1000001.0"),
      (["body": .greatestFiniteMagnitude], "at most 1,000,000"),
      (["titel": 2], "a weight for \"titel\", which is no property of the index"),
      (["author": 2], "it has \"title\", \"body\", \"author.name\""),
      (["title": 1, "Body": 1], "\"Body\""),
    ] as [([String: Double], String)])
  func `weights are finite, not negative, not huge, and of properties of the index`(
    weights: [String: Double], message: String
  ) throws {
    let index = DocumentIndex(
      "text", fullText: "title", "body", "author.name", options: FullTextOptions(weights: weights))
    let error = #expect(throws: DatabaseError.self) { try database.addIndex(index) }
    #expect(error?.code == .invalidIndex)
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    #expect(try database.indexes().isEmpty)
  }

  @Test func `weights of zero and of nested properties are valid`() throws {
    let options = FullTextOptions(weights: ["title": 0, "author.name": 1e6])
    let index = DocumentIndex("text", fullText: "title", "author.name", options: options)
    try database.addIndex(index)
    #expect(try database.indexes() == [index])
    #expect(!index.isUnique && !index.eachElement && index.conditions.isEmpty)
    #expect(index.paths == [["title"], ["author", "name"]])
  }

  @Test func `a definition without a name, or with too many properties, is refused`() throws {
    for index in [
      DocumentIndex("", fullText: "title"),
      DocumentIndex("text", fullText: "a", "b", "c", "d", "e", "f", "g", "h", "i"),
    ] {
      let error = #expect(throws: DatabaseError.self) { try database.addIndex(index) }
      #expect(error?.code == .invalidIndex)
    }
  }

  @Test(arguments: [["a", "a"], ["a.b", "c", "a.b"]])
  func `a property is in a full-text index once`(properties: [String]) throws {
    let paths = properties.map { $0.split(separator: ".").map(String.init) }
    let index = DocumentIndex("text", fullTextPaths: paths, options: FullTextOptions(), where: [])
    let error = #expect(throws: DatabaseError.self) { try database.addIndex(index) }
    #expect(error?.code == .invalidIndex && error?.message.contains("twice") == true)
    let twice = DocumentIndex("text", fullText: "a", "a")
    #expect(throws: DatabaseError.self) { try database.addIndex(twice) }
    // Another case is another property.
    try database.addIndex(DocumentIndex("text", fullText: "a", "A", "a.b"))
  }

  @Test func `a condition is written like a filter, and an unfit one is refused`() throws {
    let index = DocumentIndex("recipes", fullText: "name", "steps") { $0["type"] == "Recipe" }
    #expect(index.conditions.map(\.path) == [["type"]])
    #expect(index.fullText == FullTextOptions())
    try database.addIndex(index)
    let unfit = DocumentIndex("unfit", fullText: "name") { $0["name"].containsText("x") }
    let error = #expect(throws: DatabaseError.self) { try database.addIndex(unfit) }
    #expect(error?.code == .invalidIndex && error?.hint?.contains("&&") == true)
  }

  @Test func `two indexes with other options are different`() {
    let plain = DocumentIndex("text", fullText: "title")
    #expect(plain == DocumentIndex("text", fullText: "title", options: FullTextOptions()))
    for options in [
      FullTextOptions(stemming: .german), FullTextOptions(stopWords: [.english]),
      FullTextOptions(ignoresDiacritics: false), FullTextOptions(weights: ["title": 2]),
    ] {
      #expect(plain != DocumentIndex("text", fullText: "title", options: options))
    }
    #expect(plain != DocumentIndex("text", on: "title"))
  }

  @Test func `a full-text index is refused where values are asked for`() throws {
    try database.addIndex(DocumentIndex("text", fullText: "title"))
    try database.write { _ = try $0.put(Document(id: "a", ["title": "Tea"])) }
    let snapshot = try database.snapshot()
    let attempts: [() throws -> Void] = [
      { _ = try snapshot.ids(by: "text") }, { _ = try snapshot.count(by: "text") },
      { _ = try snapshot.documents(by: "text", .equal(to: "Tea")) },
      { try database.write { _ = try $0.ids(by: "text", ..<"U") } },
    ]
    for attempt in attempts {
      let error = #expect(throws: DatabaseError.self) { try attempt() }
      #expect(error?.code == .invalidQuery && error?.hint?.contains("matches") == true)
    }
  }

  @Test func `queries of values are not answered by a full-text index`() throws {
    try database.addIndex(DocumentIndex("text", fullText: "title", "n"))
    try database.write { transaction in
      for number in 0..<50 {
        let title: Value = number % 7 == 0 ? .null : .string("Tea \(number % 5)")
        _ = try transaction.put(
          Document(id: "d\(number)", ["title": title, "n": .int(Int64(number))]))
      }
    }
    let snapshot = try database.snapshot()
    for query in [
      Query<Document>().filter { $0["title"] == "Tea 3" },
      Query<Document>().filter { $0["title"].hasPrefix("Tea") }.sorted(by: "title"),
      Query<Document>().sorted(by: "title").sorted(by: "n"),
      Query<Document>().filter { $0["n"] < 20 }.sorted(by: "n"),
    ] {
      let explanation = try snapshot.explain(query)
      #expect(explanation.indexes.isEmpty, "\(explanation)")
    }
    #expect(try snapshot.count(Query<Document>().filter { $0["title"] == "Tea 3" }) == 9)
    // Equal values are no reason to refuse a commit.
    try database.write { _ = try $0.put(Document(id: "x", ["title": "Tea 3"])) }
  }
}
