import Foundation

/// One run: all workloads through all engines, repetitions interleaved, samples collected.
final class Run {
  let options: Options
  private let root: String
  private let corpus: String
  private var samples: [String: [Measure: [Double]]] = [:]
  /// Engines whose store is loaded.
  private var loaded: Set<String> = []
  /// Engines that failed a workload, and are not used again.
  private var failed: Set<String> = []

  init(_ options: Options) throws {
    self.options = options
    let parent = options.directory ?? NSTemporaryDirectory()
    root = parent + "/divan-peers-\(getpid())"
    corpus = root + "/corpus"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
  }

  /// Everything measured so far.
  var figures: [Figure] {
    Measure.allCases.flatMap { measure in
      options.engines.compactMap { engine in
        samples[engine]?[measure].map { Figure(engine: engine, measure: measure, samples: $0) }
      }
    }
  }

  /// Measures everything and removes the stores.
  func measure(then report: (Workload, [Figure]) -> Void) throws {
    defer { try? FileManager.default.removeItem(atPath: root) }
    warn("generating \(options.count) documents")
    try Corpus.write(
      count: options.count + ChildTask.extraCount, seed: options.seed, to: corpus)
    for workload in options.workloads {
      failed = []
      for repetition in 0..<repetitions(of: workload) {
        for engine in engines(for: workload) where !failed.contains(engine) {
          attempt(workload, engine) { try measure(workload, engine, repetition) }
        }
      }
      report(workload, figures.filter { $0.measure.workload == workload })
    }
  }

  private func engines(for workload: Workload) -> [String] {
    allEngines.filter { options.engines.contains($0.name) && $0.workloads.contains(workload) }
      .map { $0.name }
  }

  /// Returns the number of repetitions: more than requested for short workloads, fewer for long.
  private func repetitions(of workload: Workload) -> Int {
    switch workload {
    case .load, .records, .query, .text: options.repetitions
    case .read, .scan, .open, .commit: options.repetitions + 2
    case .overwrite: 1
    }
  }

  private func measure(_ workload: Workload, _ engine: String, _ repetition: Int) throws {
    let directory = root + "/" + engine
    switch workload {
    case .load:
      try? FileManager.default.removeItem(atPath: directory)
      loaded.remove(engine)
      try collect(task(.load, engine, repetition))
      loaded.insert(engine)
    case .read:
      try ensureLoaded(engine)
      try collect(task(.read, engine, repetition))
    case .scan:
      try ensureLoaded(engine)
      try collect(task(.scan, engine, repetition))
    case .open:
      try ensureLoaded(engine)
      try collect(task(.open, engine, repetition))
      try collect(task(.crash, engine, repetition))
      var afterCrash = task(.open, engine, repetition)
      afterCrash.opening = .openKilled
      try collect(afterCrash)
    case .commit:
      try ensureLoaded(engine)
      try collect(task(.commit, engine, repetition))
    case .query:
      // The answers are known only of documents that the process that was killed has not
      // overwritten.
      if repetition == 0, options.workloads.contains(.open) { loaded.remove(engine) }
      try ensureLoaded(engine)
      try collect(task(.query, engine, repetition))
    case .overwrite:
      try collectApart(.overwrite, engine, repetition) {
        $0.count = self.options.overwriteCount ?? max(self.options.count / 5, 1000)
      }
    case .records:
      try collectApart(.records, engine, repetition) { $0.count = min(self.options.count, 100_000) }
    case .text:
      try collectApart(.text, engine, repetition) { $0.count = min(self.options.count, 200_000) }
    }
  }

  /// Measures in a store of its own, which is removed.
  private func collectApart(
    _ step: ChildTask.Step, _ engine: String, _ repetition: Int, _ change: (inout ChildTask) -> Void
  ) throws {
    var apart = task(step, engine, repetition)
    apart.directory += "-\(step)"
    defer { try? FileManager.default.removeItem(atPath: apart.directory) }
    change(&apart)
    try collect(apart)
  }

  private func ensureLoaded(_ engine: String) throws {
    let loads = allEngines.contains { $0.name == engine && $0.workloads.contains(.load) }
    guard loads, !loaded.contains(engine) else { return }
    try? FileManager.default.removeItem(atPath: root + "/" + engine)
    _ = try ChildProcess.run(task(.load, engine, 0))
    loaded.insert(engine)
  }

  private func collect(_ task: ChildTask) throws {
    for sample in try ChildProcess.run(task) {
      samples[task.engine, default: [:]][sample.measure, default: []].append(sample.value)
    }
  }

  private func attempt(_ workload: Workload, _ engine: String, _ body: () throws -> Void) {
    do {
      let elapsed = try seconds(body)
      warn("\(workload.rawValue) \(engine): \(String(format: "%.1f", elapsed)) s")
    } catch {
      failed.insert(engine)
      warn("\(workload.rawValue) \(engine): \(error)")
    }
  }

  private func task(_ step: ChildTask.Step, _ engine: String, _ repetition: Int) -> ChildTask {
    ChildTask(
      step: step, engine: engine, directory: root + "/" + engine, corpus: corpus,
      seed: options.seed, count: options.count, repetition: repetition,
      cacheBytes: options.cacheMebibytes << 20, limitSeconds: options.limitSeconds)
  }
}
