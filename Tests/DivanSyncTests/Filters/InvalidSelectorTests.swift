import Divan
import DivanSync
import Testing

/// Tests of what is refused as a selector, and of selectors of great size.
struct InvalidSelectorTests {
  static let messages: [(String, String)] = [
    ("null", ": a selector is an object, not null"),
    (#"[{"a": 1}]"#, #": a selector is an object, not [{"a":1}]"#),
    (#"{"$gt": 2}"#, #": a condition needs the name of a property: {"name": {"$gt":2}}"#),
    (#"{"$not": {}}"#, #": a condition needs the name of a property: {"name": {"$not":{}}}"#),
    (#"{"": 1}"#, #": a name in the path "" is empty"#),
    (#"{"a": {"b..c": 1}}"#, #" at a: a name in the path "b..c" is empty"#),
    (#"{"a.": 1}"#, #": a name in the path "a." is empty"#),
    (#"{".a": 1}"#, #": a name in the path ".a" is empty"#),
    (#"{"$nope": []}"#, " at $nope: this is no operator of CouchDB"),
    (#"{"a": {"b": {"$nope": 1}}}"#, " at a › b › $nope: this is no operator of CouchDB"),
    (#"{"a": {"$where": "x"}}"#, " at a › $where: CouchDB does not support this operator"),
    (#"{"a": {"$near": []}}"#, " at a › $near: CouchDB does not support this operator"),
    (
      #"{"$text": "x"}"#,
      " at $text: a full-text search needs an index, and a filter has none"
    ),
    (#"{"$and": {"a": 1}}"#, #" at $and: the operator needs an array, and has {"a":1}"#),
    (#"{"a": {"$or": "x"}}"#, #" at a › $or: the operator needs an array, and has "x""#),
    (#"{"$nor": 1}"#, " at $nor: the operator needs an array, and has 1"),
    (#"{"$not": []}"#, " at $not: the operator needs an object with conditions, and has []"),
    (#"{"a": {"$in": "x"}}"#, #" at a › $in: the operator needs an array, and has "x""#),
    (#"{"a": {"$nin": 1}}"#, " at a › $nin: the operator needs an array, and has 1"),
    (#"{"a": {"$all": {}}}"#, " at a › $all: the operator needs an array, and has {}"),
    (
      #"{"a": {"$elemMatch": []}}"#,
      " at a › $elemMatch: the operator needs an object with conditions, and has []"
    ),
    (
      #"{"a": {"$allMatch": 5}}"#,
      " at a › $allMatch: the operator needs an object with conditions, and has 5"
    ),
    (
      #"{"a": {"$keyMapMatch": 5}}"#,
      " at a › $keyMapMatch: the operator needs an object with conditions, and has 5"
    ),
    (
      #"{"a": {"$exists": "yes"}}"#,
      #" at a › $exists: the operator needs true or false, and has "yes""#
    ),
    (#"{"a": {"$type": 1}}"#, " at a › $type: the operator needs a string, and has 1"),
    (#"{"a": {"$beginsWith": 1}}"#, " at a › $beginsWith: the operator needs a string, and has 1"),
    (#"{"a": {"$regex": 5}}"#, " at a › $regex: the operator needs a string, and has 5"),
    (
      #"{"a": {"$size": -1}}"#,
      " at a › $size: the operator needs a whole number that is not negative, and has -1"
    ),
    (
      #"{"a": {"$size": 2.0}}"#,
      " at a › $size: the operator needs a whole number that is not negative, and has 2.0"
    ),
    (#"{"a": {"$mod": [0, 1]}}"#, " at a › $mod: the divisor is 0"),
    (
      #"{"a": {"$mod": [2]}}"#,
      " at a › $mod: the operator needs an array of two whole numbers, divisor and remainder, "
        + "and has [2]"
    ),
    (
      #"{"a": {"$mod": [2.0, 1]}}"#,
      " at a › $mod: the operator needs an array of two whole numbers, divisor and remainder, "
        + "and has [2.0,1]"
    ),
    (
      #"{"$and": [{"a": 1}, {"b": {"$elemMatch": {"c": {"$in": 0}}}}]}"#,
      " at $and › b › $elemMatch › c › $in: the operator needs an array, and has 0"
    ),
  ]

  @Test(arguments: messages)
  func `an invalid selector is refused with the path to the cause`(
    _ selector: String, _ message: String
  ) throws {
    let value = try Value(json: selector)
    let error = #expect(throws: ReplicationError.self) { try MangoSelector(value) }
    #expect(error?.code == .invalidSelector && error?.isTemporary == false)
    #expect(error?.message == "the selector is invalid" + message)
  }

  @Test func `an invalid regular expression is refused with its cause`() throws {
    for text in ["(", "[", "a{2,1}", "*a", #"\"#] {
      let error = #expect(throws: ReplicationError.self, "\(text)") {
        try MangoSelector(["a": ["$regex": .string(text)]])
      }
      #expect(error?.code == .invalidSelector)
      #expect(error?.message.contains("at a › $regex: the regular expression is invalid") == true)
    }
  }

  @Test func `a regular expression that is too large is refused`() throws {
    for (text, cause) in [
      (String(repeating: "a", count: 4097), "it has more than 4096 bytes"),
      (String(repeating: "(", count: 101), "it has more than 100 opening brackets"),
      (String(repeating: "[a&&", count: 101), "it has more than 100 opening brackets"),
    ] {
      let error = #expect(throws: ReplicationError.self) {
        try MangoSelector(["a": ["$regex": .string(text)]])
      }
      #expect(error?.message.hasSuffix(cause) == true)
    }
    // Swift has a limit of its own for groups in groups.
    for (open, close, count) in [
      ("(", ")", 50), ("(?:", ")*", 50), ("[", "]", 100), ("[a-z&&", "]", 100), ("(?i)", "", 100),
    ] {
      let text =
        String(repeating: open, count: count) + "a" + String(repeating: close, count: count)
      #expect(try MangoSelector(["a": ["$regex": .string(text)]]).matches(["a": "a"]), "\(open)")
    }
    let long = String(repeating: "a|b?", count: 1024)
    #expect(try MangoSelector(["a": ["$regex": .string(long)]]).matches(["a": "a"]))
  }

  @Test func `an error shows the beginning of a long argument only`() throws {
    let text = String(repeating: "é", count: 100_000)
    let error = #expect(throws: ReplicationError.self) {
      try MangoSelector([text: ["$in": .string(text)]] as Value)
    }
    #expect(error?.message.utf8.count ?? 0 < 300)
  }

  // MARK: Size

  /// Returns a value in `depth` objects or arrays.
  private func nested(_ value: Value, _ depth: Int, _ wrap: (Value) -> Value) -> Value {
    var value = value
    for _ in 0..<depth { value = wrap(value) }
    return value
  }

  private static let wraps: [@Sendable (Value) -> Value] = [
    { ["a": $0] }, { ["$not": $0] }, { ["$and": [$0]] }, { ["$nor": [$0, ["b": 1]]] },
    { ["a": ["$elemMatch": $0]] }, { ["$or": [["a": $0]]] },
  ]

  @Test func `a selector that is nested too deeply is refused, whatever is nested`() throws {
    for wrap in Self.wraps {
      let error = #expect(throws: ReplicationError.self) {
        try MangoSelector(nested(["a": 1], 2000, wrap))
      }
      #expect(
        error?.message == "the selector is invalid: it is nested more than 100 levels deep")
    }
    for wrap: (Value) -> Value in [{ [$0] }, { ["a": $0] }] {
      for name in ["$eq", "$in", "$all"] {
        let error = #expect(throws: ReplicationError.self) {
          try MangoSelector(["a": [name: [nested(1, 2000, wrap)]] as Value])
        }
        #expect(error?.message.contains("100 levels") == true)
      }
    }
  }

  @Test func `a selector that is nested as deeply as allowed can be evaluated`() throws {
    for wrap in Self.wraps {
      let selector = try MangoSelector(nested(["a": 1], 45, wrap))
      for document in [["a": 1], nested(["a": 1], 45) { ["a": $0] }] as [Value] {
        _ = selector.matches(try #require(document.objectValue))
      }
    }
    let path = Array(repeating: "a", count: 1000).joined(separator: ".")
    let deep = nested(["a": 1], 999) { ["a": $0] }
    #expect(try MangoSelector([path: 1] as Value).matches(try #require(deep.objectValue)))
  }

  @Test func `a deep document compares with a selector`() throws {
    let deep = nested(1, 2000) { [$0] }
    let selector = try MangoSelector(["a": ["$gt": [[[2]]]]])
    #expect(selector.matches(["a": deep]))
    #expect(try !MangoSelector(["a": ["$in": [[[2]]]]]).matches(["a": deep]))
  }

  /// A time in proportion to the product of the two sizes would be an hour.
  @Test(.timeLimit(.minutes(5)))
  func `selectors and documents of great size are evaluated`() throws {
    let count = 200_000
    let numbers = Value.array((0..<count).map { .int(Int64($0)) })
    let texts = Value.array((0..<count).map { .string("text \($0)") })
    let absent = Value.array((0..<count).map { .string("other \($0)") })
    for (selector, expected) in [
      (["a": ["$in": absent]], false), (["a": ["$nin": absent]], true),
      (["a": ["$all": texts]], true), (["a": ["$all": absent]], false),
      (["b": ["$in": [-1]]], false), (["b": ["$in": numbers]], true),
      (["a": ["$allMatch": ["$beginsWith": "text"]]], true),
      (["a": ["$elemMatch": ["$in": absent]]], false), (["a": ["$size": 200_000]], true),
    ] as [(Value, Bool)] {
      #expect(try MangoSelector(selector).matches(["a": texts, "b": numbers]) == expected)
    }
    let name = String(repeating: "n", count: 1 << 20)
    let alternatives = Value.array((0..<count).map { ["x.y\($0)": .int(Int64($0))] })
    let selector = try MangoSelector([name: ["$or": alternatives]] as Value)
    #expect(!selector.matches([name: ["x": ["y": 1]]]))
    #expect(selector.matches([name: ["x": ["y7": 7]]]))
  }
}
