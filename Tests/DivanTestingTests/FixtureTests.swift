import Divan
import DivanTesting
import Foundation
import Testing

/// Tests of databases in memory that begin with fixtures.
struct FixtureTests {
  private class Trip: Model {
    @Persisted(index: .value) var title: String
    @Persisted var nights: Int
  }

  @Test func `a database begins with JSON Lines, documents and models`() throws {
    let database = try Database.inMemory(
      schema: Schema(Trip.self),
      fixtures: .jsonLines(
        """
        {"_id": "elbe", "type": "Trip", "title": "Along the Elbe", "nights": 3}
          {"_id": "lisbon", "type": "Trip", "title": "Lisbon"}

        """),
      .documents(Document(id: "note", ["text": "Tickets"])),
      .models { context in Trip(in: context, id: "rome").title = "Rome" })
    let context = database.makeContext()
    let trips = try context.find(Query<Trip>().sorted(by: \.title))
    #expect(trips.map(\.title) == ["Along the Elbe", "Lisbon", "Rome"])
    #expect(trips.map(\.nights) == [3, 0, 0])
    #expect(try database.snapshot().document("note")?["text"] == "Tickets")
    #expect(try database.indexes().count == 1)
  }

  @Test func `a fixture can be a file, and be loaded later`() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jsonl")
    defer { try? FileManager.default.removeItem(at: file) }
    let first = try Database.inMemory(
      fixtures: .documents(Document(id: "a", ["n": 1]), Document(id: "b", ["n": 2])))
    try first.exportJSONLines(to: file.path)
    let second = try Database.inMemory()
    try second.load(.jsonLines(file: file.path), .jsonLines(#"{"_id": "c", "n": 3}"#))
    #expect(try second.snapshot().documents().collect().map { $0["n"] } == [1, 2, 3])
  }

  @Test func `an invalid fixture names its line, and a taken ID is refused`() throws {
    let invalid = #expect(throws: DatabaseError.self) {
      try Database.inMemory(
        fixtures: .jsonLines(
          """
          {"_id": "a"}
          {"_id": "b",}
          """))
    }
    #expect(invalid?.code == .invalidJSON && invalid?.line == 2)
    let database = try Database.inMemory(fixtures: .documents(Document(id: "a", ["n": 1])))
    #expect(throws: DatabaseError.self) { try database.load(.jsonLines(#"{"_id": "a", "n": 2}"#)) }
    #expect(throws: DatabaseError.self) { try database.load(.documents(Document(id: "a"))) }
    #expect(throws: DatabaseError.self) {
      try database.load(.models { Trip(in: $0, id: "a").nights = 1 })
    }
    #expect(throws: DatabaseError.self) { try database.load(.jsonLines(file: "/no such file")) }
    #expect(try database.snapshot().document("a")?["n"] == 1)
  }
}
