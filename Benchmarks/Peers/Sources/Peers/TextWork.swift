import Foundation

/// Measures full-text search: puts texts, builds an index, and asks questions of each kind.
struct TextWork {
  let engine: any TextEngine
  let directory: String
  let count: Int
  let repetition: Int
  private let words: [String]

  /// The number of queries of each kind that find few documents, and many.
  private static let questionCount = 200
  private static let frequentCount = 5

  init(_ engine: any TextEngine, directory: String, count: Int, seed: UInt64, repetition: Int) {
    (self.engine, self.directory) = (engine, directory)
    (self.count, self.repetition) = (count, repetition)
    var random = SplitMix64(state: seed)
    let syllables = [
      "ka", "mo", "ri", "ste", "lan", "ber", "ton", "wi", "sha", "do", "pre", "qu", "ne", "ul",
      "gra", "fi",
    ]
    words = (0..<30_000).map { number in
      // The number makes each word another one.
      (0..<2 + random.next(below: 2)).map { _ in syllables[random.next(below: syllables.count)] }
        .joined() + String(number, radix: 36)
    }
  }

  /// Returns words of which the first ones are frequent, as in a language.
  private func text(_ length: Int, _ random: inout SplitMix64) -> String {
    (0..<length).map { _ in
      let share = Double(random.next(below: 1 << 30)) / Double(1 << 30)
      return words[min(words.count - 1, Int(pow(Double(words.count), share)) - 1)]
    }.joined(separator: " ")
  }

  func samples() throws -> [Sample] {
    var random = SplitMix64(state: 7)
    for start in stride(from: 0, to: count, by: ChildTask.transactionSize) {
      let texts = (start..<min(start + ChildTask.transactionSize, count)).map { number in
        SampleText(
          id: "text-\(number)", title: text(4, &random),
          body: text(20 + random.next(below: 60), &random))
      }
      try engine.putTexts(texts)
    }
    try engine.settleTexts()
    let sizeBefore = bytesOnDisk(directory)
    let build = try seconds { try engine.addTextIndex() }
    try engine.settleTexts()
    var samples = [
      Sample(measure: .textBuild, value: build * 1e6 / Double(count)),
      Sample(
        measure: .textSize, value: (bytesOnDisk(directory) - sizeBefore) / Double(count)),
    ]
    samples += try searches()
    samples.append(try updates(&random))
    return samples
  }

  private func searches() throws -> [Sample] {
    let rare = (0..<Self.questionCount).map { words[2000 + $0 * 7] }
    let middle = (0..<Self.questionCount).map { words[60 + $0] }
    var samples = [
      try count(.textWord, rare.map { .word($0) }),
      try count(.textBoth, zip(middle, middle.dropFirst()).map { .both($0, $1) }),
      try count(
        .textPhrase, (0..<Self.questionCount).map { .phrase(words[$0 % 20], words[$0 / 20]) }),
      try count(.textPrefix, rare.map { .prefix(String($0.prefix(4))) }),
    ]
    // The most frequent word is in most documents.
    let frequent = (0..<Self.frequentCount).map { TextQuestion.word(words[$0]) }
    var found = 0
    let elapsed = try best {
      found = 0
      for question in frequent { found += try engine.topTexts(question, limit: 10).count }
    }
    guard found == 10 * frequent.count else { throw PeerError("\(found) texts were found") }
    samples.append(Sample(measure: .textTop, value: elapsed * 1e3 / Double(frequent.count)))
    return samples
  }

  /// Returns microseconds for each query that counts.
  private func count(_ measure: Measure, _ questions: [TextQuestion]) throws -> Sample {
    var found = 0
    let elapsed = try best {
      found = 0
      for question in questions { found += try engine.countTexts(question) }
    }
    guard found > 0 else { throw PeerError("\(measure): nothing was found") }
    return Sample(measure: measure, value: elapsed * 1e6 / Double(questions.count))
  }

  /// Returns the seconds of the second of two runs.
  private func best(_ body: () throws -> Void) throws -> Double {
    _ = try seconds(body)
    return try seconds(body)
  }

  private func updates(_ random: inout SplitMix64) throws -> Sample {
    let changes = (0..<Self.questionCount).map { number in
      (id: "text-\((number * 97 + repetition) % count)", body: text(50, &random) + " changed")
    }
    let elapsed = try seconds {
      for (id, body) in changes { try engine.updateText(id, body: body) }
    }
    let found = try engine.countTexts(.word("changed"))
    guard found > 0 else { throw PeerError("the index does not follow changes") }
    return Sample(measure: .textUpdate, value: elapsed * 1e6 / Double(changes.count))
  }
}
