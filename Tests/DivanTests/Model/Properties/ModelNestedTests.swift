import Testing

@testable import Divan

/// Tests of nested values with content that the property's type does not know.
struct ModelNestedTests {
  private struct Place: Codable, Equatable {
    var street = ""
    var number: Int?
    var point: Point?
  }

  private struct Point: Codable, Equatable {
    var x = 0.0
    var y = 0.0
  }

  private struct Tagged: Codable, Equatable {
    var id: Int
    var name: String
  }

  private struct Line: Codable, Hashable {
    var text: String
    var count = 0
  }

  private enum Shape: Codable, Equatable {
    case circle(radius: Int)
    case square(side: Int)
  }

  /// A type that sometimes encodes a key that it never decodes, with separate coding keys.
  private struct Stamped: Codable, Equatable {
    var text = ""
    var isStamped = false

    private enum EncodedKeys: CodingKey { case text, isStamped, stamp }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: EncodedKeys.self)
      try container.encode(text, forKey: .text)
      try container.encode(isStamped, forKey: .isStamped)
      if isStamped { try container.encode("stamp of \(text)", forKey: .stamp) }
    }
  }

  /// A type whose coding keys depend on its kind.
  private enum Vehicle: Codable, Equatable {
    case car(wheels: Int)
    case boat(sails: Int)

    private enum KindKeys: CodingKey { case kind }
    private enum CarKeys: CodingKey { case wheels }
    private enum BoatKeys: CodingKey { case sails }

    init(from decoder: any Decoder) throws {
      let kind = try decoder.container(keyedBy: KindKeys.self).decode(String.self, forKey: .kind)
      if kind == "car" {
        let car = try decoder.container(keyedBy: CarKeys.self)
        self = .car(wheels: try car.decode(Int.self, forKey: .wheels))
      } else {
        let boat = try decoder.container(keyedBy: BoatKeys.self)
        self = .boat(sails: try boat.decode(Int.self, forKey: .sails))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var kind = encoder.container(keyedBy: KindKeys.self)
      switch self {
      case .car(let wheels):
        try kind.encode("car", forKey: .kind)
        var car = encoder.container(keyedBy: CarKeys.self)
        try car.encode(wheels, forKey: .wheels)
      case .boat(let sails):
        try kind.encode("boat", forKey: .kind)
        var boat = encoder.container(keyedBy: BoatKeys.self)
        try boat.encode(sails, forKey: .sails)
      }
    }
  }

  /// A superclass that is decoded from a nested value of its own.
  private class Base: Codable {
    var name = ""
    enum CodingKeys: CodingKey { case name }
    init() {}
    required init(from decoder: any Decoder) throws {
      name = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .name)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
    }
  }

  private final class Derived: Base {
    var size = 0
    private enum OwnKeys: CodingKey { case size }
    override init() { super.init() }
    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: OwnKeys.self)
      size = try container.decode(Int.self, forKey: .size)
      try super.init(from: try container.superDecoder())
    }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: OwnKeys.self)
      try container.encode(size, forKey: .size)
      try super.encode(to: container.superEncoder())
    }
  }

  private struct Accented: Codable, Equatable {
    var number: Int?
    private enum CodingKeys: String, CodingKey { case number = "\u{e9}" }
  }

  private final class Owner: Model {
    @Persisted var place = Place()
    @Persisted var maybe: Place?
    @Persisted var places: [Place]
    @Persisted var maybePlaces: [Place]?
    @Persisted var tagged: [Tagged]
    @Persisted var lines: [Line]
    @Persisted var set: Set<Line>
    @Persisted var byName: [String: Place]
    @Persisted var grid: [[Line]]
    @Persisted var shape = Shape.circle(radius: 1)
    @Persisted var stamped = Stamped()
    @Persisted var vehicle = Vehicle.car(wheels: 4)
    @Persisted var derived = Derived()
    @Persisted var accented = Accented()
    @Persisted var raw: Value
    @Persisted var object: Value.Object
    @Persisted var other: Int
    override class var documentType: String? { nil }
  }

  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
  }

  /// Returns the stored value of a property after a change to an existing document is saved.
  private func stored(
    _ key: String, _ json: String, after change: (Owner) throws -> Void
  ) throws -> String? {
    try database.put("a", #"{"\#(key)": \#(json)}"#)
    try context.refresh()
    let owner = try #require(try context.model(Owner.self, id: "a"))
    try change(owner)
    #expect(owner.needsSave)
    let expected = try owner.propertiesToSave()[key]
    #expect(try owner.value(for: key) == expected)
    try owner.save()
    let stored = try #require(try database.snapshot().document("a"))[key]
    #expect(stored == expected)
    return stored?.json
  }

  // MARK: Objects

  @Test func `unknown keys of a nested value are kept when it is changed`() throws {
    #expect(
      try stored("place", #"{"street": "A", "number": 1, "note": "x", "more": {"a": [1]}}"#) {
        $0.place.street = "B"
      } == #"{"more":{"a":[1]},"note":"x","number":1,"street":"B"}"#)
    // Replacing the whole value keeps them, too.
    #expect(
      try stored("place", #"{"street": "A", "note": "x"}"#) { $0.place = Place(street: "C") }
        == #"{"note":"x","street":"C"}"#)
    #expect(
      try stored("maybe", #"{"street": "A", "note": "x"}"#) { $0.maybe?.street = "B" }
        == #"{"note":"x","street":"B"}"#)
  }

  @Test func `a known key is removed when it becomes nil and stored when it is set`() throws {
    #expect(
      try stored("place", #"{"street": "A", "number": 1, "note": "x"}"#) {
        $0.place.number = nil
      } == #"{"note":"x","street":"A"}"#)
    #expect(
      try stored("place", #"{"street": "A", "note": "x"}"#) { $0.place.number = 2 }
        == #"{"note":"x","number":2,"street":"A"}"#)
    // A null under an unknown key counts as a value.
    #expect(
      try stored("place", #"{"street": "A", "number": null, "note": null}"#) {
        $0.place.street = "B"
      } == #"{"note":null,"street":"B"}"#)
  }

  @Test func `unknown keys are kept at every depth and removed with their object`() throws {
    let json = #"{"street": "A", "point": {"x": 1.5, "y": 2.5, "z": 3}, "note": "x"}"#
    #expect(
      try stored("place", json) { $0.place.point?.x = 4.5 }
        == #"{"note":"x","point":{"x":4.5,"y":2.5,"z":3},"street":"A"}"#)
    #expect(
      try stored("place", json) { $0.place.point = nil } == #"{"note":"x","street":"A"}"#)
    #expect(try stored("maybe", #"{"street": "A", "note": "x"}"#) { $0.maybe = nil } == nil)
  }

  @Test func `assigning an equal nested value despite unknown keys is no change`() throws {
    try database.put("a", #"{"place": {"street": "A", "note": "x"}}"#)
    try context.refresh()
    let owner = try #require(try context.model(Owner.self, id: "a"))
    owner.place = Place(street: "A")
    #expect(!owner.needsSave)
    owner.other = 1
    try owner.save()
    #expect(try database.json("a") == #"{"other":1,"place":{"note":"x","street":"A"}}"#)
  }

  @Test
  func `unknown keys are kept over several saves but not if a value changes its kind`()
    throws
  {
    try database.put("a", #"{"place": {"street": "A", "note": "x"}, "maybe": "text"}"#)
    try context.refresh()
    let owner = try #require(try context.model(Owner.self, id: "a"))
    for street in ["B", "C"] {
      owner.place.street = street
      try owner.save()
    }
    owner.maybe = Place(street: "M")
    try owner.save()
    #expect(
      try database.json("a")
        == #"{"maybe":{"street":"M"},"place":{"note":"x","street":"C"}}"#)
  }

  @Test func `unknown keys that were added externally are kept after a refresh`() throws {
    try database.put("a", #"{"place": {"street": "A"}, "other": 1}"#)
    try context.refresh()
    let owner = try #require(try context.model(Owner.self, id: "a"))
    owner.place.street = "B"
    try database.put("a", #"{"place": {"street": "A", "note": "x"}, "other": 2}"#)
    #expect(code { try owner.save() } == .conflict)
    try context.refresh()
    try owner.save()
    #expect(try database.json("a") == #"{"other":2,"place":{"note":"x","street":"B"}}"#)
  }

  @Test func `a model created from a document keeps unknown keys of nested values`() throws {
    let document = Document(id: "n", ["place": ["street": "A", "note": "x"]])
    let owner = try context.insert(Owner.self, document: document)
    owner.place.street = "B"
    try owner.save()
    #expect(
      try database.snapshot().document("n")?["place"] == ["street": "B", "note": "x"])
    let new = Owner(in: context, id: "new")
    new.place.street = "B"
    try new.save()
    #expect(try database.snapshot().document("new")?["place"] == ["street": "B"])
  }

  @Test func `undo and redo keep unknown keys`() throws {
    context.undoLimit = 1
    try database.put("a", #"{"place": {"street": "A", "note": "x"}}"#)
    try context.refresh()
    let owner = try #require(try context.model(Owner.self, id: "a"))
    owner.place.street = "B"
    try owner.save()
    try context.undo()
    #expect(try database.json("a") == #"{"place":{"note":"x","street":"A"}}"#)
    try context.redo()
    #expect(try database.json("a") == #"{"place":{"note":"x","street":"B"}}"#)
  }

  // MARK: Known keys

  @Test func `dictionary entries are known keys, and unknown keys of their values are kept`() throws
  {
    #expect(
      try stored("byName", #"{"a": {"street": "A", "note": 1}, "b": {"street": "B", "note": 2}}"#) {
        $0.byName["a"]?.street = "C"
        $0.byName["b"] = nil
        $0.byName["c"] = Place(street: "new")
      } == #"{"a":{"note":1,"street":"C"},"c":{"street":"new"}}"#)
  }

  @Test func `properties of type Value and Value.Object are replaced as a whole`() throws {
    #expect(
      try stored("raw", #"{"a": 1, "b": {"c": 2}}"#) { $0.raw = ["a": 2, "b": [:]] }
        == #"{"a":2,"b":{}}"#)
    #expect(
      try stored("object", #"{"a": 1, "b": {"c": 2}}"#) { $0.object = ["b": [:]] } == #"{"b":{}}"#)
  }

  @Test func `enumeration cases are known keys, and unknown keys beside them are kept`() throws {
    #expect(
      try stored("shape", #"{"circle": {"radius": 1, "note": "x"}}"#) {
        $0.shape = .circle(radius: 2)
      } == #"{"circle":{"note":"x","radius":2}}"#)
    #expect(
      try stored("shape", #"{"circle": {"radius": 1, "note": "x"}, "more": 1}"#) {
        $0.shape = .square(side: 2)
      } == #"{"more":1,"square":{"side":2}}"#)
  }

  @Test func `keys that a type only encodes are known`() throws {
    #expect(
      try stored("stamped", #"{"text": "a", "isStamped": true, "stamp": "stamp of a", "note": 1}"#)
      {
        $0.stamped.isStamped = false
      } == #"{"isStamped":false,"note":1,"text":"a"}"#)
  }

  @Test func `keys of several CodingKey types of one value are known`() throws {
    #expect(
      try stored("vehicle", #"{"kind": "car", "wheels": 4, "note": 1}"#) {
        $0.vehicle = .boat(sails: 2)
      } == #"{"kind":"boat","note":1,"sails":2}"#)
    #expect(
      try stored("derived", #"{"size": 1, "note": 1, "super": {"name": "a", "more": 2}}"#) {
        let derived = Derived()
        (derived.name, derived.size) = ("b", 2)
        $0.derived = derived
      } == #"{"note":1,"size":2,"super":{"more":2,"name":"b"}}"#)
  }

  @Test func `a key that is canonically equal to a known one is unknown`() throws {
    #expect(
      try stored("accented", "{\"e\u{301}\": 1, \"note\": 2}") { $0.accented.number = 3 }
        .map { try Value(json: $0) }
        == .object(["e\u{301}": 1, "note": 2, "\u{e9}": 3]))
  }

  // MARK: Arrays

  @Test func `array elements with IDs are matched by ID at any index`() throws {
    let json = """
      [{"id": 1, "name": "a", "note": "x"}, {"id": 2, "name": "b", "note": "y"},
       {"id": 3, "name": "c", "note": "z"}]
      """
    #expect(
      try stored("tagged", json) {
        $0.tagged.remove(at: 1)
        $0.tagged.swapAt(0, 1)
        $0.tagged[1].name = "changed"
        $0.tagged.insert(Tagged(id: 4, name: "new"), at: 0)
      } == #"[{"id":4,"name":"new"},{"id":3,"name":"c","note":"z"},"#
        + #"{"id":1,"name":"changed","note":"x"}]"#)
    // An element with another ID at the same index is a different element.
    #expect(
      try stored("tagged", json) { $0.tagged[0] = Tagged(id: 9, name: "a") }
        == #"[{"id":9,"name":"a"},{"id":2,"name":"b","note":"y"},{"id":3,"name":"c","note":"z"}]"#)
  }

  @Test func `array elements that change in place are matched by index`() throws {
    let json = #"[{"text": "a", "count": 0, "n": 1}, {"text": "b", "count": 0, "n": 2}]"#
    #expect(
      try stored("lines", json) { $0.lines[1].text = "c" }
        == #"[{"count":0,"n":1,"text":"a"},{"count":0,"n":2,"text":"c"}]"#)
    #expect(
      try stored("lines", json) { $0.lines = $0.lines.map { Line(text: $0.text, count: 7) } }
        == #"[{"count":7,"n":1,"text":"a"},{"count":7,"n":2,"text":"b"}]"#)
  }

  @Test func `unchanged array elements are matched at any index`() throws {
    let json = """
      [{"text": "a", "count": 0, "n": 1}, {"text": "b", "count": 0, "n": 2},
       {"text": "c", "count": 0, "n": 3}]
      """
    #expect(
      try stored("lines", json) { $0.lines.remove(at: 0) }
        == #"[{"count":0,"n":2,"text":"b"},{"count":0,"n":3,"text":"c"}]"#)
    #expect(
      try stored("lines", json) { $0.lines.insert(Line(text: "new"), at: 1) }
        == #"[{"count":0,"n":1,"text":"a"},{"count":0,"text":"new"},"#
        + #"{"count":0,"n":2,"text":"b"},{"count":0,"n":3,"text":"c"}]"#)
    #expect(
      try stored("lines", json) { $0.lines.swapAt(0, 2) }
        == #"[{"count":0,"n":3,"text":"c"},{"count":0,"n":2,"text":"b"},"#
        + #"{"count":0,"n":1,"text":"a"}]"#)
  }

  @Test func `changed array elements are not matched if elements have moved`() throws {
    let json = """
      [{"text": "a", "count": 0, "n": 1}, {"text": "b", "count": 0, "n": 2},
       {"text": "c", "count": 0, "n": 3}]
      """
    // One element is removed and one is added, so it is not certain that one was changed.
    #expect(
      try stored("lines", json) {
        $0.lines.remove(at: 0)
        $0.lines.append(Line(text: "new"))
      } == #"[{"count":0,"n":2,"text":"b"},{"count":0,"n":3,"text":"c"},"#
        + #"{"count":0,"text":"new"}]"#)
    // There are fewer elements, and one of them is different.
    #expect(
      try stored("lines", json) {
        $0.lines.remove(at: 0)
        $0.lines[0].text = "changed"
      } == #"[{"count":0,"text":"changed"},{"count":0,"n":3,"text":"c"}]"#)
  }

  @Test func `equal array elements are matched only if their unknown keys are the same`()
    throws
  {
    #expect(
      try stored(
        "lines", #"[{"text": "a", "count": 0, "n": 1}, {"text": "a", "count": 0, "n": 2}]"#
      ) { $0.lines.remove(at: 0) } == #"[{"count":0,"text":"a"}]"#)
    #expect(
      try stored(
        "lines", #"[{"text": "a", "count": 0, "n": 1}, {"text": "a", "count": 0, "n": 1}]"#
      ) { $0.lines.remove(at: 0) } == #"[{"count":0,"n":1,"text":"a"}]"#)
    #expect(
      try stored("lines", #"[{"text": "a", "count": 0, "n": 1}]"#) {
        $0.lines.append($0.lines[0])
      } == #"[{"count":0,"n":1,"text":"a"},{"count":0,"text":"a"}]"#)
  }

  @Test func `set elements are matched only if they are unchanged`() throws {
    let json = #"[{"text": "b", "count": 0, "n": 2}, {"text": "a", "count": 0, "n": 1}]"#
    #expect(
      try stored("set", json) {
        $0.set.remove(Line(text: "b"))
        $0.set.insert(Line(text: "c"))
      }.map { try Value(json: $0) } == [
        ["text": "a", "count": 0, "n": 1], ["text": "c", "count": 0],
      ])
  }

  @Test func `elements of optional and nested arrays are matched too`() throws {
    #expect(
      try stored("maybePlaces", #"[{"street": "A", "point": {"x": 1, "y": 2, "z": 3}, "n": 1}]"#) {
        $0.maybePlaces?[0].point?.x = 5
      } == #"[{"n":1,"point":{"x":5.0,"y":2.0,"z":3},"street":"A"}]"#)
    #expect(
      try stored(
        "grid", #"[[{"text": "a", "count": 0, "n": 1}], [{"text": "b", "count": 0, "n": 2}]]"#
      ) { $0.grid[1][0].text = "c" }
        == #"[[{"count":0,"n":1,"text":"a"}],[{"count":0,"n":2,"text":"c"}]]"#)
    #expect(
      try stored("places", #"[{"street": "A", "n": 1}, {"street": "B", "number": null, "n": 2}]"#) {
        $0.places.swapAt(0, 1)
      } == #"[{"n":2,"street":"B"},{"n":1,"street":"A"}]"#)
  }

  @Test func `unknown keys in large objects and arrays are kept`() throws {
    let keys = (0..<60).map { #""extra\#($0)": \#($0)"# }.joined(separator: ", ")
    let lines = (0..<80).map { #"{"text": "t\#($0)", "count": \#($0), \#(keys)}"# }
    let json = "[\(lines.joined(separator: ", "))]"
    let stored = try stored("lines", json) {
      $0.lines[40].count = -1
      $0.lines[79].text = "last"
    }
    var expected = try Value(json: json).arrayValue ?? []
    guard case .object(var changed) = expected[40], case .object(var last) = expected[79] else {
      Issue.record("the elements are not objects")
      return
    }
    (changed["count"], last["text"]) = (-1, "last")
    (expected[40], expected[79]) = (.object(changed), .object(last))
    #expect(try stored.map { try Value(json: $0) } == .array(expected))
  }
}
