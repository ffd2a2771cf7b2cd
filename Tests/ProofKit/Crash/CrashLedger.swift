import DivanTesting
import Foundation
import Synchronization

/// A file that records the progress of a crash suite run, so that a long run can be resumed.
final class CrashLedger: Sendable {
  /// The contents of the file.
  private struct Contents: Codable {
    var budget: String
    var seed: UInt64
    /// The names of the cases that were tried.
    var done: Set<String> = []
    var counts = CrashCensus.Counts()
  }

  private struct State {
    var contents: Contents
    var savedAt = ContinuousClock.now
  }

  private let url: URL
  private let state: Mutex<State>

  /// Begins or resumes a run; throws if the file belongs to another run.
  init(at path: String, _ run: ProofRun) throws {
    url = URL(filePath: path)
    var contents = Contents(budget: run.budget.rawValue, seed: run.seed)
    if FileManager.default.fileExists(atPath: path) {
      contents = try PropertyListDecoder().decode(Contents.self, from: Data(contentsOf: url))
      guard contents.budget == run.budget.rawValue, contents.seed == run.seed else {
        throw CrashOracle.Mismatch(
          "\(path) is of the budget \(contents.budget) and seed \(contents.seed)")
      }
    }
    state = Mutex(State(contents: contents))
  }

  var done: Set<String> { state.withLock { $0.contents.done } }
  var counts: CrashCensus.Counts { state.withLock { $0.contents.counts } }

  /// Records that a case was tried; saves that from time to time.
  func note(_ name: String, _ census: CrashCensus) throws {
    try state.withLock { state in
      state.contents.done.insert(name)
      guard state.savedAt + .seconds(300) < .now else { return }
      state.contents.counts = census.total
      try save(state.contents)
      state.savedAt = .now
    }
  }

  /// Saves everything.
  func finish(_ census: CrashCensus) throws {
    try state.withLock { state in
      state.contents.counts = census.total
      try save(state.contents)
    }
  }

  private func save(_ contents: Contents) throws {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    try encoder.encode(contents).write(to: url, options: .atomic)
  }
}

extension CrashCensus.Counts: Codable {
  private enum Key: String, CodingKey {
    case calls, tried, examined, recoveryCrashesTried, recoveryCrashes, readings, continuations
    case sites, recoverySites, personalities, states, images
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    calls = try container.decode(Int.self, forKey: .calls)
    tried = try container.decode(Int.self, forKey: .tried)
    examined = try container.decode(Int.self, forKey: .examined)
    recoveryCrashesTried = try container.decode(Int.self, forKey: .recoveryCrashesTried)
    recoveryCrashes = try container.decode([Int].self, forKey: .recoveryCrashes)
    readings = try container.decode(Int.self, forKey: .readings)
    continuations = try container.decode(Int.self, forKey: .continuations)
    sites = try container.decode([CallSite: CrashCensus.Tally].self, forKey: .sites)
    recoverySites = try container.decode([CallSite: Int].self, forKey: .recoverySites)
    personalities = try container.decode(
      [String: CrashCensus.Tally].self, forKey: .personalities)
    states = Set(hashes: try container.decode(Data.self, forKey: .states))
    images = Set(hashes: try container.decode(Data.self, forKey: .images))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(calls, forKey: .calls)
    try container.encode(tried, forKey: .tried)
    try container.encode(examined, forKey: .examined)
    try container.encode(recoveryCrashesTried, forKey: .recoveryCrashesTried)
    try container.encode(recoveryCrashes, forKey: .recoveryCrashes)
    try container.encode(readings, forKey: .readings)
    try container.encode(continuations, forKey: .continuations)
    try container.encode(sites, forKey: .sites)
    try container.encode(recoverySites, forKey: .recoverySites)
    try container.encode(personalities, forKey: .personalities)
    try container.encode(states.packed, forKey: .states)
    try container.encode(images.packed, forKey: .images)
  }
}

extension Set<UInt64> {
  /// Eight bytes per number, lowest first; encoding millions one by one would take long.
  fileprivate var packed: Data {
    var data = Data(capacity: 8 * count)
    for hash in self {
      for shift in stride(from: 0, to: 64, by: 8) {
        data.append(UInt8(truncatingIfNeeded: hash >> UInt64(shift)))
      }
    }
    return data
  }

  fileprivate init(hashes data: Data) {
    self.init(minimumCapacity: data.count / 8)
    var hash: UInt64 = 0
    for (index, byte) in data.enumerated() {
      hash |= UInt64(byte) << UInt64(index % 8 * 8)
      if index % 8 == 7 {
        insert(hash)
        hash = 0
      }
    }
  }
}
