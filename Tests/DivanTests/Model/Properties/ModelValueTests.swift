import Divan
import DivanLog
import Foundation
import Testing

private enum Genre: String, Codable { case drama, comedy }

private enum Rating: Int, Codable { case low = 1, high }

private struct Place: Codable, Equatable {
  var street = ""
  var city: City?
  var visited: [Date] = []

  struct City: Codable, Equatable { var name: String }
}

/// A type that defines how it is stored.
private struct Color: ValueConvertible, Equatable {
  var red: UInt8
  var green: UInt8

  struct NoColor: Error {}

  init(_ red: UInt8, _ green: UInt8) { (self.red, self.green) = (red, green) }

  init(storedValue: Value) throws {
    guard case .string(let text) = storedValue, let number = UInt16(text, radix: 16) else {
      throw NoColor()
    }
    (red, green) = (UInt8(number >> 8), UInt8(number & 0xFF))
  }

  var storedValue: Value { .string(String(UInt16(red) << 8 | UInt16(green), radix: 16)) }
}

private class Assorted: Model {
  @Persisted var int8: Int8
  @Persisted var int16: Int16
  @Persisted var int32: Int32
  @Persisted var int64: Int64
  @Persisted var uint: UInt
  @Persisted var uint8: UInt8
  @Persisted var uint16: UInt16
  @Persisted var uint32: UInt32
  @Persisted var uint64: UInt64
  @Persisted var float: Float
  @Persisted var decimal: Decimal
  @Persisted var data: Data
  @Persisted var url: URL?
  @Persisted var uuid: UUID?
  @Persisted var genre = Genre.drama
  @Persisted var rating: Rating?
  @Persisted var genres: [Genre]
  @Persisted var place = Place()
  @Persisted var maybePlace: Place?
  @Persisted(key: "all places") var places: [Place]
  @Persisted var placesByName: [String: Place]
  @Persisted var table: [[String]]
  @Persisted var gaps: [Int?]
  @Persisted var dates: [String: Date]
  @Persisted var words: Set<String>
  @Persisted var anything: Value
  @Persisted var maybeAnything: Value?
  @Persisted var object: Value.Object
  @Persisted var color = Color(1, 2)
  @Persisted var colors: [Color]
  @Persisted var maybeUUIDs: [UUID]?
  @Persisted var maybeData: Data?
  @Persisted(key: "n") var maybeNumber: UInt32?
  override class var documentType: String? { nil }
}

struct ModelValueTests {
  let database: Database

  init() throws { database = try Database.inMemory() }

  @Test func `Codable types are stored in their conventional form and survive a round trip`()
    throws
  {
    let uuid = try #require(UUID(uuidString: "6F9619FF-8B86-D011-B42D-00CF4FC964FF"))
    let date = Date(timeIntervalSince1970: 1_772_366_400)
    let context = database.makeContext()
    let all = Assorted(in: context, id: "a")
    all.int8 = .min
    all.int16 = .max
    all.int32 = .min
    all.int64 = .min
    all.uint = 7
    all.uint8 = .max
    all.uint16 = .max
    all.uint32 = .max
    all.uint64 = .max
    all.float = 0.1
    all.decimal = Decimal(string: "12345678901234567890.0123")!
    all.data = Data([0, 255])
    all.url = URL(string: "https://example.com/a?b=c")
    all.uuid = uuid
    all.genre = .comedy
    all.rating = .high
    all.genres = [.comedy, .drama]
    all.place.street = "Kleine Gasse"
    all.maybePlace = Place(street: "x", city: Place.City(name: "Ulm"), visited: [date])
    all.places = [all.place, Place()]
    all.placesByName = ["home": all.place]
    all.table = [["a"], [], ["b", "c"]]
    all.gaps = [1, nil, 3]
    all.dates = ["first": date]
    all.words = ["one"]
    all.anything = ["a": [1, 2.5, .null]]
    all.maybeAnything = 1.0
    all.object = ["k": true]
    all.colors = [Color(255, 0)]
    all.maybeUUIDs = [uuid]
    all.maybeNumber = 9
    try all.save()
    let stored = try #require(try database.snapshot().document("a"))
    #expect(stored["decimal"] == "12345678901234567890.0123")
    #expect(stored["data"] == "AP8=")
    #expect(stored["uuid"] == .string(uuid.uuidString))
    #expect(stored["float"] == 0.1)
    #expect(stored["genres"] == ["comedy", "drama"])
    #expect(stored["rating"] == 2)
    #expect(stored["dates"] == ["first": "2026-03-01T12:00:00.000Z"])
    #expect(stored["gaps"] == [1, .null, 3])
    #expect(stored["color"] == "102")
    #expect(stored["maybeData"] == nil)
    #expect(stored["uint64"] == .unsigned(.max))

    let other = database.makeContext()
    other.isStrict = true
    let read = try #require(try other.model(Assorted.self, id: "a"))
    #expect(read.int8 == .min && read.int16 == .max && read.int32 == .min && read.int64 == .min)
    #expect(read.uint == 7 && read.uint8 == .max && read.uint16 == .max)
    #expect(read.uint32 == .max && read.uint64 == .max)
    #expect(read.float == 0.1 && read.decimal == all.decimal && read.data == all.data)
    #expect(read.url == all.url && read.uuid == uuid && read.genre == .comedy)
    #expect(read.rating == .high && read.genres == all.genres && read.place == all.place)
    #expect(read.maybePlace == all.maybePlace && read.places == all.places)
    #expect(read.placesByName == all.placesByName && read.table == all.table)
    #expect(read.gaps == all.gaps && read.dates == all.dates && read.words == all.words)
    #expect(read.anything == all.anything && read.maybeAnything == 1.0)
    #expect(read.object == all.object && read.color == Color(1, 2) && read.colors == all.colors)
    #expect(read.maybeUUIDs == [uuid] && read.maybeData == nil && read.maybeNumber == 9)
    #expect(!read.needsSave)
  }

  @Test func `changing a nested value changes the model, assigning an equal one does not`() throws {
    let context = database.makeContext()
    let all = Assorted(in: context, id: "a")
    all.places = [Place(street: "x")]
    try all.save()
    all.places = [Place(street: "x")]
    all.genre = .drama
    all.words = []
    all.maybePlace = nil
    #expect(!all.needsSave)
    all.places[0].city = Place.City(name: "Ulm")
    #expect(all.changedProperties == ["places"])
    try all.save()
    all.placesByName["a", default: Place()].visited.append(Date(timeIntervalSince1970: 0.0004))
    try all.save()
    // Reads return the stored value: dates have milliseconds.
    #expect(all.placesByName["a"]?.visited == [Date(timeIntervalSince1970: 0)])
    #expect(
      try database.snapshot().document("a")?["all places"] == [
        ["street": "x", "city": ["name": "Ulm"], "visited": []]
      ])
  }

  @Test func `a mistyped value reads as declared and is reported`() throws {
    try database.put(
      "a",
      #"{"genre":"opera","int8":300,"all places":[{"street":"x","visited":[]},{"street":1,"visited":[]}],"color":"x","url":7,"data":"%","rating":null,"uuid":"no","words":{}}"#
    )
    let context = database.makeContext()
    var reported: [String: DatabaseError] = [:]
    context.mismatchHandler = { error in
      #expect(error.code == .mismatchedType && error.documentID == "a")
      reported[error.propertyPath ?? ""] = error
    }
    let all = try #require(try context.model(Assorted.self, id: "a"))
    #expect(all.genre == .drama && all.int8 == 0 && all.places == [] && all.color == Color(1, 2))
    #expect(all.url == nil && all.data.isEmpty && all.rating == nil && all.uuid == nil)
    #expect(all.words == [])
    #expect(
      Set(reported.keys) == [
        "genre", "int8", "all places[1].street", "color", "url", "data", "uuid", "words",
      ])
    #expect(reported["color"]?.underlying is Color.NoColor)
    all.uint = 1
    try all.save()
    #expect(try database.snapshot().document("a")?["genre"] == "opera")
    // Assigning replaces the unreadable value.
    all.genre = .drama
    try all.save()
    #expect(try database.snapshot().document("a")?["genre"] == "drama")
  }

  @Test func `a strict context refuses mistyped values`() throws {
    try database.put("a", #"{"genre":"drama"}"#)
    try database.put("b", #"{"maybePlace":{"street":1,"visited":[]}}"#)
    let context = database.makeContext()
    context.isStrict = true
    _ = try context.model(Assorted.self, id: "a")
    let error = #expect(throws: DatabaseError.self) { try context.model(Assorted.self, id: "b") }
    #expect(error?.code == .mismatchedType && error?.propertyPath == "maybePlace.street")
    #expect(throws: DatabaseError.self) {
      let cursor = try context.models(Assorted.self)
      _ = try cursor.collect()
    }
    // If the context is not strict, the error is thrown by `load()`.
    context.isStrict = false
    let model = try #require(try context.model(Assorted.self, id: "b"))
    #expect(model.maybePlace == nil)
    #expect(throws: DatabaseError.self) { try model.load() }
    model.maybePlace = Place()
    try model.load()
  }

  private struct Point: Codable, Hashable { var x: Int }

  private final class Groups: Model {
    @Persisted var numbers: Set<Int>
    @Persisted var groups: [Set<String>]
    @Persisted var points: Set<Point>
    @Persisted var names = Names()

    struct Names: Codable {
      var all: Set<String> = []
      var byPoint: [Point: Set<Point>] = [:]
    }
    override class var documentType: String? { nil }
  }

  /// Returns equal sets that were filled in several ways, and so differ in their internal order.
  private func sets<Element>(_ elements: [Element]) -> [Set<Element>] {
    (0..<8).map { round in
      var set = Set<Element>(minimumCapacity: 1 << (round + 3))
      for element in round % 2 == 0 ? elements : elements.reversed() { set.insert(element) }
      return set
    }
  }

  @Test func `equal sets have equal stored forms, whatever the order of their elements`() throws {
    let context = database.makeContext()
    let words = (0..<40).map { "word \($0)" }
    let wordSets = sets(words)
    let points = sets((0..<40).map { Point(x: $0) })
    var stored: [String] = []
    var revisions: Set<RevisionID?> = []
    for (index, numbers) in sets(Array(0..<40)).enumerated() {
      let groups = Groups(in: context, id: "\(index)")
      groups.numbers = numbers
      groups.groups = [wordSets[index], []]
      groups.points = points[index]
      groups.names.all = wordSets[index]
      for point in points[index] { groups.names.byPoint[point] = points[index] }
      try groups.save()
      stored.append(try #require(try database.json("\(index)")))
      revisions.insert(try database.snapshot().revision(of: "\(index)"))
    }
    // If all sets had the same order, this test would show nothing.
    #expect(Set(wordSets.map { Array($0) }).count > 1)
    #expect(Set(stored).count == 1 && revisions.count == 1)
    let found = try #require(try database.makeContext().model(Groups.self, id: "3"))
    #expect(found.numbers.count == 40 && found.points == points[0])
    #expect(found.names.byPoint.count == 40 && found.groups == [wordSets[0], []])
    found.numbers = sets(Array(0..<40))[1]
    #expect(!found.needsSave)
  }

  @Test func `a set element that cannot be stored is refused with its path`() throws {
    final class Ratios: Model {
      @Persisted var ratios: Set<Double>
      override class var documentType: String? { nil }
    }
    let ratios = Ratios(in: database.makeContext())
    ratios.ratios = [.infinity]
    let error = #expect(throws: DatabaseError.self) { try ratios.save() }
    #expect(error?.code == .invalidValue && error?.propertyPath == "ratios[0]")
  }

  @Test func `a nested value that cannot be stored is refused with its path`() throws {
    struct Unstorable: Codable { var ratio: Double }
    class Holder: Model {
      @Persisted var all: [Unstorable]
      override class var documentType: String? { nil }
    }
    let context = database.makeContext()
    let holder = Holder(in: context)
    holder.all = [Unstorable(ratio: 1), Unstorable(ratio: .infinity)]
    let error = #expect(throws: DatabaseError.self) { try holder.save() }
    #expect(error?.code == .invalidValue && error?.propertyPath == "all[1].ratio")
    #expect(holder.needsSave)
  }
}
