import DivanTesting
import Foundation
import FuzzTargets
import TestSupport
import Testing

/// Runs the targets of `Tests/fuzz` briefly, with all inputs that have ever failed.
struct FuzzTests {
  private static let regressions = ProjectFolder.url.appending(path: "Tests/Fuzzers/Regressions")

  /// Regression test: the folder had moved, and the tests passed without any input.
  @Test func `there are inputs that once failed`() throws {
    let manager = FileManager.default
    let targets = try manager.contentsOfDirectory(atPath: FuzzTests.regressions.path)
    for target in targets {
      #expect(FuzzTarget(rawValue: target) != nil, "no fuzzer is called \(target)")
      let folder = FuzzTests.regressions.appending(path: target).path
      #expect(try !manager.contentsOfDirectory(atPath: folder).isEmpty)
    }
    #expect(targets.count > 3)
  }

  @Test(arguments: FuzzTarget.allCases)
  func `inputs that once failed a fuzzer no longer fail`(target: FuzzTarget) throws {
    let folder = FuzzTests.regressions.appending(path: target.rawValue).path
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      let input = try Data(contentsOf: URL(filePath: folder).appending(path: name))
      #expect(throws: Never.self, "\(target) \(name)") {
        try target.run([UInt8](input), isThorough: true)
      }
    }
  }

  @Test(arguments: FuzzTarget.allCases)
  func `the seeds of the fuzzers do not fail, unchanged or mutated`(target: FuzzTarget) throws {
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
          let offset = Int.random(in: 0..<part.count, using: &changes)
          part[offset] = UInt8.random(in: 0...255, using: &changes)
        }
      }
      let input = mutation.mutate(bytes, as: target, limit: target.sizeLimit)
      #expect(throws: Never.self, "\(target), \(name), round \(round) of seed \(seed)") {
        try target.run(input)
      }
    }
  }
}
