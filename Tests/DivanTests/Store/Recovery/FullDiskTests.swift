import DivanLog
import DivanTesting
import ProofKit
import Synchronization
import TestSupport
import Testing

@testable import Divan

/// Tests of stores on machines that are out of files, inodes or descriptors.
struct FullDiskTests {
  private let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
  private var disk: SimulatedFileSystem { fixture.fileSystem }

  private func expectNewest(_ database: Database) throws {
    let oracle = fixture.writer.oracle.withLock { $0 }
    #expect(try oracle.identify(database) == oracle.versions.count - 1)
  }

  /// Regression test: without free inodes, a store could not even be read.
  ///
  /// Creating the lock file or the folder of temporaries failed.
  @Test(
    arguments: [SimulatedDisk.Verb.lock, .makeDirectory],
    [SystemError.Code.noSpace, .quotaExceeded])
  func `a store opens for reading if no file can be created`(
    verb: SimulatedDisk.Verb, code: SystemError.Code
  ) throws {
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.fill(database, 0..<4, size: 200)
    try database.close()
    try disk.removeDirectory("\(CrashFixture.path)/tmp")
    disk.fail(verb, with: code, isLasting: true)
    let before = disk.names(in: CrashFixture.path)
    let full = try fixture.open { $0.maintenance = .manual }
    #expect(full.openingReport.notes.contains { $0.contains("full") })
    #expect(full.openingReport.damage.isEmpty)
    try expectNewest(full)
    let error = #expect(throws: DatabaseError.self) { try full.write { _ in } }
    #expect(error?.code == .readOnly)
    #expect(error?.message.contains("the disk is full") == true)
    try full.close()
    #expect(disk.lockCount == 0)
    #expect(disk.names(in: CrashFixture.path) == before)
    disk.stopFailing()
    let later = try fixture.open { $0.maintenance = .manual }
    try expectNewest(later)
    try fixture.commit(later, [.put("new", size: 5)])
    try expectNewest(later)
  }

  @Test func `a new store is not created if no file can be created`() throws {
    disk.fail(.lock, with: .noSpace, isLasting: true)
    let error = #expect(throws: DatabaseError.self) { try fixture.open() }
    #expect(error?.code == .diskFull)
  }

  /// Regression test: a lack of descriptors stopped the writer permanently.
  ///
  /// The directory could not be opened for its flush. The commit was reported with an unknown
  /// outcome although nothing had been written.
  @Test(
    arguments: [SystemError.Code.tooManyOpenFiles, .tooManyOpenFilesInSystem],
    [SimulatedDisk.Completion.nothing, .everything])
  func `a lack of file descriptors fails one commit, but no later one`(
    code: SystemError.Code, completion: SimulatedDisk.Completion
  ) throws {
    var failures = 0
    for verb in [SimulatedDisk.Verb.flushDirectory, .create] {
      for call in 1...8 {
        let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
        let database = try fixture.open {
          $0.maintenance = .manual
          $0.attachmentInlineLimit = 100
        }
        // A file that was not created cannot be left behind.
        fixture.fileSystem.fail(
          verb, atCall: call, with: code, completion: verb == .create ? .nothing : completion)
        var acknowledged: [String] = []
        for number in 0..<4 {
          do {
            try database.write { transaction in
              var document = Document(id: "doc-\(number)")
              document.attachments["x"] = Document.Attachment(
                contentType: "x/y", [UInt8](repeating: UInt8(number), count: 3000))
              _ = try transaction.put(document)
            }
            acknowledged.append("doc-\(number)")
          } catch let error as DatabaseError {
            #expect(error.code == .resourceExhausted, "\(verb) \(call): \(error)")
            failures += 1
          }
        }
        #expect(acknowledged.count >= 3, "\(verb) \(call)")
        for left in [
          fixture.fileSystem.restarted(.strict), fixture.fileSystem.restarted(.everything),
        ] {
          let after = try CrashFixture(left, fixture.writer, life: 60).open {
            $0.maintenance = .manual
          }
          #expect(after.openingReport.damage.isEmpty, "\(verb) \(call)")
          #expect(try after.snapshot().count == acknowledged.count, "\(verb) \(call)")
          for id in acknowledged { #expect(try after.snapshot().exists(id), "\(verb) \(call)") }
          #expect(try after.check().isSound, "\(verb) \(call)")
        }
      }
    }
    #expect(failures > 4)
  }
}
