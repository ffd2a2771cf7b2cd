import Divan
import Foundation
import TestSupport
import Testing

/// A process that writes is killed at random, again and again, on the machine's own file system.
@Suite(.serialized)
struct KillTests {
  private static var kills: Int {
    ProcessInfo.processInfo.environment["DIVAN_TEST_KILLS"].flatMap(Int.init) ?? 50
  }

  /// The program that writes, built beside the tests.
  private static var program: URL? {
    let beside = [Bundle.main.bundleURL, URL(filePath: CommandLine.arguments[0])]
      .map { $0.deletingLastPathComponent().appending(path: "KilledWriter") }
    return
      (beside + [Bundle.main.bundleURL.appending(path: "KilledWriter")])
      .first { FileManager.default.isExecutableFile(atPath: $0.path) }
  }

  @Test func `what a killed writer had acknowledged is there, and nothing is there by half`() throws
  {
    let program = try #require(KillTests.program, "KilledWriter was not built")
    let directory = try TemporaryDirectory()
    let path = directory.path + "/killed.divan"
    var acknowledged = 0
    var interrupted = 0
    for _ in 0..<KillTests.kills {
      let process = Process()
      process.executableURL = program
      process.arguments = [path]
      let pipe = Pipe()
      process.standardOutput = pipe
      try process.run()
      // It is at work when it has said something; then any moment will do.
      var output = pipe.fileHandleForReading.availableData
      usleep(UInt32.random(in: 0...60_000))
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      output += try pipe.fileHandleForReading.readToEnd() ?? Data()
      // The last line may be cut off by the kill.
      let lines = output.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
      if let last = lines.last, let round = Int(String(decoding: last, as: UTF8.self)) {
        acknowledged = round
      }

      var configuration = Configuration()
      configuration.setFilesSmallForTests()
      let database = try Database(at: path, configuration: configuration)
      let report = database.openingReport
      #expect(report.damage.isEmpty, "\(report)")
      if report.ending == .interrupted { interrupted += 1 }
      let snapshot = try database.snapshot()
      let round = try snapshot.get("round")?["n"]?.intValue ?? 0
      #expect(
        round >= acknowledged, "\(acknowledged) was acknowledged, \(round) is there: \(report)")
      for number in max(1, round - 499)...max(1, round) where round > 0 {
        let left = try snapshot.get("left-\(number % 500)")?["n"]?.intValue
        let right = try snapshot.get("right-\(number % 500)")?["n"]?.intValue
        #expect(left == number && right == number, "\(number): \(left ?? -1), \(right ?? -1)")
      }
      #expect(try database.check().isSound)
      try database.close()
    }
    print("\(KillTests.kills) kills, \(interrupted) of them noticed, \(acknowledged) commits")
    #expect(acknowledged > KillTests.kills)
    #expect(interrupted == KillTests.kills)
  }

  @Test func `a store that another process writes to says which, until that one ends`() throws {
    let program = try #require(KillTests.program, "KilledWriter was not built")
    let directory = try TemporaryDirectory()
    let path = directory.path + "/shared.divan"
    let process = Process()
    process.executableURL = program
    process.arguments = [path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    defer {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    // It holds the store when it has said something.
    #expect(!pipe.fileHandleForReading.availableData.isEmpty)
    for _ in 0..<2 {
      let error = #expect(throws: DatabaseError.self) { try Database(at: path) }
      #expect(error?.code == .storeInUse)
      let message = error?.message ?? ""
      #expect(message.hasSuffix("process \(process.processIdentifier)"), "\(message)")
    }
    let deletion = #expect(throws: DatabaseError.self) { try Database.delete(at: path) }
    #expect(deletion?.code == .storeInUse)
    // Who only reads needs no lock.
    var configuration = Configuration()
    configuration.isReadOnly = true
    let reader = try Database(at: path, configuration: configuration)
    #expect(try reader.snapshot().exists("round"))
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    let database = try Database(at: path)
    #expect(database.openingReport.ending == .interrupted)
    try database.close()
  }
}
