import Divan
import DivanTesting
import Foundation
import Synchronization
import Testing

/// Tests that trials inject faults at every call and report the bugs that these reveal.
struct TrialsTests {
  private struct Broken: Error {}

  private func open(_ disk: SimulatedDisk) throws -> Database {
    try Database(at: "/a.divan", configuration: disk.configuration())
  }

  /// Moves money in two commits instead of one, which is a bug.
  private func moveInTwoSteps(_ disk: SimulatedDisk) throws {
    let database = try open(disk)
    try database.write { try $0.put(Document(id: "left", ["n": 1])) }
    try database.write { try $0.put(Document(id: "right", ["n": 1])) }
    try database.write { _ = try $0.delete("left") }
    try database.write { try $0.put(Document(id: "left", ["n": 2])) }
  }

  private func seeBoth(_ disk: SimulatedDisk) throws {
    try open(disk).read { snapshot in
      if try snapshot.exists("right"), try !snapshot.exists("left") { throw Broken() }
    }
  }

  @Test
  func `crash trials find a change that is not atomic, and the failure can be repeated`()
    throws
  {
    let disk = SimulatedDisk(seed: 5)
    let failure = #expect(throws: SimulatedTrialFailure.self) {
      try disk.forEachCrash {
        try moveInTwoSteps($0)
      } check: {
        try seeBoth($0)
      }
    }
    #expect(failure?.underlying is Broken)
    let text = "\(try #require(failure))"
    let call = try #require(text.firstMatch(of: /losePower\(atCall: (\d+)\)/)?.output.1)
    let number = try #require(Int(call))
    let again = #expect(throws: SimulatedTrialFailure.self) {
      try disk.forEachCrash(atCalls: number...number) {
        try moveInTwoSteps($0)
      } check: {
        try seeBoth($0)
      }
    }
    #expect("\(try #require(again))" == text)
    // One call earlier, the trial succeeds.
    let trials = try disk.forEachCrash(atCalls: number - 1...number - 1) {
      try moveInTwoSteps($0)
    } check: {
      try seeBoth($0)
    }
    #expect(trials.runCount == 1 && trials.checkCount > 5)
  }

  @Test func `fault and capacity trials find a change that is not atomic`() throws {
    let disk = SimulatedDisk(seed: 6)
    let faulty = #expect(throws: SimulatedTrialFailure.self) {
      try disk.forEachFault {
        try moveInTwoSteps($0)
      } check: {
        try seeBoth($0)
      }
    }
    let full = #expect(throws: SimulatedTrialFailure.self) {
      try disk.forEachCapacity(stepBytes: 8) {
        try moveInTwoSteps($0)
      } check: {
        try seeBoth($0)
      }
    }
    #expect(faulty?.underlying is Broken && full?.underlying is Broken)
  }

  @Test func `trials start from the disk's content and leave the disk unchanged`() throws {
    let disk = SimulatedDisk(seed: 7)
    let database = try open(disk)
    try database.write { try $0.put(Document(id: "old", [:])) }
    let content = disk.contentHash
    // This also works while the store is open on the original disk.
    try disk.forEachCrash { disk in
      let database = try open(disk)
      try database.write { _ = try $0.delete("old") }
      try database.write { try $0.put(Document(id: "new", [:])) }
    } check: { disk in
      try open(disk).read { snapshot in
        let (new, old) = (try snapshot.exists("new"), try snapshot.exists("old"))
        #expect(try !(new && old) && snapshot.count <= 1)
      }
    }
    #expect(disk.contentHash == content)
    try database.close()
  }

  @Test func `trials refuse work that differs between runs`() {
    var count = 0
    #expect(throws: SimulatedTrialsDiffer.self) {
      try SimulatedDisk().forEachCrash { disk in
        count += 100
        let text = Value.string(String(repeating: "x", count: count))
        try open(disk).write { try $0.put(Document(id: "a", ["text": text])) }
      } check: { _ in
      }
    }
  }

  @Test func `an error without an injected fault is rethrown as it is`() {
    #expect(throws: Broken.self) {
      try SimulatedDisk().forEachCrash { _ in
        throw Broken()
      } check: { _ in
      }
    }
  }

  @Test func `relaxed commits on a simulated disk make the same calls in every run`() throws {
    func run() throws -> UInt64 {
      let disk = SimulatedDisk(seed: 8)
      let database = try open(disk)
      for number in 0..<20 {
        try database.write(durability: .relaxed(maxDelay: .milliseconds(1))) { transaction in
          try transaction.put(Document(id: "\(number)", [:]))
        }
        Thread.sleep(forTimeInterval: 0.001)
      }
      try database.close()
      return disk.traceHash
    }
    #expect(try run() == run())
  }
}
