import Foundation
import Testing

@testable import Divan

/// Tests of `??` in predicates, with constants of all kinds.
@Suite struct `Predicates with nil coalescing` {
  struct Note: DocumentCodable {
    @DocumentID var id: String?
    var tags: [String]?
    var title: String?
    var stars: Int?
    var inner: Inner?

    struct Inner: Codable {
      var tags: [String]?
      var stars: Int?
    }
  }

  @Test func `predicates with nil coalescing evaluate as in Swift`() throws {
    let database = try Database.inMemory()
    var notes = [
      Note(), Note(tags: [], title: "", stars: 0),
      Note(tags: ["x", "home"], title: "Tea", stars: 5),
      Note(tags: ["x"], title: "T", stars: 4), Note(inner: .init()), Note(inner: .init(tags: [])),
      Note(inner: .init(tags: ["x", "y"], stars: 9)),
    ]
    for index in notes.indices { notes[index].id = "\(index)" }
    _ = try database.write { [notes] in try $0.put(contentsOf: notes) }
    try database.write {
      _ = try $0.put(Document(id: "7", ["type": "Note", "title": .null, "stars": .null]))
    }
    var plain = Note()
    plain.id = "7"
    notes.append(plain)
    let snapshot = try database.snapshot()
    let predicates: [Predicate<Note>] = [
      #Predicate { ($0.stars ?? 0) > 4 }, #Predicate { ($0.stars ?? 5) > 4 },
      #Predicate { ($0.stars ?? 0) == 0 }, #Predicate { ($0.stars ?? 1) == 0 },
      #Predicate { ($0.stars ?? 0) != 0 }, #Predicate { ($0.stars ?? 1) != 0 },
      #Predicate { 4 < ($0.stars ?? 0) }, #Predicate { 4 < ($0.stars ?? 9) },
      #Predicate { !(($0.stars ?? 0) > 4) }, #Predicate { !(($0.stars ?? 9) > 4) },
      #Predicate { ($0.title ?? "") == "" }, #Predicate { ($0.title ?? "Tea") == "Tea" },
      #Predicate { ($0.tags?.count ?? 0) > 1 }, #Predicate { ($0.tags?.count ?? 2) > 1 },
      #Predicate { ($0.inner?.stars ?? 0) > 4 }, #Predicate { ($0.inner?.stars ?? 7) > 4 },
      #Predicate { ($0.inner?.tags?.count ?? 3) != 2 },
    ]
    for predicate in predicates {
      let found = try snapshot.find(Query<Note>().filter(predicate)).map(\.id)
      #expect(try found == notes.filter(predicate).map(\.id), "\(predicate)")
    }
  }
}
