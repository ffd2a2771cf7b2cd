import Divan
import DivanSync
import Testing

/// Tests of each operator of selectors.
struct MangoSelectorTests {
  /// A selector with documents that match it and others that do not, all in JSON.
  struct Case: Sendable, CustomTestStringConvertible {
    let selector: String
    let matching: [String]
    let others: [String]

    init(_ selector: String, matches matching: [String], not others: [String]) {
      (self.selector, self.matching, self.others) = (selector, matching, others)
    }

    var testDescription: String { selector }
  }

  private func check(_ each: Case) throws {
    let selector = try MangoSelector(Value(json: each.selector))
    for (documents, expected) in [(each.matching, true), (each.others, false)] {
      for json in documents {
        let document = try #require(try Value(json: json).objectValue)
        #expect(selector.matches(document) == expected, "\(each.selector) of \(json)")
      }
    }
  }

  static let comparisons = [
    Case("{}", matches: ["{}", #"{"a": 1}"#], not: []),
    Case(
      #"{"a": 1}"#, matches: [#"{"a": 1}"#, #"{"a": 1.0}"#, #"{"a": 1e0, "b": 2}"#],
      not: [#"{"a": 2}"#, #"{"a": "1"}"#, #"{"a": [1]}"#, "{}", #"{"b": 1}"#]),
    Case(
      #"{"a": {"$lt": 5}}"#,
      matches: [#"{"a": 4.9}"#, #"{"a": null}"#, #"{"a": true}"#, #"{"a": -1e300}"#],
      not: [#"{"a": 5}"#, #"{"a": "4"}"#, #"{"a": []}"#, #"{"a": {}}"#, "{}"]),
    Case(
      #"{"a": {"$lte": "b"}}"#,
      matches: [#"{"a": "b"}"#, #"{"a": "A"}"#, #"{"a": 9}"#, #"{"a": ""}"#],
      not: [#"{"a": "B"}"#, #"{"a": "c"}"#, #"{"a": ["a"]}"#]),
    Case(
      #"{"a": {"$gte": [1, 2]}}"#,
      matches: [#"{"a": [1, 2]}"#, #"{"a": [1, 2, 0]}"#, #"{"a": [1, "x"]}"#, #"{"a": {}}"#],
      not: [#"{"a": [1]}"#, #"{"a": [1, 1, 9]}"#, #"{"a": "z"}"#]),
    Case(
      #"{"a": {"$gt": {"b": 1}}}"#,
      matches: [
        #"{"a": {"b": 2}}"#, #"{"a": {"b": 1, "c": 0}}"#, #"{"a": {"c": 0}}"#,
        #"{"a": {"B": null, "b": 1}}"#,
      ], not: [#"{"a": {"b": 1.0}}"#, #"{"a": {}}"#, #"{"a": [9]}"#]),
    Case(
      #"{"a": {"$eq": {"b": [1, null]}}}"#, matches: [#"{"a": {"b": [1.0, null]}}"#],
      not: [#"{"a": {"b": [1, null], "c": 1}}"#, #"{"a": {"b": [1]}}"#, #"{"a": {}}"#]),
    Case(
      #"{"a": {"$ne": 1}}"#, matches: [#"{"a": 2}"#, #"{"a": null}"#, #"{"a": [1]}"#],
      not: [#"{"a": 1}"#, #"{"a": 1.0}"#, "{}"]),
    Case(
      #"{"a": {"$eq": 9007199254740993}}"#, matches: [#"{"a": 9007199254740993}"#],
      not: [#"{"a": 9007199254740992}"#, #"{"a": 9007199254740992.0}"#]),
    Case(
      #"{"a": {"$gt": 9223372036854775807}}"#,
      matches: [#"{"a": 9223372036854775808}"#, #"{"a": 1e19}"#],
      not: [#"{"a": 9223372036854775807}"#, #"{"a": -1}"#]),
    Case(
      #"{"a": "\#u{E9}b"}"#, matches: [#"{"a": "e\#u{301}b"}"#, #"{"a": "\#u{E9}\u200bb"}"#],
      not: [#"{"a": "eb"}"#, #"{"a": "\#u{C9}b"}"#]),
    Case(
      #"{"_id": "\#u{E9}"}"#, matches: [#"{"_id": "\#u{E9}"}"#],
      not: [#"{"_id": "e\#u{301}"}"#]),
    Case(
      #"{"_id": {"$gt": "B"}}"#, matches: [#"{"_id": "a"}"#], not: [#"{"_id": "A"}"#]),
    Case(
      #"{"_id": {"$gt": []}}"#, matches: [#"{"_id": "a"}"#], not: [#"{"_id": []}"#]),
    Case(
      #"{"a": {"_id": {"$gt": "B"}}}"#, matches: [#"{"a": {"_id": "c"}}"#],
      not: [#"{"a": {"_id": "a"}}"#]),
    Case(
      #"{"a": {"$elemMatch": {"_id": {"$gt": "B"}}}}"#, matches: [#"{"a": [{"_id": "a"}]}"#],
      not: [#"{"a": [{"_id": "A"}]}"#]),
  ]

  @Test(arguments: comparisons)
  func `comparisons have CouchDB's results`(_ each: Case) throws { try check(each) }

  static let fields = [
    Case(
      #"{"a.b": 1}"#, matches: [#"{"a": {"b": 1}}"#],
      not: [#"{"a.b": 1}"#, #"{"a": [{"b": 1}]}"#, #"{"a": 1}"#, "{}"]),
    Case(#"{"a": {"b": 1}}"#, matches: [#"{"a": {"b": 1, "c": 2}}"#], not: [#"{"a": {"c": 1}}"#]),
    Case(#"{"a\\.b": 1}"#, matches: [#"{"a.b": 1}"#], not: [#"{"a": {"b": 1}}"#]),
    Case(#"{"a": {"b\\.c.d": 1}}"#, matches: [#"{"a": {"b.c": {"d": 1}}}"#], not: ["{}"]),
    Case(#"{"\\$a": 1}"#, matches: [#"{"$a": 1}"#], not: [#"{"a": 1}"#]),
    Case(#"{"a.$b": 1}"#, matches: [#"{"a": {"$b": 1}}"#], not: [#"{"a": {"b": 1}}"#]),
    Case(#"{"\\": 1}"#, matches: [#"{"": 1}"#], not: [#"{"\\": 1}"#]),
    Case(
      #"{"a.1": 2}"#, matches: [#"{"a": [1, 2]}"#, #"{"a": {"1": 2}}"#],
      not: [#"{"a": [2, 1]}"#, #"{"a": [2]}"#]),
    Case(
      #"{"a.+01.b": 2}"#, matches: [#"{"a": [0, {"b": 2}]}"#], not: [#"{"a": [{"b": 2}]}"#]),
    Case(#"{"a.-1": 2}"#, matches: [], not: [#"{"a": [2]}"#, #"{"a": [1, 2]}"#]),
    Case(
      #"{"a.b": {"$exists": true}}"#, matches: [#"{"a": {"b": null}}"#],
      not: [#"{"a": {}}"#, #"{"a": 1}"#, "{}"]),
    Case(
      #"{"a.b": {"$exists": false}}"#, matches: [#"{"a": {}}"#, "{}"],
      not: [#"{"a": {"b": null}}"#, #"{"a": 1}"#, #"{"a": []}"#, #"{"a": null}"#]),
    Case(
      #"{"a": {"$gt": 1, "b": 2}}"#, matches: [#"{"a": {"b": 2}}"#], not: [#"{"a": 2}"#]),
    Case(#"{"\u00e9": 1}"#, matches: [#"{"\u00e9": 1}"#], not: [#"{"e\u0301": 1}"#]),
    Case(
      #"{"_attachments.p.length": {"$gt": 3}}"#,
      matches: [
        #"{"_attachments": {"p": {"length": 4}}}"#
      ], not: ["{}"]),
  ]

  @Test(arguments: fields)
  func `paths lead where CouchDB's lead`(_ each: Case) throws { try check(each) }

  static let sets = [
    Case(
      #"{"a": {"$in": [1, "b", null, [3]]}}"#,
      matches: [#"{"a": 1.0}"#, #"{"a": null}"#, #"{"a": [0, "b"]}"#, #"{"a": [[3.0]]}"#],
      not: [#"{"a": 2}"#, #"{"a": "B"}"#, #"{"a": [3]}"#, #"{"a": []}"#, #"{"a": {}}"#, "{}"]),
    Case(#"{"a": {"$in": []}}"#, matches: [], not: [#"{"a": []}"#, #"{"a": 1}"#, "{}"]),
    Case(
      #"{"a": {"$nin": [1, "b"]}}"#, matches: [#"{"a": 2}"#, #"{"a": []}"#, #"{"a": [2]}"#],
      not: [#"{"a": 1}"#, #"{"a": [2, "b"]}"#, "{}"]),
    Case(#"{"a": {"$nin": []}}"#, matches: [#"{"a": 1}"#, #"{"a": []}"#], not: ["{}"]),
    Case(
      #"{"a": {"$in": [18446744073709551615, 0.5, -0.0]}}"#,
      matches: [#"{"a": 18446744073709551615}"#, #"{"a": 0.5}"#, #"{"a": 0}"#],
      not: [#"{"a": 18446744073709551614}"#, #"{"a": 1.8446744073709552e19}"#]),
    Case(
      #"{"_id": {"$in": ["a", "\#u{E9}"]}}"#, matches: [#"{"_id": "a"}"#],
      not: [#"{"_id": "e\#u{301}"}"#, #"{"_id": "b"}"#]),
    Case(
      #"{"a": {"$all": [1, 2]}}"#, matches: [#"{"a": [2, 3, 1]}"#],
      not: [#"{"a": [1]}"#, #"{"a": [1.0, 2.0]}"#, #"{"a": 1}"#, #"{"a": []}"#, "{}"]),
    Case(#"{"a": {"$all": []}}"#, matches: [], not: [#"{"a": []}"#, #"{"a": [1]}"#]),
    Case(
      #"{"a": {"$all": [[1, 2]]}}"#,
      matches: [#"{"a": [1, 2]}"#, #"{"a": [1.0, 2.0]}"#, #"{"a": [0, [1, 2]]}"#],
      not: [#"{"a": [2, 1]}"#, #"{"a": [[1.0, 2]]}"#]),
    Case(
      #"{"a": {"$all": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}}"#,
      matches: [#"{"a": [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1]}"#],
      not: [#"{"a": [9, 8, 7, 6, 5, 4, 3, 2, 1, -1]}"#]),
    Case(
      #"{"a": {"$size": 2}}"#, matches: [#"{"a": [1, [2, 3]]}"#],
      not: [#"{"a": [1]}"#, #"{"a": {"b": 1, "c": 2}}"#, #"{"a": "ab"}"#, #"{"a": 2}"#, "{}"]),
    Case(#"{"a": {"$size": 0}}"#, matches: [#"{"a": []}"#], not: [#"{"a": null}"#, "{}"]),
  ]

  @Test(arguments: sets)
  func `sets of values have CouchDB's meaning`(_ each: Case) throws { try check(each) }

  static let kinds = [
    Case(#"{"a": {"$type": "null"}}"#, matches: [#"{"a": null}"#], not: [#"{"a": 0}"#, "{}"]),
    Case(#"{"a": {"$type": "boolean"}}"#, matches: [#"{"a": false}"#], not: [#"{"a": 0}"#]),
    Case(
      #"{"a": {"$type": "number"}}"#,
      matches: [#"{"a": 0}"#, #"{"a": 1.5}"#, #"{"a": 18446744073709551615}"#],
      not: [#"{"a": "0"}"#]),
    Case(#"{"a": {"$type": "string"}}"#, matches: [#"{"a": ""}"#], not: [#"{"a": null}"#]),
    Case(#"{"a": {"$type": "array"}}"#, matches: [#"{"a": []}"#], not: [#"{"a": {}}"#]),
    Case(#"{"a": {"$type": "object"}}"#, matches: [#"{"a": {}}"#], not: [#"{"a": []}"#]),
    Case(#"{"a": {"$type": "integer"}}"#, matches: [], not: [#"{"a": 1}"#, "{}"]),
    Case(
      #"{"a": {"$mod": [5, 1]}}"#, matches: [#"{"a": 1}"#, #"{"a": 11}"#],
      not: [#"{"a": 11.0}"#, #"{"a": -9}"#, #"{"a": "11"}"#, #"{"a": [11]}"#, "{}"]),
    Case(
      #"{"a": {"$mod": [5, -1]}}"#, matches: [#"{"a": -11}"#], not: [#"{"a": 11}"#, #"{"a": 4}"#]),
    Case(
      #"{"a": {"$mod": [-1, 0]}}"#, matches: [#"{"a": -9223372036854775808}"#],
      not: [#"{"a": 0.0}"#]),
    Case(
      #"{"a": {"$mod": [18446744073709551615, 7]}}"#, matches: [#"{"a": 7}"#],
      not: [#"{"a": -7}"#]),
    Case(#"{"a": {"$exists": true}}"#, matches: [#"{"a": null}"#], not: ["{}"]),
    Case(
      #"{"a": {"$beginsWith": "ca"}}"#, matches: [#"{"a": "ca"}"#, #"{"a": "cafe"}"#],
      not: [#"{"a": "Cafe"}"#, #"{"a": "c"}"#, #"{"a": ["ca"]}"#, #"{"a": 1}"#, "{}"]),
    Case(#"{"a": {"$beginsWith": ""}}"#, matches: [#"{"a": ""}"#], not: [#"{"a": null}"#, "{}"]),
    Case(
      #"{"a": {"$beginsWith": "cafe"}}"#, matches: [#"{"a": "cafes"}"#],
      not: [#"{"a": "cafe\#u{301}s"}"#, #"{"a": "caf\#u{E9}s"}"#]),
    Case(
      #"{"a": {"$beginsWith": "e\#u{301}"}}"#, matches: [#"{"a": "e\#u{301}s"}"#],
      not: [#"{"a": "\#u{E9}s"}"#]),
    Case(#"{"_id": {"$beginsWith": "n"}}"#, matches: [#"{"_id": "note"}"#], not: ["{}"]),
  ]

  @Test(arguments: kinds)
  func `types, remainders and prefixes are CouchDB's`(_ each: Case) throws { try check(each) }

  static let patterns = [
    Case(
      #"{"a": {"$regex": "b+c"}}"#, matches: [#"{"a": "abbcd"}"#],
      not: [#"{"a": "abd"}"#, #"{"a": ["bc"]}"#, #"{"a": 1}"#, #"{"a": null}"#, "{}"]),
    Case(
      #"{"a": {"$regex": "^b$"}}"#, matches: [#"{"a": "b"}"#],
      not: [#"{"a": "ab"}"#, #"{"a": "a\nb\nc"}"#]),
    Case(
      #"{"a": {"$regex": "(?i)^OSLO$"}}"#, matches: [#"{"a": "Oslo"}"#], not: [#"{"a": "Bergen"}"#]),
    Case(#"{"a": {"$regex": "^\\d$"}}"#, matches: [#"{"a": "7"}"#], not: [#"{"a": "\u0663"}"#]),
    Case(#"{"a": {"$regex": "^\\w$"}}"#, matches: [#"{"a": "_"}"#], not: [#"{"a": "\u00e9"}"#]),
    Case(
      #"{"a": {"$regex": "\\bfoo\\b"}}"#, matches: [#"{"a": "a foo-bar"}"#],
      not: [#"{"a": "foobar"}"#]),
    Case(
      #"{"a": {"$regex": "e$"}}"#, matches: [#"{"a": "cafe"}"#], not: [#"{"a": "cafe\u0301"}"#]),
    Case(#"{"a": {"$regex": ""}}"#, matches: [#"{"a": ""}"#, #"{"a": "x"}"#], not: ["{}"]),
    Case(
      #"{"a": {"$not": {"$regex": "b"}}}"#, matches: [#"{"a": 1}"#, #"{"a": "c"}"#],
      not: [#"{"a": "b"}"#, "{}"]),
  ]

  @Test(arguments: patterns)
  func `regular expressions match a part of a text`(_ each: Case) throws { try check(each) }

  static let elements = [
    Case(
      #"{"a": {"$elemMatch": {"b": 1, "c": {"$gt": 2}}}}"#,
      matches: [#"{"a": [0, {"b": 1, "c": 3}]}"#],
      not: [
        #"{"a": [{"b": 1, "c": 2}, {"b": 0, "c": 3}]}"#, #"{"a": {"b": 1, "c": 3}}"#,
        #"{"a": []}"#, "{}",
      ]),
    Case(
      #"{"a": {"$elemMatch": {"$gte": 80, "$lt": 85}}}"#, matches: [#"{"a": [1, 84]}"#],
      not: [#"{"a": [79, 85]}"#, #"{"a": 82}"#]),
    Case(#"{"a": {"$elemMatch": {}}}"#, matches: [#"{"a": [1, {}]}"#], not: [#"{"a": [[]]}"#]),
    Case(
      #"{"a": {"$elemMatch": {"$elemMatch": {"$eq": 1}}}}"#, matches: [#"{"a": [0, [2, 1]]}"#],
      not: [#"{"a": [1]}"#]),
    Case(
      #"{"a": {"$elemMatch": {"b": {"$exists": false}}}}"#, matches: [#"{"a": [{}]}"#],
      not: [#"{"a": [{"b": 1}]}"#, #"{"a": [1, "b"]}"#]),
    Case(
      #"{"a": {"$allMatch": {"$gt": 1}}}"#, matches: [#"{"a": [2, "x"]}"#],
      not: [#"{"a": [2, 1]}"#, #"{"a": []}"#, #"{"a": 2}"#, "{}"]),
    Case(
      #"{"a": {"$keyMapMatch": {"$eq": "fr"}}}"#, matches: [#"{"a": {"de": 1, "fr": 2}}"#],
      not: [#"{"a": {"de": "fr"}}"#, #"{"a": {}}"#, #"{"a": ["fr"]}"#, "{}"]),
    Case(
      #"{"a": {"$keyMapMatch": {"b": {"$exists": false}}}}"#, matches: [],
      not: [#"{"a": {"c": 1}}"#]),
    // A negation there is not moved down, so what is missing counts.
    Case(
      #"{"a": {"$elemMatch": {"$not": {"b": 1}}}}"#,
      matches: [#"{"a": [{"b": 2}]}"#, #"{"a": [{}]}"#, #"{"a": [5]}"#],
      not: [#"{"a": [{"b": 1}]}"#]),
    Case(
      #"{"a": {"$not": {"$allMatch": {"$gt": 1}}}}"#,
      matches: [#"{"a": []}"#, #"{"a": [1, 2]}"#, #"{"a": 1}"#], not: [#"{"a": [2]}"#, "{}"]),
    // CouchDB cannot evaluate these, and stops at the first element that needs it.
    Case(
      #"{"a": {"$elemMatch": {"$nor": [{"b": 1}]}}}"#, matches: [], not: [#"{"a": [{"b": 2}]}"#]),
    Case(
      #"{"a": {"$elemMatch": {"$or": [{"c": 1}, {"$nor": [{"b": 1}]}]}}}"#,
      matches: [#"{"a": [{"c": 1}, {"b": 1}]}"#], not: [#"{"a": [{"b": 1}, {"c": 1}]}"#]),
    Case(
      #"{"a": {"$not": {"$allMatch": {"$nor": [{"b": 1}]}}}}"#, matches: [#"{"a": [{"b": 2}]}"#],
      not: ["{}"]),
  ]

  @Test(arguments: elements)
  func `conditions on elements and keys have CouchDB's results`(_ each: Case) throws {
    try check(each)
  }

  static let combinations = [
    Case(
      #"{"$and": [{"a": {"$gt": 1}}, {"a": {"$lt": 3}}]}"#, matches: [#"{"a": 2}"#],
      not: [#"{"a": 3}"#, "{}"]),
    Case(
      #"{"$or": [{"a": 1}, {"b": 1}]}"#, matches: [#"{"a": 1}"#, #"{"a": 2, "b": 1}"#],
      not: [#"{"a": 2}"#, "{}"]),
    Case(
      #"{"a": {"$or": [1, {"$gt": 5}]}}"#, matches: [#"{"a": 1}"#, #"{"a": 6}"#],
      not: [
        #"{"a": 5}"#
      ]),
    // Each of them wants the property to be there.
    Case(
      #"{"$nor": [{"a": 1}, {"b": 1}]}"#, matches: [#"{"a": 2, "b": 2}"#],
      not: [#"{"a": 1, "b": 2}"#, #"{"a": 2}"#, "{}"]),
    Case(#"{"$not": {"a": 1}}"#, matches: [#"{"a": 2}"#], not: [#"{"a": 1}"#, "{}"]),
    Case(
      #"{"$not": {"a": 1, "b": 1}}"#, matches: [#"{"a": 2}"#, #"{"a": 1, "b": 2}"#],
      not: [#"{"a": 1, "b": 1}"#, "{}"]),
    Case(#"{"$not": {"$not": {"a": 1}}}"#, matches: [#"{"a": 1}"#], not: [#"{"a": 2}"#, "{}"]),
    Case(#"{"$not": {"$nor": [{"a": 1}]}}"#, matches: [#"{"a": 1}"#], not: [#"{"a": 2}"#, "{}"]),
    Case(
      #"{"a": {"$not": {"$exists": true, "$eq": 0}}}"#, matches: ["{}", #"{"a": 1}"#],
      not: [#"{"a": 0}"#]),
    Case(#"{"a": {"$not": {"$exists": false}}}"#, matches: [#"{"a": 1}"#], not: ["{}"]),
    Case(#"{"a": {"$not": {"$in": [1]}}}"#, matches: [#"{"a": 2}"#], not: [#"{"a": 1}"#, "{}"]),
    Case(#"{"a": {"$not": {"$size": 1}}}"#, matches: [#"{"a": 2}"#], not: [#"{"a": [1]}"#, "{}"]),
    Case(#"{"a": {"$not": {}}}"#, matches: [#"{"a": 2}"#], not: [#"{"a": {}}"#, "{}"]),
    Case(#"{"$and": [{}]}"#, matches: ["{}"], not: [#"{"a": 1}"#]),
    // Empty combinations.
    Case(#"{"$and": []}"#, matches: [], not: ["{}", #"{"a": 1}"#]),
    Case(#"{"$or": []}"#, matches: [], not: ["{}", #"{"a": 1}"#]),
    Case(#"{"$nor": []}"#, matches: [], not: ["{}", #"{"a": 1}"#]),
    Case(#"{"a": {"$or": []}}"#, matches: [], not: ["{}", #"{"a": 1}"#]),
    Case(#"{"a": 1, "$and": []}"#, matches: [#"{"a": 1}"#], not: [#"{"a": 2}"#]),
    Case(#"{"a": 1, "$or": []}"#, matches: [#"{"a": 1}"#], not: [#"{"a": 2}"#]),
    Case(#"{"a": 1, "$nor": []}"#, matches: [#"{"a": 1}"#], not: [#"{"a": 2}"#]),
    Case(#"{"$or": [{"$or": []}, {"a": 1}]}"#, matches: ["{}"], not: []),
  ]

  @Test(arguments: combinations)
  func `combinations and negations have CouchDB's results`(_ each: Case) throws { try check(each) }

  // MARK: Documents

  @Test func `a document has the members that CouchDB gives it`() throws {
    var document = Document(id: "a", ["text": "Tea"])
    document.attachments["photo"] = Document.Attachment(contentType: "image/png", [1, 2, 3])
    func matches(_ selector: Value) throws -> Bool { try MangoSelector(selector).matches(document) }
    #expect(try matches(["_id": "a", "text": "Tea"]))
    #expect(try matches(["_rev": ["$exists": false], "_deleted": ["$exists": false]]))
    #expect(try matches(["_attachments.photo": ["content_type": "image/png", "length": 3]]))
    #expect(try matches(["_attachments.photo.stub": true]))
    #expect(try matches([:]))
    #expect(try !matches(["_revisions": ["$exists": true]]))
  }

  @Test func `selectors with the same JSON are equal`() throws {
    let selector = try MangoSelector(Value(json: #"{"b": 1, "a": {"$in": [2]}}"#))
    let same = try MangoSelector(["a": ["$in": [2]], "b": 1])
    #expect(selector == same && selector.hashValue == same.hashValue)
    #expect(try selector != MangoSelector(["a": ["$in": [2]]]))
    #expect(selector.description == #"{"a":{"$in":[2]},"b":1}"#)
  }

  @Test func `numbers that are not finite compare without trapping`() throws {
    func matches(_ number: Double, _ condition: Value, _ name: String) throws -> Bool {
      try MangoSelector([name: condition] as Value).matches([name: .double(number)])
    }
    for name in ["a", "_id"] {
      #expect(try matches(.infinity, ["$gt": 1], name))
      #expect(try matches(-.infinity, ["$lt": 1], name))
      for condition in [["$eq": 1], ["$in": [1, 2.5]], ["$mod": [2, 1]]] as [Value] {
        for number in [Double.nan, .infinity, -.infinity] {
          #expect(try !matches(number, condition, name))
        }
      }
    }
  }
}
