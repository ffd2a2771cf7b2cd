import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

/// Tests of the faults that a simulated disk injects.
@Suite struct FileFaultTests {
  func disk() throws -> SimulatedFileSystem {
    let files = SimulatedFileSystem(seed: 5)
    try files.makeDirectory("/s")
    try files.flushDirectory("/")
    return files
  }

  func bytes(_ text: String) -> SharedBytes { SharedBytes(copying: Array(text.utf8)) }

  /// Makes calls of many kinds.
  func work(_ files: any FileSystem) throws {
    try files.makeDirectory("/w")
    try files.makeDirectory("/w/tmp")
    let file = try files.open("/w/tmp/a", .creating)
    try file.write(bytes("one"), at: 0)
    try file.write(bytes("two"), at: 3)
    try file.flush()
    try files.rename("/w/tmp/a", to: "/w/a")
    try files.flushDirectory("/w")
    _ = try files.text(of: "/w/a")
    try files.link("/w/a", to: "/w/b")
    try files.remove("/w/a")
    try files.removeDirectory("/w/tmp")
    _ = try files.list("/w")
    try file.close()
  }

  @Test func `power can be lost at any call, and every later call fails`() throws {
    let whole = SimulatedFileSystem()
    try work(whole)
    #expect(whole.changingCallCount == 11)
    var hashes: Set<UInt64> = []
    for call in 1...whole.changingCallCount {
      let files = SimulatedFileSystem()
      files.losePower(atCall: call)
      #expect(!files.hasLostPower)
      #expect(code { try work(files) } == .powerLost)
      #expect(files.hasLostPower)
      #expect(files.changingCallCount == call)
      #expect(code { _ = try files.list("/") } == .powerLost)
      let left = files.restarted(.everything)
      #expect(try left.list("/").count == (call == 1 ? 0 : 1))
      hashes.insert(left.contentHash)
    }
    #expect(hashes.count == 7)
    let beyond = SimulatedFileSystem()
    beyond.losePower(atCall: whole.changingCallCount + 1)
    try work(beyond)
  }

  @Test func `one run visits every state in which power could be lost`() throws {
    let files = SimulatedFileSystem()
    let states = Recorder<UInt64>()
    files.observeChangingCalls { [unowned files] _ in
      states.append(files.restarted(.everything).contentHash)
    }
    try work(files)
    files.observeChangingCalls(nil)
    for (index, state) in states.all.enumerated() {
      let crashed = SimulatedFileSystem()
      crashed.losePower(atCall: index + 1)
      _ = code { try work(crashed) }
      #expect(crashed.restarted(.everything).contentHash == state)
    }
    #expect(states.all.count == 11)
  }

  @Test func `the same seed gives the same trace`() throws {
    func trace(_ change: (SimulatedFileSystem) throws -> Void) rethrows -> [UInt64] {
      let files = SimulatedFileSystem(seed: 9)
      files.fail(.write, atCall: 2, with: .inputOutput)
      try change(files)
      return [files.traceHash, files.contentHash]
    }
    let first = trace { files in _ = code { try work(files) } }
    let second = trace { files in _ = code { try work(files) } }
    #expect(first == second)
    let other = trace { files in
      _ = code { try work(files) }
      _ = try? files.list("/")
    }
    #expect(first[0] != other[0])
    #expect(first[1] == other[1])
  }

  @Test func `every call can be made to fail, once or permanently`() throws {
    for call in 1...30 {
      let once = SimulatedFileSystem()
      once.fail(atCall: call, with: .noAccess)
      let error = code { try work(once) }
      let lasting = SimulatedFileSystem()
      lasting.fail(atCall: call, with: .noAccess, isLasting: true)
      #expect(code { try work(lasting) } == error)
      if error == nil { continue }
      #expect(error == .noAccess)
      #expect(code { _ = try once.list("/") } == nil)
      #expect(code { _ = try lasting.list("/") } == .noAccess)
      lasting.stopFailing()
      #expect(code { _ = try lasting.list("/") } == nil)
    }
  }

  @Test(arguments: SimulatedDisk.Verb.allCases)
  func `calls of each verb are counted separately`(verb: SimulatedDisk.Verb) throws {
    let files = SimulatedFileSystem()
    try files.makeDirectory("/w")
    try files.write("text", to: "/w/a")
    func make(_ number: Int) throws {
      let file = try files.open("/w/n\(number)", .creating)
      try file.write(bytes("text"), at: 0)
      _ = try file.size()
      _ = try file.read(4, at: 0)
      _ = try file.map(4)
      try file.flush()
      try file.close()
      _ = try files.open("/w/a", .reading)
      try files.link("/w/a", to: "/w/l\(number)")
      try files.rename("/w/l\(number)", to: "/w/r\(number)")
      try files.remove("/w/r\(number)")
      try files.makeDirectory("/w/d\(number)")
      try files.removeDirectory("/w/d\(number)")
      _ = try files.list("/w")
      _ = try files.status("/w")
      _ = try files.canonicalPath("/w")
      _ = try files.lock("/w/lock\(number)", note: "")
      try files.flushDirectory("/w")
    }
    files.fail(verb, atCall: 3, with: .tooManyOpenFiles)
    try make(1)
    try make(2)
    #expect(code { try make(3) } == .tooManyOpenFiles)
    try make(4)
  }

  @Test func `a failed write may write some of the bytes`() throws {
    var sizes: Set<Int> = []
    for seed in 0..<20 as Range<UInt64> {
      let files = SimulatedFileSystem(seed: seed)
      let file = try files.open("/a", .creating)
      files.fail(.write, with: .inputOutput)
      #expect(code { try file.write(bytes("0123456789"), at: 0) } == .inputOutput)
      let size = try file.size()
      #expect(size < 10)
      #expect(try file.read(10, at: 0).text == String("0123456789".prefix(size)))
      sizes.insert(size)
    }
    #expect(sizes.count > 3)
  }

  @Test func `a failed flush without side effects leaves the bytes to the next flush`() throws {
    let files = try disk()
    let file = try files.write("new", to: "/s/a")
    try files.flushDirectory("/s")
    files.fail(.flush, with: .inputOutput)
    #expect(code { try file.flush() } == .inputOutput)
    #expect(try files.restarted(.strict).text(of: "/s/a") == "")
    try file.flush()
    #expect(try files.restarted(.strict).text(of: "/s/a") == "new")
  }

  @Test func `a failed flush may keep new bytes readable that never reach the disk`() throws {
    let files = try disk()
    let file = try files.write("new", to: "/s/a")
    try files.flushDirectory("/s")
    files.failFlush(.keepsNewBytes)
    #expect(code { try file.flush() } == .inputOutput)
    try file.write(bytes("er"), at: 3)
    try file.flush()
    #expect(try files.text(of: "/s/a") == "newer")
    #expect(try files.restarted(.processEnd).text(of: "/s/a") == "newer")
    #expect(try files.restarted(.everything).text(of: "/s/a") == "\0\0\0er")
  }

  @Test(arguments: [0, 3])
  func `a failed flush may bring old bytes back, at once or later`(calls: Int) throws {
    let files = try disk()
    let file = try files.write("old!", to: "/s/a")
    try file.flush()
    try files.flushDirectory("/s")
    try file.write(bytes("new bytes"), at: 0)
    files.failFlush(.revertsToOldBytes(afterCalls: calls))
    #expect(code { try file.flush() } == .inputOutput)
    let next = files.restarted(.processEnd)
    if calls > 0 {
      #expect(try file.read(9, at: 0).text == "new bytes")
      try file.write(bytes("k"), at: 8)
    } else {
      try file.write(bytes("k"), at: 8)
    }
    _ = try files.list("/s")
    #expect(try file.read(9, at: 0).text == "old!\0\0\0\0k")
    // The page cache survives the process, but still loses the bytes of the failed flush.
    for _ in 0..<3 { _ = try next.list("/s") }
    #expect(try next.text(of: "/s/a") == "old!\0\0\0\0\0")
  }

  @Test func `a failed flush may be reported by the next one`() throws {
    let files = try disk()
    let file = try files.write("new", to: "/s/a")
    try files.flushDirectory("/s")
    files.failFlush(.reportsAtNextFlush)
    try file.flush()
    #expect(try files.restarted(.everything).text(of: "/s/a") == "")
    #expect(code { try file.flush() } == .inputOutput)
    try file.flush()
    #expect(try files.restarted(.everything).text(of: "/s/a") == "")
  }

  @Test func `a full disk stores the bytes that fit, and more once there is space`() throws {
    let files = try disk()
    let other = try files.write("12345", to: "/s/other")
    let file = try files.open("/s/a", .creating)
    files.capacityBytes = 12
    try file.write(bytes("abc"), at: 0)
    #expect(code { try file.write(bytes("defghijk"), at: 3) } == .noSpace)
    #expect(try files.text(of: "/s/a") == "abcdefg")
    #expect(files.usedBytes == 12)
    try file.write(bytes("ABC"), at: 0)
    #expect(code { _ = try files.open("/s/b", .creating) } == .noSpace)
    #expect(code { try files.makeDirectory("/s/d") } == .noSpace)
    #expect(try files.list("/s") == ["a", "other"])
    try files.rename("/s/other", to: "/s/renamed")
    try files.remove("/s/renamed")
    try other.close()
    try file.write(bytes("12345"), at: 7)
    #expect(code { try file.write(bytes("6"), at: 12) } == .noSpace)
    files.capacityBytes = nil
    try file.write(bytes("6"), at: 12)
  }

  @Test func `injected damage is visible at once and after a restart`() throws {
    let files = try disk()
    let file = try files.write("abcdef", to: "/s/a")
    let reader = try files.open("/s/a", .reading)
    try files.flushDirectory("/s")
    try file.flush()
    try files.corrupt("/s/a", atOffset: 1, mask: 3)
    #expect(try reader.read(6, at: 0).text == "aacdef")
    try files.overwrite("/s/a", atOffset: 4, with: Array("EFG".utf8))
    #expect(try files.restarted(.strict).text(of: "/s/a") == "aacdEFG")
    try files.truncate("/s/a", toSize: 2)
    #expect(try files.restarted(.strict).text(of: "/s/a") == "aa")
    try files.truncate("/s/a", toSize: 3)
    #expect(try files.text(of: "/s/a") == "aa\0")
    #expect(code { try files.corrupt("/s/a", atOffset: 3, mask: 1) } == .invalidArgument)
    #expect(code { try files.corrupt("/s/b", atOffset: 3, mask: 1) } == .notFound)
    try files.vanish("/s/a")
    #expect(try files.list("/s").isEmpty)
    #expect(try files.restarted(.everything).list("/s").isEmpty)
    #expect(try files.restarted(.strict).list("/s").isEmpty)
  }

  @Test func `the public interface counts calls, injects faults and restarts the disk`() throws {
    let disk = SimulatedDisk(seed: 1, capacityBytes: 100)
    let files = disk.fileSystem
    try files.makeDirectory("/s")
    try files.write("text", to: "/s/a")
    #expect(disk.unflushedChangeCount == 3)
    #expect(disk.changingCallCount == 3)
    #expect(disk.usedBytes == 4)
    disk.fail(.list, with: .quotaExceeded)
    #expect(code { _ = try files.list("/s") } == .quotaExceeded)
    disk.failFlush(.keepsNewBytes, isLasting: true)
    #expect(code { try files.write("more", to: "/s/b").flush() } == .inputOutput)
    disk.stopFailing()
    try disk.corrupt("/s/a", atOffset: 0, mask: 1)
    #expect(try files.text(of: "/s/a") == "uext")
    let hash = disk.contentHash
    disk.losePower(atCall: 2)
    try files.flushDirectory("/s")
    #expect(!disk.hasLostPower)
    #expect(code { try files.flushDirectory("/") } == .powerLost)
    #expect(disk.hasLostPower)
    #expect(disk.restarted(.processEnd).contentHash == hash)
    #expect(disk.restarted(.strict).contentHash != hash)
    let again = disk.restarted(.everything)
    #expect(try again.fileSystem.list("/s") == ["a", "b"])
    again.losePower()
    #expect(again.hasLostPower)
    #expect(again.capacityBytes == nil)
  }
}
