import Divan
import DivanTesting
import Observation
import Synchronization
import Testing

/// Tests that models are deallocated when they are no longer referenced.
///
/// They are created, saved, loaded and connected in various ways. `Benchmarks --only memory-models
/// --count 1000000` does the same a million times, with a limit to memory.
@Suite(.serialized)
struct ModelLifeTests {
  private final class Counted: Model {
    static let count = Atomic<Int>(0)
    @Persisted var number = 0
    @Persisted var next: Counted?
    @Persisted var others: [Counted]
    @Inverse(\Counted.next) var previous: [Counted]

    required init() {
      super.init()
      Counted.count.add(1, ordering: .relaxed)
    }

    deinit { Counted.count.subtract(1, ordering: .relaxed) }
    override class var documentType: String? { nil }
  }

  private let database: Database
  private let ids = (0..<20).map { "model \($0)" }

  init() throws {
    database = try Database.inMemory()
    try database.addIndexes(for: Counted.self)
    // One instance lives as long as the program: the declared values are read from it.
    _ = Counted()
  }

  private var count: Int { Counted.count.load(ordering: .relaxed) }

  private func make(in context: ModelContext) -> [Counted] {
    let models = ids.map { Counted(in: context, id: $0) }
    for (index, model) in models.enumerated() {
      model.number = index
      model.next = models[(index + 1) % models.count]
      model.others = [model, models[0]]
    }
    return models
  }

  @Test func `creating, saving, loading and changing thousands of models leaks none`()
    throws
  {
    for round in 0..<100 {
      do {
        let context = database.makeContext()
        context.undoLimit = 3
        _ = make(in: context)
        try context.save()
        try context.undo()
        try context.redo()
      }
      try database.write { transaction in
        let model = try transaction.models.model(Counted.self, id: ids[round % ids.count])
        model?.number = -1
        try model?.save()
        model?.number = -2
      }
      do {
        let context = database.makeContext()
        let models = try ids.map { try #require(try context.model(Counted.self, id: $0)) }
        #expect(models[1].previous == [models[0]] && models[0].others.count == 2)
        models[0].others = []
        models[1].revert()
        try models[2].delete()
        _ = try models[3].detachedCopy()
        // Unsaved models are released with their context.
        models[4].next = Counted(in: context)
      }
      try database.read { snapshot in
        try snapshot.models { context in
          let model = try context.model(Counted.self, id: ids[5])
          #expect(model?.next?.id == ids[6])
        }
      }
      try database.write { transaction in
        for id in ids { try transaction.purge(id) }
      }
    }
    #expect(count <= 1)
  }

  @Test func `a context does not retain models without unsaved changes`() throws {
    let context = database.makeContext()
    _ = make(in: context)
    #expect(count >= ids.count)
    try context.save()
    #expect(count <= 1)
    let all = try context.models(Counted.self)
    var retained = try all.collect()
    #expect(retained.count == ids.count && count >= ids.count)
    retained = []
    #expect(count <= 1)
  }

  @Test(arguments: [UInt64(1), 2])
  func `the identity map has exactly the models that are referenced`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let ids = (0..<300).map { "model \($0)" }
    try database.write { transaction in
      for id in ids { try transaction.put(Document(id: id, ["number": 1])) }
    }
    let context = database.makeContext()
    var retained: [String: Counted] = [:]
    for step in 0..<3000 {
      let id = ids[random.below(ids.count)]
      // Phases in which most models are retained alternate with those in which few are.
      if random.below(4) < (step / 500 % 2 == 0 ? 1 : 3) {
        retained[id] = nil
        continue
      }
      let model = try context.model(Counted.self, id: id)
      if let known = retained[id], model !== known {
        Issue.record("another model in step \(step) of seed \(seed)")
      }
      retained[id] = model
    }
    #expect(count <= retained.count + 1)
    for (id, model) in retained { #expect(try context.model(Counted.self, id: id) === model) }
  }

  /// A model that runs a closure when it is deinitialized.
  private final class Ending: Model {
    @Persisted var number = 0
    var atEnd: (() -> Void)?
    deinit { atEnd?() }
    override class var documentType: String? { nil }
  }

  @Test func `loading a document while its model is deinitialized returns another model`() throws {
    try database.write { try $0.put(Document(id: "ending", ["number": 1])) }
    let context = database.makeContext()
    var other: Ending?
    do {
      let model = try #require(try context.model(Ending.self, id: "ending"))
      model.atEnd = { other = try? context.model(Ending.self, id: "ending") }
    }
    #expect(other?.number == 1 && other?.atEnd == nil)
    #expect(try context.model(Ending.self, id: "ending") === other)
  }

  @Test func `updates by query, live queries and rollbacks leak no models`() throws {
    struct Stop: Error {}
    func runRound() throws {
      let context = database.makeContext()
      context.undoLimit = 2
      let some = context.liveQuery(Query<Counted>().filter { $0.number > 10 }.sorted(by: \.number))
      var changeCount = 0
      some.onChange = { _ in changeCount += 1 }
      _ = make(in: context)
      try context.save()
      #expect(some.results.count == 9)
      #expect(try context.update(Query<Counted>()) { $0.number += 1 } == ids.count)
      #expect(some.results.count == 10 && changeCount > 1)
      try database.write { transaction in
        let models = transaction.models
        let retained = try #require(try models.model(Counted.self, id: ids[0]))
        #expect(throws: Stop.self) {
          try transaction.savepoint {
            try models.update(Query<Counted>()) { $0.next = nil }
            retained.number = -1
            retained.others = [Counted(in: models)]
            try models.save()
            try models.delete(Query<Counted>(), includingOtherClasses: true)
            throw Stop()
          }
        }
        #expect(!retained.isDeleted && retained.needsSave)
      }
      try context.delete(Query<Counted>(), includingOtherClasses: true)
      #expect(some.results.isEmpty)
      try database.write { transaction in
        for id in ids { try transaction.purge(id) }
      }
    }
    try runRound()
    let first = count
    for _ in 0..<5 { try runRound() }
    #expect(count == first && first < ids.count)
  }
}
