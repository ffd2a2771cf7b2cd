import Foundation

/// Measures queries: adds indexes, runs queries of each kind with them, and removes them again.
struct QueryWork {
  let engine: any QueryEngine
  let corpus: Corpus
  /// The number of documents in the store; it may have some more, from other workloads.
  let count: Int
  let repetition: Int

  private static let questionCount = 5000

  func samples() throws -> [Sample] {
    try engine.removeIndexes()
    let making = try seconds { try engine.addIndex() }
    let makingOfElements = try seconds { try engine.addElementIndex() }
    var samples = [
      Sample(measure: .indexBuild, value: making * 1e6 / Double(count)),
      Sample(measure: .indexBuildElements, value: makingOfElements * 1e6 / Double(count)),
    ]
    samples.append(try equal())
    samples.append(
      try each(.queryRange, days.map { .range(from: $0) }) { $0.count == Question.limit })
    samples.append(
      try each(.queryElement, tags.map { .element(tag: $0) }) { $0.count > 0 })
    samples.append(try counting())
    samples.append(try filtering(.queryFilterUnknown, [1970]) { .filter(after: $0) })
    for measure in [Measure.queryFilterFirst, .queryFilter] {
      samples.append(try filtering(measure, [1950, 1990]) { .filter(after: $0) })
    }
    for measure in [Measure.queryFindFirst, .queryFind] {
      samples.append(try filtering(measure, [1951, 1991]) { .find(after: $0) })
    }
    try engine.removeIndexes()
    return samples
  }

  private func record(_ index: Int) -> SampleDocument { corpus.generator.document(index) }

  /// Days on which, and after which, enough documents are created.
  private var days: [String] {
    (0..<Self.questionCount).map { "20\(10 + $0 % 10)-0\(1 + $0 % 9)-1\($0 % 8)" }
  }

  private var tags: [String] {
    (0..<Self.questionCount / 10).map { record($0 % count).tags[0] }
  }

  private func equal() throws -> Sample {
    var random = SplitMix64(state: UInt64(repetition) &+ 31)
    let wanted = (0..<Self.questionCount).map { _ in record(random.next(below: count)) }
    let titleSize = wanted.reduce(UInt64(0)) { $0 + UInt64($1.title.utf8.count) }
    var found: UInt64 = 0
    let sample = try each(.queryEqual, wanted.map { .equal(created: $0.created) }) { answer in
      found += answer.titleSize
      return answer.count > 0
    }
    // Each query runs twice; two documents may have the same moment.
    guard found >= 2 * titleSize else { throw PeerError("what was found is not what was stored") }
    return sample
  }

  /// Returns microseconds for each query.
  ///
  /// The queries run twice, and the second run counts.
  private func each(
    _ measure: Measure, _ questions: [Question], _ isRight: (Answer) -> Bool
  ) throws -> Sample {
    var elapsed = 0.0
    for _ in 0..<2 {
      var wrongCount = 0
      elapsed = try seconds {
        for question in questions where try !isRight(engine.answer(question)) { wrongCount += 1 }
      }
      guard wrongCount == 0 else { throw PeerError("\(measure): \(wrongCount) wrong answers") }
    }
    return Sample(measure: measure, value: elapsed * 1e6 / Double(questions.count))
  }

  /// Returns nanoseconds for each entry that is counted.
  private func counting() throws -> Sample {
    let questions = (2002..<2022).map { Question.count(from: "\($0)", upTo: "\($0 + 3)") }
    var counted = 0
    var elapsed = 0.0
    for _ in 0..<2 {
      counted = 0
      elapsed = try seconds {
        for question in questions { counted += try engine.answer(question).count }
      }
    }
    // Three of twenty-six years.
    guard counted > questions.count * count / 12 else { throw PeerError("\(counted) were counted") }
    return Sample(measure: .queryCount, value: elapsed * 1e9 / Double(counted))
  }

  /// Returns nanoseconds for each document of the store, for filters without an index.
  private func filtering(
    _ measure: Measure, _ years: [Int], _ question: (Int) -> Question
  ) throws -> Sample {
    var found = 0
    let elapsed = try seconds {
      for year in years { found += try engine.answer(question(year)).count }
    }
    // Half of them are done, and of 126 years at least 35 are later.
    guard found > years.count * count / 8 else { throw PeerError("\(found) were found") }
    return Sample(measure: measure, value: elapsed * 1e9 / Double(years.count * count))
  }
}
