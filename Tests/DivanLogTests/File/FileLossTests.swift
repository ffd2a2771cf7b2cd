import DivanLog
import DivanTesting
import TestSupport
import Testing

/// Tests of the changes that a simulated disk keeps after each kind of power loss.
@Suite struct FileLossTests {
  /// Returns a disk with a flushed file `/s/a` containing `old`, and a directory `/s/tmp`.
  func disk(old: String = "old") throws -> SimulatedFileSystem {
    let files = SimulatedFileSystem(seed: 3)
    try files.makeDirectory("/s")
    try files.makeDirectory("/s/tmp")
    try files.write(old, to: "/s/a").flush()
    try files.flushDirectory("/s")
    try files.flushDirectory("/")
    #expect(files.unflushedChangeCount == 0)
    return files
  }

  func bytes(_ text: String) -> SharedBytes { SharedBytes(copying: Array(text.utf8)) }

  @Test func `strict: flushed bytes under flushed names stay, and nothing else`() throws {
    let files = try disk()
    let flushed = try files.write("flushed", to: "/s/b")
    try flushed.flush()
    try files.flushDirectory("/s")
    try flushed.write(bytes(" and more"), at: 7)
    try files.write("not flushed", to: "/s/c")
    try files.flushDirectory("/s")
    try files.write("flushed, but not by name", to: "/s/d").flush()
    try files.remove("/s/a")

    let left = files.restarted(.strict)
    #expect(try left.list("/s") == ["a", "b", "c", "tmp"])
    #expect(try left.text(of: "/s/a") == "old")
    #expect(try left.text(of: "/s/b") == "flushed")
    #expect(try left.text(of: "/s/c") == "")
    #expect(left.unflushedChangeCount == 0)
    // The disk itself is unchanged.
    #expect(try files.list("/s") == ["b", "c", "d", "tmp"])
  }

  /// Regression test: a new directory got the number of the lost one, and with it its contents.
  @Test func `the contents of a lost directory do not appear in a new directory`() throws {
    let files = try disk()
    try files.makeDirectory("/s/tmp/lost")
    try files.write("flushed", to: "/s/tmp/lost/a").flush()
    try files.flushDirectory("/s/tmp/lost")
    let left = files.restarted(.strict)
    #expect(try left.list("/s/tmp") == [])
    try left.makeDirectory("/s/tmp/new")
    #expect(try left.list("/s/tmp/new") == [])
  }

  @Test func `everything: all changes stay, except those that a failed flush lost`() throws {
    let files = try disk()
    let file = try files.write("new", to: "/s/b")
    try files.rename("/s/b", to: "/s/tmp/c")
    let left = files.restarted(.everything)
    #expect(try left.list("/s") == ["a", "tmp"])
    #expect(try left.text(of: "/s/tmp/c") == "new")
    #expect(try left.restarted(.strict).text(of: "/s/tmp/c") == "new")

    files.failFlush(.keepsNewBytes)
    #expect(code { try file.flush() } == .inputOutput)
    #expect(try files.restarted(.everything).text(of: "/s/tmp/c") == "")
  }

  @Test func `the end of a process loses nothing, and flushes nothing`() throws {
    let files = try disk()
    try files.write("new", to: "/s/b")
    guard case .acquired(let lock) = try files.lock("/s/LOCK", note: "") else {
      Issue.record("a free lock was refused")
      return
    }
    defer { lock.release() }
    files.losePower(atCall: 0)
    let next = files.restarted(.processEnd)
    #expect(try next.text(of: "/s/b") == "new")
    guard case .acquired = try next.lock("/s/LOCK", note: "") else {
      Issue.record("a lock outlived its process")
      return
    }
    #expect(try next.restarted(.strict).list("/s") == ["a", "tmp"])
    try next.flushDirectory("/s")
    #expect(try next.restarted(.strict).text(of: "/s/b") == "")
  }

  @Test func `names are flushed with their own directory only`() throws {
    let files = try disk()
    try files.write("b", to: "/s/b")
    try files.write("c", to: "/s/tmp/c")
    try files.flushDirectory("/s/tmp")
    #expect(try files.restarted(.strict).list("/s") == ["a", "tmp"])
    #expect(try files.restarted(.strict).list("/s/tmp") == ["c"])

    try files.makeDirectory("/s/new")
    try files.write("inner", to: "/s/new/inner").flush()
    try files.flushDirectory("/s/new")
    #expect(try !files.restarted(.strict).exists("/s/new"))
    try files.flushDirectory("/s")
    #expect(try files.restarted(.strict).text(of: "/s/new/inner") == "inner")
  }

  @Test(arguments: ["/s", "/s/tmp"])
  func `a rename between directories is durable after a flush of either directory`(flushed: String)
    throws
  {
    let files = try disk()
    let file = try files.write("new", to: "/s/tmp/b")
    try file.flush()
    try files.rename("/s/tmp/b", to: "/s/a")
    let before = files.restarted(.strict)
    #expect(try before.text(of: "/s/a") == "old")
    #expect(try before.list("/s/tmp").isEmpty)
    try files.flushDirectory(flushed)
    let after = files.restarted(.strict)
    #expect(try after.text(of: "/s/a") == "new")
    #expect(try after.list("/s/tmp").isEmpty)
  }

  @Test func `a file has exactly one name, whichever renames are lost`() throws {
    let files = try disk()
    try files.rename("/s/a", to: "/s/b")
    try files.rename("/s/b", to: "/s/tmp/c")
    try files.rename("/s/tmp/c", to: "/s/d")
    for seed in 0..<200 as Range<UInt64> {
      for loss in [SimulatedDisk.Loss.random(seed: seed), .prefix(seed: seed), .dropOne(Int(seed))]
      {
        let left = files.restarted(loss)
        let names = try left.list("/s").count + left.list("/s/tmp").count
        #expect(names == 2, "\(loss)")
      }
    }
  }

  @Test func `first, prefix: the changes before a point in time stay`() throws {
    let files = try disk()
    let file = try files.open("/s/b", .creating)
    for number in 0..<10 { try file.write(bytes("\(number)"), at: number) }
    try files.remove("/s/a")
    try files.write("c", to: "/s/c")
    #expect(files.unflushedChangeCount == 14)
    let states = try (0...14).map { try describe(files.restarted(.first($0))) }
    #expect(states[0] == "a=old tmp ")
    #expect(states[4] == "a=old b=012 tmp ")
    #expect(states[11] == "a=old b=0123456789 tmp ")
    #expect(states[12] == "b=0123456789 tmp ")
    #expect(states[14] == "b=0123456789 c=c tmp ")
    #expect(try states[14] == describe(files))
    #expect(files.restarted(.first(99)).contentHash == files.contentHash)

    // Single bytes cannot be torn, so each prefix is one of these.
    let tearing = SimulatedDisk.Tearing(granularityBytes: 1, remainder: .old)
    var seen: Set<String> = []
    for seed in 0..<300 as Range<UInt64> {
      seen.insert(try describe(files.restarted(.prefix(seed: seed), tearing: tearing)))
    }
    #expect(seen.isSubset(of: states))
    #expect(seen.count > 10)
  }

  @Test(arguments: SimulatedDisk.Tearing.Remainder.allCases, [1, 8, 512, 4096])
  func `prefix: the last write is torn at its granularity, with the requested remainder`(
    remainder: SimulatedDisk.Tearing.Remainder, granularity: Int
  ) throws {
    let files = try disk()
    let old = [UInt8](repeating: 1, count: 5_000)
    let new = [UInt8](repeating: 2, count: 9_000)
    let file = try files.open("/s/b", .creating)
    try file.write(SharedBytes(copying: old), at: 0)
    try file.flush()
    try files.flushDirectory("/s")
    try file.write(SharedBytes(copying: new), at: 100)
    let tearing = SimulatedDisk.Tearing(granularityBytes: granularity, remainder: remainder)
    var cuts: Set<Int> = []
    for seed in 0..<60 as Range<UInt64> {
      let left = files.restarted(.prefix(seed: seed), tearing: tearing)
      let bytes = try left.contents(of: "/s/b", limit: 10_000).array
      #expect(bytes[..<100] == old[..<100])
      let end = bytes[100...].firstIndex { $0 != 2 } ?? bytes.endIndex
      if remainder != .noise {
        #expect(end == 100 || end == 9_100 || end % granularity == 0)
      }
      cuts.insert(end)
      guard end < 9_100 else { continue }
      switch remainder {
      case .old: #expect(Array(bytes[end...]) == Array(old[min(end, 5_000)...]))
      case .zeros: #expect(bytes.count == 9_100 && bytes[end...].allSatisfy { $0 == 0 })
      case .noise: #expect(bytes.count == 9_100)
      case .stale:
        #expect(bytes.count == 9_100)
        #expect(bytes[end...].allSatisfy { $0 == 1 || "old".utf8.contains($0) })
      }
    }
    #expect(cuts.count > 1)
  }

  @Test func `random: each block and each name may be lost`() throws {
    let files = try disk()
    let file = try files.open("/s/b", .creating)
    try file.write(SharedBytes(copying: [UInt8](repeating: 7, count: 3 * 4096)), at: 0)
    try files.flushDirectory("/s")
    try files.write("c", to: "/s/c")
    try files.write("d", to: "/s/d")
    let tearing = SimulatedDisk.Tearing(granularityBytes: 4096, remainder: .old)
    var blocks: Set<String> = []
    var names: Set<[String]> = []
    for seed in 0..<300 as Range<UInt64> {
      let left = files.restarted(.random(seed: seed), tearing: tearing)
      names.insert(try left.list("/s"))
      let bytes = try left.contents(of: "/s/b", limit: 20_000).array
      #expect(bytes.count % 4096 == 0)
      blocks.insert(
        stride(from: 0, to: bytes.count, by: 4096).map { "\(bytes[$0])" }.joined())
    }
    #expect(blocks == ["", "7", "07", "77", "007", "077", "707", "777"])
    #expect(names.count == 4)
  }

  @Test func `dropOne: one change is lost, and all others stay`() throws {
    let files = try disk()
    let file = try files.open("/s/b", .creating)
    try files.flushDirectory("/s")
    for number in 0..<5 { try file.write(bytes("\(number)"), at: number) }
    try files.remove("/s/a")
    let states = try (0..<7).map { try describe(files.restarted(.dropOne($0))) }
    #expect(
      states == [
        "b=\u{0}1234 tmp ", "b=0\u{0}234 tmp ", "b=01\u{0}34 tmp ", "b=012\u{0}4 tmp ",
        "b=0123 tmp ", "a=old b=01234 tmp ", "b=\u{0}1234 tmp ",
      ])
  }

  @Test func `sizeFirst: sizes and names stay, but bytes may be lost`() throws {
    let files = try disk()
    let file = try files.open("/s/b", .creating)
    try file.write(SharedBytes(copying: [UInt8](repeating: 7, count: 10_000)), at: 0)
    var damaged = 0
    for seed in 0..<100 as Range<UInt64> {
      let left = files.restarted(.sizeFirst(seed: seed))
      let bytes = try left.contents(of: "/s/b", limit: 20_000).array
      #expect(bytes.count == 10_000)
      if bytes.contains(where: { $0 != 7 }) { damaged += 1 }
    }
    #expect(damaged > 50)
  }

  @Test func `dataFirst: the remaining bytes are right, but sizes and names may be lost`() throws {
    let files = try disk()
    let file = try files.open("/s/b", .creating)
    try files.flushDirectory("/s")
    try file.write(SharedBytes(copying: [UInt8](repeating: 7, count: 10_000)), at: 0)
    try files.write("c", to: "/s/c")
    var sizes: Set<Int> = []
    var names: Set<[String]> = []
    for seed in 0..<100 as Range<UInt64> {
      let left = files.restarted(.dataFirst(seed: seed))
      let bytes = try left.contents(of: "/s/b", limit: 20_000).array
      #expect(bytes.allSatisfy { $0 == 7 })
      sizes.insert(bytes.count)
      names.insert(try left.list("/s"))
    }
    #expect(sizes.count > 20)
    #expect(names == [["a", "b", "tmp"], ["a", "b", "c", "tmp"]])
  }

  static func losses(seed: UInt64, changes: Int) -> [SimulatedDisk.Loss] {
    let index = Int(seed % UInt64(max(1, changes)))
    return [
      .strict, .everything, .processEnd, .prefix(seed: seed), .first(index), .random(seed: seed),
      .torn(index, keeping: Int(seed % 3000), laterStay: seed % 2 == 0),
      .ordered(index, seed: seed), .dropOne(index), .sizeFirst(seed: seed), .dataFirst(seed: seed),
    ]
  }

  @Test func `flushed bytes are whole after any loss`() throws {
    let files = try disk()
    let text = String(repeating: "flushed ", count: 2_000)
    let file = try files.write(text, to: "/s/tmp/b")
    try file.flush()
    try files.rename("/s/tmp/b", to: "/s/b")
    try files.flushDirectory("/s")
    try file.write(bytes("more"), at: text.utf8.count)
    try files.write("c", to: "/s/c")
    for seed in 0..<60 as Range<UInt64> {
      for loss in Self.losses(seed: seed, changes: files.unflushedChangeCount) {
        let left = files.restarted(loss)
        #expect(try left.text(of: "/s/a") == "old")
        let found = try left.open("/s/b", .reading).read(text.utf8.count, at: 0)
        #expect(found.text == text)
        #expect(left.contentHash == files.restarted(loss).contentHash, "one seed, one state")
      }
    }
  }

  /// Returns the names in `/s`, each with its text.
  func describe(_ files: SimulatedFileSystem) throws -> String {
    var text = ""
    for name in try files.list("/s") {
      text += name
      if try files.status("/s/" + name).kind == .file {
        text += "=" + (try files.text(of: "/s/" + name) ?? "?")
      }
      text += " "
    }
    return text
  }
}
