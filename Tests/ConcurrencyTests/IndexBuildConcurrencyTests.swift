import Dispatch
import Divan
import DivanLog
import DivanTesting
import Foundation
import ProofKit
import Synchronization
import TestSupport
import Testing

/// Tests of building indexes with several threads while others write, compact and close.
///
/// Run under the thread sanitizer by `.ci/run`.
@Suite(.serialized)
struct IndexBuildConcurrencyTests {
  private static let documentCount = effort(1000, underThreadSanitizer: 400)
  private static let byYear = DocumentIndex("by year", on: "year")
  private static let byTag = DocumentIndex("by tag", on: "tags", eachElement: true)

  private func configuration(_ reads: ReadMode) -> Configuration {
    var configuration = Configuration()
    configuration.setFilesSmallForTests()
    configuration.durability = .none
    configuration.readMode = reads
    configuration.indexBuildWorkerCount = 3
    configuration.indexBuildBatchSize = 750
    return configuration
  }

  private static func properties(_ random: inout SeededGenerator) -> Value.Object {
    let year = Int64.random(in: 0..<50, using: &random)
    return ["year": .int(year), "tags": ["t", .int(year % 7)]]
  }

  private func fill(_ database: Database, _ random: inout SeededGenerator) throws {
    try database.write { transaction in
      for number in 0..<Self.documentCount {
        _ = try transaction.replace("doc-\(number)", with: Self.properties(&random))
      }
    }
  }

  /// Overwrites documents, and sometimes deletes or purges one, until `isDone` is set.
  private static func write(
    _ database: Database, _ seed: UInt64, until isDone: borrowing Atomic<Bool>
  ) throws {
    var random = SeededGenerator(seed: seed)
    while !isDone.load(ordering: .relaxed) {
      try database.write { transaction in
        for _ in 0..<Int.random(in: 1...20, using: &random) {
          let id = "doc-\(Int.random(in: 0..<documentCount + 200, using: &random))"
          switch Int.random(in: 0..<12, using: &random) {
          case 0: try transaction.delete(id)
          case 1: try transaction.purge(id)
          default: _ = try transaction.replace(id, with: properties(&random))
          }
        }
      }
      // Without this pause, the log grows faster than the checks can keep up with.
      Thread.sleep(forTimeInterval: 0.001)
    }
  }

  @Test(arguments: [ReadMode.mapped, .buffered])
  func `an index built by several workers while others write matches the documents`(
    reads: ReadMode
  ) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededGenerator(seed: seed)
    let directory = try TemporaryDirectory()
    let database = try Database(
      at: directory.path + "/indexed.divan", configuration: configuration(reads))
    try fill(database, &random)
    let isDone = Atomic(false)
    let problems = Recorder<String>()
    let group = DispatchGroup()
    for writer in 0..<2 {
      DispatchQueue(label: "writer").async(group: group) {
        do {
          try Self.write(database, seed &+ UInt64(writer), until: isDone)
        } catch { problems.append("\(error)") }
      }
    }
    for _ in 0..<effort(3, underThreadSanitizer: 2) {
      try database.addIndex(Self.byYear)
      try database.addIndex(Self.byTag)
      #expect(try database.check().isSound, "seed \(seed)")
      try database.removeIndex(named: Self.byYear.name)
      try database.removeIndex(named: Self.byTag.name)
    }
    isDone.store(true, ordering: .relaxed)
    group.wait()
    #expect(problems.all.isEmpty, "seed \(seed)")
    #expect(try database.check().isSound)
    #expect(try database.statistics.maintenanceProblem == nil)
    try database.close()
  }

  /// Closing at any moment of the build causes an error, not a crash.
  @Test func `closing a store during a parallel index build is safe`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededGenerator(seed: seed)
    let directory = try TemporaryDirectory()
    let path = directory.path + "/closed.divan"
    try fill(Database(at: path, configuration: configuration(.mapped)), &random)
    var codes: Set<DatabaseError.Code?> = []
    for round in 0..<10 {
      let database = try Database(at: path, configuration: configuration(.mapped))
      let delay = Double.random(in: 0...0.003, using: &random)
      let group = DispatchGroup()
      group.enter()
      DispatchQueue(label: "closer").asyncAfter(deadline: .now() + delay) {
        try? database.close()
        group.leave()
      }
      do {
        try database.addIndex(Self.byYear)
        codes.insert(nil)
        try database.removeIndex(named: Self.byYear.name)
      } catch let error as DatabaseError {
        codes.insert(error.code)
      }
      group.wait()
      try? database.close()
      let again = try Database(at: path, configuration: configuration(.mapped))
      #expect(try again.check().isSound, "seed \(seed), round \(round)")
      try again.removeIndex(named: Self.byYear.name)
      try again.close()
    }
    #expect(codes.subtracting([nil, .closed]).isEmpty, "seed \(seed): \(codes)")
  }
}
