import DivanTesting

@testable import Divan

/// Seeded random documents and queries.
///
/// They use few different values, so that many documents match.
struct RandomQueries {
  var random: SeededGenerator
  /// Counts up, so that no two documents have the same number in `u`.
  private var lastUnique: Int64 = 0

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  private static let texts = [
    "", "a", "b", "ab", "aB", "Ab", "abc", "ä", "a\u{308}", "ß", "SS", "Été", "ete", "z", "x*y",
    "日本",
    String(repeating: "l", count: 200) + "1", String(repeating: "l", count: 200) + "2",
  ]

  mutating func pick<T>(_ values: [T]) -> T { values[random.below(values.count)] }

  mutating func scalar() -> Value {
    switch random.below(10) {
    case 0: .null
    case 1: .bool(random.below(2) == 0)
    case 2, 3, 4: .int(Int64(random.below(7)) - 2)
    case 5: pick([0.5, 1.0, -0.0, 2.25, 1e300, 9007199254740993.0])
    case 6:
      pick([.int(.max), .int(.min), .unsigned(.max), .int(9_007_199_254_740_993), .double(0x1p63)])
    default: .string(pick(RandomQueries.texts))
    }
  }

  mutating func value() -> Value {
    switch random.below(8) {
    case 0: .array((0..<random.below(4)).map { _ in scalar() })
    case 1: .object(["x": scalar()])
    default: scalar()
    }
  }

  mutating func document() -> Value.Object {
    var document: Value.Object = [:]
    if random.below(8) > 0 { document["a"] = value() }
    if random.below(8) > 0 { document["n"] = .int(Int64(random.below(40))) }
    if random.below(8) > 0 { document["t"] = .string(pick(RandomQueries.texts)) }
    if random.below(6) > 0 {
      document["tags"] =
        random.below(6) == 0
        ? value() : .array((0..<random.below(20)).map { _ in scalar() })
    }
    // Few arrays are long.
    if random.below(40) == 0 { document["tags"] = .array((0..<300).map { _ in scalar() }) }
    lastUnique += 1
    if random.below(8) > 0 { document["u"] = .int(lastUnique) }
    if random.below(12) == 0 { document["u"] = .null }
    if random.below(4) > 0 { document["o"] = .object(["p": value(), "q": scalar()]) }
    if random.below(3) > 0 { document["ref"] = .string("doc-\(random.below(90))") }
    return document
  }

  static let indexes = [
    DocumentIndex("a", on: "a"), DocumentIndex("n", on: "n"), DocumentIndex("t", on: "t"),
    DocumentIndex("tags", on: "tags", eachElement: true), DocumentIndex("op", on: "o.p"),
    DocumentIndex("each a", on: "a", eachElement: true),
    DocumentIndex("u", on: "u", isUnique: true),
    DocumentIndex("n, t", on: "n", "t"), DocumentIndex("t, n", on: "t", "n"),
    DocumentIndex("t, a, n", on: "t", "a", "n"),
    DocumentIndex("n, u", on: "n", "u", isUnique: true),
    DocumentIndex("a, op", on: "a", "o.p"),
    DocumentIndex("tags, n", on: "tags", "n", eachElement: true),
    DocumentIndex("n with t", on: "n", where: [.isPresent("t")]),
    DocumentIndex("t of few", on: "t", "n", where: [.less("n", 20)]),
    DocumentIndex("few", on: "n", where: [.less("n", 20), .greaterOrEqual("n", 5)]),
    DocumentIndex("n of a", on: "n", where: [.hasPrefix("t", "a")]),
    DocumentIndex(
      "n of none", on: "n", "t", where: [IndexCondition(path: ["o", "q"], .equal(.null))]),
    DocumentIndex("n of several", on: "n", "a", where: [.isIn("t", ["ab", "b", .null])]),
    DocumentIndex("tags of two", on: "tags", eachElement: true, where: [.equal("t", "ab")]),
  ]

  mutating func path() -> QueryPath {
    switch random.below(16) {
    case 0...3: QueryPath(steps: [.key("a")])
    case 4...6: QueryPath(steps: [.key("n")])
    case 7: QueryPath(steps: [.key("t")])
    case 8: QueryPath(steps: [.key(pick(["t", "u"]))])
    case 9, 10: QueryPath(steps: [.key("o"), .key("p")])
    case 11: QueryPath(steps: [.key("o"), .key("p"), .key("x")])
    case 12: QueryPath(steps: [.key("tags"), .element(random.below(18))])
    case 13: QueryPath(steps: [.key("tags")], measure: .count)
    case 14: QueryPath(steps: [.key("ref"), .reference, .key(pick(["n", "t"]))])
    default: .documentID
    }
  }

  mutating func test(_ path: QueryPath) -> ComparisonOperator {
    if path.isDocumentID {
      let id = Value.string("doc-\(random.below(90))")
      return pick([
        .equal(id), .oneOf([id, .string("doc-7"), .int(3)]), .text(.beginning, "doc-1", []),
        .order(.greaterOrEqual, id),
      ])
    }
    let isNumber = path.measure == .count || path.steps == [.key("n")]
    let constant = isNumber && random.below(6) > 0 ? .int(Int64(random.below(40))) : value()
    switch random.below(9) {
    case 0, 1: return .equal(random.below(30) == 0 ? .double(.nan) : constant)
    case 2, 3, 4:
      return .order(pick([.less, .lessOrEqual, .greater, .greaterOrEqual]), constant)
    case 5: return .oneOf((0..<random.below(4)).map { _ in value() })
    case 6: return .isMissing
    default:
      let position: ComparisonOperator.TextMatch = pick([
        .beginning, .beginning, .end, .anywhere, .pattern, .whole,
      ])
      var text = pick(RandomQueries.texts)
      if position == .pattern { text = pick(["*", "a*", "*b", "?", "??", "a?c", "*?*", "", text]) }
      return .text(
        position, text, pick([[], [], .letterCase, .diacritics, .caseAndDiacritics]))
    }
  }

  mutating func filter(depth: Int = 0) -> FilterExpression {
    switch random.below(depth > 2 ? 8 : 16) {
    case 0...5:
      let path = path()
      return .test(path, test(path))
    case 6, 7: return elements()
    case 8: return .not(filter(depth: depth + 1))
    case 9...12: return .and((0..<(2 + random.below(3))).map { _ in filter(depth: depth + 1) })
    case 13, 14: return .or((0..<(1 + random.below(3))).map { _ in filter(depth: depth + 1) })
    default:
      return pick([.all, .nothing, .not(.test(QueryPath(steps: [.key("n")]), .equal(.null)))])
    }
  }

  /// Returns a filter that compound or partial indexes can answer, or nearly.
  private mutating func lookup() -> FilterExpression {
    let (n, t) = (QueryPath(steps: [.key("n")]), QueryPath(steps: [.key("t")]))
    let q = QueryPath(steps: [.key("o"), .key("q")])
    let number = Value.int(Int64(random.below(25)))
    let text = Value.string(pick(RandomQueries.texts))
    var parts: [FilterExpression] = []
    switch random.below(6) {
    case 0: parts = [.test(n, .equal(number)), .test(t, test(t))]
    case 1: parts = [.test(t, .equal(text)), .test(n, test(n))]
    case 2: parts = [.test(t, .oneOf([text, "ab", .null, "a"])), .test(n, .order(.less, number))]
    case 3: parts = [.test(n, .oneOf([number, 3, 7, 7.0])), .test(t, .equal(.null))]
    case 4:
      let path = QueryPath(steps: [.key("a")])
      parts = [.test(t, .equal(text)), .test(path, .equal(scalar())), .test(n, test(n))]
    default:
      let path = QueryPath(steps: [.key("tags")])
      parts = [
        .anyElement(path, .test(QueryPath(), .equal(scalar()))), .test(n, .order(.greater, number)),
      ]
    }
    switch random.below(7) {
    case 0: parts.append(.not(.test(t, .equal(.null))))
    case 1: parts.append(.test(n, .order(pick([.less, .lessOrEqual]), pick([20, 12, 21]))))
    case 2: parts.append(.test(t, .text(.beginning, pick(["a", "ab", ""]), [])))
    case 3: parts.append(.test(q, .equal(.null)))
    case 4: parts += [.test(t, .equal("ab")), .test(n, .order(.greaterOrEqual, 5))]
    case 5: parts.append(.or([.test(t, .equal("ab")), .test(t, .equal("abc"))]))
    default: break
    }
    // Leave some of them out.
    parts = parts.filter { _ in random.below(5) > 0 }
    return .joining(random.below(2) == 0 ? parts.reversed() : parts)
  }

  /// Returns sort orders that follow an index, or nearly so.
  private mutating func sorts() -> [QuerySort] {
    let names = pick([["n", "t"], ["t", "n"], ["n", "u"], ["t", "a", "n"], ["n"], ["u"], ["a"]])
    let descending = random.below(2) == 0
    return names.map { name in
      QuerySort(
        path: QueryPath(steps: [.key(name)]),
        descending: random.below(8) == 0 ? !descending : descending, byBytes: random.below(3) > 0)
    }
  }

  private mutating func elements() -> FilterExpression {
    let path = QueryPath(steps: [.key(pick(["tags", "tags", "a"]))])
    let inner = (0..<(1 + random.below(2))).map { _ in
      let test = FilterExpression.test(QueryPath(), self.test(QueryPath()))
      return random.below(5) == 0 ? FilterExpression.not(test) : test
    }
    return random.below(4) == 0
      ? .everyElement(path, .joining(inner)) : .anyElement(path, .joining(inner))
  }

  mutating func query() -> QueryCore {
    var query = QueryCore()
    query.filter = random.below(3) == 0 ? lookup() : filter()
    if random.below(3) == 0 { query.sorts = sorts() }
    for _ in 0..<pick([0, 0, 1, 1, 2]) {
      query.sorts.append(
        QuerySort(path: path(), descending: random.below(2) == 0, byBytes: random.below(2) == 0))
    }
    if random.below(3) == 0 { query.limit = random.below(12) }
    if random.below(4) == 0 { query.offset = random.below(6) }
    return query
  }
}
