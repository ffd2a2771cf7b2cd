import Divan
import DivanTesting
import Testing

/// Tests of clocks and IDs that a test controls.
struct ClockAndIDTests {
  @Test func `a simulated clock advances by its step on each reading and by advance(by:)`() {
    let clock = SimulatedClock(millisecondsSince1970: 1000, stepMilliseconds: 5)
    #expect([clock.read(), clock.read(), clock.nextReading] == [1000, 1005, 1010])
    clock.advance(by: .seconds(2))
    clock.advance(by: .milliseconds(-10))
    #expect(clock.read() == 3000)
    clock.nextReading = 7
    #expect(clock.read() == 7)
    let still = SimulatedClock(stepMilliseconds: 0)
    #expect(still.read() == still.read())
  }

  @Test func `a simulated clock works without a simulated disk and can go backwards`() throws {
    let clock = SimulatedClock()
    var configuration = Configuration()
    configuration.now = clock.read
    let database = try Database.inMemory(configuration: configuration)
    let before = clock.nextReading
    try database.write { try $0.put(Document(id: "a", [:])) }
    #expect(clock.nextReading > before)
    clock.advance(by: .seconds(-100))
    try database.write { try $0.put(Document(id: "b", [:])) }
    #expect(try database.check().isSound)
  }

  @Test func `sequential IDs have leading zeros so that they sort in order`() throws {
    var configuration = Configuration()
    configuration.documentIDs = .sequential(prefix: "note-", from: 9)
    let database = try Database.inMemory(configuration: configuration)
    #expect(database.newDocumentID() == "note-000009")
    #expect(database.newDocumentID() == "note-000010")
  }

  @Test func `IDs from one seed are the same in every run and ascend`() {
    func ids(seed: UInt64) -> [String] {
      let generator = DocumentIDGenerator.timeOrdered(seed: seed, clock: SimulatedClock())
      return (0..<100).map { _ in generator.next() }
    }
    #expect(ids(seed: 1) == ids(seed: 1))
    #expect(ids(seed: 1) != ids(seed: 2))
    #expect(ids(seed: 1) == ids(seed: 1).sorted())
  }

  @Test func `IDs keep ascending after reopening and after a power loss`()
    throws
  {
    var disk = SimulatedDisk(seed: 1)
    var ids: [String] = []
    for _ in 0..<3 {
      for _ in 0..<2 {
        let database = try Database(at: "/a.divan", configuration: disk.configuration())
        for _ in 0..<5 { ids.append(try database.write { try $0.put(Document([:])).id }) }
        try database.close()
      }
      disk = disk.restarted(.strict)
    }
    #expect(Set(ids).count == 30 && ids == ids.sorted())
  }
}
