import DivanLog
import DivanTesting
import Testing

/// Tests of crashes, failing calls and full disks while attachments are stored and removed.
@Suite struct AttachmentCrashTests {
  /// The blobs that were reported as stored and not removed since.
  ///
  /// The ledger is not on the simulated disk, so it survives a crash.
  private final class Ledger {
    var stored: [AttachmentRecord] = []
  }

  /// Stores some blobs, one of them twice, and removes some.
  private func work(_ disk: SimulatedDisk, _ ledger: Ledger) throws {
    ledger.stored = []
    let files = AttachmentFixture(on: disk.fileSystem).files
    for length in [100, 500, 20, 100] {
      ledger.stored.append(try files.store(AttachmentFixture.blob(length)).record)
    }
    // A second opening, which does not know what is durable.
    let second = AttachmentFixture(on: disk.fileSystem).files
    ledger.stored.append(try second.store(AttachmentFixture.blob(500)).record)
    let removed = SHA256.digest(of: AttachmentFixture.blob(100))
    ledger.stored.removeAll { $0.digest == removed }
    _ = try second.remove(removed)
    try second.removeEmptyFolders()
    try second.flushRemovals()
    ledger.stored.append(try second.store(AttachmentFixture.blob(100)).record)
    if let adopted = try second.adopt(ledger.stored[0].digest) {
      ledger.stored.append(adopted.record)
    }
  }

  /// Expects each file to be intact, and each blob in the ledger to be stored.
  private func check(_ disk: SimulatedDisk, _ ledger: Ledger) throws {
    let fixture = AttachmentFixture(on: disk.fileSystem)
    let (files, others) = try fixture.listing()
    if !others.isEmpty { throw Finding("unknown files: \(others)") }
    for file in files { _ = try fixture.files.record(of: file.digest) }
    for record in ledger.stored { try fixture.files.open(record).verify() }
    // Work continues after that.
    for length in [100, 500, 700] {
      let record = try fixture.files.store(AttachmentFixture.blob(length)).record
      try fixture.files.open(record).verify()
    }
  }

  private struct Finding: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  @Test(arguments: 0..<2 as Range<UInt64>)
  func `after a crash at any call, all files are whole and all stored blobs exist`(
    seed: UInt64
  ) throws {
    let ledger = Ledger()
    let trials = try AttachmentFixture.disk(seed: seed).forEachCrash {
      try work($0, ledger)
    } check: {
      try check($0, ledger)
    }
    #expect(trials.failurePointCount > 40)
    #expect(trials.checkCount > 300)
  }

  @Test func `after any failed call, all files are whole and all stored blobs exist`()
    throws
  {
    let ledger = Ledger()
    let trials = try AttachmentFixture.disk().forEachFault(
      [.inputOutput, .notFound], losses: [.processEnd, .strict]
    ) {
      try work($0, ledger)
    } check: {
      try check($0, ledger)
    }
    #expect(trials.failurePointCount > 50)
  }

  @Test func `on a full disk of any size, all files are whole and all stored blobs exist`() throws {
    let ledger = Ledger()
    let trials = try AttachmentFixture.disk().forEachCapacity(stepBytes: 16) {
      try work($0, ledger)
    } check: {
      try check($0, ledger)
    }
    #expect(trials.failurePointCount > 50)
  }

  @Test func `storing continues after a failed call, and leaves no temporary file`() throws {
    let disk = try AttachmentFixture.disk()
    let names = SimulatedDisk.Verb.allCases
    // Fails each call of each verb, until the work succeeds without a fault.
    for verb in names {
      for call in 1... {
        let fork = disk.restarted(.everything)
        let fixture = AttachmentFixture(on: fork.fileSystem)
        fork.fail(verb, atCall: call, with: .inputOutput)
        let blob = AttachmentFixture.blob(500)
        let first = systemCode { _ = try fixture.files.store(blob) }
        guard first != nil else {
          fork.stopFailing()
          break
        }
        #expect(fixture.temporaries.isEmpty, "\(verb) \(call)")
        let second = systemCode { _ = try fixture.files.store(blob) }
        // After a failed flush of a directory, its contents are unknown.
        #expect((second != nil) == (verb == .flushDirectory), "\(verb) \(call)")
        #expect(fixture.temporaries.isEmpty, "\(verb) \(call)")
        // Small blobs do not need the directory.
        _ = try fixture.files.store(AttachmentFixture.blob(10))
        // A blob that was not stored is not pinned.
        if second != nil { #expect(try fixture.files.remove(SHA256.digest(of: blob))) }
        for file in try fixture.listing().files { _ = try fixture.files.record(of: file.digest) }
      }
    }
  }

  @Test func `an adopted file is durable at once, and a removal after it is flushed`()
    throws
  {
    let disk = try AttachmentFixture.disk()
    let fixture = AttachmentFixture(on: disk.fileSystem)
    let blob = AttachmentFixture.blob(500)
    let digest = SHA256.digest(of: blob)
    let path = fixture.files.path(of: digest)
    // Another program copied the file here without flushing it.
    try fixture.fileSystem.makeDirectory("/store/attachments")
    try fixture.fileSystem.makeDirectory("/store/attachments/\(AttachmentName(digest).folder)")
    try fixture.fileSystem.open(path, .creating).write(blob, at: 0)
    var stored = try fixture.files.adopt(digest)
    let record = try #require(stored).record
    let adopted = AttachmentFixture(on: disk.restarted(.strict).fileSystem)
    #expect(try adopted.files.open(record).readAll() == blob)
    stored = nil
    #expect(try fixture.files.remove(digest))
    let back = AttachmentFixture(on: disk.restarted(.strict).fileSystem)
    #expect(try back.listing().files.map(\.digest) == [digest])
    try fixture.files.flushRemovals()
    let gone = AttachmentFixture(on: disk.restarted(.strict).fileSystem)
    #expect(try gone.listing().files.isEmpty)
  }

  @Test func `a blob is not stored if a flush or close reports an error late`() throws {
    for behavior in [SimulatedDisk.FailedFlush.reportsAtNextCall, .keepsNewBytes] {
      let disk = try AttachmentFixture.disk()
      let fixture = AttachmentFixture(on: disk.fileSystem)
      disk.failFlush(atCall: 1, behavior)
      #expect(
        systemCode { _ = try fixture.files.store(AttachmentFixture.blob(500)) } == .inputOutput)
      #expect(try fixture.listing().files.isEmpty)
      #expect(fixture.temporaries.isEmpty)
    }
  }

  @Test func `no file is created in a directory that replaced the store's directory`() throws {
    let disk = try AttachmentFixture.disk()
    let files = disk.fileSystem
    let directory = StoreDirectory("/store", on: files)
    guard case .acquired = try files.lock("/store/LOCK", note: "") else {
      Issue.record("the lock was not acquired")
      return
    }
    directory.lock = MovedLock()
    let attachments = AttachmentFiles(directory, AttachmentFiles.Settings(isMapped: false))
    #expect(
      systemCode { _ = try attachments.store(AttachmentFixture.blob(100_000)) } == .staleHandle)
    #expect(
      systemCode { _ = try attachments.remove(SHA256.digest(of: .empty)) } == .staleHandle)
    #expect(try files.list("/store/tmp").isEmpty)
  }

  /// The lock of a store that was moved away.
  private final class MovedLock: FileLock {
    func release() {}

    func checkPath() throws(SystemError) {
      throw SystemError(call: "stat", path: "/store/LOCK", code: .staleHandle)
    }
  }
}
