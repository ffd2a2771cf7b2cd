@testable import DivanSync
import Foundation
import Testing

/// Tests of the temporary files with attachments that are sent.
struct MultipartFileTests {
  @Test func `files of processes that were killed are removed after a day`() throws {
    let (old, new) = (MultipartFile.newURL(), MultipartFile.newURL())
    let other = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { for file in [new, other] { try? FileManager.default.removeItem(at: file) } }
    for file in [old, new, other] { try Data("x".utf8).write(to: file) }
    for file in [old, other] {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -100_000)], ofItemAtPath: file.path)
    }
    MultipartFile.removeLeftovers()
    #expect(!FileManager.default.fileExists(atPath: old.path))
    #expect(FileManager.default.fileExists(atPath: new.path))
    #expect(FileManager.default.fileExists(atPath: other.path))
  }
}
