import Divan
import DivanLog
import DivanTesting
import ProofKit
import Testing

/// Files of attachments that pass through a cipher. FILE_FORMAT.md §21
@Suite struct EncryptedAttachmentTests {
  private let disk = SimulatedFileSystem()
  private let files: AttachmentFiles
  private static let path = "/store"

  init() throws {
    try disk.makeDirectory(EncryptedAttachmentTests.path)
    try disk.makeDirectory("\(EncryptedAttachmentTests.path)/tmp")
    files = EncryptedAttachmentTests.files(on: disk, TestCipher(secret: 3))
  }

  private static func files(
    on disk: SimulatedFileSystem, _ cipher: TestCipher?
  ) -> AttachmentFiles {
    var settings = AttachmentFiles.Settings(isMapped: true)
    settings.inlineSizeLimit = 100
    settings.bufferSize = 70_000
    return AttachmentFiles(StoreDirectory(path, on: disk, cipher: cipher), settings)
  }

  private func blob(_ size: Int) -> SharedBytes {
    SharedBytes(copying: (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })
  }

  @Test(arguments: [101, 65_535, 65_536, 65_537, 131_072, 300_001])
  func `what is stored is read as a whole, in parts, and as a stream`(size: Int) throws {
    let blob = blob(size)
    let record = try files.store(blob).record
    let reader = try files.open(record)
    #expect(try reader.readAll() == blob)
    for range in [0..<1, size - 1..<size, size / 3..<size / 2, 65_000..<66_000, 0..<size + 9] {
      let expected = range.clamped(to: 0..<size)
      #expect(
        try reader.read(range).array == Array(blob.array[expected.isEmpty ? 0..<0 : expected]))
    }
    var streamed: [UInt8] = []
    var stream = reader.stream()
    while let piece = try stream.next() { streamed += piece.array }
    #expect(streamed == blob.array)
    #expect(try files.record(of: record.digest) == record)
  }

  @Test func `the file is named by other digits, and found by them`() throws {
    let blob = blob(5000)
    let digest = try files.store(blob).record.digest
    let path = files.path(of: digest)
    #expect(!path.contains("\(digest)"))
    #expect(try disk.status(path).kind == .file)
    var found: [SHA256.Digest] = []
    let others = try files.forEachFile { found.append($0.digest) }
    #expect(others == [])
    #expect(found == [digest])
    #expect(try files.remove(digest))
    #expect(try !files.hasFile(of: digest))
  }

  @Test func `another key is no damage`() throws {
    let record = try files.store(blob(5000)).record
    let other = EncryptedAttachmentTests.files(on: disk, TestCipher(secret: 4))
    #expect {
      _ = try other.open(record)
    } throws: { error in
      (error as? LogError)?.isAboutKey == true
    }
    let both = EncryptedAttachmentTests.files(on: disk, TestCipher(secret: 4, olderSecrets: [3]))
    #expect(try both.open(record).readAll() == blob(5000))
  }

  @Test func `exchanged pieces, files and heads are damage`() throws {
    let first = try files.store(blob(200_000)).record
    let second = try files.store(SharedBytes(copying: [UInt8](repeating: 5, count: 200_000))).record
    let (path, other) = (files.path(of: first.digest), files.path(of: second.digest))
    let sound = try disk.contents(of: path, limit: 1 << 20).array
    let foreign = try disk.contents(of: other, limit: 1 << 20).array
    let piece = 65_536 + FileEncryption.overhead
    let head = Array(sound[..<64])
    let (one, two) = (Array(sound[64..<64 + piece]), Array(sound[64 + piece..<64 + 2 * piece]))
    let rest = Array(sound[(64 + 2 * piece)...])
    let variants: [(String, [[UInt8]])] = [
      ("pieces", [head, two, one, rest]),
      ("a piece of another", [head, Array(foreign[64..<64 + piece]), two, rest]),
      ("the file", [foreign]), ("the head", [Array(foreign[..<64]), one, two, rest]),
      ("cut off", [head, one, two]), ("too long", [sound, [0]]), ("empty", []),
    ]
    for (name, bytes) in variants {
      try disk.vanish(path)
      let file = try disk.open(path, .creating)
      try file.write(SharedBytes(copying: Array(bytes.joined())), at: 0)
      #expect("\(name)") {
        _ = try files.open(first).read(0..<200_000)
      } throws: { error in
        if case LogError.damaged = error { true } else { false }
      }
    }
  }

  @Test func `every changed byte of a file is noticed`() throws {
    let record = try files.store(blob(70_000)).record
    let path = files.path(of: record.digest)
    let size = try disk.status(path).size
    for offset in Array(0..<100) + stride(from: 100, to: size, by: 997) + (size - 40..<size) {
      try disk.corrupt(path, atOffset: offset, mask: 1 << UInt8(offset % 8))
      #expect {
        _ = try files.open(record).readAll()
      } throws: { error in
        if case LogError.damaged = error { true } else { false }
      }
      try disk.corrupt(path, atOffset: offset, mask: 1 << UInt8(offset % 8))
    }
    #expect(try files.open(record).readAll() == blob(70_000))
  }
}
