import DivanLog
import DivanTesting
import TestSupport
import Testing

/// Tests of power losses that leave part of a write, and of the bytes that replace the rest.
extension FileLossTests {
  @Test(arguments: SimulatedDisk.Tearing.Remainder.allCases, [false, true])
  func `torn: a write is cut at the given byte, and later changes stay if requested`(
    remainder: SimulatedDisk.Tearing.Remainder, laterStay: Bool
  ) throws {
    let files = try disk(old: String(repeating: "s", count: 100))
    let file = try files.open("/s/b", .creating)
    try files.flushDirectory("/s")
    try file.write(bytes("first"), at: 0)
    try file.write(bytes("0123456789"), at: 5)
    try file.write(bytes("later"), at: 15)
    try files.write("c", to: "/s/c")
    let tearing = SimulatedDisk.Tearing(granularityBytes: 1, remainder: remainder)
    for kept in 0...10 {
      let left = files.restarted(
        .torn(1, keeping: kept, laterStay: laterStay), tearing: tearing)
      let found = try left.contents(of: "/s/b", limit: 100).array
      let whole = "first" + "0123456789".prefix(kept)
      #expect(found.starts(with: whole.utf8))
      let middle = found.dropFirst(5 + kept).prefix(10 - kept)
      switch remainder {
      case .old:
        #expect(middle.count == (laterStay ? 10 - kept : 0) && middle.allSatisfy { $0 == 0 })
      case .zeros: #expect(middle.count == 10 - kept && middle.allSatisfy { $0 == 0 })
      case .noise: #expect(middle.count == 10 - kept)
      case .stale:
        // The adjacent file has these bytes at the same offset.
        #expect(middle.count == 10 - kept && middle.allSatisfy { $0 == UInt8(ascii: "s") })
      }
      let hasLater = found.suffix(5).elementsEqual("later".utf8)
      #expect(hasLater == laterStay)
      #expect(try left.exists("/s/c") == laterStay)
    }
  }

  @Test func `noise depends on the disk's seed, and not on where a write is cut`() throws {
    func left(_ seed: UInt64, keeping kept: Int, noise: UInt64) throws -> [UInt8] {
      let files = SimulatedFileSystem(seed: noise)
      let file = try files.open("/b", .creating)
      try files.flushDirectory("/")
      try file.write(SharedBytes(copying: [UInt8](repeating: 7, count: 300)), at: 0)
      let tearing = SimulatedDisk.Tearing(granularityBytes: 1, remainder: .noise)
      let left = files.restarted(.torn(0, keeping: kept, laterStay: false), tearing: tearing)
      let again = files.restarted(.torn(0, keeping: kept, laterStay: false), tearing: tearing)
      #expect(left.imageHash == again.imageHash)
      return try left.contents(of: "/b", limit: 300).array
    }
    let one = try left(1, keeping: 100, noise: 1)
    #expect(try left(2, keeping: 203, noise: 1).dropFirst(203) == one.dropFirst(203))
    #expect(Set(one.dropFirst(100)).count > 50)
    #expect(try left(1, keeping: 100, noise: 2) != one)
  }

  @Test func `ordered: names and sizes stay in order, with the bytes that they make reachable`()
    throws
  {
    let files = try disk()
    let file = try files.open("/s/b", .creating)
    try file.write(SharedBytes(copying: [UInt8](repeating: 7, count: 10_000)), at: 0)
    try file.write(bytes("overwritten"), at: 50)
    try files.write("c", to: "/s/c")
    try files.remove("/s/a")
    var seen: [Set<String>] = []
    for count in 0..<6 {
      var states: Set<String> = []
      for seed in 0..<40 as Range<UInt64> {
        let left = files.restarted(.ordered(count, seed: seed))
        let names = try left.list("/s").joined(separator: " ")
        let found = try left.exists("/s/b") ? left.contents(of: "/s/b", limit: 20_000).array : []
        let isOver = found.count > 60 && found[50] != 7
        #expect(found.enumerated().allSatisfy { $1 == 7 || (isOver && 50..<61 ~= $0) })
        states.insert("\(names), \(found.count)\(isOver ? " over" : "")")
      }
      seen.append(states)
    }
    #expect(
      seen == [
        ["a tmp, 0"],
        // The size grows as the blocks are written.
        ["a b tmp, 0", "a b tmp, 4096", "a b tmp, 8192"],
        ["a b tmp, 10000", "a b tmp, 10000 over"],
        ["a b c tmp, 10000", "a b c tmp, 10000 over"],
        ["a b c tmp, 10000", "a b c tmp, 10000 over"],
        ["b c tmp, 10000", "b c tmp, 10000 over"],
      ])
  }

  @Test func `the same seed gives the same trace and contents`() throws {
    func run() throws -> [UInt64] {
      var random = SeededGenerator(seed: 11)
      let files = try disk()
      var hashes: [UInt64] = []
      for number in 0..<60 {
        let path = "/s/\(random.next() % 5)"
        let text = String(repeating: "\(number)", count: Int(random.next() % 3000))
        if try files.exists(path) {
          if random.next() % 3 == 0 {
            try files.rename(path, to: "/s/tmp/x")
          } else {
            try files.remove(path)
          }
        } else {
          let file = try files.write(text, to: path)
          if random.next() % 2 == 0 { try file.flush() }
        }
        if random.next() % 6 == 0 { try files.flushDirectory("/s") }
        let changes = files.unflushedChanges.count
        for loss in Self.losses(seed: random.next(), changes: changes) {
          hashes.append(files.restarted(loss).imageHash)
        }
      }
      return hashes + [files.traceHash, files.contentHash, files.imageHash]
    }
    let first = try run()
    #expect(try first == run())
    #expect(Set(first).count > 200)
  }
}
