import Divan

/// Creates the documents of the workloads: about 300 bytes of JSON with seven properties.
///
/// They are the same on every machine and in every run.
struct Samples: Sendable {
  /// The seed of all documents.
  var seed: UInt64 = 1

  /// The number of characters of every ID.
  static let idSize = 20

  /// Returns the ID of a document.
  ///
  /// The IDs of neighbours have nothing in common, so documents in the order of their numbers are
  /// in random key order.
  func id(_ index: Int) -> String {
    var random = generator(index)
    return Self.id(from: &random)
  }

  /// Returns the document of a number; another `version` has other properties under the same ID.
  func document(_ index: Int, version: Int = 0) -> Document {
    var random = generator(index)
    let id = Self.id(from: &random)
    if version > 0 { random = generator(index &+ version &* 0x51_7C_C1) }
    let tags = (0..<2 + random.below(2)).map { _ in Value.string(random.word) }
    return Document(
      id: id,
      [
        "title": .string(random.words(16..<40)), "year": .int(Int64(1900 + random.below(126))),
        "rating": .double(Double(random.below(1000)) / 100), "done": .bool(random.below(2) == 0),
        "tags": .array(tags), "note": .string(random.words(110..<130)),
        "created": .string(random.date),
      ])
  }

  /// Returns documents with consecutive numbers.
  func documents(_ indices: Range<Int>, version: Int = 0) -> [Document] {
    indices.map { document($0, version: version) }
  }

  /// Returns IDs of documents chosen at random among the first `count`.
  func randomIDs(_ sampleCount: Int, among count: Int, seed: Int) -> [String] {
    var random = RandomNumbers(state: self.seed &+ UInt64(seed) &* 7919)
    return (0..<sampleCount).map { _ in id(random.below(count)) }
  }

  /// Returns the size of the JSON of a document with its `_id` and `_rev`.
  static func size(_ document: Document) -> Int {
    let identity = #""_id":"","_rev":"1-","#.utf8.count + 32
    return document.json.utf8.count + document.id.utf8.count + identity
  }

  private func generator(_ index: Int) -> RandomNumbers {
    RandomNumbers(state: seed &+ UInt64(truncatingIfNeeded: index) &* 0xD134_2543_DE82_EF95)
  }

  private static func id(from random: inout RandomNumbers) -> String {
    String(decoding: (0..<idSize).map { _ in alphabet[random.below(32)] }, as: UTF8.self)
  }

  private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
}

/// Random numbers that are the same for the same seed on every machine (SplitMix64).
struct RandomNumbers: RandomNumberGenerator {
  /// The state of the generator.
  var state: UInt64

  /// Returns the next number.
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns a number from 0 up to, but not including, `bound`.
  mutating func below(_ bound: Int) -> Int { Int((next() >> 11) % UInt64(bound)) }

  /// A random word.
  var word: String {
    mutating get { Self.vocabulary[below(Self.vocabulary.count)] }
  }

  /// Returns random words with about this number of characters in total.
  mutating func words(_ size: Range<Int>) -> String {
    let wanted = size.lowerBound + below(size.count)
    var text = word
    while text.utf8.count < wanted { text += " " + word }
    return text
  }

  /// A random date, in the form in which a model stores it.
  var date: String {
    mutating get {
      func padded(_ number: Int, _ width: Int) -> String {
        String(String(10_000 + number).suffix(width))
      }
      let day = "\(2000 + below(26))-\(padded(1 + below(12), 2))-\(padded(1 + below(28), 2))"
      let minute = "\(padded(below(24), 2)):\(padded(below(60), 2))"
      return "\(day)T\(minute):\(padded(below(60), 2)).\(padded(below(1000), 3))Z"
    }
  }

  private static let vocabulary = [
    "acorn", "bakery", "canyon", "dialect", "ember", "ferry", "glacier", "harvest", "indigo",
    "juniper", "kettle", "lantern", "meadow", "nutmeg", "orchard", "pebble", "quarry", "ribbon",
    "sparrow", "thistle", "umbrella", "velvet", "willow", "yarrow", "zephyr", "amber", "birch",
    "cliff", "drum", "elm", "flute", "grove",
  ]
}
