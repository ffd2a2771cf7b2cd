import DivanLog
import DivanTesting
import Testing

/// Tests of bit rot in files of a simulated disk.
struct FileRotTests {
  private typealias Sector = SimulatedDisk.Sector

  /// Returns two files whose sectors of eight bytes all have different contents.
  private func disk() throws -> SimulatedDisk {
    let disk = SimulatedDisk(seed: 1)
    try disk.addFile("/a", contents: Array(0..<20))
    try disk.addFile("/b", contents: Array(100..<116))
    return disk
  }

  private func sector(_ index: Int, _ path: String = "/a") -> Sector {
    Sector(index, of: path, sizeBytes: 8)
  }

  @Test func `files that are added or removed behind the disk stay so after a restart`() throws {
    let disk = try disk()
    #expect(disk.filePaths == ["/a", "/b"])
    try disk.vanish("/a")
    #expect(disk.filePaths == ["/b"])
    #expect(throws: (any Error).self) { try disk.addFile("/b", contents: []) }
    #expect(throws: (any Error).self) { try disk.addFile("/none/c", contents: []) }
    #expect(throws: (any Error).self) { try disk.contents(of: "/a") }
    let after = disk.restarted(.strict)
    #expect(after.filePaths == ["/b"])
    #expect(try after.contents(of: "/b") == Array(100..<116))
  }

  @Test func `flipped bits and truncations are permanent`() throws {
    let disk = try disk()
    try disk.corrupt("/a", atOffset: 3, mask: 0x81)
    try disk.truncate("/a", toSize: 5)
    try disk.truncate("/b", toSize: 18)
    let after = disk.restarted(.strict)
    #expect(try after.contents(of: "/a") == [0, 1, 2, 3 ^ 0x81, 4])
    #expect(try after.contents(of: "/b") == Array(100..<116) + [0, 0])
    #expect(throws: (any Error).self) { try disk.corrupt("/a", atOffset: 5, mask: 1) }
  }

  @Test func `sectors can be zeroed, duplicated, misdirected and exchanged`() throws {
    var disk = try disk()
    try disk.zero(sector(2))
    #expect(try disk.contents(of: "/a") == Array(0..<16) + [0, 0, 0, 0])
    try disk.duplicate(sector(0), over: sector(1))
    #expect(try disk.contents(of: "/a") == Array(0..<8) + Array(0..<8) + [0, 0, 0, 0])

    disk = try self.disk()
    try disk.misdirect(sector(1, "/b"), to: sector(0))
    #expect(try disk.contents(of: "/a") == Array(108..<116) + Array(8..<20))
    #expect(try disk.contents(of: "/b") == Array(100..<108) + [UInt8](repeating: 0, count: 8))

    disk = try self.disk()
    try disk.exchange(sector(2), with: sector(0, "/b"))
    // The last sector of a file may be shorter than the others.
    #expect(try disk.contents(of: "/a") == Array(0..<16) + Array(100..<104))
    #expect(try disk.contents(of: "/b") == [16, 17, 18, 19] + Array(104..<116))
    #expect(try disk.restarted(.strict).contents(of: "/b") == disk.contents(of: "/b"))
  }

  @Test func `a sector that does not exist is refused, and nothing changes`() throws {
    let disk = try disk()
    let hash = disk.contentHash
    for index in [-1, 3, .max] {
      #expect(throws: (any Error).self) { try disk.zero(sector(index)) }
      #expect(throws: (any Error).self) { try disk.duplicate(sector(0), over: sector(index)) }
      #expect(throws: (any Error).self) { try disk.exchange(sector(index), with: sector(0)) }
      #expect(throws: (any Error).self) { try disk.misdirect(sector(0), to: sector(index)) }
    }
    #expect(throws: (any Error).self) { try disk.zero(Sector(0, of: "/a", sizeBytes: 0)) }
    #expect(throws: (any Error).self) { try disk.zero(sector(0, "/none")) }
    #expect(disk.contentHash == hash)
  }
}
