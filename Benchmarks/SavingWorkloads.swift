import Divan

extension Workload {
  /// Saving changed models from an actor, durably, while other work waits for that actor.
  static let saving = [
    Workload(
      name: "save-async-held",
      title: "time that saving 1,000 models asynchronously keeps its actor ÷ synchronously",
      unit: .times
    ) { bench in
      try measureSaving(bench) { $0.asynchronous.held / $0.synchronous.held }
    },
    Workload(
      name: "save-async", title: "time until the models are saved asynchronously ÷ synchronously",
      unit: .times
    ) { bench in
      try measureSaving(bench) { $0.asynchronous.elapsed / $0.synchronous.elapsed }
    },
  ]

  private static func measureSaving(
    _ bench: Bench, _ value: @escaping @Sendable (SavingActor.Outcome) -> Double
  ) throws -> Double {
    try bench.remove("saving")
    let database = try bench.open("saving")
    let documents = bench.samples.documents(0..<1000)
    try database.write(durability: Durability.none) { _ = try $0.put(contentsOf: documents) }
    let ratio = try waitFor {
      value(try await SavingActor().measure(database, ids: documents.map(\.id)))
    }
    try database.close()
    return ratio
  }
}

/// An actor with models, and a task that wants to run on it as often as possible.
private actor SavingActor {
  /// Medians of all rounds, in seconds.
  struct Outcome {
    var synchronous: Saving
    var asynchronous: Saving
  }

  /// What one save took.
  struct Saving {
    /// From the call to its return.
    var elapsed: Double
    /// The part of it in which nothing else ran on the actor.
    var held: Double
  }

  private static let roundCount = 15

  /// The time that the actor was last free; nil if nothing watches.
  private var lastTick: ContinuousClock.Instant?
  /// The sum of the intervals without a tick that are longer than what a tick takes.
  private var held = 0.0

  func measure(_ database: Database, ids: [String]) async throws -> Outcome {
    let context = database.makeContext()
    let models = try ids.map { id in
      guard let model = try context.model(SampleModel.self, id: id) else {
        throw BenchmarkError("models are missing")
      }
      return model
    }
    let watcher = Task { await watch() }
    defer { watcher.cancel() }
    var synchronous: [Saving] = []
    var asynchronous: [Saving] = []
    // Alternately, so that a slow moment of the machine affects both.
    for round in 1...Self.roundCount {
      for model in models { model.year = 2 * round }
      var start = await begin()
      try saveSynchronously(models, in: context)
      synchronous.append(end(start))
      for model in models { model.year = 2 * round + 1 }
      start = await begin()
      try await context.saveModels(models)
      asynchronous.append(end(start))
    }
    guard context.unsavedModels.isEmpty else { throw BenchmarkError("models are not saved") }
    return Outcome(synchronous: median(synchronous), asynchronous: median(asynchronous))
  }

  /// Not asynchronous, since the asynchronous method would be called otherwise.
  private func saveSynchronously(_ models: [SampleModel], in context: ModelContext) throws {
    try context.saveModels(models)
  }

  private func begin() async -> ContinuousClock.Instant {
    // The watcher runs first, so that the interval begins with the save.
    for _ in 0..<3 { await Task.yield() }
    held = 0
    let start = ContinuousClock.now
    lastTick = start
    return start
  }

  private func end(_ start: ContinuousClock.Instant) -> Saving {
    let elapsed = (ContinuousClock.now - start).inSeconds
    tick()
    return Saving(elapsed: elapsed, held: held)
  }

  private func watch() async {
    while !Task.isCancelled {
      tick()
      await Task.yield()
    }
  }

  private func tick() {
    let now = ContinuousClock.now
    if let lastTick {
      let interval = (now - lastTick).inSeconds
      if interval > 20e-6 { held += interval }
    }
    lastTick = now
  }

  private func median(_ savings: [Saving]) -> Saving {
    func middle(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
    return Saving(elapsed: middle(savings.map(\.elapsed)), held: middle(savings.map(\.held)))
  }
}
