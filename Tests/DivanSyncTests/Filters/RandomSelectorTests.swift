import Divan
import DivanSync
import DivanTesting
import Testing

/// Random selectors and documents, compared with a simple evaluator of the JSON itself.
struct RandomSelectorTests {
  @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func `random selectors match what a simple evaluator says`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var counts = [false: 0, true: 0]
    for _ in 0..<400 {
      let json = Value.object([
        (RandomSelector.names.randomElement(using: &random) ?? "a"):
          RandomSelector.condition(&random, depth: 4)
      ])
      let selector = try MangoSelector(json)
      for _ in 0..<12 {
        guard let document = RandomSelector.document(&random).objectValue else { continue }
        let expected = PlainSelector.matches(json, document)
        counts[expected, default: 0] += 1
        #expect(
          selector.matches(document) == expected,
          "\(json.json) of \(Value.object(document).json), seed \(seed)")
      }
    }
    #expect(counts[true, default: 0] > 300 && counts[false, default: 0] > 300, "seed \(seed)")
  }
}

/// Random JSON with few names and values, so that many conditions are true.
private enum RandomSelector {
  static let names = ["a", "b", "a.b", "b.0", "a.c"]
  private static let scalars: [Value] = [
    .null, false, true, 0, 1, 2, 1.0, 0.5, "", "a", "b", "ab",
  ]

  static func value(_ random: inout SeededGenerator, depth: Int) -> Value {
    let count = Int.random(in: 0...3, using: &random)
    switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &random) {
    case 0..<5: return scalars.randomElement(using: &random) ?? .null
    case 5, 6: return .array((0..<count).map { _ in value(&random, depth: depth - 1) })
    default:
      return .object(
        Value.Object(
          (0..<count).map { _ in
            (
              ["a", "b", "c"].randomElement(using: &random) ?? "a", value(&random, depth: depth - 1)
            )
          }))
    }
  }

  static func document(_ random: inout SeededGenerator) -> Value {
    .object(
      Value.Object(
        ["a", "b"].filter { _ in Int.random(in: 0..<5, using: &random) > 0 }.map {
          ($0, value(&random, depth: 3))
        }))
  }

  /// Returns what may be the value of a name in a selector.
  static func condition(_ random: inout SeededGenerator, depth: Int) -> Value {
    guard depth > 0, Int.random(in: 0..<10, using: &random) > 0 else {
      return value(&random, depth: 1)
    }
    let below = { (random: inout SeededGenerator) in condition(&random, depth: depth - 1) }
    func several(_ random: inout SeededGenerator) -> Value {
      .array((0..<Int.random(in: 0...3, using: &random)).map { _ in below(&random) })
    }
    func object(_ random: inout SeededGenerator) -> Value {
      let condition = below(&random)
      return condition.objectValue == nil ? ["$eq": condition] : condition
    }
    var members: Value.Object = [:]
    for _ in 0...(Int.random(in: 0..<3, using: &random) / 2) {
      switch Int.random(in: 0..<14, using: &random) {
      case 0...3:
        let name = ["$lt", "$lte", "$eq", "$ne", "$gte", "$gt"].randomElement(using: &random)
        members[name ?? "$eq"] = value(&random, depth: 2)
      case 4:
        let name = ["$in", "$nin", "$all"].randomElement(using: &random) ?? "$in"
        members[name] = .array(
          (0..<Int.random(in: 0...3, using: &random)).map { _ in value(&random, depth: 1) })
      case 5: members["$exists"] = .bool(.random(using: &random))
      case 6:
        members["$type"] = ["null", "boolean", "number", "string", "array", "object"]
          .randomElement(using: &random)
      case 7: members["$size"] = .int(Int64.random(in: 0...2, using: &random))
      case 8: members["$mod"] = [2, .int(Int64.random(in: 0...1, using: &random))]
      case 9: members["$not"] = object(&random)
      case 10, 11:
        let name = ["$and", "$or", "$nor"].randomElement(using: &random) ?? "$or"
        members[name] = several(&random)
      case 12:
        let name = ["$elemMatch", "$allMatch", "$keyMapMatch"].randomElement(using: &random)
        members[name ?? "$elemMatch"] = object(&random)
      default: members[names.randomElement(using: &random) ?? "a"] = below(&random)
      }
    }
    return .object(members)
  }
}

/// Evaluates the JSON of a selector in the plainest way, for documents of a few simple values.
///
/// It carries a path and whether an odd number of negations surrounds it, and reads the document
/// for each test again.
private enum PlainSelector {
  static func matches(_ selector: Value, _ document: Value.Object) -> Bool {
    // The selectors here have one name, and an empty combination below it counts as alone.
    if isEmptyCombination(selector) { return false }
    return holds(selector, [], .object(document), isNegated: false)
  }

  private static func isEmptyCombination(_ selector: Value) -> Bool {
    guard let members = selector.objectValue, members.count == 1 else { return false }
    let (name, argument) = members[0]
    switch name {
    case "$and", "$or", "$nor": return argument == []
    case "$not": return isEmptyCombination(argument)
    case _ where name.hasPrefix("$"): return false
    default: return isEmptyCombination(argument)
    }
  }

  private static func holds(
    _ selector: Value, _ path: [String], _ document: Value, isNegated: Bool
  ) -> Bool {
    func each(_ parts: [Value], all: Bool, isNegated: Bool) -> Bool {
      // None of none: true for `$or`, too.
      if parts.isEmpty { return true }
      let results = parts.map { holds($0, path, document, isNegated: isNegated) }
      return all ? !results.contains(false) : results.contains(true)
    }
    guard let members = selector.objectValue, !members.isEmpty else {
      return test("$eq", selector, path, document, isNegated: isNegated)
    }
    if members.count > 1 {
      return each(members.map { [$0.key: $0.value] }, all: !isNegated, isNegated: isNegated)
    }
    let (name, argument) = members[0]
    let parts = argument.arrayValue ?? []
    switch name {
    case "$and": return each(parts, all: !isNegated, isNegated: isNegated)
    case "$or": return each(parts, all: isNegated, isNegated: isNegated)
    case "$nor": return each(parts, all: !isNegated, isNegated: !isNegated)
    case "$not": return holds(argument, path, document, isNegated: !isNegated)
    case _ where name.hasPrefix("$"):
      return test(name, argument, path, document, isNegated: isNegated)
    default:
      let names = name.split(separator: ".").map(String.init)
      return holds(argument, path + names, document, isNegated: isNegated)
    }
  }

  private static func test(
    _ name: String, _ argument: Value, _ path: [String], _ document: Value, isNegated: Bool
  ) -> Bool {
    var value = document
    for step in path {
      switch value {
      case .object(let members):
        guard let member = members[step] else {
          return name == "$exists" && argument == .bool(isNegated)
        }
        value = member
      case .array(let elements):
        guard let index = Int(step), index < elements.count else { return false }
        value = elements[index]
      default: return false
      }
    }
    return accepts(name, argument, value) != isNegated
  }

  private static func accepts(_ name: String, _ argument: Value, _ value: Value) -> Bool {
    let (order, elements) = (compare(value, argument), value.arrayValue)
    switch name {
    case "$lt": return order < 0
    case "$lte": return order <= 0
    case "$eq": return order == 0
    case "$ne": return order != 0
    case "$gte": return order >= 0
    case "$gt": return order > 0
    case "$in", "$nin":
      let isIn = (argument.arrayValue ?? []).contains { wanted in
        (elements ?? [value]).contains { compare($0, wanted) == 0 }
      }
      return isIn == (name == "$in")
    case "$all":
      guard let elements, let wanted = argument.arrayValue, !wanted.isEmpty else { return false }
      let isOnlyOne =
        wanted.count == 1 && wanted[0].arrayValue != nil && compare(wanted[0], value) == 0
      return isOnlyOne || wanted.allSatisfy { elements.contains($0) }
    case "$exists": return argument == true
    case "$size": return elements?.count == argument.intValue
    case "$mod":
      guard case .int(let number) = value else { return false }
      return number % 2 == argument[1]?.intValue.map { Int64($0) } ?? 0
    case "$type":
      let names = ["null", "boolean", "boolean", "number", "string", "array", "object"]
      return argument.stringValue == names[rank(value)]
    case "$elemMatch": return first(of: elements ?? [], argument, true) ?? false
    case "$allMatch":
      guard let elements, !elements.isEmpty else { return false }
      return first(of: elements, argument, false) ?? true
    default:
      let keys = value.objectValue.map { $0.keys.map { Value.string($0) } } ?? []
      return first(of: keys, argument, true) ?? false
    }
  }

  /// Returns `wanted` if a condition on elements has this result for any; nil if for none.
  ///
  /// It is false if an element before that needs a `$nor`, which CouchDB does not evaluate there.
  private static func first(of elements: [Value], _ selector: Value, _ wanted: Bool) -> Bool? {
    for element in elements {
      guard let result = plainly(selector, [], element) else { return false }
      if result == wanted { return wanted }
    }
    return nil
  }

  /// Returns whether an element matches without moving negations; nil if that needs a `$nor`.
  private static func plainly(_ selector: Value, _ path: [String], _ element: Value) -> Bool? {
    func search(_ parts: [Value], for wanted: Bool) -> Bool? {
      for part in parts {
        guard let result = plainly(part, path, element) else { return nil }
        if result == wanted { return wanted }
      }
      return parts.isEmpty ? true : !wanted
    }
    guard let members = selector.objectValue, !members.isEmpty else {
      return test("$eq", selector, path, element, isNegated: false)
    }
    if members.count > 1 { return search(members.map { [$0.key: $0.value] }, for: false) }
    let (name, argument) = members[0]
    switch name {
    case "$and": return search(argument.arrayValue ?? [], for: false)
    case "$or": return search(argument.arrayValue ?? [], for: true)
    case "$nor": return nil
    case "$not": return plainly(argument, path, element).map { !$0 }
    case _ where name.hasPrefix("$"):
      return test(name, argument, path, element, isNegated: false)
    default:
      return plainly(argument, path + name.split(separator: ".").map(String.init), element)
    }
  }

  private static func rank(_ value: Value) -> Int {
    switch value {
    case .null: 0
    case .bool(let flag): flag ? 2 : 1
    case .int, .unsigned, .double: 3
    case .string: 4
    case .array: 5
    case .object: 6
    }
  }

  /// The order of values whose texts are small letters.
  private static func compare(_ a: Value, _ b: Value) -> Int {
    if rank(a) != rank(b) { return rank(a) - rank(b) }
    if let a = a.doubleValue, let b = b.doubleValue { return a < b ? -1 : a > b ? 1 : 0 }
    if let a = a.stringValue, let b = b.stringValue { return a < b ? -1 : a > b ? 1 : 0 }
    let (one, other) = (parts(a), parts(b))
    for (a, b) in zip(one, other) {
      let order = compare(a, b)
      if order != 0 { return order }
    }
    return one.count - other.count
  }

  /// The elements of an array, or the names and values of an object in turn.
  private static func parts(_ value: Value) -> [Value] {
    value.arrayValue ?? (value.objectValue ?? [:]).flatMap { [.string($0.key), $0.value] }
  }
}
