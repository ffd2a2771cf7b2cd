import Foundation
import TestSupport
import Testing

@testable import Divan

/// A model with a number property: alone, optional and in an array.
private final class Counted<Number: CountedNumber>: Model {
  override class var documentType: String? { nil }
  @Persisted var n: Number
  @Persisted var maybe: Number?
  @Persisted var list: [Number]
}

/// The same as a `Codable` type.
private struct Coded<Number: CountedNumber>: Codable, Sendable {
  var n: Number?
  var maybe: Number?
  var list: [Number]?
}

private protocol CountedNumber: Codable, Sendable, Hashable, _EmptyPersistableValue,
  _PersistableElement, _QueryOrdered
where QueryConstant == Self {}

extension Int: CountedNumber {}
extension Int8: CountedNumber {}
extension Int16: CountedNumber {}
extension Int32: CountedNumber {}
extension Int64: CountedNumber {}
extension UInt: CountedNumber {}
extension UInt8: CountedNumber {}
extension UInt16: CountedNumber {}
extension UInt32: CountedNumber {}
extension UInt64: CountedNumber {}
extension Float: CountedNumber {}
extension Double: CountedNumber {}

/// Tests of which stored numbers fit which Swift type.
///
/// Every stored form is read as every type, in every way of reading. Regression: an integer
/// property read `2.0` as missing although a filter found it. A `Double` property read whole
/// numbers from 2⁶³ on as missing.
struct NumberTableTests {
  /// All stored forms of numbers at the limits of the types, and values that are not numbers.
  static let stored = [
    "0", "2", "2.0", "-0.0", "-1", "-1.0", "63", "64", "127", "128", "-128", "-129", "200", "255",
    "256", "65535.0", "65536", "2147483648", "4294967295", "4294967296.0", "2.5", "0.1",
    "16777217", "9007199254740993", "9007199254740992.0", "9223372036854775807",
    "-9223372036854775808", "9223372036854775808", "9223372036854775808.0",
    "18446744073709551615", "18446744073709551616.0", "1e38", "1e39", "-1e300", "5e-324",
    #""2""#, "true", "null", "[2]", "{}",
  ]

  /// Returns the number that a type reads from a stored form, or nil if it does not fit.
  ///
  /// Expects every way of reading to agree.
  private static func read<Number: CountedNumber>(
    _ json: String, as type: Number.Type
  ) throws -> Number? {
    let database = try Database.inMemory()
    try database.put("a", #"{"n": \#(json), "maybe": \#(json), "list": [\#(json), \#(json)]}"#)
    let context = database.makeContext()
    let mismatches = MismatchCount()
    context.mismatchHandler = { _ in mismatches.count += 1 }
    let model = try #require(try context.model(Counted<Number>.self, id: "a"))
    let found = model.maybe
    let label = "\(json) as \(type)"
    #expect(model.n == found ?? Number._empty, "\(label)")
    #expect(model.list == (found.map { [$0, $0] } ?? []), "\(label)")
    // Null counts as a missing property, but not as an element.
    #expect(mismatches.count == (found != nil ? 0 : json == "null" ? 1 : 3), "\(label)")

    let document = try #require(try database.snapshot().document("a"))
    func decoded(_ key: String) -> Coded<Number>? {
      try? Document(id: "b", [key: document[key] ?? .null]).decode(Coded<Number>.self)
    }
    #expect(decoded("n")?.n == found && decoded("maybe")?.maybe == found, "\(label)")
    #expect(decoded("list")?.list == found.map { [$0, $0] }, "\(label)")

    let query = Query<Counted<Number>>()
    let value = try Value(json: json)
    #expect(
      try context.sum(query) { $0.n } == (found == nil ? 0 : value.doubleValue), "\(label)")
    #expect(try context.sum(query) { $0.maybe } == context.sum(query) { $0.n }, "\(label)")
    let average = try context.average(query) { $0.n }
    #expect((average == nil) == (found == nil), "\(label)")
    if let found, !isRounded(found, value) {
      #expect(try context.count(query.filter { $0.n == found }) == 1, "\(label)")
      #expect(try context.count(query.filter { $0.maybe == found }) == 1, "\(label)")
      #expect(try context.count(query.filter { $0.list.contains(found) }) == 1, "\(label)")
      #expect(try context.count(query.filter { $0.n < found }) == 0, "\(label)")
    }
    return found
  }

  private final class MismatchCount { var count = 0 }

  /// Whether a number differs from the stored value.
  private static func isRounded(_ number: some CountedNumber, _ value: Value) -> Bool {
    guard let double = number as? Double ?? (number as? Float)?.shortestDouble else { return false }
    return StoredNumber(value)?.order(to: .double(double)) != 0
  }

  /// Returns a row of the table: what each type reads.
  private static func row(_ json: String) throws -> [String: String] {
    var cells: [String: String] = [:]
    func add<Number: CountedNumber>(_ type: Number.Type) throws {
      cells["\(type)"] = try read(json, as: type).map { "\($0)" } ?? "–"
    }
    try add(Int.self)
    try add(Int8.self)
    try add(Int16.self)
    try add(Int32.self)
    try add(Int64.self)
    try add(UInt.self)
    try add(UInt8.self)
    try add(UInt16.self)
    try add(UInt32.self)
    try add(UInt64.self)
    try add(Float.self)
    try add(Double.self)
    return cells
  }

  @Test(arguments: stored)
  func `models, Codable types, filters and aggregates read a stored number alike`(json: String)
    throws
  {
    let cells = try NumberTableTests.row(json)
    #expect(cells["Int"] == cells["Int64"] && cells["UInt"] == cells["UInt64"])
  }

  @Test func `a whole number reads the same however its JSON is written`() throws {
    for json in ["2", "2.0", "2e0", "0.2e1"] {
      #expect(try NumberTableTests.row(json).filter { Double($0.value) != 2 }.isEmpty)
    }
    #expect(try NumberTableTests.row("2.5").filter { $0.value != "–" }.count == 2)
    #expect(try NumberTableTests.read("18446744073709551615", as: Double.self) == 0x1p64)
    #expect(try NumberTableTests.read("18446744073709551615", as: UInt64.self) == .max)
  }

  @Test func `the sum of an integer property is an integer and skips values that do not fit`()
    throws
  {
    let database = try Database.inMemory()
    for (index, json) in ["2.0", "3", "2.5", "1e30", #""4""#].enumerated() {
      try database.put("\(index)", #"{"n": \#(json)}"#)
    }
    let context = database.makeContext()
    #expect(try context.aggregate(Query<Counted<Int>>(), .sum { $0.n }) == [.int(5)])
    #expect(try context.average(Query<Counted<Int>>()) { $0.n } == 2.5)
    #expect(try context.aggregate(Query<Counted<Double>>(), .sum { $0.n }) == [.double(1e30 + 7.5)])
  }

  /// The failure message contains the table that the article should have.
  @Test func `the guide's table of numbers matches what is read`() throws {
    let types = ["Int8", "UInt8", "Int", "UInt", "Float", "Double"]
    let rows = [
      "2", "2.0", "-1", "2.5", "200", "16777217", "9007199254740993", "9223372036854775808",
      "18446744073709551615", "1e39", "true",
    ]
    var table = "| stored | " + types.map { "`\($0)`" }.joined(separator: " | ") + " |\n"
    table += "|---|" + types.map { _ in "---|" }.joined() + "\n"
    for json in rows {
      let cells = try NumberTableTests.row(json)
      table += "| `\(json)` | " + types.map { cells[$0] ?? "" }.joined(separator: " | ") + " |\n"
    }
    let article = try ProjectFolder.text(of: "Sources/Divan/Divan.docc/Queries.md")
    #expect(article.contains(table), "the table should be:\n\(table)")
  }
}
