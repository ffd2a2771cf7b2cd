import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of damage to the first bytes of a file, which identify its type.
struct FilePreambleDamageTests {
  private func open(_ disk: SimulatedFileSystem) throws -> Database {
    try CrashFixture(disk, CrashWriter(seed: 0), life: 70).open { $0.maintenance = .manual }
  }

  @Test func `a segment with a damaged magic, version or header is reported as damage`() throws {
    let original = try DamagedStore.plain.make()
    let segments = original.files.map(\.path).filter { $0.hasSuffix(".segment") }
    #expect(segments.count == 2)
    let text = Array(String(repeating: "not a store\n", count: 400).utf8.prefix(4096))
    for path in segments {
      // The magic, the version, the header as a whole.
      for offset in [0, 3, 7, 8, 9, nil] {
        let disk = original.disk.restarted(.processEnd)
        if let offset {
          try disk.corrupt(path, atOffset: offset, mask: 2)
        } else {
          try disk.overwrite(path, atOffset: 0, with: text)
        }
        let what = "\(path) at \(offset ?? -1)"
        let opened = try open(disk)
        #expect(opened.openingReport.damage.contains { $0.path == path }, "\(what)")
        let error = #expect(throws: DatabaseError.self) { try opened.write { _ in } }
        #expect(error?.code == .readOnly, "\(what)")
        // The other segment can be read.
        #expect(try opened.snapshot().count > 0, "\(what)")
        try original.examine(disk.restarted(.processEnd), what, isMapped: false)
      }
    }
  }

  @Test(arguments: ["HEAD", "0000000001.checkpoint"])
  func `HEAD and checkpoints count as a newer format only if their checksum is valid`(name: String)
    throws
  {
    let original = try DamagedStore.checkpointed.make()
    let path = "\(CrashFixture.path)/\(name)"
    for offsets in [[8], [9], [8, 200], [9, 200], [0, 8], [0, 200], [16], [16, 200]] {
      let disk = original.disk.restarted(.processEnd)
      for offset in offsets { try disk.corrupt(path, atOffset: offset, mask: 2) }
      let opened = try open(disk)
      #expect(opened.openingReport.damage.isEmpty, "\(offsets)")
      #expect(opened.openingReport.notes.contains { $0.contains("cannot be read") }, "\(offsets)")
      let found = try original.oracle.identify(opened)
      #expect(found == original.version, "\(offsets)")
      try opened.write { try $0.replace("afterwards", with: [:]) }
    }
  }

  @Test(arguments: ["HEAD", "0000000001.checkpoint"])
  func `a store of a newer format is refused and left unchanged`(name: String) throws {
    let original = try DamagedStore.checkpointed.make()
    let path = "\(CrashFixture.path)/\(name)"
    for offset in [8, 16] {
      let disk = original.disk.restarted(.processEnd)
      var block = try disk.contents(of: path, limit: 1 << 20).prefix(name == "HEAD" ? 256 : 4096)
        .array
      block[offset] = 2
      var writer = ByteWriter()
      writer.append(CRC32C.checksum(SharedBytes(copying: Array(block.dropLast(4)))))
      block.replaceSubrange(block.count - 4..<block.count, with: writer.array)
      try disk.overwrite(path, atOffset: 0, with: block)
      let error = #expect(throws: DatabaseError.self) { try open(disk) }
      #expect(error?.code == .newerFormat)
      #expect(error?.path == path)
      #expect(try disk.contents(of: path, limit: 1 << 20).prefix(block.count).array == block)
    }
  }
}
