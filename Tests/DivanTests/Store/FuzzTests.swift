import DivanTesting
import Foundation
import FuzzTargets
import Testing

/// Runs the targets of `Tests/fuzz` for a moment, with all inputs that they ever found.
struct FuzzTests {
  private static let regressions = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Fuzzers/Regressions")

  @Test(arguments: FuzzTarget.allCases)
  func `inputs that once were found are survived`(target: FuzzTarget) throws {
    let folder = FuzzTests.regressions.appending(path: target.rawValue).path
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      let input = try Data(contentsOf: URL(filePath: folder).appending(path: name))
      #expect(throws: Never.self, "\(target) \(name)") {
        try target.run([UInt8](input), isThorough: true)
      }
    }
  }

  @Test(arguments: FuzzTarget.allCases)
  func `what the fuzzers begin with is survived, also changed`(target: FuzzTarget) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededGenerator(seed: seed)
    let seeds = FuzzSeeds.seeds(for: target)
    #expect(!seeds.isEmpty)
    for (name, bytes) in seeds {
      #expect(throws: Never.self, "\(target) \(name)") { try target.run(bytes) }
    }
    for round in 0..<40 {
      guard let (name, bytes) = seeds.randomElement(using: &random) else { return }
      let changes = SeededGenerator(seed: random.next())
      var mutation = Mutation(seed: random.next()) { part, _ in
        var changes = changes
        for _ in 0..<3 where !part.isEmpty {
          let place = Int.random(in: 0..<part.count, using: &changes)
          part[place] = UInt8.random(in: 0...255, using: &changes)
        }
      }
      let input = mutation.mutate(bytes, as: target, limit: target.sizeLimit)
      #expect(throws: Never.self, "\(target), \(name), round \(round) of seed \(seed)") {
        try target.run(input)
      }
    }
  }
}
