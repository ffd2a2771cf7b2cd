import DivanLog
import DivanTesting
import Foundation
import TestSupport
import Testing

@testable import Divan

/// Tests of the numbers of attachments and retained revisions in `statistics`.
struct StatisticsTests {
  private let disk = MemoryFileSystem()

  private func open(_ history: HistoryRetention = .disabled) throws -> Database {
    var configuration = Configuration.small(on: disk)
    configuration.maintenance = .manual
    configuration.history = history
    return try Database(at: "/s", configuration: configuration)
  }

  @Test func `statistics count each attachment content once, in the log or in its file`() throws {
    let database = try open()
    let before = try database.statistics
    #expect(before.attachmentCount == 0)
    #expect(before.attachmentFileCount == 0 && before.attachmentFileSize == 0)
    #expect(before.attachmentLogSize == 0)
    try database.write { transaction in
      for number in 0..<5 {
        var document = Document(id: "\(number)")
        document.attachments["poster"] = Document.Attachment(
          contentType: "x/y", [UInt8](repeating: 1, count: 100_000))
        document.attachments["note"] = Document.Attachment(
          contentType: "x/y", [UInt8](repeating: 2, count: 3000))
        try transaction.put(document)
      }
    }
    let after = try database.statistics
    #expect(after.attachmentCount == 2)
    #expect(after.attachmentFileCount == 1)
    #expect(after.attachmentFileSize == 100_000)
    #expect((3000..<3200).contains(after.attachmentLogSize))
    #expect(after.liveSize >= after.attachmentLogSize)
    #expect(after.directorySize - before.directorySize > 103_000)
    try database.write { transaction in
      for number in 0..<5 { try transaction.purge("\(number)") }
    }
    try database.compact()
    let last = try database.statistics
    #expect(last.attachmentCount == 0 && last.attachmentFileCount == 0)
    #expect(last.attachmentFileSize == 0 && last.attachmentLogSize == 0)
    #expect(last.directorySize < 100_000)
  }

  @Test func `statistics count revisions that history, named snapshots or conflicts retain`() throws
  {
    var database = try open(.unlimited)
    let text = Value.string(String(repeating: "x", count: 2000))
    try database.write { _ = try $0.replace("a", with: ["text": text]) }
    #expect(try database.statistics.pinnedSize == 0)
    try database.write { _ = try $0.replace("a", with: [:]) }
    #expect((2000..<2200).contains(try database.statistics.pinnedSize))
    try database.saveSnapshot(named: "now")
    try database.close()
    database = try open()
    try database.compact()
    #expect(try database.statistics.pinnedSize == 0)
    try database.write { _ = try $0.replace("a", with: ["text": text]) }
    let pinned = try database.statistics.pinnedSize
    #expect(try database.namedSnapshots().map(\.pinnedSize) == [pinned])
    try database.deleteSnapshot(named: "now")
    try database.compact()
    #expect(try database.statistics.pinnedSize == 0)
    try database.write { transaction in
      let document = Document(id: "a", ["text": text])
      try transaction.insert(document, history: [try RevisionID(parsing: "1-b")])
    }
    #expect((2000..<2400).contains(try database.statistics.pinnedSize))
  }
}
