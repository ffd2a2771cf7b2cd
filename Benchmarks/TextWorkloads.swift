import Divan

extension Workload {
  /// Full-text search in short texts, such as names or notes.
  static let searching = [
    Workload(
      name: "text-build", title: "building a full-text index of short texts",
      unit: .nanosecondsPerDocument, prepare: { try $0.loadTexts() }
    ) { bench in
      try bench.withTexts { database in
        try database.removeIndex(named: Bench.textIndex.name)
        let elapsed = try seconds { try database.addIndex(Bench.textIndex) }
        return elapsed * 1e9 / Double(bench.count)
      }
    },
    Workload(
      name: "text-word", title: "the ten best texts with a frequent word", unit: .milliseconds,
      prepare: { try $0.loadTexts() }
    ) { bench in
      try bench.withTexts { try Bench.bestOfFrequent($0) * 1e3 }
    },
    Workload(
      name: "text-typed", title: "the ten best texts after each of 12 keystrokes, the slowest",
      unit: .milliseconds, prepare: { try $0.loadTexts() }
    ) { bench in
      try bench.withTexts { database in
        // The last word is a prefix until the next one begins.
        let typed = "\(ShortTexts.word(600)) \(ShortTexts.word(9))".prefix(12)
        var slowest = 0.0
        for length in 1...typed.count {
          // In a small store, no text has both words.
          slowest = max(slowest, try Bench.best(database, typed.prefix(length) + "*").seconds)
        }
        return slowest * 1e3
      }
    },
    Workload(
      name: "text-update", title: "a change of a text in a transaction, with its index",
      unit: .microsecondsPerCommit, prepare: { try $0.loadTexts() }
    ) { bench in
      try bench.withTexts { database in
        // The run that warms up has the number -1.
        let version = bench.repetition + 2
        let numbers = (0..<500).map { ($0 * 7919 + version) % bench.count }
        let elapsed = try seconds {
          for number in numbers {
            try database.write(durability: Durability.none) {
              _ = try $0.replace(
                "text-\(number)", with: ShortTexts.properties(number, version: version))
            }
          }
        }
        return elapsed * 1e6 / Double(numbers.count)
      }
    },
  ]
}

extension Bench {
  fileprivate static let textIndex = DocumentIndex("text", fullText: "text")

  /// Ensures that there is a store with short texts and an index of them.
  fileprivate func loadTexts() throws {
    guard !exists("texts") else { return }
    let database = try open("texts", .none)
    for start in stride(from: 0, to: count, by: Self.transactionSize) {
      try database.write { transaction in
        for number in start..<min(start + Self.transactionSize, count) {
          let properties = ShortTexts.properties(number, version: 0)
          _ = try transaction.replace("text-\(number)", with: properties)
        }
      }
    }
    try database.addIndex(Bench.textIndex)
    try database.close()
  }

  fileprivate func withTexts(_ work: (Database) throws -> Double) throws -> Double {
    let database = try open("texts")
    let figure = try work(database)
    try database.close()
    return figure
  }

  /// Returns the seconds to find the ten texts with the most frequent word that match best.
  fileprivate static func bestOfFrequent(_ database: Database) throws -> Double {
    let (seconds, count) = try best(database, ShortTexts.word(0))
    guard count == 10 else { throw BenchmarkError("\(count) texts have the word") }
    return seconds
  }

  /// Returns the seconds to find the ten texts that match best, the least of three times, and their
  /// number.
  fileprivate static func best(
    _ database: Database, _ text: some StringProtocol
  ) throws -> (seconds: Double, count: Int) {
    let query = Query<Document>().filter(.matches(.fullText(String(text)), index: textIndex.name))
      .sort(.relevance).limit(10)
    let snapshot = try database.snapshot()
    var found = 0
    let times = try (0..<3).map { _ in try seconds { found = try snapshot.ids(query).count } }
    return (times.min() ?? 0, found)
  }
}

/// Texts of four to nine words, of which few are frequent, as in a language.
private enum ShortTexts {
  private static let wordCount = 1 << 15
  private static let syllables = [
    "ka", "mo", "ri", "ste", "lan", "ber", "ton", "wi", "sha", "do", "pre", "qu", "ne", "ul",
    "gra", "fi",
  ]

  /// Returns a word by its rank.
  ///
  /// The first ones are frequent. Many words begin alike.
  static func word(_ rank: Int) -> String {
    // An odd factor, so that each rank has a number of its own.
    var rest = (rank * 40_503 + 7) & (wordCount - 1)
    var word = ""
    repeat {
      word += syllables[rest & 15]
      rest >>= 4
    } while rest > 0
    return word
  }

  /// Returns the properties of a document, the same on every machine and in every run.
  static func properties(_ number: Int, version: Int) -> Value.Object {
    var random = RandomNumbers(state: UInt64(number) &+ UInt64(version) &* 0x9E37_79B9)
    let words = (0..<4 + random.below(6)).map { _ in
      // Ranks are as frequent as their logarithms are uniform.
      word(random.below(1 << (1 + random.below(15))))
    }
    return ["text": .string(words.joined(separator: " "))]
  }
}
