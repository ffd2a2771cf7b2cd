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
      usleep(UInt32.random(in: 5_000...80_000))
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
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
    #expect(interrupted > KillTests.kills / 2)
  }
}
