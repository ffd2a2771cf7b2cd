import DivanLog
import DivanTesting

/// The faults to try at each call, so that every one is tried at every place.
struct FaultPlan: Sendable {
  struct Call: Sendable {
    let workload: Int
    let number: Int
    let flushNumber: Int?
    let site: CallSite
  }

  let workloads: [CrashWorkload]
  private(set) var calls: [Call] = []

  /// Runs each workload once without faults.
  init(_ workloads: [CrashWorkload], _ starts: [FaultStart]) throws {
    self.workloads = workloads
    for (index, workload) in workloads.enumerated() {
      let fixture = starts[index].fixture(isMapped: true)
      let sites = Recorder<CallSite>()
      fixture.fileSystem.observeCalls { [unowned fixture] call in
        sites.append(fixture.site(of: call))
      }
      try workload.work(fixture)
      fixture.fileSystem.observeCalls(nil)
      var flushes = 0
      for (number, site) in sites.all.enumerated() {
        if site.verb == .flush { flushes += 1 }
        calls.append(
          Call(
            workload: index, number: number + 1,
            flushNumber: site.verb == .flush ? flushes : nil, site: site))
      }
    }
  }
}

extension FaultPlan {
  /// The places that are reached.
  var sites: Set<CallSite> { Set(calls.map(\.site)) }

  /// All faults, in an order that never changes.
  var everything: [FaultTrial] {
    calls.flatMap { call in
      FaultKind.all(for: call.site.verb).flatMap { kind in
        [(false, true), (true, false), (false, false), (true, true)].map {
          trial(call, kind, isLasting: $0.0, isMapped: $0.1)
        }
      }
    }
  }

  /// Returns some of them: each kind, once and permanently, at `count` calls of each call site.
  ///
  /// Call sites with fewer calls have fewer trials, and each call has at least one.
  func chosen(perPlace count: Int, seed: UInt64) -> [FaultTrial] {
    var trials: [FaultTrial] = []
    var random = SeededGenerator(seed: seed)
    var isTried = [Bool](repeating: false, count: calls.count)
    let places = Dictionary(grouping: calls.indices) { calls[$0].site }
    for site in places.keys.sorted(by: { "\($0)" < "\($1)" }) {
      let there = places[site] ?? []
      var next = Int.random(in: there.indices, using: &random)
      for kind in FaultKind.all(for: site.verb) {
        for isLasting in [false, true] {
          for round in 0..<min(count, there.count) {
            isTried[there[next % there.count]] = true
            trials.append(
              trial(
                calls[there[next % there.count]], kind, isLasting: isLasting,
                isMapped: (next + round) % 2 == 0))
            next += 1
          }
        }
      }
    }
    for (index, call) in calls.enumerated() where !isTried[index] {
      let kinds = FaultKind.all(for: call.site.verb)
      trials.append(
        trial(
          call, kinds[index % kinds.count], isLasting: index % 3 == 0, isMapped: index % 2 == 0))
    }
    return trials
  }

  /// Returns trials with two faults each.
  func compound(_ count: Int, seed: UInt64) -> [FaultTrial] {
    var random = SeededGenerator(seed: seed &+ 77)
    return (0..<count).compactMap { _ in
      guard let call = calls.randomElement(using: &random),
        let kind = FaultKind.all(for: call.site.verb).randomElement(using: &random),
        let second = FaultKind.everywhere.randomElement(using: &random)
      else { return nil }
      var trial = trial(call, kind, isLasting: false, isMapped: Bool.random(using: &random))
      trial.second = (Int.random(in: 1...40, using: &random), second)
      return trial
    }
  }

  private func trial(
    _ call: Call, _ kind: FaultKind, isLasting: Bool, isMapped: Bool
  ) -> FaultTrial {
    FaultTrial(
      workload: workloads[call.workload], call: call.number, flushCall: call.flushNumber,
      site: call.site, kind: kind, isLasting: isLasting, isMapped: isMapped)
  }
}
