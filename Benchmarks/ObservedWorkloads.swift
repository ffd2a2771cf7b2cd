import Divan
import Observation
import Synchronization

/// A model that notifies observers of each property.
private final class ObservedModel: Model {
  @Persisted var year = 0
}

/// A handwritten class that notifies observers as `@Observable` would.
private final class ObservedPlain: Observable {
  private var storedYear = 0
  private let registrar = ObservationRegistrar()

  var year: Int {
    get {
      registrar.access(self, keyPath: \.year)
      return storedYear
    }
    set {
      registrar.withMutation(of: self, keyPath: \.year) { storedYear = newValue }
    }
  }
}

/// A model that counts its instances.
private final class CountedModel: Model {
  static let count = Atomic<Int>(0)
  @Persisted var number = 0
  @Persisted var next: CountedModel?
  @Persisted var others: [CountedModel]

  required init() {
    super.init()
    CountedModel.count.add(1, ordering: .relaxed)
  }

  deinit { CountedModel.count.subtract(1, ordering: .relaxed) }
}

extension Workload {
  /// Observed models, compared with `@Observable`, and the memory of models before and after their
  /// release.
  static let observing = [
    Workload(
      name: "observed-read", title: "read an observed model's property again", unit: .nanoseconds
    ) { _ in
      let model = ObservedModel()
      model.year = 1927
      return measure { sum, _ in sum &+= read(model) }
    },
    Workload(
      name: "observed-read-plain", title: "the same for an observable class", unit: .nanoseconds
    ) { _ in
      let model = ObservedPlain()
      model.year = 1927
      return measure { sum, _ in sum &+= read(model) }
    },
    Workload(
      name: "observed-write", title: "write an observed model's property again", unit: .nanoseconds
    ) { _ in
      let model = ObservedModel()
      return measure { sum, index in
        write(model, index)
        sum &+= index
      }
    },
    Workload(
      name: "observed-write-plain", title: "the same for an observable class", unit: .nanoseconds
    ) { _ in
      let model = ObservedPlain()
      return measure { sum, index in
        write(model, index)
        sum &+= index
      }
    },
    Workload(
      name: "observed-first-change", title: "first change of a saved model that can be observed",
      unit: .nanoseconds
    ) { bench in
      let database = try Database.inMemory()
      let context = database.makeContext()
      let models = (0..<min(bench.count, 100_000)).map {
        ObservedModel(in: context, id: "model \($0)")
      }
      for model in models { model.year = 1 }
      try context.saveModels(models)
      let elapsed = seconds { for model in models { write(model, 2) } }
      guard context.unsavedModels.count == models.count else {
        throw BenchmarkError("changed models are missing")
      }
      return elapsed * 1e9 / Double(models.count)
    },
    Workload(
      name: "memory-models",
      title: "growth of anonymous memory while models are created, saved, loaded and released",
      unit: .megabytes, isApart: true, warmsUp: false
    ) { bench in
      try bench.remove("cycles")
      let database = try bench.open("cycles", .none)
      // The first rounds allocate memory that is needed only once.
      for _ in 0..<10 { try cycle(database) }
      let before = try requireMemory()
      for _ in 0..<(bench.count / cycleSize) { try cycle(database) }
      let growth = try requireMemory() - before
      let left = CountedModel.count.load(ordering: .relaxed)
      guard left <= 1 else { throw BenchmarkError("\(left) models are still in memory") }
      guard growth <= growthLimit else {
        throw BenchmarkError("memory grew by \(Int(growth / 1e6)) MB")
      }
      try database.close()
      return growth / 1e6
    },
    Workload(
      name: "memory-models-held",
      title: "anonymous memory of retained clean models; none after their release",
      unit: .bytesPerDocument, isApart: true, warmsUp: false
    ) { bench in
      let database = try Database.inMemory()
      let context = database.makeContext()
      for number in 0..<bench.count {
        let model = CountedModel(in: context)
        model.number = number
        if number % 1000 == 999 { try context.save() }
      }
      try context.save()
      func left() -> Int { CountedModel.count.load(ordering: .relaxed) }
      guard left() <= 1 else { throw BenchmarkError("\(left()) saved models are still in memory") }
      let before = try requireMemory()
      let cursor = try context.models(CountedModel.self)
      var models = try cursor.collect()
      guard models.reduce(0, { $0 + $1.number }) == bench.count * (bench.count - 1) / 2 else {
        throw BenchmarkError("models are missing")
      }
      let growth = try requireMemory() - before
      models.removeAll()
      guard left() <= 1 else { throw BenchmarkError("\(left()) loaded models are still in memory") }
      return growth / Double(bench.count)
    },
  ]

  private static let cycleSize = 100
  /// The maximum growth of memory for any number of models, in bytes: caches and allocators.
  private static let growthLimit = 32e6

  /// Creates models that refer to each other in cycles, saves, loads and purges them.
  private static func cycle(_ database: Database) throws {
    let ids = (0..<cycleSize).map { "model \($0)" }
    do {
      let context = database.makeContext()
      let models = ids.map { CountedModel(in: context, id: $0) }
      for (index, model) in models.enumerated() {
        model.number = index
        model.next = models[(index + 1) % models.count]
        model.others = [model, models[0]]
      }
      try context.save()
    }
    do {
      let context = database.makeContext()
      var sum = 0
      for id in ids { sum += try context.model(CountedModel.self, id: id)?.next?.number ?? 0 }
      guard sum == cycleSize * (cycleSize - 1) / 2 else {
        throw BenchmarkError("models are missing")
      }
    }
    try database.write { transaction in
      for id in ids { try transaction.purge(id) }
    }
  }

  private static func measure(_ body: (inout Int, Int) -> Void) -> Double {
    let count = 1_000_000
    var sum = 0
    let elapsed = seconds { for index in 1...count { body(&sum, index) } }
    precondition(sum > 0, "The values must be used")
    return elapsed * 1e9 / Double(count)
  }

  @inline(never)
  private static func read(_ model: ObservedModel) -> Int { model.year }
  @inline(never)
  private static func read(_ model: ObservedPlain) -> Int { model.year }
  @inline(never)
  private static func write(_ model: ObservedModel, _ year: Int) { model.year = year }
  @inline(never)
  private static func write(_ model: ObservedPlain, _ year: Int) { model.year = year }
}
