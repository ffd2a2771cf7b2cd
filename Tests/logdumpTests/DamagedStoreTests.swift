import Divan
import DivanLog
import DivanTesting
import Testing
import logdump

/// Tests of the tool on damaged stores.
struct DamagedStoreTests {
  @Test(arguments: ["0000000001.segment", "0000000002.segment", "HEAD"])
  func `verify detects every flipped byte of a closed store`(name: String) throws {
    let store = try DumpedStore.films()
    let sound = try store.bytes(name)
    // The header's reserved zeros share one checksum with the rest, so a sample is enough.
    for index in 0..<(try store.sizeInUse(name))
    where !(200..<4080).contains(index) || index % 16 == 0 {
      var changed = sound
      changed[index] ^= 1 << UInt8(index % 8)
      let run = try store.withBytes(changed, in: name) { store.dump("verify") }
      #expect(run.status == .damage, "byte \(index): \(run.output)")
    }
    #expect(store.dump("verify").status == .sound)
  }

  @Test(arguments: ["0000000001.segment", "0000000002.segment", "HEAD"])
  func `verify detects every truncation of a closed store`(name: String) throws {
    let store = try DumpedStore.films()
    let sound = try store.bytes(name)
    for size in 0..<(try store.sizeInUse(name))
    where size % 64 == 0 || size >= SegmentHeader.size || name == "HEAD" {
      let run = try store.withBytes(Array(sound.prefix(size)), in: name) { store.dump("verify") }
      #expect(run.status == .damage, "\(size) bytes: \(run.output)")
    }
  }

  @Test func `verify detects flipped bytes of compacted segments and checkpoints`() throws {
    let store = try DumpedStore.aged()
    #expect(store.dump("verify").output == store.dump("verify").output)
    #expect(store.dump("verify").status == .sound, "\(store.dump("verify").output)")
    let names = try store.fileNames().filter { $0.contains(".") }
    #expect(names.contains { $0.hasSuffix(".checkpoint") })
    #expect(names.contains { $0.contains("-") })
    var random = SeededGenerator(seed: 20)
    for name in names {
      let sound = try store.bytes(name)
      let size = try store.sizeInUse(name)
      for _ in 0..<50 {
        var changed = sound
        let index = Int.random(in: 0..<size, using: &random)
        changed[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        let run = try store.withBytes(changed, in: name) { store.dump("verify") }
        #expect(run.status == .damage, "\(name), byte \(index): \(run.output)")
      }
    }
  }

  @Test func `a lost file is damage unless it can be rebuilt`() throws {
    let store = try DumpedStore.aged()
    for name in try store.fileNames() where name != "tmp" {
      let sound = try store.bytes(name)
      try store.fileSystem.remove("\(store.path)/\(name)")
      let run = store.dump("verify")
      let isNeeded = name == "HEAD" || name.hasSuffix(".segment")
      #expect((run.status == .damage) == isNeeded, "\(name): \(run.output)")
      try store.replace(name, with: sound)
    }
  }

  /// The state if a file is missing and HEAD was restored from an older copy.
  @Test func `an unusable checkpoint still shows through which commit the log was durable`() throws
  {
    let store = DumpedStore()
    let first = try store.open()
    try first.write { try $0.put(Document(id: "a", ["n": 1])) }
    try first.close()
    let olderHead = try store.bytes("HEAD")
    let second = try store.open()
    try second.write { try $0.put(Document(id: "b", ["n": 2])) }
    try second.writeCheckpoint()
    try second.close()
    #expect(store.dump("verify").status == .sound)
    for name in ["0000000002.segment", "FLUSHED"] {
      try store.fileSystem.remove("\(store.path)/\(name)")
    }
    try store.replace("HEAD", with: olderHead)
    let evidence = "checkpoint 1 shows that the log was durable through commit 2"
    for command in ["info", "verify", "export"] {
      #expect(store.dump(command).status == .damage, "\(command)")
    }
    let run = store.dump("verify")
    #expect(run.output.contains(evidence), "\(run.output)")
    // The store reports the same.
    var configuration = store.configuration
    configuration.isReadOnly = true
    let problems = try Database(at: store.path, configuration: configuration).check().problems
    #expect(problems.contains { "\($0)".contains(evidence) }, "\(problems)")
  }

  @Test func `an unfinished transaction at the end is a torn tail`() throws {
    let store = DumpedStore()
    let database = try store.open()
    try database.write { try $0.put(Document(id: "a", ["n": 1])) }
    // The database is still open, as after a crash.
    #expect(store.dump("verify").status == .sound)
    #expect(
      store.dump("info").output.contains("not closed: open in another process, or interrupted"))
    let name = "0000000001.segment"
    let torn = try store.bytes(name) + [UInt8](repeating: 7, count: 100)
    try store.withBytes(torn, in: name) {
      for command in ["info", "verify", "export", "tx", "stats"] {
        #expect(store.dump(command).status == .tornTail, "\(command)")
      }
      #expect(store.dump("info").output.contains("an unfinished transaction of 100 bytes"))
      #expect(store.dump("export").lines.count == 1)
    }
    try database.close()
  }

  @Test func `a newer format version is refused with its number`() throws {
    let store = try DumpedStore.films()
    var newer = try store.bytes("0000000002.segment")
    newer[8] = 2
    newer.replaceSubrange(4092..<4096, with: checksum(newer.prefix(4092)))
    try store.withBytes(newer, in: "0000000002.segment") {
      for command in ["info", "ls", "frames", "tx", "stats", "verify", "export"] {
        let run = store.dump(command)
        #expect(run.status == .newerFormat, "\(command)")
        #expect(run.problems.contains("2.0"))
      }
    }
  }

  private func checksum(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    let sum = CRC32C.checksum(SharedBytes(copying: Array(bytes)))
    return (0..<4).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) }
  }

  @Test func `a path without a store is unreadable`() throws {
    let store = try DumpedStore.films()
    #expect(store.dump(path: "/nowhere").status == .unreadable)
    #expect(store.dump(path: "/films.divan/HEAD").status == .unreadable)
    try store.fileSystem.makeDirectory("/other")
    #expect(store.dump(path: "/other").status == .unreadable)
    for command in ["ls", "frames", "tx", "stats", "verify", "export"] {
      let run = store.dump(command, path: "/other")
      #expect(run.status == .unreadable)
      #expect(run.output == "")
      #expect(run.problems != "")
    }
  }

  @Test func `a damaged frame is shown, and later frames are still read`() throws {
    let store = try DumpedStore.films()
    var changed = try store.bytes("0000000001.segment")
    changed[4200] ^= 4  // in the record of nosferatu, in the first commit
    try store.replace("0000000001.segment", with: changed)
    let frames = store.dump("frames", "1")
    #expect(frames.status == .damage)
    #expect(frames.lines[2].hasSuffix("commit 1 first last  PAYLOAD DAMAGED"))
    #expect(frames.lines[3].hasSuffix("commit 2 first last"))
    let transactions = store.dump("tx")
    #expect(transactions.status == .damage)
    #expect(transactions.lines.map { $0.prefix(8) } == ["damage: ", "commit 2", "commit 3"])
    let export = store.dump("export")
    #expect(export.status == .damage)
    #expect(export.lines.count == 2)
  }

  @Test func `salvage saves every whole record and reports losses`() throws {
    let store = try DumpedStore.films()
    var changed = try store.bytes("0000000001.segment")
    changed[4350] ^= 1  // the newest record of metropolis
    try store.replace("0000000001.segment", with: changed)
    let run = store.dump("salvage", "--to", "/new.divan")
    #expect(run.status == .damage)
    #expect(
      run.lines == [
        "lost: /films.divan/0000000001.segment at byte 4336: 87 bytes contain no whole record",
        "2 documents were put into /new.divan; not everything could be read.",
      ])
    let saved = store.dump("export", path: "/new.divan").lines
    #expect(saved.count == 2)
    // The previous revision of metropolis is saved. Nosferatu stays deleted, although it is in the
    // same frame.
    #expect(saved[1].hasSuffix(#""title":"Metropolis","year":1927}"#))
  }

  @Test func `salvage names lost documents that a checkpoint lists`() throws {
    let store = try DumpedStore.aged()
    let before = store.dump("export").lines
    let name = try #require(try store.fileNames().first { $0.contains("-") })
    var changed = try store.bytes(name)
    for index in 4128..<5000 { changed[index] = 0 }
    try store.replace(name, with: changed)
    let run = store.dump("salvage", "--to", "/new.divan")
    #expect(run.status == .damage)
    let after = store.dump("export", path: "/new.divan").lines
    #expect(after.count == before.count - 1)
    #expect(run.lines.contains("lost: alone"), "\(run.output)")
  }

  @Test func `the largest numbers in file names and headers do not make the tool trap`() throws {
    let store = try DumpedStore.films()
    let sound = store.dump("export").output
    for name in ["0000000001-18446744073709551615.segment", "18446744073709551615.segment"] {
      try store.replace(name, with: try store.bytes("0000000001.segment"))
    }
    #expect(store.dump("export").output == sound)
    // The largest commit number, as the one before the segment's first commit, and in HEAD.
    var segment = try store.bytes("0000000001.segment")
    segment.replaceSubrange(104..<112, with: [UInt8](repeating: 0xFF, count: 8))
    segment.replaceSubrange(4092..<4096, with: checksum(segment.prefix(4092)))
    try store.replace("0000000001.segment", with: segment)
    var head = try store.bytes("HEAD")
    for range in [64..<72, 88..<96, 104..<120] {
      head.replaceSubrange(range, with: [UInt8](repeating: 0xFF, count: range.count))
    }
    head.replaceSubrange(252..<256, with: checksum(head.prefix(252)))
    try store.replace("HEAD", with: head)
    for command in ["info", "ls", "frames", "tx", "stats", "verify", "export"] {
      _ = store.dump(command)
    }
    #expect(store.dump("verify").status == .damage)
  }

  /// Regression: the status was that of wrong arguments.
  @Test func `doc and report do not say that a document is absent if the store is damaged`() throws
  {
    let store = try DumpedStore.films()
    let name = "0000000002.segment"
    var changed = try store.bytes(name)
    // In the only record of the document.
    changed[4140] ^= 1
    try store.withBytes(changed, in: name) {
      for command in [["doc", "m"], ["report", "--html", "/page.html", "--document", "m"]] {
        let run = store.dumpAll(command)
        #expect(run.status == .damage, "\(run)")
        #expect(run.problems.contains("`m` was not found"), "\(run)")
        #expect(run.problems.contains("damage: "), "\(run)")
      }
    }
  }

  /// Regression: the damage was printed, and the status said that the store is sound.
  @Test func `doc with its revisions has the status of the log that it reads`() throws {
    let store = DumpedStore()
    let database = try store.open()
    for number in 1...2 {
      try database.write { try _ = $0.replace("a", with: ["n": .int(Int64(number))]) }
    }
    try database.writeCheckpoint()
    try database.close()
    let name = "0000000001.segment"
    var changed = try store.bytes(name)
    // In the first record, which the checkpoint covers.
    changed[4140] ^= 1
    try store.withBytes(changed, in: name) {
      #expect(store.dump("doc", "a").status == .sound)
      let run = store.dump("doc", "a", "--revs")
      #expect(run.problems.contains("damage: "), "\(run)")
      #expect(run.status == .damage)
    }
  }

  @Test func `an unused file is not damage, whatever its end`() throws {
    let store = try DumpedStore.films()
    let name = "0000000001.segment"
    let input = try store.bytes(name)
    let database = try store.open()
    try database.compact()
    try database.close()
    #expect(try !store.fileNames().contains(name))
    // As after a crash before the input of the compaction was deleted.
    try store.replace(name, with: input + [UInt8](repeating: 7, count: 100))
    #expect(store.dump("verify").status == .sound)
    #expect(store.dump("frames").status == .sound)
  }

  @Test func `HEAD is not missing before the first commit`() throws {
    let store = DumpedStore()
    let database = try store.open()
    try database.write { try _ = $0.replace("a", with: [:]) }
    try database.close()
    // As after a crash just after the first segment got its name.
    let header = Array(try store.bytes("0000000001.segment").prefix(SegmentHeader.size))
    try store.replace("0000000001.segment", with: header)
    for name in ["HEAD", "FLUSHED"] { try store.fileSystem.remove("\(store.path)/\(name)") }
    let run = store.dump("verify")
    #expect(run.status == .sound, "\(run)")
  }

  @Test func `a directory with a file LOCK of another program is not a store`() throws {
    let store = DumpedStore()
    try store.fileSystem.makeDirectory(store.path)
    try store.replace("LOCK", with: Array("pid 7".utf8))
    for command in ["info", "verify", "export"] {
      #expect(store.dump(command).status == .unreadable, "\(command)")
    }
  }

  @Test(arguments: 0..<12)
  func `random damage does not make the tool trap or hang`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try seed % 2 == 0 ? DumpedStore.films() : DumpedStore.aged()
    for name in try store.fileNames() where name != "tmp" && name != "LOCK" {
      guard Bool.random(using: &random) else { continue }
      var bytes = try store.bytes(name)
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        for _ in 0..<20 { bytes[Int.random(in: bytes.indices, using: &random)] = random.byte() }
      case 1: bytes.removeLast(Int.random(in: bytes.indices, using: &random))
      case 2: bytes = (0..<Int.random(in: 0..<9000, using: &random)).map { _ in random.byte() }
      default:
        let start = Int.random(in: bytes.indices, using: &random)
        bytes.insert(contentsOf: bytes[start...].prefix(500), at: start)
      }
      try store.replace(name, with: bytes)
    }
    let commands = ["info", "ls", "frames", "tx", "stats", "verify", "export", "att"]
    for command in commands {
      for form in [[], ["--json"]] {
        let run = store.dumpAll([command] + form)
        #expect(run.status != .usage, "seed \(seed), \(command)")
      }
    }
    _ = store.dump("doc", "m", "--revs")
    _ = store.dump("salvage", "--to", "/new.divan")
  }
}

extension SeededGenerator {
  fileprivate mutating func byte() -> UInt8 { UInt8.random(in: 0...255, using: &self) }
}
