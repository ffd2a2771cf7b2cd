import Divan
import Foundation
import Testing

/// Tests that run the code of the guide to full-text search, and the examples of its types.
@MainActor
struct FullTextGuideTests {
  final class Note: Model {
    @Persisted var title: String
    @Persisted var text: String
    @Persisted var edited: Date?
    @Persisted(index: .fullText) var tags: [String]

    static let words = FullTextOptions(stemming: .english, weights: ["title": 4])

    override class var indexes: [ModelIndex] {
      [ModelIndex(of: Note.self, fullText: { $0.title }, { $0.text }, options: words, named: "all")]
    }
  }

  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory(schema: Schema(Note.self))
    context = database.makeContext()
    for (id, title, text, tags, day) in [
      ("a", "Urgent", "Buy fresh milk, and a café latte for the painting group", ["home"], 5.0),
      ("b", "Milk prices", "Milking machines, and what they cost", ["farm"], 1),
      ("c", "Painted walls", "An urgent note on colours", ["home", "to do"], 3),
    ] {
      let note = Note(in: context, id: id)
      (note.title, note.text, note.tags) = (title, text, tags)
      note.edited = Date(timeIntervalSince1970: day * 86_400)
    }
    try context.save()
  }

  // MARK: The guide

  @Test func `models are found by words, in the order of their relevance`() throws {
    let query = Query<Note>().filter(.matches(.fullText("urgent milk"), index: "model:Note.all"))
    let notes = try context.find(query.sort(.relevance).limit(10))
    #expect(notes.map(\.id) == ["a"])
    let atHome = Query<Note>()
      .filter { $0.tags.matches(.fullText("home")) && $0.edited < Date(timeIntervalSince1970: 4e5) }
      .sorted(by: \.edited)
    let count = try context.count(atHome)
    #expect(count == 1)
    try #expect(context.find(atHome).map(\.id) == ["c"])
  }

  @Test func `documents are found by words`() throws {
    let database = try Database.inMemory()
    var options = FullTextOptions(stemming: .english)
    options.weights = ["title": 4]
    try database.addIndex(DocumentIndex("text", fullText: "title", "body", options: options))
    try database.write { transaction in
      for (id, title, body) in [("soup", "Soup", "Boil water"), ("tea", "Tea", "Boiled water")] {
        _ = try transaction.put(
          Document(id: id, ["title": .string(title), "body": .string(body)]))
      }
    }
    let boiling = Query<Document>().filter { $0["body"].matches(.fullText("boiling")) }
    let ids = try database.snapshot().ids(boiling)
    #expect(Set(ids) == ["soup", "tea"])

    try database.addIndex(DocumentIndex("tasks", fullText: "title") { $0["type"] == "task" })
    #expect(try database.indexes().count == 2)
  }

  @Test func `documents are found by the text of their attachments`() throws {
    let database = try Database.inMemory()
    let options = FullTextOptions(includesAttachments: true, weights: ["_attachments": 0.5])
    try database.addIndex(DocumentIndex("mail", fullText: "subject", "body", options: options))
    try database.write { transaction in
      var mail = Document(id: "trip", ["subject": "Our trip"])
      mail.attachments["list"] = Document.Attachment(contentType: "text/plain", "Milk, honey".utf8)
      _ = try transaction.put(mail)
    }
    let all = Query<Document>()
      .filter(.matches(.fullText("trip _attachments:honey"), index: "mail"))
    let attached = Query<Document>().filter { $0["_attachments"].matches(.fullText("honey")) }
    let snapshot = try database.snapshot()
    #expect(try snapshot.ids(all) == ["trip"] && snapshot.ids(attached) == ["trip"])
  }

  @Test func `a query that is not in the language is refused with the place`() throws {
    var problems: [String] = []
    func show(_ problem: String) { problems.append(problem) }
    var notes: [Note] = []
    let searchField = "urgent (milk"
    do {
      let words = try FullTextQuery(parsing: searchField)
      notes = try context.find(Query<Note>().filter { $0.text.matches(words) })
    } catch let error as DatabaseError where error.code == .invalidQuery {
      show(error.message)
    }
    #expect(notes.isEmpty && problems.count == 1)
    #expect(problems.first?.contains("parenthesis") == true)
    #expect(try found("urgent (milk") == ["a"])
  }

  private func found(_ search: String) throws -> [String] {
    try results(for: search).map(\.id)
  }

  func results(for search: String) throws -> [Note] {
    let words = FullTextQuery(typing: search)
    return try context.find(
      Query<Note>().filter(.matches(words, index: "model:Note.all")).sort(.relevance).limit(10))
  }

  @Test func `results are shown as you type`() throws {
    #expect(try found("m") == ["b", "a"] && found("mil") == ["b", "a"])
    #expect(try found("milk u") == ["a"] && found("milk ") == ["b", "a"])
    #expect(try found("") == [] && found("\"fresh milk") == ["a"])
    #expect(try found("\"fresh mi") == ["a"] && found("\"fresh mi ") == [])
  }

  @Test func `each language has an index of its own`() throws {
    let database = try Database.inMemory()
    for (name, language) in [("en", FullTextOptions.Language.english), ("de", .german)] {
      let options = FullTextOptions(stemming: language, stopWords: [language])
      try database.addIndex(
        DocumentIndex("text in \(name)", fullText: "text", options: options) {
          $0["language"] == .string(name)
        })
    }
    try database.write { transaction in
      for (language, text) in [("en", "Painted houses"), ("de", "Gemalte Häuser")] {
        _ = try transaction.put(
          Document(id: language, ["language": .string(language), "text": .string(text)]))
      }
    }
    let words = FullTextQuery.fullText("haus")
    let german = Query<Document>().filter(.matches(words, index: "text in de")).sort(.relevance)
    let inAny = Query<Document>()
      .filter(.matches(words, index: "text in de") || .matches(words, index: "text in en"))
    let snapshot = try database.snapshot()
    #expect(try snapshot.ids(german) == ["de"] && snapshot.ids(inAny) == ["de"])
  }

  @Test func `newer notes come before others that are about as relevant`() throws {
    let query = Query<Note>().filter(.matches(.fullText("milk"), index: "model:Note.all"))
    let now = Date(timeIntervalSince1970: 6 * 86_400)
    let best = try context.find(query.sort(.relevance).limit(100))
    let ranked = best.enumerated().map { rank, note in
      let days = now.timeIntervalSince(note.edited ?? .distantPast) / 86_400
      return (note: note, score: 1 / Double(rank + 10) + 0.1 / (1 + days / 7))
    }
    let notes = ranked.sorted { $0.score > $1.score }.map(\.note)
    #expect(best.map(\.id) == ["b", "a"] && notes.map(\.id) == ["a", "b"])
    let newest = try context.find(query.sorted(by: \.edited, .descending).limit(10))
    #expect(newest.map(\.id) == ["a", "b"])
  }

  @Test func `a function ranks notes by the share of the title that was searched for`() throws {
    let query = Query<Note>().filter(.matches(.fullText("milk"), index: "model:Note.all"))
    let byTitle = FullTextOrder.score { match in
      match.relevance + 10 * Double(match.count(in: "title"))
        / Double(1 + match.wordCount(in: "title"))
    }
    let notes = try context.find(query.sort(byTitle).limit(10))
    #expect(notes.map(\.id) == ["b", "a"])
  }

  @Test func `a function ranks notes with a part of the query in their title higher`() throws {
    let query = Query<Note>().filter(.matches(.fullText("milk"), index: "model:Note.all"))
    let order = FullTextOrder.score { match in
      let isInTitle = (0..<match.partCount).contains { match.count(ofPart: $0, in: "title") > 0 }
      return isInTitle ? 2 * match.relevance : match.relevance
    }
    let notes = try context.find(query.sort(order).limit(10))
    #expect(notes.map(\.id) == ["b", "a"])
  }

  @Test(arguments: ["german", "klingon"])
  func `the language of an index is a setting`(setting: String) throws {
    let database = try Database.inMemory()
    let language = FullTextOptions.Language(rawValue: setting)  // such as "german"
    let options = FullTextOptions(stemming: language, stopWords: language.map { [$0] } ?? [])
    try database.addIndex(DocumentIndex("text", fullText: "body", options: options))
    try database.write { _ = try $0.put(Document(id: "a", ["body": "Die Kinder spielen"])) }
    let found = Query<Document>().filter { $0["body"].matches(.fullText("Kind")) }
    #expect(try database.snapshot().count(found) == (setting == "german" ? 1 : 0))
  }

  @Test func `what matches is highlighted`() throws {
    let note = try #require(try context.model(Note.self, id: "a"))
    var lines: [String] = []
    func print(_ line: String) { lines.append(line) }
    let words = FullTextQuery.fullText("milk paint")
    let snippet = words.snippet(of: note.text, wordCount: 12, options: Note.words)
    print(snippet.marked("[", "]"))
    #expect(lines == ["Buy fresh [milk], and a café latte for the [painting] group"])
    var html = ""
    for (text, isHighlighted) in snippet.parts {
      let text = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
      html += isHighlighted ? "<mark>\(text)</mark>" : text
    }
    #expect(html.hasPrefix("Buy fresh <mark>milk</mark>, and"))
    let ranges = words.highlights(in: note.title, property: "title", options: Note.words)
    #expect(ranges.isEmpty)
  }

  @Test func `a query with unknown words is corrected`() throws {
    var suggestion = ""
    let words = FullTextQuery.fullText("urgnt milk")
    let snapshot = try database.snapshot()
    let count = try snapshot.count(Query<Note>().filter(.matches(words, index: "model:Note.all")))
    if count == 0, let other = try snapshot.correction(of: words, index: "model:Note.all") {
      suggestion = "Did you mean “\(other.text)”?"
    }
    #expect(suggestion == "Did you mean “urgent milk”?")
    let near = try snapshot.suggestions(for: "pianting", index: "model:Note.all")
    #expect(near.contains("painting"))
  }

  // MARK: The examples of types

  @Test func `the types of full-text search are used as their comments show`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      _ = try transaction.put(Document(id: "tea", ["title": "Tea", "body": "Boil water"]))
    }
    do {
      var options = FullTextOptions(stemming: .english)
      options.weights = ["title": 4]
      try database.addIndex(DocumentIndex("text", fullText: "title", "body", options: options))
      #expect(try database.indexes().first?.fullText == options)
    }
    do {
      let options = FullTextOptions(includesAttachments: true, weights: ["_attachments": 0.5])
      try database.addIndex(DocumentIndex("mail", fullText: "subject", options: options))
      let query = Query<Document>().filter(
        .matches(.fullText("_attachments:milk"), index: "mail"))
      #expect(try database.snapshot().count(query) == 0)
    }
    do {
      let query = Query<Note>()
        .filter { $0.text.matches(.fullText("urgent milk*")) }.sort(.relevance)
      #expect(try context.count(query) == 0)
    }
    let best = Query<Note>()
      .filter { $0.text.matches(.fullText("milk")) }.sort(.relevance).limit(10)
    #expect(try context.find(best).map(\.id) == ["b", "a"])
    var printed = ""
    func print(_ text: String, terminator: String) { printed += text + terminator }
    let note = try #require(try context.first(best))
    let query = FullTextQuery.fullText("machines")
    do {
      let snippet = query.snippet(of: note.text)
      for (text, isHighlighted) in snippet.parts {
        print(isHighlighted ? text.uppercased() : String(text), terminator: "")
      }
    }
    #expect(printed == "Milking MACHINES, and what they cost")
  }

  @Test func `values of a type are sorted by relevance`() throws {
    struct Note: DocumentCodable {
      var text: String
    }
    let database = try Database.inMemory()
    try database.addIndex(DocumentIndex("text", fullText: "text"))
    try database.write { transaction in
      for text in ["Coffee with milk and sugar", "Milk", "Tea"] {
        _ = try transaction.put(Note(text: text), id: text)
      }
    }
    let snapshot = try database.snapshot()
    let milk = Query<Note>().filter { $0.text.matches(.fullText("milk")) }
    let best = try snapshot.find(milk.sort(.relevance).limit(10))
    #expect(best.map(\.text) == ["Milk", "Coffee with milk and sugar"])
  }
}
