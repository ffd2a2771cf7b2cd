import Foundation
import TestSupport
import Testing

@testable import Divan

/// Tests of a store that is open for reading only while a writer removes attachments.
@Suite struct RemovedAttachmentTests {
  @Test func `attachments that a writer removed are counted by a check, and are no damage`() throws
  {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/store.divan"
    let writer = try Database(at: path)
    let count = 20
    func content(_ number: Int) -> Document.Attachment {
      Document.Attachment(
        contentType: "x/y", (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* (number + 3)) })
    }
    try writer.write { transaction in
      for number in 0..<count {
        var document = Document(id: "d\(number)")
        document.attachments["a"] = content(number)
        _ = try transaction.put(document)
      }
    }
    var configuration = Configuration()
    configuration.isReadOnly = true
    let reader = try Database(at: path, configuration: configuration)
    #expect(try reader.check().removedAttachmentCount == 0)
    try writer.write { transaction in
      for number in 1..<count {
        let document = try #require(try transaction.document("d\(number)"))
        _ = try transaction.delete(document)
      }
    }
    try writer.compact()
    let report = try reader.check()
    #expect(report.isSound, "\(report.problems)")
    #expect(report.removedAttachmentCount == count - 1)
    // A missing attachment that the newest version still has is damage.
    let folders = try FileManager.default.subpathsOfDirectory(atPath: path + "/attachments")
    let file = try #require(folders.first { $0.utf8.count > 10 })
    try FileManager.default.removeItem(atPath: path + "/attachments/" + file)
    let damaged = try reader.check()
    #expect(damaged.problems.map(\.code) == [.damaged])
    #expect(damaged.removedAttachmentCount == count - 1)
    try reader.close()
    try writer.close()
  }
}
