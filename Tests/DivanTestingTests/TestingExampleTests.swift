import Divan
import DivanTesting
import Foundation
import Testing

/// Tests that run the examples of the types for tests.
struct TestingExampleTests {
  private let note = Document(id: "note", ["text": "Tea"])

  private func open(_ disk: SimulatedDisk) throws -> Database {
    try Database(at: "/Notes.divan", configuration: disk.configuration())
  }

  // MARK: Expectations

  @Test func `a missing file with the expected text is an error`() throws {
    let path = NSTemporaryDirectory() + "/no such folder/expected.txt"
    let database = try Database.inMemory()
    let failure = #expect(throws: DocumentTextFailure.self) {
      try DocumentText(of: database).requireEqual(toFile: path)
    }
    #expect(failure == .missing(file: path))
  }

  @Test func `a body that changes nothing is an error`() async throws {
    let database = try Database.inMemory()
    let error = await #expect(throws: ChangesNotObserved.self) {
      try await expectChanges(in: database, within: .milliseconds(20)) {}
    }
    #expect(error?.expected == nil)
    #expect(error?.observed.isEmpty == true)
  }

  // MARK: Simulated disks

  @Test func `a zeroed sector is damage that a check reports`() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try open(disk)
    let text = Value.string(String(repeating: "Tea. ", count: 400))
    try database.write { try $0.put(Document(id: "note", ["text": text])) }
    try database.close()
    for path in disk.filePaths where path.hasSuffix(".segment") {
      try disk.zero(SimulatedDisk.Sector(9, of: path))
    }
    let isSound = try? open(disk).check().isSound
    #expect(isSound != true)
  }

  @Test func `a flushed document outlives any tearing of writes`() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try open(disk)
    try database.write { try $0.put(note) }
    do {
      let tearing = SimulatedDisk.Tearing(granularityBytes: 512, remainder: .zeros)
      let after = disk.restarted(.prefix(seed: 3), tearing: tearing)
      #expect(try open(after).snapshot().exists("note"))
    }
    for remainder in SimulatedDisk.Tearing.Remainder.allCases {
      let tearing = SimulatedDisk.Tearing(granularityBytes: 8, remainder: remainder)
      let after = disk.restarted(.random(seed: 4), tearing: tearing)
      #expect(try open(after).snapshot().exists("note"))
    }
    try database.close()
  }

  @Test func `a disk fails every call that would change it`() throws {
    let disk = SimulatedDisk(seed: 1)
    for verb in SimulatedDisk.Verb.allCases where verb.isChanging {
      disk.fail(verb, with: .noSpace)
    }
    #expect(throws: DatabaseError.self) { try open(disk) }
  }

  @Test func `a write that took effect can report an error`() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try open(disk)
    try database.write { try $0.put(Document(id: "first")) }
    // The document is on the disk, although the write says that it failed.
    disk.fail(.write, with: .inputOutput, completion: .everything)
    #expect(throws: DatabaseError.self) { try database.write { _ = try $0.put(note) } }
    #expect(try open(disk.restarted(.everything)).snapshot().exists("note"))
  }

  @Test func `bytes that a failed flush lost are gone after a loss of power`() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try open(disk)
    disk.failFlush(.keepsNewBytes)
    #expect(throws: DatabaseError.self) { try database.write { _ = try $0.put(note) } }
    #expect(try !open(disk.restarted(.everything)).snapshot().exists("note"))
  }

  // MARK: Trials

  private struct Incomplete: Error {}

  private func moveInTwoSteps(_ disk: SimulatedDisk) throws {
    let database = try open(disk)
    try database.write { try $0.put(Document(id: "old")) }
    try database.write { _ = try $0.delete("old") }
    try database.write { try $0.put(Document(id: "new")) }
  }

  private func requireOne(_ disk: SimulatedDisk) throws {
    let snapshot = try open(disk).snapshot()
    let isUnchanged = try snapshot.changes().collect().isEmpty
    guard try isUnchanged || snapshot.count == 1 else { throw Incomplete() }
  }

  private func writeUUID(_ disk: SimulatedDisk) throws {
    let text = Value.string(String(repeating: "x", count: Int.random(in: 1...1_000_000)))
    try open(disk).write { try $0.put(Document(id: UUID().uuidString, ["text": text])) }
  }

  @Test func `a trial names the call at which a check failed`() {
    let failure = #expect(throws: SimulatedTrialFailure.self) {
      try SimulatedDisk(seed: 5).forEachCrash(moveInTwoSteps, check: requireOne)
    }
    print(failure?.disk ?? "")  // the call at which the power was lost, and what was left
    #expect(failure?.disk.contains("losePower(atCall:") == true)
  }

  @Test func `a trial refuses work with random content`() {
    #expect(throws: SimulatedTrialsDiffer.self) {
      try SimulatedDisk(seed: 1).forEachCrash(writeUUID) { _ in }
    }
  }
}
