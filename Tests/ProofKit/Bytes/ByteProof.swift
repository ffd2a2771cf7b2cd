import Divan
import DivanLog
import DivanTesting
import Synchronization

/// Damages every byte of small stores in many ways.
package struct ByteProof: Proof {
  package static let name = "bytes"
  package static let claim =
    "whichever bytes of a store change, every read returns what was stored, "
    + "or an error that says what is damaged"

  /// The maximum number of bytes that may be requested at once, unless the file is larger.
  static let readLimit = 1 << 20

  package init() {}

  private struct Case: Sendable {
    let subject: ByteSubject
    let file: String
    let kind: ByteDamageKind
    var name: String { "\(subject.name) \(file) \(kind.rawValue)" }
  }

  package func gather(_ run: ProofRun) throws {
    let extent = run.budget.choose(
      test: ByteDamageKind.Extent(
        step: 1009, isEveryBitOfSmall: false, isEveryBitOfAll: false, sectorStep: 600, fileStep: 12,
        pairCount: 1),
      ci: .init(
        step: 1, largeStep: 61, isEveryBitOfSmall: true, isEveryBitOfAll: false, sectorStep: 4,
        pairCount: 200),
      night: .init(
        step: 1, isEveryBitOfSmall: true, isEveryBitOfAll: true, sectorStep: 1, pairCount: 20_000),
      release: .init(
        step: 1, isEveryBitOfSmall: true, isEveryBitOfAll: true, sectorStep: 1,
        pairCount: 1_000_000))
    let subjects = try ByteSubject.all()
    for subject in subjects {
      run.count("bytes of golden stores", subject.size)
      if extent.step(of: subject) == 1 {
        run.count("bytes of those damaged one by one", subject.size)
      }
      if subject.isForEveryBit { run.count("bytes of those flipped bit by bit", subject.size) }
    }
    var cases: [Case] = []
    // The longest cases first, so that none is left alone at the end.
    for subject in subjects.sorted(by: { $0.size > $1.size }) {
      for kind in ByteDamageKind.allCases {
        for file in subject.files.keys.sorted() {
          cases.append(Case(subject: subject, file: file, kind: kind))
        }
      }
    }
    let largest = ByteFiles.LargestRead()
    run.forEach(cases, name: \.name) { each in
      let trial = ByteTrial(run, each.subject, each.kind, caseName: each.name, largest)
      each.kind.forEach(of: each.subject, each.file, extent, seed: run.seed) { trial.attempt($0) }
      trial.finish()
    }
    run.note("largest single request for bytes: \(largest.value)")
    if let peak = peakMemory() { run.note("peak memory of the process: \(peak >> 20) MiB") }
    let sizeLimit = max(ByteProof.readLimit, subjects.map(\.size).max() ?? 0)
    if largest.value > sizeLimit {
      run.fail("\(largest.value) bytes were asked for at once", caseName: "")
    }
    requireFigures(run)
  }

  private func requireFigures(_ run: ProofRun) {
    let figures: [(ByteDamageKind, test: Int, ci: Int)] = [
      (.flips, 400, 256 << 10 + 7 * 64 << 10), (.cuts, 400, 256 << 10), (.sectors, 200, 20_000),
      (.files, 300, 5000), (.pairs, 50, 10_000),
    ]
    for (kind, test, ci) in figures {
      run.require(
        kind.rawValue,
        atLeast: run.budget.choose(test: test, ci: ci, night: ci, release: ci))
    }
    if run.budget != .test {
      run.require("bytes of those damaged one by one", atLeast: 256 << 10)
      run.require("bytes of those flipped bit by bit", atLeast: 64 << 10)
    }
    run.require("answers that were right", atLeast: run.budget == .test ? 500 : 100_000)
    // Most damage leaves most documents intact.
    run.require(
      "asked about documents that are there, flipped bits: right",
      atLeast: run.budget == .test ? 100 : 100_000)
    run.require("answers that were refused", atLeast: run.budget == .test ? 500 : 100_000)
    run.require("opened for writing, too", atLeast: run.budget == .test ? 10 : 10_000)
  }
}
