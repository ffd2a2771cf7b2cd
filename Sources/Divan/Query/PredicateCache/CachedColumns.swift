import DivanLog

/// The columns that one filter reads, and its results for their values.
///
/// A value is tested once for each page that has it. Documents of the page are evaluated one by one
/// as they are read, or all together from the values that other queries recorded.
struct CachedColumns {
  private let filter: ColumnFilter
  /// The paths to the columns' values in a document that was read.
  private let paths: [CompiledPath]
  private var columns: [PropertyColumn]
  private var pages: [PageTestResults] = []
  /// The results of the tests for one document; reused for the next.
  private var testResults: [ColumnFilter.Truth]

  /// The results of the tests for one page of all columns.
  private struct PageTestResults {
    /// The results of each test, by the codes of values; nil if not evaluated yet.
    var testResults: [[ColumnFilter.Truth?]]
    /// Whether the documents of the page were evaluated together.
    var isEvaluated = false

    init(testCount: Int) {
      let none = [ColumnFilter.Truth?](repeating: nil, count: 256)
      testResults = Array(repeating: none, count: testCount)
    }
  }

  /// Creates the columns of a filter; nil if columns cannot decide any part of it.
  init?(_ expression: FilterExpression, in cache: PredicateCache) {
    guard let filter = ColumnFilter(expression) else { return nil }
    self.filter = filter
    paths = filter.paths.map { CompiledPath($0) }
    columns = filter.paths.map { cache.column(of: $0) }
    testResults = Array(repeating: .unknown, count: filter.tests.count)
  }
}

extension CachedColumns {
  /// Whether the columns have no values.
  var isEmpty: Bool { columns.allSatisfy(\.isEmpty) }

  /// Returns the match results of the documents of a page.
  ///
  /// Returns nil if nothing is known of the page, or if it was evaluated before.
  mutating func matchResults(ofPage number: Int) -> [MatchResult?]? {
    begin(number)
    guard !pages[number].isEvaluated else { return nil }
    pages[number].isEvaluated = true
    let found = columns.map { $0[number] }
    guard found.contains(where: { $0 != nil }) else { return nil }
    let unknown = Array(repeating: ColumnChunk.unknown, count: PredicateCacheSlot.pageSize)
    let codes = found.map { $0?.codes ?? unknown }
    let testResults = filter.tests.indices.map { index in
      let column = filter.tests[index].column
      let resultOfCode = (0...ColumnChunk.deleted).map { code in
        code <= found[column]?.values.count ?? 0
          ? testResult(index, code, ofPage: number) : .unknown
      }
      return codes[column].map { resultOfCode[Int($0)] }
    }
    let truths = filter.truths(testResults, count: PredicateCacheSlot.pageSize)
    var matchResults = truths.map { MatchResult($0) }
    for offset in matchResults.indices {
      let codes = codes.lazy.map { $0[offset] }
      if codes.contains(ColumnChunk.deleted) {
        matchResults[offset] = .deleted
      } else if codes.allSatisfy({ $0 == ColumnChunk.unknown }) {
        // The filter may accept any values; but there may be no such document, or not yet.
        matchResults[offset] = nil
      }
    }
    return matchResults
  }

  /// Records the columns' values of a document that was read.
  ///
  /// Returns its match result, or nil if the columns do not decide.
  mutating func note(_ row: borrowing QueryRow, _ slot: PredicateCacheSlot, _ sequence: UInt64)
    -> MatchResult?
  {
    begin(slot.page)
    for index in testResults.indices { testResults[index] = .unknown }
    // Values that cannot be read are not recorded; the error is reported when they are needed.
    try? row.withProperties { (bytes) throws(DatabaseError) in
      for column in columns.indices {
        let code = try paths[column].follow(bytes, 0..<bytes.count, row) {
          (bytes, range) throws(DatabaseError) in
          columns[column].note(bytes.extracting(range ?? 0..<0), of: sequence)
        }
        guard let code else { continue }
        for (index, test) in filter.tests.enumerated() where test.column == column {
          testResults[index] = testResult(index, code, ofPage: slot.page)
        }
      }
    }
    return MatchResult(filter.truth(testResults))
  }

  /// Records that a document is deleted.
  mutating func noteDeletion(of sequence: UInt64) {
    for index in columns.indices { columns[index].noteDeletion(of: sequence) }
  }

  /// Stores the recorded values in the cache, for later queries.
  mutating func store(in cache: PredicateCache) {
    for index in columns.indices where columns[index].isModified {
      cache.store(columns[index], of: filter.paths[index])
      columns[index].clearModified()
    }
  }

  private mutating func begin(_ number: Int) {
    guard number >= pages.count else { return }
    let missing = number + 1 - pages.count
    pages += Array(repeating: PageTestResults(testCount: filter.tests.count), count: missing)
  }

  /// Returns the result of a test for the value that has a code in a page.
  private mutating func testResult(_ index: Int, _ code: UInt8, ofPage number: Int)
    -> ColumnFilter.Truth
  {
    if let known = pages[number].testResults[index][Int(code)] { return known }
    let test = filter.tests[index]
    var result = ColumnFilter.Truth.unknown
    if code != ColumnChunk.unknown, code != ColumnChunk.deleted,
      let page = columns[test.column][number]
    {
      result = test.truth(of: page.values[Int(code) - 1])
    }
    pages[number].testResults[index][Int(code)] = result
    return result
  }
}

extension MatchResult {
  fileprivate init?(_ truth: ColumnFilter.Truth) {
    switch truth {
    case .refused: self = .refused
    case .unknown: return nil
    case .accepted: self = .accepted
    }
  }
}
