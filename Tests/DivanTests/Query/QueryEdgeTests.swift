import Divan
import DivanTesting
import Foundation
import Testing

/// Tests of queries that are invalid or hard to answer.
///
/// They throw an error with the reason, or return the right results in reasonable time.
struct QueryEdgeTests {
  private let database: Database

  init() throws { database = try Database.inMemory() }

  private func put(_ documents: [(String, Value.Object)]) throws {
    try database.write { transaction in
      for (id, properties) in documents { _ = try transaction.put(Document(id: id, properties)) }
    }
  }

  private func ids(_ filter: (QuerySubject<Document>) -> Filter) throws -> [String] {
    try database.snapshot().ids(Query<Document>().filter(filter))
  }

  // MARK: Unexpected documents

  @Test func `a path that no document has matches nothing and does not affect the order`() throws {
    try put([("a", ["n": 2]), ("b", ["n": ["deep": 1]]), ("c", ["n": .null])])
    for hasIndex in [false, true] {
      if hasIndex { try database.addIndex(DocumentIndex("missing path", on: "n.far.away")) }
      #expect(try ids { $0["n"]["far"]["away"] == 1 } == [])
      #expect(try ids { $0["n"]["far"]["away"] > 1 || $0["n"][7] == 2 } == [])
      #expect(try ids { $0["n"]["far"]["away"].isMissing } == ["a", "b", "c"])
      let sorted = Query<Document>().sorted(.descending) { $0["n"]["far"]["away"] }
      #expect(try database.snapshot().ids(sorted) == ["a", "b", "c"])
      #expect(try database.snapshot().sum(Query<Document>()) { $0["n"]["far"]["away"] } == 0)
    }
  }

  @Test(arguments: [false, true])
  func `values of different types are neither equal nor ordered`(hasIndex: Bool) throws {
    try put([
      ("array", ["v": [3]]), ("false", ["v": false]), ("none", [:]), ("null", ["v": .null]),
      ("number", ["v": 3]), ("object", ["v": ["x": 3]]), ("text", ["v": "3"]),
    ])
    if hasIndex { try database.addIndex(DocumentIndex("v", on: "v")) }
    #expect(try ids { $0["v"] == "3" } == ["text"])
    #expect(try ids { $0["v"] == 3 } == ["number"])
    #expect(try ids { $0["v"] >= 0 } == ["number"])
    #expect(try ids { $0["v"] < "z" } == ["text"])
    #expect(try ids { $0["v"] <= true } == ["false"])
    #expect(try ids { $0["v"] >= .null } == [])
    #expect(try ids { !($0["v"] >= 0) }.count == 6)
    #expect(try ids { $0["v"].hasPrefix("3") } == ["text"])
    #expect(try ids { $0["v"].contains(3) } == ["array", "number"])
    #expect(try ids { $0["v"].isIn([3, "3", false]) } == ["false", "number", "text"])
  }

  @Test func `adversarial patterns take time proportional to the text`() throws {
    let text = String(repeating: "a", count: 10_000)
    try put([("a", ["text": .string(text)]), ("b", ["text": .string(text + "é")])])
    let start = ContinuousClock.now
    for pattern in [
      String(repeating: "*a", count: 120) + "*b", String(repeating: "a", count: 120) + "*b",
      "*" + String(repeating: "a", count: 60) + "b*", String(repeating: "*?", count: 100) + "b",
      String(repeating: "*", count: 255) + "b",
    ] {
      #expect(try ids { $0["text"].like(pattern) } == [])
    }
    let stars = String(repeating: "*A", count: 100) + "*E"
    #expect(try ids { $0["text"].like(stars, ignoring: .caseAndDiacritics) } == ["b"])
    #expect(ContinuousClock.now - start < .seconds(20))
  }

  @Test func `a filter nested too deep is refused`() throws {
    try put([("a", ["n": 1])])
    let query = Query<Document>()
    func filter(nested depth: Int) -> Query<Document> {
      query.filter { document in
        let (one, two): (Filter, Filter) = (document["n"] == 1, document["n"] == 2)
        var filter = one
        for number in 0..<depth { filter = number % 2 == 0 ? filter || two : !(!filter && one) }
        return filter
      }
    }
    let error = #expect(throws: DatabaseError.self) {
      try database.snapshot().ids(filter(nested: 10_000))
    }
    #expect(error?.code == .invalidQuery && error?.message.contains("deep") == true)
    #expect(try database.snapshot().ids(filter(nested: 30)) == ["a"])
  }

  @Test func `the ID of a referenced document is distinct from that of the document itself`() throws
  {
    try put([
      ("home", ["name": "Home"]), ("a", ["list": "home"]), ("b", ["list": "work"]),
      ("c", ["lists": ["work", "home"]]),
    ])
    #expect(try ids { $0["list"].reference.id == "home" } == ["a"])
    #expect(try ids { $0["list"].reference.id == "a" } == [])
    #expect(try ids { $0["lists"].contains { $0.reference.id == "home" } } == ["c"])
    #expect(try ids { $0["lists"].contains { $0.reference["name"] == "Home" } } == ["c"])
  }

  // MARK: Types whose sample values are hard to make

  /// A type whose values can be made only from its known texts.
  enum Mood: String, Codable { case calm, angry }
  /// A type for which integers are tried.
  enum Rank: Int, Codable { case low = 1, high }

  struct Guest: DocumentCodable {
    var name: String
    var rank: Rank
    var other: Rank
    var mood: Mood?
    var nickname: String?
    var shown: String { nickname ?? name }
  }

  struct Host: DocumentCodable {
    var name: String
    var mood: Mood
  }

  @Test func `integer and optional enumerations need not be CaseIterable`() throws {
    let guests = [
      Guest(name: "Ada", rank: .high, other: .low, mood: .calm),
      Guest(name: "Bob", rank: .low, other: .high),
    ]
    _ = try database.write { try $0.put(contentsOf: guests) }
    let snapshot = try database.snapshot()
    func names(_ filter: (QuerySubject<Guest>) -> Filter) throws -> [String] {
      try snapshot.find(Query<Guest>().filter(filter)).map(\.name)
    }
    #expect(try names { $0.name == "Bob" } == ["Bob"])
    #expect(try names { $0.rank == .high } == ["Ada"])
    #expect(try names { $0.other == .high && $0.rank.isIn([.low]) } == ["Bob"])
    // Computed properties are detected all the same.
    let error = #expect(throws: DatabaseError.self) { try names { $0.shown == "Ada" } }
    #expect(error?.code == .invalidQuery)
  }

  @Test func `the error about a type without sample values names it and suggests CaseIterable`()
    throws
  {
    let query = Query<Host>().filter { $0.name == "Ada" }
    let error = #expect(throws: DatabaseError.self) { try database.snapshot().count(query) }
    #expect(error?.code == .invalidQuery)
    #expect(error?.message.contains("no sample value of Mood can be created, for \"mood\"") == true)
    #expect(error?.hint?.contains("declare it CaseIterable") == true)
  }

  // MARK: Predicates

  struct Note: DocumentCodable {
    @DocumentID var id: String?
    var tags: [String]?
    var title: String?
    var isDone: Bool?
    var inner: Inner?
    var isPinned = false

    struct Inner: Codable {
      var tags: [String]?
    }
  }

  @Test func `predicates with optional chains evaluate as in Swift`() throws {
    var notes = [
      Note(), Note(tags: [], title: "", isDone: false),
      Note(tags: ["x", "home"], title: "Tea", isDone: true), Note(tags: ["x"], title: "T"),
      Note(inner: .init()), Note(inner: .init(tags: [])), Note(inner: .init(tags: ["x"])),
    ]
    let nothing: String? = nil
    for index in notes.indices { notes[index].id = "\(index)" }
    _ = try database.write { try $0.put(contentsOf: notes) }
    let snapshot = try database.snapshot()
    let predicates: [Predicate<Note>] = [
      #Predicate { $0.tags?.isEmpty ?? false }, #Predicate { $0.tags?.isEmpty ?? true },
      #Predicate { !($0.tags?.isEmpty ?? false) }, #Predicate { $0.tags?.isEmpty == false },
      #Predicate { $0.tags?.isEmpty == nil }, #Predicate { $0.tags?.isEmpty != true },
      #Predicate { $0.tags?.contains("home") ?? true },
      #Predicate { $0.tags?.allSatisfy { $0 == "x" } == true },
      #Predicate { $0.tags?.contains { $0 == "home" } == true },
      #Predicate { $0.title?.starts(with: "T") == false },
      #Predicate { !($0.title?.contains("ea") ?? false) },
      #Predicate { $0.isDone ?? true }, #Predicate { $0.isDone ?? false },
      #Predicate { !($0.isDone ?? true) }, #Predicate { $0.tags?.count == 1 },
      #Predicate { $0.tags?.count == 0 }, #Predicate { $0.tags?.count != 0 },
      #Predicate { $0.tags?.count == nil }, #Predicate { $0.tags?.count != nil },
      #Predicate { $0.tags != nil && ($0.tags?.count)! > 1 },
      #Predicate { $0.inner?.tags?.isEmpty ?? false },
      #Predicate { $0.inner?.tags?.isEmpty ?? true },
      #Predicate { $0.inner?.tags?.count == 0 }, #Predicate { $0.inner?.tags?.count == nil },
      #Predicate { $0.inner?.tags == nil }, #Predicate { $0.title == nothing },
      #Predicate { _ in nothing?.isEmpty ?? true },
    ]
    for predicate in predicates {
      let found = try snapshot.find(Query<Note>().filter(predicate)).map(\.id)
      #expect(try found == notes.filter(predicate).map(\.id), "\(predicate)")
    }
    let error = #expect(throws: DatabaseError.self) {
      try Query<Note>().filter(#Predicate { ($0.title ?? "x") == ($0.title ?? "y") })
    }
    #expect(error?.code == .invalidQuery && error?.message.contains("Equal") == true)
  }

  @Test func `what an optional chain unwraps can be a condition, and the end of another chain`()
    throws
  {
    var notes = [
      Note(), Note(isPinned: true), Note(title: "", isPinned: true), Note(title: "T"),
      Note(tags: [], isDone: false), Note(tags: ["x"], isDone: true), Note(tags: ["x", "y"]),
    ]
    for index in notes.indices { notes[index].id = "\(index)" }
    _ = try database.write { try $0.put(contentsOf: notes) }
    let snapshot = try database.snapshot()
    let predicates: [Predicate<Note>] = [
      #Predicate { $0.isDone != nil && $0.isDone! },
      #Predicate { $0.isDone == nil || !$0.isDone! },
      #Predicate { if let isDone = $0.isDone { !isDone } else { false } },
      #Predicate { if let isEmpty = $0.tags?.isEmpty { !isEmpty } else { false } },
      #Predicate { if let count = $0.tags?.count { count > 1 } else { true } },
      // `if let title = $0.title { $0.isPinned } else { false }`, without a warning.
      Predicate<Note>({ note in
        PredicateExpressions.build_NilCoalesce(
          lhs: PredicateExpressions.build_flatMap(
            PredicateExpressions.build_KeyPath(
              root: PredicateExpressions.build_Arg(note), keyPath: \.title)
          ) { _ in
            PredicateExpressions.build_KeyPath(
              root: PredicateExpressions.build_Arg(note), keyPath: \.isPinned)
          },
          rhs: PredicateExpressions.build_Arg(false))
      }),
    ]
    for predicate in predicates {
      let found = try snapshot.find(Query<Note>().filter(predicate)).map(\.id)
      #expect(try found == notes.filter(predicate).map(\.id), "\(predicate)")
    }
  }

  /// An enumeration whose texts are not in its order.
  enum Level: String, Codable, CaseIterable, Comparable {
    case low, middle, high

    private var rank: Int { self == .low ? 0 : self == .middle ? 1 : 2 }
    static func < (one: Level, other: Level) -> Bool { one.rank < other.rank }
  }

  struct Offer: DocumentCodable {
    @DocumentID var id: String?
    var price: Decimal
    var level: Level
    var code: Data
    var count: Int
    var start: Date
    var end: Date?
  }

  private func offers() -> [Offer] {
    (0..<3).map { number in
      let day = Date(timeIntervalSince1970: Double(number) * 86_400)
      var offer = Offer(
        price: Decimal(number * 5), level: Level.allCases[number], code: Data([1, UInt8(number)]),
        count: number, start: day, end: number == 0 ? nil : day)
      offer.id = "\(number)"
      return offer
    }
  }

  private func refusal(_ predicate: Predicate<Offer>) -> String? {
    let error = #expect(throws: DatabaseError.self) { try Query<Offer>().filter(predicate) }
    #expect(error?.code == .invalidQuery)
    return error?.message
  }

  @Test func `a predicate has no ranges of types whose stored texts are not in their order`() throws
  {
    let (low, high) = (Decimal(5), Decimal(10))
    let (least, most) = (Level.low, Level.middle)
    // As texts, "10" comes before "5", and "high" before "low".
    for predicate in [
      #Predicate<Offer> { (low...high).contains($0.price) },
      #Predicate<Offer> { (low..<high).contains($0.price) },
      #Predicate<Offer> { (least...most).contains($0.level) },
    ] {
      #expect(refusal(predicate)?.contains("RangeExpressionContains") == true)
    }
    let offers = offers()
    _ = try database.write { try $0.put(contentsOf: offers) }
    let (early, late) = (Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 86_400))
    for predicate in [
      #Predicate<Offer> { (0..<2).contains($0.count) },
      #Predicate<Offer> { (early..<late).contains($0.start) },
      #Predicate<Offer> { $0.end != nil && (early...late).contains($0.end!) },
    ] {
      let found = try database.snapshot().find(Query<Offer>().filter(predicate)).map(\.id)
      #expect(try found == offers.filter(predicate).map(\.id), "\(predicate)")
    }
  }

  @Test func `a predicate has no conditions on elements of what is not stored as an array`() {
    // Data is one text, which would be its own only element.
    #expect(
      refusal(#Predicate { $0.code.contains { $0 == 1 } })?.contains("SequenceContainsWhere")
        == true)
    #expect(
      refusal(#Predicate { $0.code.allSatisfy { $0 == 1 } })?.contains("SequenceAllSatisfy")
        == true)
  }

  @Test func `a predicate has no values of other properties behind optional chains`() {
    // The count of an offer without an end would be found, and in Swift it is nil.
    let (one, text): (Int?, String?) = (1, "x")
    let predicate = Predicate<Offer>({ offer in
      PredicateExpressions.build_Equal(
        lhs: PredicateExpressions.build_flatMap(
          PredicateExpressions.build_KeyPath(
            root: PredicateExpressions.build_Arg(offer), keyPath: \.end)
        ) { _ in
          PredicateExpressions.build_KeyPath(
            root: PredicateExpressions.build_Arg(offer), keyPath: \.count)
        },
        rhs: PredicateExpressions.build_Arg(one))
    })
    #expect(refusal(predicate)?.contains("OptionalFlatMap") == true)
    #expect(refusal(#Predicate { _ in text?.isEmpty ?? true })?.contains("KeyPath") == true)
  }

  // MARK: Sums

  private func sum(_ numbers: [Value]) throws -> Value {
    let database = try Database.inMemory()
    try database.write { transaction in
      for number in numbers { _ = try transaction.put(Document(["n": number])) }
    }
    return try database.snapshot().aggregate(Query<Document>(), .sum { $0["n"] })
  }

  @Test func `the sum of integers is an integer as long as it can be stored as one`() throws {
    #expect(try sum([.int(9_007_199_254_740_993), 2]) == .int(9_007_199_254_740_995))
    #expect(try sum([.int(.max), 1]) == .unsigned(1 << 63))
    #expect(try sum([.int(.max), .int(.max), 1]) == .unsigned(.max))
    #expect(try sum([.unsigned(.max), .int(.min), .int(.min)]) == .int(-1))
    #expect(try sum([.int(.max), .int(.max), 2]) == .double(0x1p64))
    #expect(try sum([.int(.min), -1]) == .double(-0x1p63))
    #expect(try sum([]) == 0 && sum(["text", .null, [1]]) == 0)
  }

  @Test func `sums of doubles and integers lose little precision`() throws {
    #expect(try sum([.double(0.5), 1]) == .double(1.5))
    #expect(try sum(Array(repeating: .double(0.1), count: 10)) == .double(1))
    #expect(try sum([.double(1e100), 1, .double(-1e100)]) == .double(1))
    #expect(try sum([.int(.max), .double(0.25), .int(-.max)]) == .double(0.25))
    // Nearly all of the integers' sum is taken away by a double. What is left has all its digits.
    #expect(
      try sum([.int(9_007_199_254_740_993), .double(0.5), .double(-9_007_199_254_740_992)])
        == .double(1.5))
    #expect(try sum([.double(1e308), .double(1e308)]).doubleValue == .infinity)
  }
}
