import Divan
import DivanTesting

/// Changes random properties of models and saves them, and compares their documents with
/// dictionaries.
package struct ModelProof: Proof {
  package static let name = "models"
  package static let claim =
    "a saved document has the properties that its model was given, and keeps all others"

  package init() {}

  package func gather(_ run: ProofRun) throws {
    let count = run.budget.choose(test: 10, ci: 300, night: 20_000, release: 400_000)
    let seeds = (0..<UInt64(count)).map { run.seed &+ $0 }
    run.forEach(seeds, name: { "models \($0)." }) { seed in
      var trial = ModelTrial(seed: seed)
      try trial.play()
      run.count("saves", trial.saveCount)
      run.count("documents compared", trial.comparisonCount)
    }
    run.require("saves", atLeast: 20 * count)
    run.require("documents compared", atLeast: 200 * count)
  }
}

/// A model whose properties are not declared in the order of their names.
///
/// The last name is that of a property that is often missing, and the first is not.
private final class Parcel: Model {
  @Persisted var weight = 0
  @Persisted var address = ""
  @Persisted var note: String?
  @Persisted var stops: [String] = []
  @Persisted var ranking: Double?
  @Persisted var zone: Int?
}

/// A store with parcels, whose documents have properties that the class does not know, too.
struct ModelTrial {
  private var random: SeededGenerator
  /// The properties that each document must have, by its ID.
  private var plain: [String: Value.Object] = [:]
  /// The parcels that were changed since the last save, whose changes cannot be taken back one by
  /// one.
  private var changed: Set<String> = []
  private(set) var saveCount = 0
  private(set) var comparisonCount = 0

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func play() throws {
    let database = try Database.inMemory()
    defer { try? database.close() }
    var context = database.makeContext()
    for _ in 0..<20 {
      // A new context reads the stored documents.
      if random.below(3) == 0 {
        try writeAside(database)
        context = database.makeContext()
      }
      try change(in: context)
      saveCount += 1
      try compare(try database.snapshot())
    }
  }

  /// Changes some parcels and saves them; some are deleted, and some changes are taken back.
  private mutating func change(in context: ModelContext) throws {
    for _ in 0..<(1 + random.below(5)) {
      let id = "parcel \(random.below(12))"
      guard let before = plain[id] else {
        plain[id] = ["type": "Parcel", "weight": 0, "address": "", "stops": .array([])]
        change(Parcel(in: context, id: id), id)
        continue
      }
      guard let parcel = try context.model(Parcel.self, id: id) else {
        throw CrashOracle.Mismatch("\(id) is not found")
      }
      for _ in 0..<random.below(4) { change(parcel, id) }
      guard !parcel.isNew else { continue }
      switch random.below(12) {
      case 0:
        try parcel.delete()
        plain[id] = nil
      case 1 where !changed.contains(id):
        parcel.revert()
        plain[id] = before
      default: changed.insert(id)
      }
    }
    try context.save()
    changed = []
  }

  private mutating func change(_ parcel: Parcel, _ id: String) {
    switch random.below(6) {
    case 0:
      parcel.weight = random.below(3) == 0 ? Int.max - random.below(3) : random.below(300)
      plain[id]?["weight"] = .int(Int64(parcel.weight))
    case 1:
      parcel.address = String(repeating: "street ", count: random.below(40))
      plain[id]?["address"] = .string(parcel.address)
    case 2:
      parcel.note = random.below(2) == 0 ? nil : "note \(random.below(9))"
      plain[id]?["note"] = parcel.note.map(Value.string)
    case 3:
      parcel.stops = (0..<random.below(4)).map { "stop \($0)" }
      plain[id]?["stops"] = .array(parcel.stops.map(Value.string))
    case 4:
      parcel.zone = random.below(2) == 0 ? nil : random.below(99)
      plain[id]?["zone"] = parcel.zone.map { .int(Int64($0)) }
    default:
      parcel.ranking = random.below(2) == 0 ? nil : Double(random.below(9)) + 0.5
      plain[id]?["ranking"] = parcel.ranking.map(Value.double)
    }
  }

  /// Gives documents properties that the class does not know, as another program does.
  private mutating func writeAside(_ database: Database) throws {
    let names = ["a", "b", "noted", "stop", "zeal", "type of box", "weights"]
    for id in plain.keys.sorted() where random.below(3) == 0 {
      let name = names[random.below(names.count)]
      let value: Value = random.below(3) == 0 ? .object(["x": 1]) : .int(Int64(random.below(9)))
      plain[id]?[name] = value
      try database.update(id) { $0[name] = value }
    }
  }

  private mutating func compare(_ snapshot: Snapshot) throws {
    for number in 0..<12 {
      let id = "parcel \(number)"
      let found = try snapshot.document(id)?.properties
      comparisonCount += 1
      guard found != plain[id] else { continue }
      throw CrashOracle.Mismatch(
        "\(id) has \(found.map { "\($0)" } ?? "no document"), expected "
          + "\(plain[id].map { "\($0)" } ?? "none")")
    }
  }
}
