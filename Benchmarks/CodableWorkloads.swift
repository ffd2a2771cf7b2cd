import Divan

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Workload {
  /// Coding of `Codable` types as documents, compared with `JSONEncoder` and `JSONDecoder`.
  ///
  /// Those write dates as numbers here, which is their cheapest form; Divan writes texts.
  static let coding = encoding + decoding

  private static let encoding = [
    Workload(
      name: "codable-encode", title: "Codable to document, flat", unit: .nanosecondsPerDocument
    ) { bench in
      let encoder = DocumentEncoder()
      return try measureEach(try notes(bench)) { _ = try encoder.encode($0) }
    },
    Workload(
      name: "codable-encode-json", title: "the same by JSONEncoder", unit: .nanosecondsPerDocument
    ) { bench in
      let encoder = JSONEncoder()
      return try measureEach(try notes(bench)) { _ = try encoder.encode($0) }
    },
    Workload(
      name: "codable-encode-nested", title: "Codable to document, nested",
      unit: .nanosecondsPerDocument
    ) { bench in
      let encoder = DocumentEncoder()
      return try measureEach(try films(bench)) { _ = try encoder.encode($0) }
    },
    Workload(
      name: "codable-encode-nested-json", title: "the same by JSONEncoder",
      unit: .nanosecondsPerDocument
    ) { bench in
      let encoder = JSONEncoder()
      return try measureEach(try films(bench)) { _ = try encoder.encode($0) }
    },
  ]

  private static let decoding = [
    Workload(
      name: "codable-decode", title: "document to Codable, flat", unit: .nanosecondsPerDocument
    ) { bench in
      let documents = try notes(bench).map { try Document(encoding: $0) }
      let decoder = DocumentDecoder()
      return try measureEach(documents) { _ = try decoder.decode(Note.self, from: $0) }
    },
    Workload(
      name: "codable-decode-json", title: "the same by JSONDecoder", unit: .nanosecondsPerDocument
    ) { bench in
      let encoder = JSONEncoder()
      let texts = try notes(bench).map { try encoder.encode($0) }
      let decoder = JSONDecoder()
      return try measureEach(texts) { _ = try decoder.decode(Note.self, from: $0) }
    },
    Workload(
      name: "codable-decode-nested", title: "document to Codable, nested",
      unit: .nanosecondsPerDocument
    ) { bench in
      let documents = try films(bench).map { try Document(encoding: $0) }
      let decoder = DocumentDecoder()
      return try measureEach(documents) { _ = try decoder.decode(Film.self, from: $0) }
    },
    Workload(
      name: "codable-decode-nested-json", title: "the same by JSONDecoder",
      unit: .nanosecondsPerDocument
    ) { bench in
      let encoder = JSONEncoder()
      let texts = try films(bench).map { try encoder.encode($0) }
      let decoder = JSONDecoder()
      return try measureEach(texts) { _ = try decoder.decode(Film.self, from: $0) }
    },
  ]

  private static func notes(_ bench: Bench) throws -> [Note] {
    try bench.samples.documents(0..<min(bench.count, 20_000)).map { try $0.decode(Note.self) }
  }

  private static func films(_ bench: Bench) throws -> [Film] {
    var random = RandomNumbers(state: bench.samples.seed)
    return (0..<min(bench.count, 20_000)).map { _ in Film(&random) }
  }
}

/// The documents of the samples as a type.
struct Note: Codable {
  var title: String
  var year: Int
  var rating: Double
  var done: Bool
  var tags: [String]
  var note: String
  var created: Date
}

/// A type with objects in arrays, enumerations and properties that may be missing.
struct Film: Codable {
  var title: String
  var year: Int
  var genres: [String]
  var cast: [Role]
  var director: Person?
  var producer: Person?
  var rating: Rating
  var runtime: Int?
  var extract: String

  /// An actor's role.
  struct Role: Codable {
    var actor: Person
    var character: String
    var isLead: Bool
  }

  /// A person.
  struct Person: Codable {
    var name: String
    var born: Int?
  }

  /// The audience.
  enum Rating: String, Codable {
    case everybody, guided, adults
  }

  /// Creates a random film.
  init(_ random: inout RandomNumbers) {
    func person() -> Person {
      Person(name: random.words(8..<16), born: random.below(3) == 0 ? nil : 1880 + random.below(80))
    }
    title = random.words(10..<24)
    year = 1900 + random.below(100)
    genres = (0..<1 + random.below(3)).map { _ in random.word }
    cast = (0..<2 + random.below(4)).map { _ in
      Role(actor: person(), character: random.words(6..<12), isLead: random.below(3) == 0)
    }
    director = person()
    producer = random.below(2) == 0 ? nil : person()
    rating = [.everybody, .guided, .adults][random.below(3)]
    runtime = random.below(4) == 0 ? nil : 60 + random.below(90)
    extract = random.words(200..<300)
  }
}
