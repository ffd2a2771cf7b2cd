#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One run: every selected workload in sequence.
struct Run {
  private let options: Options
  private let bench: Bench
  private let workloads: [Workload]

  /// Prepares a run with a directory of its own for stores.
  init(_ options: Options) throws {
    self.options = options
    workloads = Workload.all.filter { $0.isChosen(by: options) }
    guard !workloads.isEmpty else {
      throw BenchmarkError("--only names no workload; see --list")
    }
    let parent =
      options.directory.map { URL(filePath: $0) } ?? FileManager.default.temporaryDirectory
    let directory = parent.appending(path: "divan-benchmarks-\(UInt32.random(in: 0 ... .max))")
    bench = Bench(count: options.count, directory: directory.path)
  }

  /// Takes all samples, prints each figure when it is complete, and removes the stores.
  ///
  /// - Returns: The figures, and whether any workload failed or exceeded its limit.
  func measure() throws -> (figures: [Figure], hasFailed: Bool) {
    try FileManager.default.createDirectory(
      atPath: bench.directory, withIntermediateDirectories: true)
    // If removal fails, the files are in a temporary directory.
    defer { try? FileManager.default.removeItem(atPath: bench.directory) }
    print(Report.heading(options))
    var figures: [Figure] = []
    var hasFailed = false
    let clock = ContinuousClock()
    let start = clock.now
    for (index, workload) in workloads.enumerated() {
      let elapsed = seconds(since: start, clock)
      if let limit = options.secondLimit, elapsed > limit {
        print(
          "\(workload.name): skipped, because the time is up; --only \(workload.name) measures it")
        continue
      }
      // Every workload gets its first sample; more only while there is time for the following
      // workloads.
      let share = Double(index + 1) / Double(workloads.count)
      let deadline = options.secondLimit.map { max($0 * 0.6 * share - elapsed, 0) }
      do {
        let figure = Figure(
          name: workload.name, title: workload.title, unit: workload.unit,
          samples: try samples(of: workload, within: deadline))
        figures.append(figure)
        print(Report.line(figure))
        if let limit = workload.limit, let worst = figure.samples.max(), worst > limit {
          hasFailed = true
          print("\(workload.name): \(shortText(worst)) is above the limit of \(shortText(limit))")
        }
      } catch {
        hasFailed = true
        print("\(workload.name): \(error)")
      }
    }
    return (figures, hasFailed)
  }

  private func seconds(since start: ContinuousClock.Instant, _ clock: ContinuousClock) -> Double {
    let elapsed = start.duration(to: clock.now).components
    return Double(elapsed.seconds) + Double(elapsed.attoseconds) * 1e-18
  }

  /// Takes samples; after `deadline` seconds, none begins except the first.
  private func samples(of workload: Workload, within deadline: Double?) throws -> [Double] {
    let clock = ContinuousClock()
    let start = clock.now
    var samples: [Double] = []
    for repetition in (workload.warmsUp ? -1 : 0)..<options.repetitions {
      if let deadline, !samples.isEmpty, seconds(since: start, clock) > deadline { break }
      var bench = bench
      bench.repetition = repetition
      try workload.prepare(bench)
      let sample =
        workload.isApart
        ? try ChildTask(workload: workload.name, bench: bench).run()
        : try workload.measure(bench)
      if repetition >= 0 { samples.append(sample) }
    }
    return samples
  }
}
