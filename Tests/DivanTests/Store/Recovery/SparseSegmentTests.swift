import Foundation
import TestSupport
import Testing

@testable import Divan

/// Tests of a file whose size is far larger than its contents.
@Suite(.serialized) struct SparseSegmentTests {
  /// Returns the resident memory of the process, or nil if the system does not report it.
  private func residentSize() -> Int? {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8),
      let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
    else { return nil }
    return pages * 4096
  }

  @Test(arguments: [ReadMode.mapped, .buffered])
  func `sparse segments open quickly and with little memory`(reads: ReadMode) throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/store.divan"
    var configuration = Configuration()
    configuration.readMode = reads
    let database = try Database(at: path, configuration: configuration)
    try database.write { _ = try $0.put(Document(id: "a", ["n": 1])) }
    try database.close()
    let name = try #require(
      FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".segment") }
        .max())
    let file = try #require(FileHandle(forWritingAtPath: path + "/" + name))
    try file.truncate(atOffset: 64 << 30)
    try file.close()
    let before = residentSize()
    for isReadOnly in [true, false] {
      configuration.isReadOnly = isReadOnly
      let duration = try ContinuousClock().measure {
        let again = try Database(at: path, configuration: configuration)
        #expect(try again.snapshot().document("a")?["n"] == 1)
        #expect(try again.check().isSound)
        if !isReadOnly { try again.backup(to: directory.path + "/copy.divan") }
        try again.close()
      }
      #expect(duration < .seconds(20))
    }
    if let before, let after = residentSize() { #expect(after - before < 256 << 20) }
  }
}
