import DivanLog
import DivanTesting
import ProofKit
import Synchronization
import TestSupport
import Testing

/// Tests of attachment blobs in files: storing, reading, pinning, listing and removing them.
@Suite struct AttachmentFileTests {
  private static let lengths = [
    0, 1, 31, 32, 33, 63, 64, 65, 128, 159, 160, 161, 320, 321, 1024, 1025, 3000,
  ]

  private func run(
    _ kind: FileSystemKind, isMapped: Bool = false, _ body: (AttachmentFixture) throws -> Void
  ) throws {
    try kind.run { files, root in
      try AttachmentFixture.prepare(files, root)
      try body(AttachmentFixture(on: files, root: root, isMapped: isMapped))
    }
  }

  // MARK: In and out

  @Test(arguments: FileSystemKind.allCases, [true, false])
  func `a blob can be read as a whole, in ranges and as a stream`(
    kind: FileSystemKind, isMapped: Bool
  ) throws {
    try run(kind, isMapped: isMapped) { fixture in
      for length in Self.lengths {
        let blob = AttachmentFixture.blob(length)
        let stored = try fixture.files.store(blob)
        #expect(stored.record.digest == SHA256.digest(of: blob))
        #expect(stored.record.length == length)
        if case .inline(let bytes) = stored.record.content {
          #expect(length <= 32 && bytes == blob && stored.pin == nil)
        } else {
          #expect(length > 32 && stored.pin?.digest == stored.record.digest)
        }
        let reader = try fixture.reopened().files.open(stored.record)
        #expect(reader.length == length)
        #expect(try reader.readAll() == blob)
        try reader.verify()
        for (lower, upper) in [
          (0, 0), (0, 1), (0, 64), (1, 64), (63, 65), (64, 128), (100, 300), (150, 170),
          (length - 1, length), (length / 3, length), (length, length + 9), (-5, 5), (0, length),
          (.min, .max),
        ] {
          let range = lower..<upper
          let part = range.clamped(to: 0..<length)
          let expected = Array(blob.array[part])
          #expect(try reader.read(range).array == expected, "\(range) of \(length)")
          var stream = reader.stream(range)
          #expect(try stream.collect() == expected, "\(range) of \(length)")
        }
        var stream = reader.stream()
        #expect(try stream.collect() == blob.array)
        #expect(try stream.next() == nil)
      }
      #expect(fixture.temporaries.isEmpty)
    }
  }

  @Test(arguments: FileSystemKind.allCases)
  func `all ways to store a blob create the same record`(kind: FileSystemKind) throws {
    try run(kind) { fixture in
      for length in Self.lengths {
        let blob = AttachmentFixture.blob(length)
        let expected = try fixture.files.store(blob).record
        let path = fixture.root + "/source-\(length)"
        try fixture.fileSystem.open(path, .creating).write(blob, at: 0)
        #expect(
          try fixture.reopened().files.store(contentsOf: path, on: fixture.fileSystem).record
            == expected)
        for pieceSize in [1, 64, 150, 160, 1000] {
          var rest = blob
          let writer = fixture.reopened().files.makeWriter()
          while !rest.isEmpty {
            let piece = rest.prefix(min(pieceSize, rest.count))
            rest = rest.suffix(from: piece.count)
            try writer.append(piece)
          }
          #expect(try writer.finish().record == expected)
        }
        let filed = try fixture.reopened().files.record(of: expected.digest)
        #expect(length > 32 ? filed == expected : filed == nil)
      }
      #expect(fixture.temporaries.isEmpty)
    }
  }

  @Test(arguments: FileSystemKind.allCases, [true, false])
  func `an open reader continues after its file is removed`(kind: FileSystemKind, isMapped: Bool)
    throws
  {
    try run(kind, isMapped: isMapped) { fixture in
      let blob = AttachmentFixture.blob(1000)
      let reader = try fixture.files.open(fixture.files.store(blob).record)
      var stream = reader.stream()
      #expect(try fixture.files.remove(reader.record.digest))
      #expect(try reader.readAll() == blob)
      #expect(try reader.read(500..<600).array == Array(blob.array[500..<600]))
      #expect(try stream.collect() == blob.array)
    }
  }

  @Test func `streaming a large blob in or out needs no more memory than a piece`() throws {
    let memory = try #require(AttachmentFixture.memory() as? MemoryFileSystem)
    let measure = MeasuringFileSystem(memory)
    // The default limits.
    let files = AttachmentFiles(
      StoreDirectory("/store", on: measure), AttachmentFiles.Settings(isMapped: true))
    let length = 2 << 20 + 12345
    let piece = AttachmentFixture.blob(64 << 10)
    let writer = files.makeWriter()
    while writer.length < length {
      try writer.append(piece.prefix(min(piece.count, length - writer.length)))
    }
    let record = try writer.finish().record
    #expect(measure.largestWrite == 256 << 10)
    #expect(measure.largestRead == 0)
    let reader = try files.open(record)
    var stream = reader.stream()
    var count = 0
    while let piece = try stream.next() {
      #expect(piece.count <= 256 << 10)
      count += piece.count
    }
    #expect(count == length)
    #expect(measure.largestRead == 256 << 10)
    // Reading a range reads the chunks that it overlaps.
    let buffered = AttachmentFiles(
      StoreDirectory("/store", on: measure), AttachmentFiles.Settings(isMapped: false))
    measure.reset()
    #expect(try buffered.open(record).read(1_000_000..<1_000_100).count == 100)
    #expect(measure.largestRead == 64 << 10)
    #expect(measure.mapCount == 0)
    // A source file is read in pieces, too.
    _ = try buffered.store(
      contentsOf: buffered.path(of: record.digest), on: measure)
    #expect(measure.largestRead <= 256 << 10)
    #expect(measure.mapCount == 0)
    #expect(record.length == length)
    guard case .file(let chunks) = record.content else {
      Issue.record("no file")
      return
    }
    #expect(chunks.size == 64 << 10)
    #expect(chunks.count == 33)
  }

  @Test func `large files are mapped for whole reads, but not for ranges`() throws {
    let measure = MeasuringFileSystem(AttachmentFixture.memory())
    var settings = AttachmentFixture(isMapped: true).settings
    settings.retainedMapSizeLimit = 500
    let files = AttachmentFiles(StoreDirectory("/store", on: measure), settings)
    let blob = AttachmentFixture.blob(500)
    let small = try files.open(files.store(blob).record)
    #expect(measure.mapCount == 1)
    #expect(try small.read(70..<80).array == Array(blob.array[70..<80]))
    #expect(try small.readAll() == blob)
    #expect(measure.mapCount == 1 && measure.largestRead == 0)
    let longer = AttachmentFixture.blob(501)
    let large = try files.open(files.store(longer).record)
    #expect(try large.read(70..<80).array == Array(longer.array[70..<80]))
    #expect(measure.mapCount == 1 && measure.largestRead == 64)
    #expect(try large.readAll() == longer)
    #expect(measure.mapCount == 2 && measure.largestRead == 64)
    try small.verify()
    #expect(measure.mapCount == 2 && measure.largestRead == 500)
  }

  // MARK: Sources that fail

  @Test func `a source file that is missing or changes its length is an error`() throws {
    let fixture = AttachmentFixture()
    let path = "/source"
    #expect(
      systemCode { _ = try fixture.files.store(contentsOf: path, on: fixture.fileSystem) }
        == .notFound)
    for (first, later) in [(1000, 900), (1000, 1100), (1000, 100), (10, 20), (20, 0)] {
      let source = SimulatedFileSystem()
      try source.write(String(repeating: "x", count: first), to: path)
      source.observeCalls { [unowned source] call in
        if call.verb == .read { try? source.truncate(path, toSize: later) }
      }
      do {
        _ = try fixture.files.store(contentsOf: path, on: source)
        Issue.record("the change was not detected")
      } catch LogError.sourceChanged(let changed, let reason) {
        #expect(changed == path)
        #expect(reason.contains("\(first)") && reason.contains("\(later)"))
      }
    }
    // The file is truncated in between, but has its old length at the end.
    let source = SimulatedFileSystem()
    try source.write(String(repeating: "x", count: 1000), to: path)
    source.observeCalls { [unowned source] call in
      if call.verb == .read { try? source.truncate(path, toSize: 200) }
      if call.verb == .size { try? source.truncate(path, toSize: 1000) }
    }
    #expect(throws: LogError.self) {
      try fixture.files.store(contentsOf: path, on: source)
    }
    // The file grows after all of it was read.
    let growing = SimulatedFileSystem()
    try growing.write(String(repeating: "x", count: 1000), to: path)
    let reads = Recorder<String>()
    growing.observeCalls { [unowned growing] call in
      if call.verb == .read { reads.append(call.path) }
      if call.verb == .size, !reads.all.isEmpty { try? growing.truncate(path, toSize: 1100) }
    }
    #expect(throws: LogError.self) {
      try fixture.files.store(contentsOf: path, on: growing)
    }
    // The file disappears, as files on other machines can.
    let disk = SimulatedFileSystem()
    try disk.write(String(repeating: "x", count: 1000), to: path)
    for call in 1...8 {
      disk.fail(.read, atCall: call, with: .staleHandle)
      #expect(
        systemCode { _ = try fixture.files.store(contentsOf: path, on: disk) } == .staleHandle)
    }
    #expect(fixture.temporaries.isEmpty)
    #expect(try fixture.listing().files.isEmpty)
  }

  @Test func `an unfinished writer leaves no file`() throws {
    let fixture = AttachmentFixture()
    do {
      let writer = fixture.files.makeWriter()
      try writer.append(AttachmentFixture.blob(500))
      let other = fixture.files.makeWriter()
      try other.append(AttachmentFixture.blob(500, salt: 1))
      #expect(fixture.temporaries == ["attachment-1", "attachment-2"])
    }
    #expect(fixture.temporaries.isEmpty)
    #expect(try fixture.fileSystem.list("/store") == ["tmp"])
  }

  @Test func `a blob above the size limit is refused`() throws {
    // Two chunks of 128 bytes.
    let fixture = AttachmentFixture(chunkCountLimit: 2, largestChunk: 128)
    _ = try fixture.files.store(AttachmentFixture.blob(256))
    for (first, second) in [(256, 1), (0, 257), (200, 57)] {
      let writer = fixture.files.makeWriter()
      try writer.append(AttachmentFixture.blob(first))
      #expect(systemCode { try writer.append(AttachmentFixture.blob(second)) } == .fileTooLarge)
    }
    let path = "/store/source"
    try fixture.fileSystem.open(path, .creating).write(AttachmentFixture.blob(257), at: 0)
    #expect(
      systemCode { _ = try fixture.files.store(contentsOf: path, on: fixture.fileSystem) }
        == .fileTooLarge)
    // Such a file is not adopted either.
    let digest = try AttachmentFixture().files.store(AttachmentFixture.blob(257)).record.digest
    let folder = "/store/attachments/\(AttachmentName(digest).folder)"
    try fixture.fileSystem.makeDirectory(folder)
    try fixture.fileSystem.rename(path, to: fixture.files.path(of: digest))
    #expect(
      attachmentDamage { _ = try fixture.files.adopt(digest) }?.reason.contains("longer than any")
        == true)
    #expect(fixture.temporaries.isEmpty)
    #expect(AttachmentRecord.lengthLimit == 1 << 40)
  }

  // MARK: Shared blobs

  @Test func `storing a blob again in the same opening adds no file and flushes nothing`() throws {
    let disk = try AttachmentFixture.disk()
    let fixture = AttachmentFixture(on: disk.fileSystem)
    let blob = AttachmentFixture.blob(500)
    let first = try fixture.files.store(blob)
    let calls = disk.changingCallCount
    // A blob smaller than the buffer stays in memory, so storing it again writes nothing.
    let small = AttachmentFixture.blob(150)
    _ = try fixture.files.store(small)
    let smallCalls = disk.changingCallCount
    #expect(smallCalls > calls)
    #expect(try fixture.files.store(small).record.length == 150)
    #expect(disk.changingCallCount == smallCalls)
    let second = try fixture.files.store(blob)
    #expect(second.record == first.record)
    #expect(try fixture.listing().files.count == 2)
    #expect(fixture.temporaries.isEmpty)
    // A temporary file is created, written four times and removed; no flush is needed.
    #expect(disk.changingCallCount <= smallCalls + 6)
  }

  @Test func `another opening replaces the file of a blob that is stored again`() throws {
    let fixture = AttachmentFixture()
    let blob = AttachmentFixture.blob(500)
    let record = try fixture.files.store(blob).record
    let path = fixture.files.path(of: record.digest)
    // Another file has the attachment's name.
    try fixture.fileSystem.remove(path)
    try fixture.fileSystem.write("something else", to: path)
    let again = fixture.reopened()
    #expect(attachmentDamage { _ = try again.files.open(record) }?.offset == 14)
    #expect(try again.files.store(blob).record == record)
    #expect(try again.files.open(record).readAll() == blob)
  }

  /// Regression: the file counted as durable, and storing the blob again wrote nothing.
  @Test(arguments: [true, false])
  func `a blob whose file proves bad is written again`(isMapped: Bool) throws {
    let disk = try AttachmentFixture.disk()
    let fixture = AttachmentFixture(on: disk.fileSystem, isMapped: isMapped)
    let files = fixture.files
    let blob = AttachmentFixture.blob(500)
    let record = try files.store(blob).record
    let path = files.path(of: record.digest)
    let ruins: [() throws -> Void] = [
      { try disk.vanish(path) }, { try disk.truncate(path, toSize: 400) },
      { try disk.corrupt(path, atOffset: 130, mask: 4) },
    ]
    let reads: [() throws -> Void] = [
      { _ = try files.open(record).readAll() }, { _ = try files.open(record).read(120..<140) },
      { try files.open(record).verify() },
    ]
    for ruin in ruins {
      for read in reads {
        try ruin()
        #expect(attachmentDamage(read) != nil)
        #expect(!files.isDurable(record.digest))
        _ = try files.store(blob)
        #expect(try files.open(record).readAll() == blob)
      }
    }
  }

  /// Regression: the other flush got the only report of the error, and the blob counted as stored.
  @Test func `a blob is not stored if the flush of another one's names fails meanwhile`() throws {
    let disk = try AttachmentFixture.disk()
    let files = AttachmentFixture(on: disk.fileSystem).files
    let (blob, other) = (AttachmentFixture.blob(500), AttachmentFixture.blob(500, salt: 1))
    let isFirst = Atomic(true)
    disk.files.observeCalls { call in
      // The file of the first blob has its name.
      guard call.verb == .flushDirectory else { return }
      guard isFirst.exchange(false, ordering: .relaxed) else { return }
      disk.fail(.flushDirectory, with: .inputOutput)
      #expect(systemCode { _ = try files.store(other) } == .inputOutput)
    }
    #expect(systemCode { _ = try files.store(blob) } == .inputOutput)
    #expect(!files.isDurable(SHA256.digest(of: blob)))
    disk.files.observeCalls(nil)
  }

  // MARK: Pins and removal

  @Test func `a blob is not removed while it is pinned`() throws {
    let fixture = AttachmentFixture()
    let blob = AttachmentFixture.blob(500)
    var stored: StoredAttachment? = try fixture.files.store(blob)
    let digest = try #require(stored).record.digest
    #expect(try fixture.files.remove(digest) == false)
    var other: AttachmentPin? = fixture.files.pin(digest)
    stored = nil
    #expect(try fixture.files.remove(digest) == false)
    #expect(try fixture.listing().files.map(\.digest) == [digest])
    #expect(other?.digest == digest)
    other = nil
    #expect(try fixture.files.remove(digest))
    #expect(try fixture.files.remove(digest))
    #expect(try fixture.listing().files.isEmpty)
    // The blob no longer counts as stored.
    let again = try fixture.files.store(blob)
    #expect(try fixture.files.open(again.record).readAll() == blob)
  }

  @Test(arguments: FileSystemKind.allCases)
  func `empty folders are removed, and created again when they are needed`(kind: FileSystemKind)
    throws
  {
    try run(kind) { fixture in
      try fixture.files.removeEmptyFolders()
      try fixture.files.flushRemovals()
      let blob = AttachmentFixture.blob(500)
      let digest = try fixture.files.store(blob).record.digest
      let other = try fixture.files.store(AttachmentFixture.blob(600)).record.digest
      let folders = [digest, other].map { AttachmentName($0).folder }
      #expect(folders[0] != folders[1])
      try fixture.files.removeEmptyFolders()
      #expect(try fixture.fileSystem.list(fixture.root + "/attachments") == folders.sorted())
      #expect(try fixture.files.remove(digest))
      try fixture.files.flushRemovals()
      try fixture.files.removeEmptyFolders()
      #expect(try fixture.fileSystem.list(fixture.root + "/attachments") == [folders[1]])
      let record = try fixture.files.store(blob).record
      #expect(try fixture.files.open(record).readAll() == blob)
      #expect(try fixture.files.remove(digest))
      try fixture.files.removeEmptyFolders()
      // There is no removal to flush.
      try fixture.files.flushRemovals()
      _ = try fixture.files.store(blob)
    }
  }

  // MARK: Listing

  @Test(arguments: FileSystemKind.allCases)
  func `all files of attachments are listed, and other files are left alone`(
    kind: FileSystemKind
  ) throws {
    try run(kind) { fixture in
      #expect(try fixture.listing().files.isEmpty)
      var expected: [SHA256.Digest: Int] = [:]
      for length in 33..<80 {
        expected[try fixture.files.store(AttachmentFixture.blob(length)).record.digest] = length
      }
      let folder = AttachmentName(try #require(expected.keys.first)).folder
      let name = AttachmentName(SHA256.digest(of: .empty))
      let wrongFolder = folder == "00" ? "01" : "00"
      let attachments = fixture.root + "/attachments"
      try fixture.fileSystem.write("x", to: attachments + "/README")
      try fixture.fileSystem.makeDirectory(attachments + "/3F")
      try fixture.fileSystem.write("x", to: "\(attachments)/\(folder)/notes")
      if try !fixture.fileSystem.exists("\(attachments)/\(wrongFolder)") {
        try fixture.fileSystem.makeDirectory("\(attachments)/\(wrongFolder)")
      }
      try fixture.fileSystem.write("x", to: "\(attachments)/\(wrongFolder)/\(name.file)")
      if try !fixture.fileSystem.exists("\(attachments)/\(name.folder)") {
        try fixture.fileSystem.makeDirectory("\(attachments)/\(name.folder)")
      }
      try fixture.fileSystem.makeDirectory("\(attachments)/\(name.folder)/\(name.file)")
      let (files, others) = try fixture.listing()
      #expect(files.map(\.digest) == expected.keys.sorted())
      #expect(files.allSatisfy { $0.size == expected[$0.digest] })
      #expect(
        Set(others) == [
          "attachments/README", "attachments/3F", "attachments/\(folder)/notes",
          "attachments/\(wrongFolder)/\(name.file)", "\(name)",
        ])
      try fixture.files.removeEmptyFolders()
      #expect(try fixture.listing().others.count == 5)
    }
  }

  @Test func `storing a blob fails if a file has the name of its folder`() throws {
    let fixture = AttachmentFixture()
    let blob = AttachmentFixture.blob(500)
    try fixture.fileSystem.makeDirectory("/store/attachments")
    let folder = AttachmentName(SHA256.digest(of: blob)).folder
    try fixture.fileSystem.write("x", to: "/store/attachments/\(folder)")
    #expect(systemCode { _ = try fixture.files.store(blob) } == .notADirectory)
    #expect(fixture.temporaries.isEmpty)
    #expect(try fixture.listing().others == ["attachments/\(folder)"])
    try fixture.files.removeEmptyFolders()
    #expect(try fixture.fileSystem.list("/store/attachments") == [folder])
  }

  @Test func `files and folders that are removed during a listing are left out`() throws {
    let disk = try AttachmentFixture.disk()
    let fixture = AttachmentFixture(on: disk.fileSystem)
    let files = try #require(disk.fileSystem as? SimulatedFileSystem)
    let first = try fixture.files.store(AttachmentFixture.blob(500)).record.digest
    let second = try fixture.files.store(AttachmentFixture.blob(600)).record.digest
    let path = fixture.files.path(of: first)
    // Another thread removes the file just before its status is read.
    files.observeCalls { [unowned files] call in
      if call.verb == .status, call.path == path { try? files.remove(path) }
    }
    #expect(try fixture.listing().files.map(\.digest) == [second])
    let folder = "/store/attachments/\(AttachmentName(first).folder)"
    files.observeCalls { [unowned files] call in
      if call.verb == .status, call.path == folder { try? files.removeDirectory(folder) }
    }
    let (entries, others) = try fixture.listing()
    #expect(entries.map(\.digest) == [second])
    #expect(others.isEmpty)
    files.observeCalls(nil)
    files.fail(.status, with: .inputOutput)
    #expect(systemCode { _ = try fixture.listing() } == .inputOutput)
  }

  @Test func `the cache of durable blobs is bounded`() throws {
    let disk = try AttachmentFixture.disk()
    var fixture = AttachmentFixture(on: disk.fileSystem)
    fixture.settings.durableCountLimit = 2
    fixture = fixture.reopened()
    let blobs = (0..<4).map { AttachmentFixture.blob(500, salt: $0) }
    for _ in 0..<2 {
      for blob in blobs { #expect(try fixture.files.store(blob).record.length == 500) }
    }
    for blob in blobs {
      let record = try fixture.files.store(blob).record
      #expect(try fixture.files.open(record).readAll() == blob)
    }
    #expect(try fixture.listing().files.count == 4)
    #expect(fixture.temporaries.isEmpty)
  }

  @Test func `a blob can be read if the system cannot map its file`() throws {
    let disk = try AttachmentFixture.disk()
    var fixture = AttachmentFixture(on: disk.fileSystem, isMapped: true)
    let files = try #require(disk.fileSystem as? SimulatedFileSystem)
    let blob = AttachmentFixture.blob(500)
    let record = try fixture.files.store(blob).record
    for limit in [0, 1000] {
      fixture.settings.retainedMapSizeLimit = limit
      fixture = fixture.reopened()
      files.fail(.map, with: .outOfMemory, isLasting: true)
      let reader = try fixture.files.open(record)
      #expect(try reader.readAll() == blob)
      #expect(try reader.read(100..<200).array == Array(blob.array[100..<200]))
      files.stopFailing()
    }
  }

  // MARK: Adoption

  @Test(arguments: FileSystemKind.allCases)
  func `a file without a record is adopted if its contents match its name`(
    kind: FileSystemKind
  ) throws {
    try run(kind) { fixture in
      let blob = AttachmentFixture.blob(500)
      let record = try fixture.files.store(blob).record
      let again = fixture.reopened()
      let adopted = try #require(try again.files.adopt(record.digest))
      #expect(adopted.record == record)
      #expect(try again.files.remove(record.digest) == false)
      #expect(try again.files.adopt(SHA256.digest(of: .empty)) == nil)
      let path = fixture.files.path(of: record.digest)
      try fixture.fileSystem.remove(path)
      try fixture.fileSystem.write("something else", to: path)
      for fixture in [fixture, again] {
        #expect(
          attachmentDamage { _ = try fixture.files.adopt(record.digest) }?.reason.contains("digest")
            == true)
      }
    }
  }

  // MARK: Threads

  @Test func `many threads can store, pin and remove the same blobs`() async throws {
    let directory = try TemporaryDirectory()
    let files = POSIXFileSystem()
    try AttachmentFixture.prepare(files, directory.path)
    let fixture = AttachmentFixture(on: files, root: directory.path)
    let blobs = (0..<6).map { AttachmentFixture.blob(300 + 100 * $0) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for thread in 0..<4 {
        group.addTask {
          var random = SeededGenerator(seed: UInt64(thread))
          for _ in 0..<60 {
            let blob = blobs[Int.random(in: 0..<blobs.count, using: &random)]
            let stored = try fixture.files.store(blob)
            // The file cannot be removed while it is pinned.
            #expect(try fixture.files.open(stored.record).readAll() == blob)
          }
        }
      }
      group.addTask {
        for round in 0..<200 {
          _ = try fixture.files.remove(SHA256.digest(of: blobs[round % blobs.count]))
          if round % 10 == 0 { try fixture.files.removeEmptyFolders() }
          if round % 25 == 0 { try fixture.files.flushRemovals() }
        }
      }
      try await group.waitForAll()
    }
    #expect(fixture.temporaries.isEmpty)
    for file in try fixture.listing().files { _ = try fixture.files.record(of: file.digest) }
    for blob in blobs { #expect(try fixture.files.remove(SHA256.digest(of: blob))) }
  }
}

extension AttachmentStream {
  /// Returns all remaining bytes.
  mutating func collect() throws -> [UInt8] {
    var bytes: [UInt8] = []
    while let piece = try next() { bytes += piece.array }
    return bytes
  }
}
