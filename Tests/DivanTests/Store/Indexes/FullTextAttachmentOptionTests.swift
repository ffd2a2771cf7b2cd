import Divan
import Testing

/// Tests of how the text of attachments is declared, searched, ranked and followed.
struct FullTextAttachmentOptionTests {
  private let database: Database

  init() throws { database = try Database.inMemory() }

  private func put(_ id: String, _ title: String, _ texts: String...) throws {
    var document = Document(id: id, ["title": .string(title)])
    for (number, text) in texts.enumerated() {
      document.attachments["\(number)"] = Document.Attachment(contentType: "text/plain", text.utf8)
    }
    try database.write { _ = try $0.put(document, onConflict: .overwrite) }
  }

  private func addIndex(
    stemming: FullTextOptions.Language? = nil, _ weights: [String: Double] = [:]
  ) throws {
    let options = FullTextOptions(
      stemming: stemming, includesAttachments: true, weights: weights)
    try database.addIndex(DocumentIndex("text", fullText: "title", options: options))
  }

  private func matching(_ text: String) -> Query<Document> {
    Query<Document>().filter(.matches(.fullText(text), index: "text"))
  }

  @Test func `an index has the text of attachments only if that is asked for`() throws {
    try put("a", "Milk", "honey")
    try database.addIndex(DocumentIndex("titles", fullText: "title"))
    try addIndex()
    let snapshot = try database.snapshot()
    let inTitles = Query<Document>().filter(.matches(.fullText("honey"), index: "titles"))
    #expect(try snapshot.ids(inTitles) == [] && snapshot.ids(matching("honey")) == ["a"])
    // Without the option, the name is a word.
    let word = Query<Document>().filter(.matches(.fullText("_attachments:honey"), index: "titles"))
    #expect(try snapshot.ids(word) == [])
    // An index without attachments does not answer for them.
    let attachments = Query<Document>().filter { $0["_attachments"].matches(.fullText("honey")) }
    #expect(try snapshot.ids(attachments) == ["a"])
    try database.removeIndex(named: "text")
    #expect(code { _ = try database.snapshot().ids(attachments) } == .notFound)
  }

  @Test func `attachments are searched alone and beside properties, and joined with conditions`()
    throws
  {
    try addIndex()
    try put("a", "Milk", "honey and tea")
    try put("b", "Honey", "milk")
    try put("c", "Tea")
    let snapshot = try database.snapshot()
    for (text, ids) in [
      ("milk honey", ["a", "b"]), ("title:milk _attachments:honey", ["a"]),
      ("_attachments:(milk OR tea)", ["a", "b"]), ("tea -_attachments:tea", ["c"]),
      ("_attachments:hon*", ["a"]), ("_attachments:hony~1", ["a"]),
    ] { #expect(try snapshot.ids(matching(text)) == ids, "\(text)") }
    let honey = { (subject: QuerySubject<Document>) in
      subject["_attachments"].matches(.fullText("honey"))
    }
    for (query, ids) in [
      (Query<Document>().filter { !honey($0) }, ["b", "c"]),
      (Query<Document>().filter { honey($0) || $0["title"] == "Tea" }, ["a", "c"]),
      (Query<Document>().filter { honey($0) && $0["title"] == "Tea" }, []),
    ] as [(Query<Document>, [String])] {
      #expect(try snapshot.ids(query) == ids, "\(query)")
      #expect(try snapshot.count(query) == ids.count)
    }
  }

  @Test func `attachments count for relevance by their weight`() throws {
    for (weight, order) in [(nil, ["b", "a"]), (0.01, ["a", "b"]), (0, ["a", "b"])] {
      try addIndex(weight.map { ["_attachments": $0] } ?? [:])
      try put("a", "milk and other things", "")
      try put("b", "and other things", "milk milk")
      #expect(try database.snapshot().ids(matching("milk").sort(.relevance)) == order)
      let counted = FullTextOrder.score { Double($0.count(in: "_attachments")) }
      #expect(try database.snapshot().ids(matching("milk").sort(counted)) == ["b", "a"])
      try database.removeIndex(named: "text")
    }
  }

  @Test func `live results follow changes of attachments`() async throws {
    try addIndex()
    try put("a", "Milk", "honey")
    try put("b", "Milk", "tea")
    let query = Query<Document>().filter { $0["_attachments"].matches(.fullText("honey")) }
    var results = database.liveResults(of: query).makeAsyncIterator()
    #expect(try await results.next()?.map(\.id) == ["a"])
    try put("b", "Milk", "tea", "and honey")
    #expect(try await results.next()?.map(\.id) == ["a", "b"])
    try put("a", "Honey", "milk")
    #expect(try await results.next()?.map(\.id) == ["b"])
  }

  @Test func `suggestions are words of attachments, also with stemming`() throws {
    try put("a", "Milk", "The painting of a café")
    for stemming in [nil, FullTextOptions.Language.english] {
      try addIndex(stemming: stemming)
      let snapshot = try database.snapshot()
      #expect(try snapshot.suggestions(for: "pianting", index: "text") == ["painting"])
      let correction = try snapshot.correction(of: .fullText("_attachments:caffe"), index: "text")
      #expect(correction?.text == "_attachments:cafe")
      try database.removeIndex(named: "text")
    }
  }

  @Test(
    arguments: [
      (["title"], false, ["_attachments": 2.0], "a weight for \"_attachments\""),
      (["title"], true, ["attachments": 2.0], "it has \"title\", \"_attachments\""),
      (["_attachments"], false, [:], "\"_attachments\" is not a property"),
      (["title", "_attachments"], true, [:], "\"_attachments\" is not a property"),
    ] as [([String], Bool, [String: Double], String)])
  func `attachments are an option, and no property`(
    properties: [String], isIncluded: Bool, weights: [String: Double], message: String
  ) throws {
    let options = FullTextOptions(includesAttachments: isIncluded, weights: weights)
    let index =
      properties.count == 1
      ? DocumentIndex("text", fullText: properties[0], options: options)
      : DocumentIndex("text", fullText: properties[0], properties[1], options: options)
    let error = #expect(throws: DatabaseError.self) { try database.addIndex(index) }
    #expect(error?.code == .invalidIndex)
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }

  @Test func `eight properties and attachments are in one index`() throws {
    let index = DocumentIndex(
      "text", fullText: "a", "b", "c", "d", "e", "f", "g", "title",
      options: FullTextOptions(includesAttachments: true, weights: ["_attachments": 0.5]))
    try database.addIndex(index)
    try put("x", "milk", "honey")
    #expect(try database.indexes() == [index])
    #expect(try database.snapshot().ids(matching("title:milk _attachments:honey")) == ["x"])
    #expect(try database.check().isSound)
  }

  @Test func `an index with attachments is another one than without`() throws {
    let plain = DocumentIndex("text", fullText: "title")
    let index = DocumentIndex(
      "text", fullText: "title", options: FullTextOptions(includesAttachments: true))
    #expect(plain != index)
    try database.addIndex(plain)
    #expect(code { try database.addIndex(index) } == .alreadyExists)
  }

  // MARK: Models

  private final class Mail: Model {
    static let options = FullTextOptions(includesAttachments: true)
    @Persisted(index: .fullText(Mail.options)) var subject = ""
    @Persisted var text = ""
    override class var indexes: [ModelIndex] {
      [
        ModelIndex(
          of: Mail.self, fullText: { $0.subject }, { $0.text },
          options: FullTextOptions(includesAttachments: true, weights: ["_attachments": 2]),
          named: "all")
      ]
    }
  }

  @Test func `a class declares the text of attachments for an index`() throws {
    try database.addIndexes(for: Mail.self)
    let context = database.makeContext()
    let mail = Mail(in: context, id: "a")
    mail.subject = "Breakfast"
    mail.attachments["list"] = Document.Attachment(
      contentType: "text/plain", "milk and honey".utf8)
    try context.save()
    for index in ["model:Mail.subject", "model:Mail.all"] {
      let query = Query<Mail>()
        .filter(.matches(.fullText("_attachments:honey breakfast"), index: index))
      #expect(try context.find(query).map(\.id) == ["a"], "\(index)")
    }
    mail.attachments["list"] = nil
    try context.save()
    let query = Query<Mail>().filter(.matches(.fullText("honey"), index: "model:Mail.all"))
    #expect(try context.count(query) == 0)
  }
}
