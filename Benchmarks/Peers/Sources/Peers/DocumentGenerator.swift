/// The benchmark's document, as a user would declare it.
///
/// `created` is a text on purpose: the JSON has dates as texts, and a peer that had to convert
/// between two forms of a date would lose time on work that this benchmark does not measure.
struct SampleDocument: Codable, Sendable {
  var id: String
  var title: String
  var year: Int
  var rating: Double
  var done: Bool
  var tags: [String]
  var note: String
  var created: String
}

extension SampleDocument {
  /// The seven properties as compact JSON of about 300 bytes, without the ID.
  ///
  /// The text is plain ASCII without a character that JSON escapes, so nothing needs escaping.
  var json: String {
    let list = tags.map { "\"\($0)\"" }.joined(separator: ",")
    return "{\"title\":\"\(title)\",\"year\":\(year),\"rating\":\(rating),\"done\":\(done),"
      + "\"tags\":[\(list)],\"note\":\"\(note)\",\"created\":\"\(created)\"}"
  }
}

/// Creates the document of any index from a seed, the same in every process and on every machine.
struct DocumentGenerator: Sendable {
  var seed: UInt64

  /// The number of characters of every ID.
  static let idSize = 20

  /// Returns the document of `index`.
  ///
  /// Neighbouring indices have unrelated IDs, so loading in the order of the indices is loading in
  /// random key order.
  func document(_ index: Int) -> SampleDocument {
    // The step differs from the generator's own; otherwise every document would share the numbers
    // of the previous one.
    var random = SplitMix64(state: seed &+ UInt64(index) &* 0xD134_2543_DE82_EF95)
    let id = Self.id(from: &random)
    let title = words(&random, size: 16..<40)
    let tags = (0..<(2 + Int(random.next() % 2))).map { _ in
      Self.vocabulary[random.next(below: Self.vocabulary.count)]
    }
    return SampleDocument(
      id: id, title: title, year: 1900 + random.next(below: 126),
      rating: Double(random.next(below: 1000)) / 100, done: random.next() & 1 == 0, tags: tags,
      note: words(&random, size: 110..<130), created: date(&random))
  }

  private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

  private static func id(from random: inout SplitMix64) -> String {
    let bytes = (0..<idSize).map { _ in alphabet[Int(random.next() >> 59)] }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func words(_ random: inout SplitMix64, size: Range<Int>) -> String {
    let wanted = size.lowerBound + random.next(below: size.count)
    var text = Self.vocabulary[random.next(below: Self.vocabulary.count)]
    while text.utf8.count < wanted {
      text += " "
      text += Self.vocabulary[random.next(below: Self.vocabulary.count)]
    }
    return text
  }

  private func date(_ random: inout SplitMix64) -> String {
    func padded(_ number: Int, _ width: Int) -> String {
      let digits = String(number)
      return String(repeating: "0", count: width - digits.count) + digits
    }
    let year = 2000 + random.next(below: 26)
    let month = padded(1 + random.next(below: 12), 2)
    let day = padded(1 + random.next(below: 28), 2)
    let hour = padded(random.next(below: 24), 2)
    let minute = padded(random.next(below: 60), 2)
    let second = padded(random.next(below: 60), 2)
    return
      "\(year)-\(month)-\(day)T\(hour):\(minute):\(second).\(padded(random.next(below: 1000), 3))Z"
  }

  private static let vocabulary = [
    "river", "garden", "window", "summer", "letter", "silver", "market", "winter", "forest",
    "bridge", "island", "mirror", "needle", "orange", "pencil", "rocket", "saddle", "tunnel",
    "violin", "walnut", "yellow", "anchor", "basket", "candle", "desert", "engine", "fabric",
    "guitar", "harbor", "iron", "jar", "kite", "lamp", "moon", "nest", "oak", "pearl", "quilt",
  ]
}

/// A small random number generator with a published algorithm: the same numbers everywhere.
struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns a number in `0..<bound`; the bias is far below the precision of a benchmark.
  mutating func next(below bound: Int) -> Int {
    Int(next() % UInt64(bound))
  }
}
