import DivanLog

/// The columns that one filter asks, and what it says of the values that they have.
///
/// A value is asked once for each page that has it, whether documents of the page are judged one by one as they are read, or all
/// together by what others have noted of them.
struct FilterColumns {
  private let filter: ColumnFilter
  /// The ways to what the columns have of a document that was read.
  private let paths: [CompiledPath]
  private var columns: [PropertyColumn]
  private var pages: [PageAnswers] = []
  /// The answers to the questions about one document, which are used again for the next.
  private var answers: [ColumnFilter.Truth]

  /// What is known of one page of all columns.
  private struct PageAnswers {
    /// Of each question, the answers by the codes of values; nil where it was not asked yet.
    var answers: [[ColumnFilter.Truth?]]
    /// Whether the documents of the page were judged together.
    var isJudged = false

    init(questionCount: Int) {
      let none = [ColumnFilter.Truth?](repeating: nil, count: 256)
      answers = Array(repeating: none, count: questionCount)
    }
  }

  /// Nil if columns can say nothing of the filter.
  init?(_ expression: FilterExpression, in memory: FilterMemory) {
    guard let filter = ColumnFilter(expression) else { return nil }
    self.filter = filter
    paths = filter.paths.map { CompiledPath($0) }
    columns = filter.paths.map { memory.column(of: $0) }
    answers = Array(repeating: .unknown, count: filter.questions.count)
  }
}

extension FilterColumns {
  /// Whether they know nothing.
  var isEmpty: Bool { columns.allSatisfy(\.isEmpty) }

  /// What the filter says of the documents of a page; nil if nothing is known of the page, or this was asked already.
  mutating func verdicts(ofPage number: Int) -> [FilterVerdict?]? {
    begin(number)
    guard !pages[number].isJudged else { return nil }
    pages[number].isJudged = true
    let found = columns.map { $0[number] }
    guard found.contains(where: { $0 != nil }) else { return nil }
    let unknown = Array(repeating: ColumnPage.unknown, count: RememberedPlace.pageSize)
    let codes = found.map { $0?.codes ?? unknown }
    let answers = filter.questions.indices.map { index in
      let column = filter.questions[index].column
      let answerOfCode = (0...ColumnPage.deleted).map { code in
        code <= found[column]?.values.count ?? 0 ? answer(index, code, ofPage: number) : .unknown
      }
      return codes[column].map { answerOfCode[Int($0)] }
    }
    let truths = filter.truths(answers, count: RememberedPlace.pageSize)
    var verdicts = truths.map { FilterVerdict($0) }
    for offset in verdicts.indices {
      let codes = codes.lazy.map { $0[offset] }
      if codes.contains(ColumnPage.deleted) {
        verdicts[offset] = .deleted
      } else if codes.allSatisfy({ $0 == ColumnPage.unknown }) {
        // The filter may accept whatever the values are; but perhaps there is no such document, or not yet.
        verdicts[offset] = nil
      }
    }
    return verdicts
  }

  /// Notes what the columns have of a document that was read; returns what the filter says of it, or nil if they cannot tell.
  mutating func note(_ row: borrowing QueryRow, _ place: RememberedPlace, _ sequence: UInt64)
    -> FilterVerdict?
  {
    begin(place.page)
    for index in answers.indices { answers[index] = .unknown }
    // What cannot be read is nothing to be remembered; whoever needs it is told.
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
    return FilterVerdict(filter.truth(answers))
  }

  /// Notes that a document is deleted.
  mutating func noteDeletion(of sequence: UInt64) {
    for index in columns.indices { columns[index].noteDeletion(of: sequence) }
  }

  /// Gives what was noted to those who ask next.
  mutating func keep(in memory: FilterMemory) {
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

  /// The answer to a question about the value that has a code in a page.
  private mutating func answer(_ index: Int, _ code: UInt8, ofPage number: Int)
    -> ColumnFilter.Truth
  {
    if let known = pages[number].answers[index][Int(code)] { return known }
    let question = filter.questions[index]
    var answer = ColumnFilter.Truth.unknown
    if code != ColumnPage.unknown, code != ColumnPage.deleted,
      let page = columns[question.column][number]
    {
      answer = question.truth(of: page.values[Int(code) - 1])
    }
    pages[number].answers[index][Int(code)] = answer
    return answer
  }
}

extension FilterVerdict {
  fileprivate init?(_ truth: ColumnFilter.Truth) {
    switch truth {
    case .refused: self = .refused
    case .unknown: return nil
    case .accepted: self = .accepted
    }
  }
}
