import Divan
import Foundation
import Testing

struct ModelTests {
  let database: Database

  init() throws { database = try Database.inMemory() }

  @Test func `a value of every type survives a round trip`() throws {
    let now = Date(timeIntervalSince1970: 1_772_366_400.1239)
    let rounded = Date(timeIntervalSince1970: 1_772_366_400.124)
    do {
      let context = database.makeContext()
      let all = Everything(in: context, id: "all")
      all.flag = true
      all.count = .min
      all.ratio = 0.1
      all.text = "Dīvān 🛋"
      all.date = now
      #expect(all.date == rounded)
      all.maybeFlag = false
      all.maybeCount = 0
      all.maybeRatio = -0.0
      all.maybeText = ""
      all.maybeDate = now
      #expect(all.maybeDate == rounded)
      all.flags = [true, false]
      all.counts = Array(-20..<20)
      all.ratios = [1, 2.5]
      all.texts = ["a", ""]
      all.dates = [now]
      #expect(all.dates == [rounded])
      all.maybeTexts = ["x"]
      all.other = all
      try all.save()
      #expect(!all.needsSave && !all.isNew)
      #expect(all.changedProperties == [])
      #expect(all.count == .min)
    }
    let context = database.makeContext()
    let all = try #require(try context.model(Everything.self, id: "all"))
    #expect(all.flag)
    #expect(all.count == .min)
    #expect(all.ratio == 0.1)
    #expect(all.text == "Dīvān 🛋")
    #expect(all.date == rounded)
    #expect(all.maybeFlag == false)
    #expect(all.maybeCount == 0)
    #expect(all.maybeRatio?.sign == .minus)
    #expect(all.maybeText == "")
    #expect(all.maybeDate == rounded)
    #expect(all.flags == [true, false])
    #expect(all.counts == Array(-20..<20))
    #expect(all.ratios == [1, 2.5])
    #expect(all.texts == ["a", ""])
    #expect(all.dates == [rounded])
    #expect(all.maybeTexts == ["x"])
    #expect(all.other === all)
    #expect(!all.needsSave)
    #expect(try database.read { try $0.document("all")?["date"] } == "2026-03-01T12:00:00.124Z")
  }

  @Test func `a new model stores its declared values except nil`() throws {
    let context = database.makeContext()
    let todo = Todo(in: context, id: "t")
    #expect(todo.isNew && todo.needsSave && todo.changedProperties == [])
    try todo.save()
    #expect(
      try database.json("t") == #"{"done":false,"priority":3,"tags":[],"text":""}"#)
    let all = Everything(in: context, id: "e")
    try all.save()
    #expect(
      try database.json("e")
        == #"{"count":0,"counts":[],"date":"1970-01-01T00:00:00.000Z","dates":[],"flag":false,"flags":[],"ratio":0.0,"ratios":[],"text":"","texts":[]}"#
    )
  }

  @Test func `a property is stored under its custom key, and nil removes it`() throws {
    let context = database.makeContext()
    let todo = Todo(in: context, id: "t")
    todo.due = Date(timeIntervalSince1970: 1)
    try todo.save()
    #expect(
      try database.read { try $0.document("t")?["due_date"] } == "1970-01-01T00:00:01.000Z")
    todo.due = nil
    #expect(todo.changedProperties == ["due"])
    try todo.save()
    #expect(try database.read { try $0.document("t")?["due_date"] } == nil)
  }

  private struct Shade: Codable, Equatable { var name: String }

  private final class Painted: Model {
    @Persisted var color: String? = "red"
    @Persisted var shades: [Shade]? = [Shade(name: "dark")]
    @Persisted var day: Date? = Date(timeIntervalSince1970: 0)
    override class var documentType: String? { nil }
  }

  @Test func `nil overrides a declared value, and a missing property reads as declared`()
    throws
  {
    let context = database.makeContext()
    let painted = Painted(in: context, id: "p")
    #expect(painted.color == "red" && painted.shades?.count == 1 && painted.day != nil)
    (painted.color, painted.shades, painted.day) = (nil, nil, nil)
    let copy = try painted.detachedCopy()
    #expect(copy.color == nil && copy.shades == nil && copy.day == nil)
    try painted.save()
    #expect(try database.json("p") == #"{"color":null,"day":null,"shades":null}"#)
    let other = try #require(try database.makeContext().model(Painted.self, id: "p"))
    #expect(other.color == nil && other.shades == nil && other.day == nil)
    other.color = nil
    #expect(!other.needsSave)
    try other.load()
    try database.put("missing", "{}")
    let missing = try #require(try database.makeContext().model(Painted.self, id: "missing"))
    #expect(missing.color == "red" && missing.shades?.count == 1 && missing.day != nil)
    // The same by key.
    try missing.setValue(nil, for: "color")
    #expect(try missing.color == nil && missing.value(for: "color") == .null)
    try missing.setValue("blue", for: "color")
    try missing.setValue(.null, for: "color")
    #expect(missing.color == nil && missing.changedProperties == ["color"])
    missing.revert()
    #expect(missing.color == "red")
  }

  @Test func `a missing, null or mistyped property reads as declared and is kept`() throws {
    let json = #"{"done":null,"extra":[1,{"a":2}],"priority":"high","tags":[1,"a"],"text":7}"#
    try database.put("t", json)
    let context = database.makeContext()
    let todo = try #require(try context.model(Todo.self, id: "t"))
    #expect(!todo.done && todo.priority == 3 && todo.tags == [] && todo.text == "")
    #expect(todo.due == nil && todo.list == nil)
    #expect(!todo.needsSave)
    todo.due = Date(timeIntervalSince1970: 0)
    try todo.save()
    #expect(
      try database.json("t")
        == #"{"done":null,"due_date":"1970-01-01T00:00:00.000Z","extra":[1,{"a":2}],"priority":"high","tags":[1,"a"],"text":7}"#
    )
    // Assigning the value that the property already reads as is a change, because the document has
    // a different value.
    todo.priority = 3
    todo.done = false
    #expect(todo.changedProperties == ["done", "priority"])
    try todo.save()
    #expect(try database.read { try $0.document("t")?["priority"] } == 3)
    #expect(try database.read { try $0.document("t")?["done"] } == false)
    #expect(try database.read { try $0.document("t")?["text"] } == 7)
  }

  @Test func `setting an equal value changes nothing`() throws {
    try database.put("t", #"{"done":true,"tags":["a"],"text":"x"}"#)
    let context = database.makeContext()
    let todo = try #require(try context.model(Todo.self, id: "t"))
    todo.text = "x"
    todo.tags = ["a"]
    todo.done = true
    todo.due = nil
    todo.list = nil
    #expect(!todo.needsSave)
    todo.text = "e\u{301}"
    try todo.save()
    todo.text = "\u{E9}"
    #expect(todo.changedProperties == ["text"])
  }

  @Test func `changes in place are detected and take linear time`() throws {
    let context = database.makeContext()
    let todo = Todo(in: context, id: "t")
    try todo.save()
    todo.tags.append("a")
    #expect(todo.changedProperties == ["tags"])
    try todo.save()
    let start = ContinuousClock.now
    for index in 0..<100_000 { todo.tags.append("\(index)") }
    // Copying at each append would take minutes.
    #expect(ContinuousClock.now - start < .seconds(60))
    todo.priority += 1
    #expect(todo.changedProperties == ["priority", "tags"])
    try todo.save()
    let again = try #require(try database.makeContext().model(Todo.self, id: "t"))
    #expect(again.tags.count == 100_001 && again.priority == 4)
  }

  @Test func `a change in place counts even if it throws`() throws {
    func change(_ texts: inout [String], _ list: inout TodoList?) throws {
      texts.append("changed")
      list = TodoList()
      throw CancellationError()
    }
    let context = database.makeContext()
    let todo = Todo(in: context)
    try todo.save()
    #expect(throws: CancellationError.self) { try change(&todo.tags, &todo.list) }
    #expect(todo.changedProperties == ["tags", "list"])
    #expect(todo.tags == ["changed"] && todo.list != nil)
  }

  @Test func `dates that change in place are rounded to milliseconds`() throws {
    let all = Everything(in: database.makeContext())
    all.dates.append(Date(timeIntervalSince1970: 1.00049))
    all.date += 0.00049
    #expect(all.dates == [Date(timeIntervalSince1970: 1)])
    #expect(all.date == Date(timeIntervalSince1970: 0))
  }

  @Test func `model classes may inherit, be private or generic, or have no properties`() throws {
    final class Plain: Model {
      override class var documentType: String? { nil }
    }
    final class Box<Element: _PersistableElement>: Model {
      override class var documentType: String? { nil }
      @Persisted var elements: [Element]
      @Persisted private var secret = 5
      var opened: Int { secret }
    }
    let context = database.makeContext()
    let urgent = UrgentTodo(in: context, id: "u")
    urgent.text = "now"
    urgent.escalation = 2
    #expect(urgent.changedProperties == ["text", "escalation"])
    let box = Box<Int>(in: context, id: "b")
    box.elements = [1, 2]
    let texts = Box<String>(in: context, id: "s")
    texts.elements = ["x"]
    let plain = Plain(in: context, id: "p")
    try context.save()
    #expect(!plain.isNew && box.opened == 5)
    #expect(
      try database.json("u")
        == #"{"done":false,"escalation":2,"priority":3,"tags":[],"text":"now"}"#)
    #expect(try database.json("b") == #"{"elements":[1,2],"secret":5}"#)
    #expect(try database.json("s") == #"{"elements":["x"],"secret":5}"#)
    #expect(try database.json("p") == "{}")
    // A model is found by its own class and by its superclass.
    #expect(try context.model(Todo.self, id: "u") === urgent)
    #expect(throws: DatabaseError.self) { try context.model(TodoList.self, id: "u") }
  }

  @Test func `a declared document type is stored and selects the models of a class`() throws {
    let context = database.makeContext()
    let person = Person(in: context, id: "p")
    person.name = "Anna"
    try person.save()
    #expect(try database.json("p") == #"{"full name":"Anna","type":"person"}"#)
    try database.put("q", #"{"full name":"Otto","type":"cat"}"#)
    try database.put("r", #"{"full name":"Eve","type":"person"}"#)
    try context.refresh()
    let people = try context.models(Person.self)
    #expect(try people.collect().map(\.name) == ["Anna", "Eve"])
    let all = try context.models(Todo.self, in: .prefix("q"))
    #expect(try all.collect().count == 1)
  }

  @Test func `saving a value that cannot be stored throws with the name of the property`() throws {
    let context = database.makeContext()
    let all = Everything(in: context)
    all.ratios = [.nan]
    let error = #expect(throws: DatabaseError.self) { try all.save() }
    #expect(error?.code == .invalidValue)
    #expect(error?.message.contains("Everything.ratios") == true)
    #expect(all.isNew && all.changedProperties == ["ratios"])
    all.ratios = []
    all.date = Date(timeIntervalSince1970: 1e15)
    #expect(throws: DatabaseError.self) { try all.save() }
    all.date = Date(timeIntervalSince1970: 253_402_300_799.999)
    try all.save()
    #expect(try database.read { try $0.count } == 1)
  }

  @Test func `dates are read and written as ISO 8601`() throws {
    for (text, seconds) in [
      ("2000-02-29T23:59:59.999Z", 951_868_799.999), ("1969-12-31T23:59:59.001Z", -0.999),
      ("0000-01-01T00:00:00.000Z", -62_167_219_200), ("2026-03-01T12:00:00.000Z", 1_772_366_400),
    ] {
      try database.put("d", #"{"date":"\#(text)"}"#)
      let context = database.makeContext()
      let all = try #require(try context.model(Everything.self, id: "d"))
      #expect(abs(all.date.timeIntervalSince1970 - seconds) < 0.0001, "\(text)")
      all.maybeDate = all.date
      try all.save()
      #expect(try database.read { try $0.document("d")?["maybeDate"] } == .string(text))
    }
    for (text, seconds) in [
      ("2026-03-01T13:00:00+01:00", 1_772_366_400), ("2026-03-01T11:30:00.5-0030", 1_772_366_400.5),
    ] {
      try database.put("d", #"{"date":"\#(text)"}"#)
      let all = try #require(try database.makeContext().model(Everything.self, id: "d"))
      #expect(all.date.timeIntervalSince1970 == seconds, "\(text)")
    }
    for text in [
      "", "2026", "2026-02-30T00:00:00Z", "2026-03-01T12:00:00", "2026-03-01T12:00:00.Z",
    ] {
      try database.put("d", #"{"maybeDate":"\#(text)"}"#)
      let all = try #require(try database.makeContext().model(Everything.self, id: "d"))
      #expect(all.maybeDate == nil, "\(text)")
    }
    // Foundation's formatter uses the Julian calendar for dates before October 1582; ISO 8601 does
    // not.
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    for step in 0..<2000 {
      let date = Date(timeIntervalSince1970: -12_200_000_000 + Double(step) * 132_801_150.39371)
      let all = Everything()
      all.date = date
      #expect(abs(all.date.timeIntervalSince(date)) <= 0.0006)
      let context = database.makeContext()
      try context.insert(all)
      try all.save()
      let text = try database.read { try $0.document(all.id)?["date"]?.stringValue } ?? ""
      #expect(try abs(style.parse(text).timeIntervalSince(all.date)) < 0.0001, "\(text)")
    }
  }
}
