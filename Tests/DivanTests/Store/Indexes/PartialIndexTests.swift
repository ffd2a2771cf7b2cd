import DivanLog
import DivanTesting
import ProofKit
import Testing

@testable import Divan

/// Tests of partial indexes: their documents, the conditions they accept, and their records.
struct PartialIndexTests {
  private let store = IndexFixture()
  private let open = DocumentIndex(
    "open", on: "due", where: [.isPresent("due"), .equal("done", false)])

  private func put(_ database: Database, _ id: String, _ properties: Value.Object) throws {
    try database.write { _ = try $0.replace(id, with: properties) }
  }

  @Test func `a document is in the index exactly while it fulfils the conditions`() throws {
    let database = try store.open()
    try put(database, "before", ["due": 9, "done": false])
    try put(database, "done", ["due": 9, "done": true])
    try database.addIndex(open)
    func ids() throws -> [String] { try database.snapshot().ids(by: "open").collect() }
    #expect(try ids() == ["before"])
    for (properties, isThere) in [
      (["due": 3, "done": false], true), (["due": 3, "done": true], false),
      (["due": 4, "done": false, "x": 1], true), (["due": .null, "done": false], false),
      (["due": "soon", "done": false], true), (["due": "soon"], false),
      (["due": 1, "done": false], true), (["done": false], false),
    ] as [(Value.Object, Bool)] {
      try put(database, "a", properties)
      #expect(try ids().contains("a") == isThere, "\(properties)")
      #expect(try database.check().isSound)
    }
    try put(database, "a", ["due": 1, "done": false])
    #expect(try ids() == ["a", "before"])
    // In a conflict, the winner counts.
    let high = try #require(RevisionID(generation: 99, digest: "f"))
    try database.write {
      _ = try $0.insert(Document(id: "a", ["due": 1, "done": true]), history: [high])
    }
    #expect(try ids() == ["before"])
    try database.write { _ = try $0.purge("a", revision: high) }
    #expect(try ids() == ["a", "before"])
    try database.write { _ = try $0.delete("before") }
    #expect(try ids() == ["a"])
    let again = try store.open(store.reopened(50))
    #expect(try again.indexes() == [open])
    #expect(try again.snapshot().ids(by: "open").collect() == ["a"])
    try store.expectSound(again, "opened again")
  }

  @Test func `a unique partial index compares only documents that fulfil its conditions`() throws {
    let database = try store.open()
    let names = DocumentIndex(
      "names", on: "name", isUnique: true, where: [.equal("left", .null)])
    try database.addIndex(names)
    try put(database, "a", ["name": "Ada"])
    try put(database, "b", ["name": "Ada", "left": 1999])
    try put(database, "c", ["name": "Ada", "left": 2001])
    for properties in [["name": "Ada"], ["name": "Ada", "left": .null]] as [Value.Object] {
      let error = #expect(throws: DatabaseError.self) { try put(database, "b", properties) }
      #expect(error?.code == .notUnique)
    }
    try database.write { transaction in
      _ = try transaction.replace("a", with: ["name": "Ada", "left": 2020])
      _ = try transaction.replace("b", with: ["name": "Ada"])
    }
    #expect(try database.snapshot().ids(by: "names").collect() == ["b"])
    #expect(try database.check().isSound)
  }

  @Test func `a condition accepts the same documents as the equivalent filter`() throws {
    let values: [Value] = [
      .null, false, true, -1, 0, 0.5, 1, 1.0, 2, .int(.max), .unsigned(.max), "", "a", "ab", "b",
      "\u{E9}", "e\u{301}", [1], [1, 2], ["a": 1], ["a": 1.0],
    ]
    let path = QueryPath().appending(.key("o")).appending(.key("p"))
    var bodies = try values.map { try ValueEncoder.encode(["o": ["p": $0]]) }
    for value in [[:], ["o": 1], ["o": [:]]] as [Value] {
      bodies.append(try ValueEncoder.encode(value))
    }
    for constant in values {
      var pairs: [(IndexCondition.Test, FilterExpression)] = [
        (.equal(constant), .test(path, .equal(constant))),
        (.less(constant), .test(path, .order(.less, constant))),
        (.lessOrEqual(constant), .test(path, .order(.lessOrEqual, constant))),
        (.greater(constant), .test(path, .order(.greater, constant))),
        (.greaterOrEqual(constant), .test(path, .order(.greaterOrEqual, constant))),
        (.isPresent, .not(.test(path, .equal(.null)))),
        (.isIn([constant]), .test(path, .oneOf([constant]))),
        (.isIn([constant, "b", 2]), .test(path, .oneOf(["b", constant, 2.0]))),
        (.isIn([.null, constant]), .test(path, .oneOf([constant, .null]))),
      ]
      if let text = constant.stringValue {
        pairs.append((.hasPrefix(text), .test(path, .text(.beginning, text, []))))
      }
      for (test, expression) in pairs {
        let condition = IndexCondition(path: ["o", "p"], test)
        let filter = CompiledFilter(expression)
        for body in bodies {
          var row = QueryRow(references: nil)
          row.payload = body
          let accepts = try filter.accepts(row)
          let value = EncodedValue(body)
          #expect(
            condition.isFulfilled(by: value) == accepts,
            "\(condition) of \(String(describing: try? value.decode().json))")
        }
      }
    }
  }

  @Test func `a document that cannot be decoded fulfils no condition`() {
    // An object with one property, "year", whose text is a single byte of invalid UTF-8.
    let bytes: [UInt8] = [0xC5, 4] + Array("year".utf8) + [0x41, 0xFF]
    let garbage = EncodedValue(SharedBytes(copying: bytes))
    #expect(!IndexCondition.equal("year", .null).isFulfilled(by: garbage))
    #expect(!IndexCondition.isPresent("year").isFulfilled(by: garbage))
    let index = DocumentIndex("n", on: "a", "year")
    #expect(IndexEntries.values(index, of: garbage).isEmpty)
  }

  // MARK: Invalid indexes

  @Test func `invalid indexes are refused with a reason`() throws {
    let database = try store.open()
    let large = Value.string(String(repeating: "x", count: 1000))
    let path = ["p"]
    for (index, reason) in [
      (DocumentIndex("a", paths: []), "1 to 8 properties, and this one 0"),
      (DocumentIndex("a", paths: Array(repeating: path, count: 9)), "and this one 9"),
      (DocumentIndex("a", paths: [path, []]), "1 to 16 names, and this one 0"),
      (DocumentIndex("a", paths: [path, Array(repeating: "p", count: 17)]), "and this one 17"),
      (DocumentIndex("a", paths: [path, [String(repeating: "p", count: 1001)]]), "too long"),
      (
        DocumentIndex("a", paths: [path], where: Array(repeating: .isPresent("p"), count: 17)),
        "at most 16 conditions"
      ),
      (DocumentIndex("a", paths: [path], where: [IndexCondition(path: [], .isPresent)]), "names"),
      (DocumentIndex("a", paths: [path], where: [.equal("p", large)]), "at most 1000 bytes"),
      (
        DocumentIndex("a", paths: [path], where: [.hasPrefix("p", large.stringValue ?? "")]),
        "bytes"
      ),
      (
        DocumentIndex("a", paths: [path], where: [.less("p", .double(.infinity))]),
        "cannot be stored"
      ),
      (
        DocumentIndex("a", paths: [path], where: [.equal("p", [.double(.nan)])]), "cannot be stored"
      ),
      (DocumentIndex("a", paths: [path], where: [.isIn("p", [])]), "1 to 256 values"),
      (
        DocumentIndex("a", paths: [path], where: [.isIn("p", (0...256).map { .int($0) })]),
        "1 to 256 values, and the one for \"p\" has 257"
      ),
      (DocumentIndex("a", paths: [path], where: [.isIn("p", ["a", large])]), "at most 1000 bytes"),
      (
        DocumentIndex(
          "a", paths: [path],
          where: [
            .isIn("p", (0..<20).map { .string("\($0)" + String(repeating: "x", count: 900)) })
          ]),
        "at most 16000 bytes"
      ),
      (DocumentIndex("a", paths: [path], where: [.isIn("p", [.double(.nan)])]), "cannot be stored"),
    ] as [(DocumentIndex, String)] {
      let error = #expect(throws: DatabaseError.self) { try database.addIndex(index) }
      #expect(error?.code == .invalidIndex, "\(reason)")
      #expect(error?.message.contains(reason) == true, "\(error?.message ?? "") \(reason)")
    }
    #expect(try database.indexes() == [])
    // The largest allowed index.
    let name = String(repeating: "p", count: 1000)
    let most = DocumentIndex(
      String(repeating: "n", count: 240),
      paths: Array(repeating: Array(repeating: name, count: 16), count: 8),
      where: Array(repeating: .equal(name, .string(String(repeating: "x", count: 990))), count: 16))
    try database.addIndex(most)
    let again = try store.open(store.reopened(50))
    #expect(try again.indexes() == [most])
  }

  @Test func `an index of the same name with other properties or conditions is refused`() throws {
    let database = try store.open()
    try database.addIndex(open)
    try database.addIndex(open)
    for other in [
      DocumentIndex("open", on: "due"),
      DocumentIndex("open", on: "due", where: [.isPresent("due")]),
      DocumentIndex("open", on: "due", "done", where: open.conditions),
    ] {
      let error = #expect(throws: DatabaseError.self) { try database.addIndex(other) }
      #expect(error?.code == .alreadyExists)
    }
  }

  // MARK: Conditions as filters

  @Test func `the conditions of an index are written like a filter`() throws {
    let index = DocumentIndex("i", on: "a", "b.c", isUnique: true, eachElement: true) {
      $0["type"].isIn(["film", "series"]) && $0["done"] == false && $0["due"] != .null
        && $0["left"] == .null && $0["n"] < 9 && $0["n"] >= 1 && $0["o"]["p"] > "a"
        && $0["q"] <= 2.5 && $0["t"].hasPrefix("x")
    }
    let conditions: [IndexCondition] = [
      .isIn("type", ["series", "film"]), .equal("done", false), .isPresent("due"),
      .equal("left", .null), .less("n", 9), .greaterOrEqual("n", 1), .greater("o.p", "a"),
      .lessOrEqual("q", 2.5), .hasPrefix("t", "x"),
    ]
    #expect(
      index
        == DocumentIndex(
          "i", on: "a", "b.c", isUnique: true, eachElement: true, where: conditions))
    let same = DocumentIndex("open", path: ["due"]) { $0["due"] != .null && $0["done"] == false }
    #expect(open == same)
    let database = try store.open()
    try database.addIndex(index)
    #expect(try store.open(store.reopened(50)).indexes() == [index])
  }

  @Test func `a filter that is no condition of an index is refused when the index is added`() throws
  {
    let database = try store.open()
    let filters: [(QuerySubject<Document>) -> Filter] = [
      { $0["a"] == 1 || $0["b"] == 2 }, { $0["a"].isMissing }, { $0["a"] != 1 },
      { $0["a"].reference["b"] == 1 }, { $0["a"].contains(1) }, { !($0["a"] < 1) },
      { $0["t"].containsText("x") }, { $0["t"].hasPrefix("x", ignoring: .letterCase) },
      { $0.id == "a" }, { $0["a"] == 1 && $0["b"].isMissing },
    ]
    for (number, filter) in filters.enumerated() {
      let index = DocumentIndex("i", on: "a", where: filter)
      let error = #expect(throws: DatabaseError.self, "\(number)") {
        try database.addIndex(index)
      }
      #expect(error?.code == .invalidIndex)
      #expect(error?.message.hasPrefix("the index \"i\" cannot be built: ") == true)
      #expect(error?.hint?.contains("&&") == true, "\(error?.hint ?? "")")
    }
    #expect(try database.indexes() == [])
  }

  // MARK: Records

  @Test func `an index definition record encodes and decodes every part of an index`() throws {
    let tests: [IndexCondition.Test] = [
      .equal(.null), .equal(1), .equal(1.0), .equal(["a": ["b"]]), .isPresent, .less(-1),
      .lessOrEqual(.unsigned(.max)), .greater("a"), .greaterOrEqual(true), .hasPrefix(""),
      .isIn([.null, "a", 1]), .isIn((0..<256).map { .string("a class of a long name \($0)") }),
    ]
    for index in [
      DocumentIndex("n", on: "a", "b.c", "d", isUnique: true, eachElement: true),
      DocumentIndex("n", on: "a", where: tests.map { IndexCondition(path: ["o", "p"], $0) }),
      DocumentIndex("n", on: "a", "b", where: [.isPresent("a")]), DocumentIndex("n", on: "a"),
    ] {
      for isReady in [false, true] {
        let record = IndexDefinitionRecord(
          name: SharedBytes(utf8: "n"), superseded: nil,
          definition: IndexDefinition(index: index, number: 9, isReady: isReady))
        var writer = ByteWriter()
        record.encode(to: &writer)
        #expect(try IndexDefinitionRecord.decode(writer.sharedCopy) == record)
        // No part of the record can be left out.
        let bytes = writer.sharedCopy
        for count in 0..<bytes.count {
          #expect(throws: ByteError.self) { try IndexDefinitionRecord.decode(bytes.prefix(count)) }
        }
      }
    }
  }

  @Test func `the record of a simple index has its original format`() throws {
    let record = IndexDefinitionRecord(
      name: SharedBytes(utf8: "n"), superseded: nil,
      definition: IndexDefinition(index: DocumentIndex("n", on: "a.b"), number: 9, isReady: true)
    )
    var writer = ByteWriter()
    record.encode(to: &writer)
    #expect(writer.sharedCopy.array == [4, 1, 0x6E, 9, 2, 1, 0x61, 1, 0x62])
  }

  @Test func `conditions have readable descriptions`() {
    let conditions: [IndexCondition] = [
      .equal("done", false), .isPresent("made.city"), .less("n", 1), .lessOrEqual("n", 1),
      .greater("n", 1), .greaterOrEqual("n", 1), .hasPrefix("name", "A"),
      .isIn("type", ["film", "series"]),
    ]
    #expect(
      conditions.map(\.description) == [
        "done = false", "made.city is there", "n < 1", "n ≤ 1", "n > 1", "n ≥ 1",
        #"name begins with "A""#, #"type in ["film","series"]"#,
      ])
  }

  @Test func `conditions on the same set of values are equal, whatever their order`() {
    let values: [Value] = ["b", .null, 2, "a", true, [1]]
    let condition = IndexCondition.isIn("p", values)
    for _ in 0..<20 {
      let other = IndexCondition.isIn("p", (values + values.prefix(3)).shuffled())
      #expect(other == condition && other.hashValue == condition.hashValue)
    }
    #expect(condition.test == .isIn([.null, true, 2, "a", "b", [1]]))
    #expect(IndexCondition.isIn("p", [1, 1.0]) == IndexCondition.isIn("p", [1.0, 1]))
    #expect(condition != .isIn("p", Array(values.dropLast())))
    #expect(IndexCondition.isIn("p", ["a"]) != .equal("p", "a"))
  }

  @Test func `a condition on a set is implied by equal or stricter filters only`() {
    let path = QueryPath().appending(.key("p"))
    let condition = IndexCondition.isIn("p", ["a", "b", 1])
    func implies(_ test: ComparisonOperator) -> Bool {
      FilterExpression.test(path, test).implies(condition)
    }
    for test in [.equal("a"), .equal(1.0), .oneOf(["b", "a"]), .oneOf([])] as [ComparisonOperator] {
      #expect(implies(test), "\(test)")
    }
    for test in [
      .equal("c"), .equal(.null), .oneOf(["a", "c"]), .order(.less, "b"),
      .text(.beginning, "a", []), .isMissing,
    ] as [ComparisonOperator] {
      #expect(!implies(test), "\(test)")
    }
    let or = FilterExpression.or([.test(path, .equal("a")), .test(path, .equal(1))])
    #expect(or.implies(condition))
    #expect(!FilterExpression.not(.test(path, .equal("a"))).implies(condition))
    func isSame(_ test: ComparisonOperator) -> Bool {
      FilterExpression.test(path, test).isSame(as: condition)
    }
    #expect(isSame(.oneOf(["a", 1.0, "b"])) && isSame(.oneOf([1, "a", "b"])))
    #expect(!isSame(.oneOf(["a", "b"])) && !isSame(.oneOf(["a", "a", 1])) && !isSame(.equal("a")))
    #expect(FilterExpression.test(path, .equal("a")).isSame(as: .isIn("p", ["a"])))
  }
}
