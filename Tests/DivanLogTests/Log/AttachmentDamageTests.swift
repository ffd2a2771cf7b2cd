import DivanLog
import DivanTesting
import Testing

/// Tests of damaged attachment files, with each byte changed and each shorter length.
@Suite struct AttachmentDamageTests {
  /// A blob of five chunks, the last of them short, on a disk that can be damaged.
  private struct Subject {
    let disk: SimulatedDisk
    let fixture: AttachmentFixture
    let blob = AttachmentFixture.blob(300)
    let record: AttachmentRecord
    let path: String

    init(isMapped: Bool) throws {
      disk = try AttachmentFixture.disk()
      fixture = AttachmentFixture(on: disk.fileSystem, isMapped: isMapped)
      record = try fixture.files.store(blob).record
      path = fixture.files.path(of: record.digest)
    }

    func open() throws -> AttachmentReader { try fixture.files.open(record) }
  }

  @Test(arguments: [true, false])
  func `every flipped byte is detected when its chunk is read, and only then`(isMapped: Bool) throws
  {
    let subject = try Subject(isMapped: isMapped)
    for offset in 0..<300 {
      let mask = UInt8(1) << UInt8(offset % 8)
      try subject.disk.corrupt(subject.path, atOffset: offset, mask: mask)
      let reader = try subject.open()
      let chunk = offset / 64
      let expected = Damage(
        path: subject.path, offset: 64 * chunk, size: min(64, 300 - 64 * chunk),
        reason: "a part of the attachment does not match its checksum")
      #expect(attachmentDamage { _ = try reader.readAll() } == expected)
      #expect(attachmentDamage { try reader.verify() } == expected)
      #expect(attachmentDamage { _ = try reader.read(offset..<offset + 1) } == expected)
      for other in 0..<5 {
        let range = 64 * other..<min(64 * other + 64, 300)
        if other == chunk {
          #expect(attachmentDamage { _ = try reader.read(range) } == expected)
        } else {
          #expect(try reader.read(range).array == Array(subject.blob.array[range]))
        }
        var stream = reader.stream(range.lowerBound..<300)
        #expect((attachmentDamage { _ = try stream.collect() } != nil) == (other <= chunk))
      }
      #expect(
        attachmentDamage { _ = try subject.fixture.files.record(of: subject.record.digest) }
          == Damage(
            path: subject.path, offset: 0, size: 300,
            reason: "the attachment's bytes do not match its digest"))
      try subject.disk.corrupt(subject.path, atOffset: offset, mask: mask)
      try subject.open().verify()
    }
  }

  @Test(arguments: [true, false])
  func `every wrong length is detected when the file is opened`(isMapped: Bool) throws {
    for size in Array(0..<300) + [301, 320, 1000] {
      let subject = try Subject(isMapped: isMapped)
      try subject.disk.truncate(subject.path, toSize: size)
      let damage = try #require(attachmentDamage { _ = try subject.open() })
      #expect(damage.path == subject.path)
      #expect(damage.offset == min(size, 300))
      #expect(damage.reason.contains("\(size) bytes instead of 300"))
      #expect(
        attachmentDamage { _ = try subject.fixture.files.adopt(subject.record.digest) } != nil)
    }
  }

  @Test func `a file that is truncated while it is open is reported at its new end`() throws {
    let subject = try Subject(isMapped: false)
    let reader = try subject.open()
    try subject.disk.truncate(subject.path, toSize: 100)
    #expect(try reader.read(0..<64).count == 64)
    for range in [64..<65, 0..<65, 64..<300] {
      #expect(attachmentDamage { _ = try reader.read(range) }?.offset == 100)
    }
    #expect(attachmentDamage { _ = try reader.read(250..<251) }?.offset == 192)
    #expect(attachmentDamage { try reader.verify() }?.offset == 100)
  }

  @Test func `a missing file damages only its own blob`() throws {
    let subject = try Subject(isMapped: false)
    let other = try subject.fixture.files.store(AttachmentFixture.blob(400))
    try subject.fixture.fileSystem.remove(subject.path)
    #expect(
      attachmentDamage { _ = try subject.open() }
        == Damage(
          path: subject.path, offset: 0, size: 300, reason: "the attachment's file is missing"))
    try subject.fixture.files.open(other.record).verify()
  }

  @Test func `a record with the chunks of another blob is detected by its digest`() throws {
    let subject = try Subject(isMapped: true)
    var writer = ByteWriter()
    subject.record.encode(to: &writer)
    // The record has another digest, and the file of that name has the same bytes.
    let digest = SHA256.digest(of: .empty)
    var bytes = writer.array
    bytes.replaceSubrange(1..<33, with: digest.bytes)
    let forged = try AttachmentRecord.decode(SharedBytes(copying: bytes))
    let folder = "/store/attachments/\(AttachmentName(digest).folder)"
    try subject.fixture.fileSystem.makeDirectory(folder)
    try subject.fixture.fileSystem.link(subject.path, to: subject.fixture.files.path(of: digest))
    let reader = try subject.fixture.files.open(forged)
    #expect(try reader.read(0..<300) == subject.blob)
    for damage in [
      attachmentDamage { _ = try reader.readAll() }, attachmentDamage { try reader.verify() },
    ] {
      #expect(damage?.path == subject.fixture.files.path(of: digest))
      #expect(damage?.reason.contains("digest") == true)
    }
    // The stream never returns its last piece, not even at the second call.
    var stream = reader.stream()
    for _ in 0..<2 { #expect(attachmentDamage { _ = try stream.next() } != nil) }
    // The same applies to a blob within its record.
    for length in [0, 20] {
      let inline = AttachmentRecord(
        inline: AttachmentFixture.blob(length), digest: subject.record.digest)
      let reader = try subject.fixture.files.open(inline)
      #expect(try reader.read(0..<5).count == min(5, length))
      #expect(attachmentDamage { _ = try reader.readAll() }?.reason.contains("digest") == true)
      #expect(attachmentDamage { try reader.verify() }?.reason.contains("digest") == true)
    }
  }

  @Test func `errors of the file system are passed on and not reported as damage`() throws {
    let subject = try Subject(isMapped: false)
    let reader = try subject.open()
    for verb in [SimulatedDisk.Verb.open, .size] {
      subject.disk.fail(verb, with: .inputOutput)
      #expect(systemCode { _ = try subject.open() } == .inputOutput)
    }
    subject.disk.fail(.read, with: .inputOutput)
    #expect(systemCode { _ = try reader.readAll() } == .inputOutput)
    var stream = reader.stream()
    subject.disk.fail(.read, with: .inputOutput)
    #expect(systemCode { _ = try stream.next() } == .inputOutput)
    #expect(try stream.collect() == subject.blob.array)
    // If there is no memory for a map, the file is read.
    let mapping = AttachmentFixture(on: subject.disk.fileSystem, isMapped: true)
    subject.disk.fail(.map, with: .outOfMemory)
    #expect(try mapping.files.open(subject.record).readAll() == subject.blob)
  }
}
