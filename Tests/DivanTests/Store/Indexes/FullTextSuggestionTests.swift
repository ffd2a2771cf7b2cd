import Divan
import Foundation
import Testing

/// Tests of “did you mean”: words of a full-text index near another one, and corrected queries.
struct FullTextSuggestionTests {
  private let database: Database

  init() throws {
    database = try Database.inMemory()
    try database.write { transaction in
      for (id, text) in [
        ("a", "Fresh milk, and the painting of a café"), ("b", "Painted milk and silk"),
        ("c", "Urgent: paint the wall of Metropolis"), ("d", "東京都 Milk"),
      ] {
        _ = try transaction.put(Document(id: id, ["text": .string(text), "n": 1]))
      }
    }
  }

  private func add(_ options: FullTextOptions = FullTextOptions()) throws -> Snapshot {
    try database.addIndex(DocumentIndex("text", fullText: "text", options: options))
    return try database.snapshot()
  }

  @Test func `near words are suggested, the nearest and most frequent first`() throws {
    let snapshot = try add()
    #expect(try snapshot.suggestions(for: "Metropols", index: "text") == ["metropolis"])
    #expect(try snapshot.suggestions(for: "bilk", index: "text") == ["milk", "silk"])
    #expect(try snapshot.suggestions(for: "bilk", index: "text", limit: 1) == ["milk"])
    #expect(try snapshot.suggestions(for: "bilk", index: "text", limit: 0) == [])
    // The word itself is not suggested.
    #expect(try snapshot.suggestions(for: "milk", index: "text") == ["silk"])
    #expect(try snapshot.suggestions(for: "caffe", index: "text").first == "cafe")
    for word in ["", "   ", "xxxxxxxxxx", "!"] {
      #expect(try snapshot.suggestions(for: word, index: "text") == [])
    }
  }

  /// A stem such as `metropoli` is no word to show.
  @Test func `with stemming, suggestions are words of documents`() throws {
    let snapshot = try add(FullTextOptions(stemming: .english, stopWords: [.english]))
    #expect(try snapshot.suggestions(for: "metropols", index: "text") == ["metropolis"])
    #expect(try snapshot.suggestions(for: "urgnt", index: "text") == ["urgent"])
    // The first document with the stem decides which form is shown.
    #expect(try snapshot.suggestions(for: "pamting", index: "text").first == "painting")
    let correction = try snapshot.correction(of: .fullText("the metropols"), index: "text")
    #expect(correction?.text == "the metropolis")
    #expect(try snapshot.correction(of: .fullText("paints OR the"), index: "text") == nil)
  }

  @Test(
    arguments: [
      ("urgnt milk", "urgent milk"), ("Urgnt AND \"fresh mlk\"", "urgent AND \"fresh milk\""),
      ("mlk* mlk~1 mlk", "mlk* mlk~1 milk"), ("text:mlk -fersh", "text:milk -fersh"),
      ("title:mlk", nil), ("milk -(fersh mlk)", nil), ("mlk -text:fersh", "milk -text:fersh"),
      ("NEAR(frseh milk, 3)", "NEAR(fresh milk, 3)"),
      ("(mlk)) OR", "(milk)) OR"), ("milk", nil), ("", nil), ("zzzzzzzz 1927", nil),
      ("caffé", "cafe"), ("東京 mlk", "東京 milk"),
    ] as [(String, String?)])
  func `the unknown words of a query are replaced, and the rest of its text stays`(
    query: String, expected: String?
  ) throws {
    #expect(try add().correction(of: .fullText(query), index: "text")?.text == expected)
  }

  @Test func `a corrected query finds something, and stays as strict as it was`() throws {
    let snapshot = try add()
    let strict = try FullTextQuery(parsing: "\"fresh mlk\" NOT silk")
    let correction = try #require(try snapshot.correction(of: strict, index: "text"))
    #expect(try correction == FullTextQuery(parsing: "\"fresh milk\" NOT silk"))
    let found = Query<Document>().filter { $0["text"].matches(correction) }
    #expect(try snapshot.ids(found) == ["a"])
  }

  @Test func `a word is unknown once no document has it`() throws {
    let snapshot = try add()
    #expect(try snapshot.correction(of: .fullText("silk"), index: "text") == nil)
    try database.write { _ = try $0.delete("b") }
    let now = try database.snapshot()
    #expect(try now.correction(of: .fullText("silk"), index: "text")?.text == "milk")
    #expect(try snapshot.correction(of: .fullText("silk"), index: "text") == nil)
  }

  @Test func `a missing index, an index of values and a past version are refused`() throws {
    try database.addIndex(DocumentIndex("numbers", on: "n"))
    let snapshot = try add()
    for (index, code) in [("none", DatabaseError.Code.notFound), ("numbers", .invalidQuery)] {
      let error = #expect(throws: DatabaseError.self) {
        try snapshot.suggestions(for: "milk", index: index)
      }
      #expect(error?.code == code)
      #expect(throws: DatabaseError.self) {
        try snapshot.correction(of: .fullText("milk"), index: index)
      }
    }
    try database.saveSnapshot(named: "before")
    try database.write { _ = try $0.delete("a") }
    let past = try database.snapshot(named: "before")
    #expect(throws: DatabaseError.self) { try past.suggestions(for: "milk", index: "text") }
  }

  @Test func `a long query is corrected in bounded time`() throws {
    let query = FullTextQuery.fullText(String(repeating: "mlk ", count: 3000))
    let correction = try add().correction(of: query, index: "text")
    #expect(correction?.text.hasPrefix("milk milk ") == true)
    #expect(correction?.text.hasSuffix("mlk mlk ") == true)
  }
}
