import Divan
import Foundation
import Testing

/// Tests that run the examples of the types of documents, values and attachments.
struct DocumentExampleTests {
  struct Film: Codable {
    @DocumentID var id: String? = nil
    var title: String
    var year: Int?
  }

  @Test func `values are written as literals and read by type`() {
    let value: Value = ["title": "Metropolis", "year": 1927, "cast": ["Brigitte Helm"]]
    let year = value["year"]?.intValue  // 1927
    let star = value["cast"]?[0]?.stringValue  // "Brigitte Helm"
    let text = value["year"]?.stringValue  // nil: the year is a number
    #expect(year == 1927 && star == "Brigitte Helm" && text == nil)

    var printed: [String] = []
    func print(_ name: String, _ json: String) { printed.append("\(name) \(json)") }
    var film: Value.Object = ["title": "Metropolis", "year": 1927]
    film["silent"] = true
    for (name, value) in film { print(name, value.json) }
    #expect(printed == ["silent true", "title \"Metropolis\"", "year 1927"])
  }

  @Test func `a document is decoded`() throws {
    let document = Document(id: "film:1", ["title": "Metropolis", "year": 1927])
    let film = try DocumentDecoder().decode(Film.self, from: document)
    #expect(film.id == "film:1" && film.title == "Metropolis" && film.year == 1927)
  }

  @Test func `the length of an ID is checked`() {
    let id = "film:1"
    let isTooLong = id.utf8.count > DocumentLimits.documentIDSizeInBytes
    #expect(!isTooLong)
  }

  @Test func `texts are sorted as people sort them`() throws {
    let titles = ["Zorro", "élan", "Eden"]
    let sorted = titles.sorted { Collation.precedes($0, $1) }  // Eden, élan, Zorro
    #expect(sorted == ["Eden", "élan", "Zorro"])

    let database = try Database.inMemory()
    try database.write { transaction in
      for title in ["a", "Z"] {
        try transaction.put(Document(id: title, ["title": .string(title)]))
      }
    }
    let byLetters = Query<Document>().sorted(by: "title")  // "a", "Z"
    let byBytes = Query<Document>().sorted(by: "title", texts: .bytes)  // "Z", "a"
    let snapshot = try database.snapshot()
    #expect(try snapshot.ids(byLetters) == ["a", "Z"] && snapshot.ids(byBytes) == ["Z", "a"])
  }

  @Test func `attachments are added, listed, read in pieces and removed`() throws {
    let database = try Database.inMemory()
    let jpeg = Data(repeating: 7, count: 1000)
    var note = Document(id: "note")
    var printed: [String] = []
    func print(_ name: String, _ length: Int) { printed.append("\(name) \(length)") }
    note.attachments["photo"] = Document.Attachment(contentType: "image/jpeg", jpeg)
    for (name, attachment) in note.attachments { print(name, attachment.length) }
    #expect(printed == ["photo 1000"])

    var photo = try #require(note.attachments["photo"])
    photo.foreignDigest = Document.Attachment.ForeignDigest("md5-rL0Y20zC+Fzt72VPzMSk2A==")
    note.attachments["photo"] = photo
    try database.write { try $0.put(note) }
    let stored = try #require(try database.snapshot().document("note"))
    #expect(stored.attachments["photo"]?.foreignDigest?.text == "md5-rL0Y20zC+Fzt72VPzMSk2A==")

    var size = 0
    var pieces = try stored.attachments["photo"]?.pieces()
    while let piece = try pieces?.next() { size += piece.count }
    #expect(size == 1000)
  }

  @Test func `an attachment is read by asynchronous callers`() async throws {
    var film = Document(id: "film")
    film.attachments["poster"] = Document.Attachment(contentType: "image/jpeg", [1, 2, 3])
    let database = try Database.inMemory()
    try await database.write { [film] in _ = try $0.put(film) }
    let photo = try #require(try database.snapshot().document("film")?.attachments["poster"])

    let poster = try await film.attachments["poster"]?.data()
    #expect(poster == Data([1, 2, 3]))
    var size = 0
    for try await piece in photo.asyncPieces() { size += piece.count }
    #expect(size == 3)
    size = 0
    var pieces = photo.asyncPieces().makeAsyncIterator()
    while let piece = try await pieces.next() { size += piece.count }
    #expect(size == 3)
    var response = Response()
    let trailer = photo
    for try await piece in trailer.asyncPieces() { try await response.write(piece) }
    #expect(response.data == poster)
  }

  private struct Response {
    var data = Data()
    mutating func write(_ piece: Data) async throws { data.append(piece) }
  }
}
