import Foundation
import Testing

@testable import Divan

/// Tests of the conversions between values and Swift's types, and of what is printed.
struct ValueConversionTests {
  @Test func `values are made from Swift's types`() throws {
    let title = "Metropolis"
    let (year, length, isSilent) = (1927, 153.5, true)
    let date = Date(timeIntervalSince1970: 1_772_366_400.25)
    let document = Document([
      "title": Value(title), "part": Value(title.prefix(5)), "year": Value(year),
      "small": Value(Int8(-3)), "large": Value(UInt64.max), "length": Value(length),
      "silent": Value(isSilent), "seen": Value(date), "cast": Value(["a", "b"].map { Value($0) }),
    ])
    #expect(
      document.json
        == #"{"cast":["a","b"],"large":18446744073709551615,"length":153.5,"part":"Metro","#
        + #""seen":"2026-03-01T12:00:00.250Z","silent":true,"small":-3,"title":"Metropolis","#
        + #""year":1927}"#)
    #expect(document["seen"]?.dateValue == date)
    #expect(document["title"]?.dateValue == nil && document["year"]?.dateValue == nil)
    #expect(Value(Date(timeIntervalSince1970: 1e15)) == .null)
    #expect(Value(Double.infinity).doubleValue == .infinity)
  }

  @Test func `a string is printed as it is, and quoted within other values`() {
    let document = Document(["title": "Metropolis", "cast": ["Brigitte Helm"]])
    #expect("\(document["title"] ?? "none")" == "Metropolis")
    #expect("\(document["cast"] ?? "none")" == #"["Brigitte Helm"]"#)
    #expect("\([document["title"]])" == #"[Optional("Metropolis")]"#)
    #expect(document["title"]?.json == #""Metropolis""#)
    #expect("\(Value.null) \(Value(1.5))" == "null 1.5")
  }

  @Test func `an error is caught by its code`() throws {
    let database = try Database.inMemory()
    var caught: String?
    do {
      _ = try database.snapshot(named: "none")
    } catch DatabaseError.Code.conflict {
      caught = "conflict"
    } catch DatabaseError.Code.notFound {
      caught = "not found"
    }
    #expect(caught == "not found")
    #expect(!(DatabaseError.Code.notFound ~= CancellationError()))
  }

  @Test func `models, contexts, snapshots and databases describe themselves`() throws {
    final class Film: Model {
      @Persisted var title: String
      @Persisted var year: Int
    }
    let database = try Database.inMemory()
    let context = database.makeContext()
    #expect(String(reflecting: Film()) == "Film(no ID yet, new)")
    let film = Film(in: context, id: "m")
    film.title = "Metropolis"
    #expect(String(reflecting: film) == "Film(m, new, changed: title)")
    #expect("\(context)" == "ModelContext of /memory.divan with 1 unsaved models")
    try film.save()
    #expect(String(reflecting: film) == "Film(m)")
    film.year = 1927
    #expect(String(reflecting: film) == "Film(m, changed: year)")
    film.revert()
    try film.delete()
    #expect(String(reflecting: film) == "Film(m, deleted)")
    #expect("\(try database.snapshot())" == "Snapshot 2 of /memory.divan")
    #expect("\(database)" == "Database /memory.divan")
  }

  @Test func `a property is read as a type, or as nil if it is missing or does not fit`() throws {
    struct Release: Decodable, Equatable { var year: Int }
    let film = Document(
      id: "m",
      [
        "title": "M", "year": 1931, "whole": 2.0, "half": 2.5, "none": .null,
        "release": ["year": 1931], "cast": ["Lorre", "Widmann"],
      ])
    #expect(film["title", as: String.self] == "M" && film["title", as: Int.self] == nil)
    #expect(film["year", as: Int.self] == 1931 && film["year", as: UInt8.self] == nil)
    #expect(film["whole", as: Int.self] == 2 && film["half", as: Int.self] == nil)
    #expect(film["none", as: String.self] == nil && film["absent", as: String.self] == nil)
    #expect(film["cast", as: [String].self] == ["Lorre", "Widmann"])
    #expect(film["release", as: Release.self] == Release(year: 1931))
    let release = try #require(film["release"])
    #expect(release["year", as: Int.self] == 1931 && release["day", as: Int.self] == nil)
    #expect(Value.int(1)["year", as: Int.self] == nil)
    #expect(try release.decode(Release.self) == Release(year: 1931))
    #expect(try film["cast"]?.decode([String].self).count == 2)
    let error = #expect(throws: DatabaseError.self) { try film["cast"]?.decode([Int].self) }
    #expect(error?.code == .mismatchedType && error?.propertyPath == "[0]")
  }

  @Test func `reports are printed in one line`() throws {
    let database = try Database.inMemory()
    try database.write { try $0.put(Document(id: "m", ["n": 1])) }
    #expect(try database.check().description == "sound: 1 documents, 1 records")
    #expect(
      try database.statistics.description.hasPrefix("1 documents, 0 attachments, 1 segments: "))
  }

  @Test func `named snapshots and changes are elements of sets`() throws {
    let database = try Database.inMemory()
    try database.write { try $0.put(Document(id: "m", ["n": 1])) }
    try database.saveSnapshot(named: "now")
    let names = try database.namedSnapshots()
    #expect(Set(names + names).count == 1)
    var changes = try database.snapshot().changes()
    let change = try #require(try changes.next())
    #expect(Set([change, change]).count == 1)
  }

  @Test func `equal documents have the same hash`() throws {
    let database = try Database.inMemory()
    let stored = try database.write { try $0.put(Document(id: "m", ["n": 1])) }
    let read = try #require(try database.snapshot().document("m"))
    #expect(Set([stored, read]).count == 1)
    #expect(Set([stored, Document(id: "m", ["n": 1])]).count == 2)
  }
}
