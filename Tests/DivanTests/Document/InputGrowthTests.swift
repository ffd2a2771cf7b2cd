import DivanTesting
import Foundation
import Testing

@testable import Divan

/// Tests that twice the input takes about twice as long, never four times, or is refused.
@Suite(.serialized) struct `Time that grows with the input` {
  /// Returns the least processor time of some runs, which other load affects little.
  private func time(_ body: () throws -> Void) rethrows -> Duration {
    var least = Duration.seconds(3600)
    for _ in 0..<3 {
      let start = threadTime
      try body()
      least = min(least, threadTime - start)
    }
    return least
  }

  /// The processor time that this thread has taken.
  private var threadTime: Duration {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  /// Compares the time of an input with that of one eight times as large.
  ///
  /// If the time grows with the square, it is 64 times as long.
  private func expectLinear(
    _ size: Int, _ body: (Int) throws -> Void, at location: SourceLocation = #_sourceLocation
  ) rethrows {
    let small = try time { try body(size) }
    let large = try time { try body(8 * size) }
    #expect(
      large < small * 24 + Duration.milliseconds(50), "\(size): \(small), \(8 * size): \(large)",
      sourceLocation: location)
  }

  @Test(arguments: [TextDifferences.letterCase, .diacritics, .caseAndDiacritics])
  func `searching for text outside ASCII takes linear time`(ignored: TextDifferences) throws {
    let matcher = TextMatcher(.anywhere, "ähnlich", ignored)
    expectLinear(2_000) { count in
      let text = Array(String(repeating: "Größe über Ödland, ", count: count / 4).utf8)
      let isFound = matcher.matches(text.span)
      #expect(!isFound)
    }
    expectLinear(2_000) { count in
      // One letter with combining marks that are not in canonical order.
      let text = Array(("a" + String(repeating: "\u{301}\u{323}", count: count)).utf8)
      let isFound = matcher.matches(text.span)
      #expect(!isFound)
    }
    expectLinear(2_000) { count in
      let text = Array(("a" + String(repeating: "\u{302E}\u{1D165}", count: count)).utf8)
      let isFound = matcher.matches(text.span)
      #expect(!isFound)
    }
  }

  @Test func `matching that ignores case and diacritics accepts every normalization form`() {
    func same(_ a: String, _ b: String) -> Bool {
      let bytes = Array(b.utf8)
      return TextMatcher(.whole, a, .caseAndDiacritics).matches(bytes.span)
    }
    #expect(same("Åse", "a\u{30A}SE"))
    #expect(same("a\u{323}\u{301}", "a"))
    #expect(same("x\u{1D16D}\u{302E}y", "X\u{302E}\u{1D16D}Y"))
    #expect(same("한", "\u{1112}\u{1161}\u{11AB}"))
    #expect(same("STRASSE", "straße"))
    #expect(!same("a", "b"))
  }

  @Test func `combining many filter terms takes linear time`() throws {
    for isAnd in [true, false] {
      for isReversed in [false, true] {
        expectLinear(4_000) { count in
          var filter = QuerySubject<Document>()["n"] == 0
          for number in 1..<count {
            let next = QuerySubject<Document>()["n"] == .int(Int64(number))
            let (a, b) = isReversed ? (next, filter) : (filter, next)
            filter = isAnd ? a && b : a || b
          }
          let parts = isAnd ? filter.expression.andParts : filter.expression.orParts
          #expect(parts.count == count)
        }
      }
    }
    expectLinear(4_000) { count in
      var query = Query<Document>()
      for _ in 0..<count { query = query.filter { $0["n"] == 1 } }
      #expect(query.core.filter.andParts.count == count)
    }
  }

  @Test func `filter terms keep the order in which they were combined`() {
    let subject = QuerySubject<Document>()
    let filter =
      (subject["a"] == 1 && subject["b"] == 2)
      && (subject["c"] == 3 || (subject["d"] == 4 || subject["e"] == 5)) && subject["f"] == 6
    #expect(filter.description == "a = 1 and b = 2 and (c = 3 or d = 4 or e = 5) and f = 6")
  }

  @Test func `running a query with many terms takes linear time`() throws {
    let database = try Database.inMemory()
    try database.addIndex(DocumentIndex("byN", on: "n"))
    try database.write { transaction in
      for number in 0..<20 {
        _ = try transaction.put(Document(id: "d\(number)", ["n": .int(Int64(number))]))
      }
    }
    try expectLinear(2_000) { count in
      var filter = Filter.none
      for number in 0..<count {
        filter = filter || QuerySubject<Document>()["n"] == .int(Int64(number))
      }
      let found = try database.snapshot().ids(Query<Document>().filter(filter))
      #expect(found.count == 20)
    }
  }

  @Test func `a property path longer than the nesting limit is refused`() throws {
    let database = try Database.inMemory()
    expectLinear(10_000) { count in
      var property = QuerySubject<Document>()["a"]
      for _ in 0..<count { property = property["a"] }
      for query in [
        Query<Document>().filter(property == 1), Query<Document>().sorted { _ in property },
      ] {
        let error = #expect(throws: DatabaseError.self) { try database.snapshot().ids(query) }
        #expect(error?.code == .invalidQuery)
      }
    }
    var property = QuerySubject<Document>()["a"]
    for _ in 1..<QueryPath.stepLimit { property = property["a"] }
    #expect(try database.snapshot().ids(Query<Document>().filter(property == 1)).isEmpty)
  }

  @Test func `changing properties of a large document takes linear time`() {
    expectLinear(1_000) { count in
      var document = Document(
        id: "a", Value.Object((0..<count).map { (String(100_000 + $0), Value.int(0)) }))
      for number in 0..<count { document[String(100_000 + number)] = 1 }
      #expect(document["100000"] == 1)
    }
  }

  @Test func `errors about overlong names do not contain the whole name`() throws {
    let database = try Database.inMemory()
    let name = String(repeating: "\u{1}é", count: 200_000)
    var document = Document(id: "a")
    document.attachments[name] = Document.Attachment(contentType: "text/plain", [1])
    let error = #expect(throws: DatabaseError.self) {
      try database.write { [document] in _ = try $0.put(document) }
    }
    #expect(error?.code == .invalidAttachment && "\(error!)".utf8.count < 20_000)
    let key = Value.string(String(repeating: "é", count: 200_000)).json
    for line in [
      #"{"_id":"a","_attachments":{\#(key):{"data":"AAAA"}}}"#,
      #"{"_id":"a","_\#(key.dropFirst().dropLast())":1}"#,
      #"{"_id":"a",\#(key):1,\#(key):2}"#,
      #"{"_id":"a",\#(key):tru}"#,
      #"{"_id":"a","_rev":\#(key),"_revisions":{"start":1,"ids":["ab"]}}"#,
      #"{"_id":\#(key),"a":1}"#,
      #"{"_id":"_\#(key.dropFirst().dropLast())","a":1}"#,
    ] {
      var lines = [Array(line.utf8)]
      var options = JSONLines.ImportOptions()
      options.onInvalidLine = .skip
      let report = try database.importJSONLines(options: options) { lines.popLast() }
      let refusal = try #require(report.errors.first)
      #expect(dumpSize(refusal) < 20_000, "\(line.prefix(30))")
    }
  }

  /// Returns about how many bytes an error holds.
  private func dumpSize(_ error: DatabaseError) -> Int {
    var text = ""
    dump(error, to: &text)
    return text.utf8.count
  }
}
