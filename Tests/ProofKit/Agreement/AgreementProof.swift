import DivanLog
import DivanTesting
import Foundation
import Synchronization

/// Compares the simulated disk and the in-memory file system with that of the machine.
package struct AgreementProof: Proof {
  package static let name = "agreement"
  package static let claim =
    "without faults, the simulated disk behaves like the file system of the machine"

  package init() {}

  package func gather(_ run: ProofRun) throws {
    let count = run.budget.choose(test: 300, ci: 5_000, night: 500_000, release: 5_000_000)
    let length = 40
    let directory =
      FileManager.default.temporaryDirectory.path
      + "/divan-agreement-\(UInt64.random(in: 0 ... .max))"
    let machine = POSIXFileSystem()
    try machine.makeDirectory(directory)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let succeeded = Mutex<Set<Int>>([])
    let seeds = (0..<UInt64(count)).map { run.seed &+ $0 }
    run.forEach(seeds, name: { "sequence \($0)." }) { seed in
      let root = "\(directory)/\(seed)"
      try machine.makeDirectory(root)
      defer { try? FileManager.default.removeItem(atPath: root) }
      let done = try agree(seed: seed, at: root, length)
      succeeded.withLock { $0.formUnion(done) }
      run.count("sequences")
      run.count("operations", length)
    }
    run.count("kinds of operations that succeeded", succeeded.withLock { $0.count })
    run.require("sequences", atLeast: count)
    run.require(
      "kinds of operations that succeeded", atLeast: FileOperations.operationCount)
  }

  /// Makes the same calls to all three; returns which kinds of operations succeeded.
  private func agree(seed: UInt64, at root: String, _ length: Int) throws -> Set<Int> {
    let memory = MemoryFileSystem()
    let simulated = SimulatedFileSystem()
    try memory.makeDirectory("/store")
    try simulated.makeDirectory("/store")
    var machineRun = FileOperations(POSIXFileSystem(), root, seed: seed)
    var memoryRun = FileOperations(memory, "/store", seed: seed)
    var simulatedRun = FileOperations(simulated, "/store", seed: seed)
    for number in 1...length {
      let expected = machineRun.step()
      let inMemory = memoryRun.step()
      let inSimulation = simulatedRun.step()
      guard inMemory == expected, inSimulation == expected else {
        throw CrashOracle.Mismatch(
          "operation \(number): \(expected) on the machine, \(inMemory) in memory, "
            + "\(inSimulation) on the simulated disk")
      }
    }
    let expected = try machineRun.everything()
    guard try memoryRun.everything() == expected, try simulatedRun.everything() == expected else {
      throw CrashOracle.Mismatch("the files differ at the end")
    }
    return machineRun.succeeded
  }
}
