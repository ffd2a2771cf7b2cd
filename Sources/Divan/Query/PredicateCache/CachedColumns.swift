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
  private var pages: [PageAnswers] = []
  /// The answers to the questions about one document; reused for the next.
  private var answers: [ColumnFilter.Truth]

  /// The answers for one page of all columns.
  private struct PageAnswers {
    /// The answers to each question, by the codes of values; nil if not evaluated yet.
    var answers: [[ColumnFilter.Truth?]]
    /// Whether the documents of the page were evaluated together.
    var isJudged = false

    init(questionCount: Int) {
      let none = [ColumnFilter.Truth?](repeating: nil, count: 256)
      answers = Array(repeating: none, count: questionCount)
    }
  }

  /// Creates the columns of a filter; nil if columns cannot decide any part of it.
  init?(_ expression: FilterExpression, in memory: PredicateCache) {
    guard let filter = ColumnFilter(expression) else { return nil }
    self.filter = filter
    paths = filter.paths.map { CompiledPath($0) }
    columns = filter.paths.map { memory.column(of: $0) }
    answers = Array(repeating: .unknown, count: filter.questions.count)
  }
}

extension CachedColumns {
  /// Whether the columns have no values.
  var isEmpty: Bool { columns.allSatisfy(\.isEmpty) }

  /// Returns the filter's verdicts on the documents of a page.
  ///
  /// Returns nil if nothing is known of the page, or if it was evaluated before.
  mutating func matchResults(ofPage number: Int) -> [MatchResult?]? {
    begin(number)
    guard !pages[number].isJudged else { return nil }
    pages[number].isJudged = true
    let found = columns.map { $0[number] }
    guard found.contains(where: { $0 != nil }) else { return nil }
    let unknown = Array(repeating: ColumnChunk.unknown, count: PredicateCacheSlot.pageSize)
    let codes = found.map { $0?.codes ?? unknown }
    let answers = filter.questions.indices.map { index in
      let column = filter.questions[index].column
      let answerOfCode = (0...ColumnChunk.deleted).map { code in
        code <= found[column]?.values.count ?? 0 ? answer(index, code, ofPage: number) : .unknown
      }
      return codes[column].map { answerOfCode[Int($0)] }
    }
    let truths = filter.truths(answers, count: PredicateCacheSlot.pageSize)
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
  /// Returns the filter's verdict on it, or nil if the columns cannot decide.
  mutating func note(_ row: borrowing QueryRow, _ place: PredicateCacheSlot, _ sequence: UInt64)
    -> MatchResult?
  {
    begin(place.page)
    for index in answers.indices { answers[index] = .unknown }
    // Values that cannot be read are not recorded; the error is reported when they are needed.
    try? row.withBody { (bytes) throws(DatabaseError) in
      for column in columns.indices {
        let code = try paths[column].follow(bytes, 0..<bytes.count, row) {
          (bytes, range) throws(DatabaseError) in
          columns[column].note(bytes.extracting(range ?? 0..<0), of: sequence)
        }
        guard let code else { continue }
        for (index, question) in filter.questions.enumerated() where question.column == column {
          answers[index] = answer(index, code, ofPage: place.page)
        }
      }
    }
    return MatchResult(filter.truth(answers))
  }

  /// Records that a document is deleted.
  mutating func noteDeletion(of sequence: UInt64) {
    for index in columns.indices { columns[index].noteDeletion(of: sequence) }
  }

  /// Publishes the recorded values to later queries.
  mutating func keep(in memory: PredicateCache) {
    for index in columns.indices where columns[index].hasNews {
      memory.keep(columns[index], of: filter.paths[index])
      columns[index].endNews()
    }
  }

  private mutating func begin(_ number: Int) {
    guard number >= pages.count else { return }
    let missing = number + 1 - pages.count
    pages += Array(repeating: PageAnswers(questionCount: filter.questions.count), count: missing)
  }

  /// Returns the answer to a question about the value that has a code in a page.
  private mutating func answer(_ index: Int, _ code: UInt8, ofPage number: Int)
    -> ColumnFilter.Truth
  {
    if let known = pages[number].answers[index][Int(code)] { return known }
    let question = filter.questions[index]
    var answer = ColumnFilter.Truth.unknown
    if code != ColumnChunk.unknown, code != ColumnChunk.deleted,
      let page = columns[question.column][number]
    {
      answer = question.truth(of: page.values[Int(code) - 1])
    }
    pages[number].answers[index][Int(code)] = answer
    return answer
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
