import DivanLog
import DivanTesting
import Testing

/// Tests of attachment records in the log, and of the checksums of chunks.
@Suite struct AttachmentRecordTests {
  private func encoded(_ record: AttachmentRecord) -> [UInt8] {
    var writer = ByteWriter()
    record.encode(to: &writer)
    return writer.array
  }

  private func decode(_ bytes: [UInt8]) throws(ByteError) -> AttachmentRecord {
    try AttachmentRecord.decode(SharedBytes(copying: bytes))
  }

  private func refusal(_ bytes: [UInt8]) -> ByteError? {
    do throws(ByteError) {
      _ = try decode(bytes)
      return nil
    } catch {
      return error
    }
  }

  /// Returns a record's form, digest and length, followed by the given bytes.
  private func record(
    form: UInt8, length: UInt64, _ rest: [UInt8]
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(form)
    writer.append(SHA256.digest(of: .empty))
    writer.appendVarint(length)
    writer.append(rest)
    return writer.array
  }

  @Test(arguments: [0, 1, 63, 64, 65, 200, 256, 257, 511, 512, 513, 1024, 1025, 5000])
  func `an attachment record is decoded as it was encoded`(length: Int) throws {
    let blob = AttachmentFixture.blob(length)
    let digest = SHA256.digest(of: blob)
    let inline = AttachmentRecord(inline: blob, digest: digest)
    #expect(try decode(encoded(inline)) == inline)
    #expect(inline.length == length)
    guard length > 0 else { return }
    let files = AttachmentFixture(inlineSizeLimit: 0, chunkCountLimit: 4).files
    let filed = try files.store(blob).record
    #expect(try decode(encoded(filed)) == filed)
    #expect(filed.digest == digest)
    #expect(filed.length == length)
  }

  @Test func `truncated records, and changed forms or lengths, are detected`() throws {
    let blob = AttachmentFixture.blob(300)
    let inline = encoded(AttachmentRecord(inline: blob, digest: SHA256.digest(of: blob)))
    let filed = encoded(try AttachmentFixture(inlineSizeLimit: 0).files.store(blob).record)
    for bytes in [inline, filed] {
      for size in 0..<bytes.count { #expect(refusal(Array(bytes[..<size])) != nil, "\(size)") }
      #expect(refusal(bytes + [0]) != nil)
      // The form, and both bytes of the length.
      for offset in [0, 33, 34] {
        for mask in 1...255 as ClosedRange<UInt8> {
          var changed = bytes
          changed[offset] ^= mask
          if offset == 0, changed[0] == 1 || changed[0] == 2 { continue }
          // A few other lengths have as many chunks; the length of the file reveals the error.
          if let record = try? decode(changed) {
            #expect(bytes == filed && (record.length + 63) / 64 == 5 && record.length != 300)
          }
        }
      }
    }
  }

  @Test func `impossible numbers are refused with their offset`() {
    #expect(refusal(record(form: 0, length: 0, []))?.offset == 0)
    #expect(refusal(record(form: 3, length: 0, []))?.offset == 0)
    #expect(refusal(record(form: 1, length: 2, [1]))?.offset == 33)
    #expect(refusal(record(form: 1, length: .max, [1]))?.offset == 33)
    #expect(refusal(record(form: 2, length: 0, [16]))?.offset == 33)
    #expect(refusal(record(form: 2, length: 1 << 41, [24]))?.offset == 33)
    let checksum: [UInt8] = [1, 2, 3, 4]
    #expect(refusal(record(form: 2, length: 1, [5] + checksum))?.offset == 34)
    #expect(refusal(record(form: 2, length: 1, [25] + checksum))?.offset == 34)
    #expect(refusal(record(form: 2, length: 1, [255] + checksum))?.offset == 34)
    #expect(refusal(record(form: 2, length: 1, [6]))?.offset == 34)
    #expect(refusal(record(form: 2, length: 1, [6] + checksum)) == nil)
    #expect(refusal(record(form: 2, length: 65, [6] + checksum))?.offset == 34)
    // The largest allowed number of chunks, and one more.
    let most = [UInt8](repeating: 7, count: 4 << 16)
    #expect(refusal(record(form: 2, length: 1 << 40, [24] + most)) == nil)
    #expect(refusal(record(form: 2, length: 1 << 22, [6] + most)) == nil)
    #expect(refusal(record(form: 2, length: 1 << 22 + 1, [6] + most + checksum)) != nil)
  }

  @Test func `random bytes are refused, or decode to a record that encodes to the same bytes`() {
    var random = SeededGenerator(seed: 20)
    for _ in 0..<20_000 {
      var bytes = record(
        form: .random(in: 1...2, using: &random), length: .random(in: 0...70, using: &random),
        (0..<Int.random(in: 0...12, using: &random)).map { _ in .random(in: 0...9, using: &random) }
      )
      bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
      if let record = try? decode(bytes) { #expect(encoded(record) == bytes) }
    }
  }

  // MARK: Chunks

  @Test func `checksums of adjacent chunks are combined without their bytes`() {
    let bytes = AttachmentFixture.blob(300)
    for (first, second) in [(0, 0), (0, 9), (9, 0), (1, 1), (64, 64), (100, 200), (37, 255)] {
      let joint = CRC32C.Joint(secondCount: second)
      let whole = bytes.prefix(first + second)
      #expect(
        joint.joined(
          CRC32C.checksum(whole.prefix(first)), CRC32C.checksum(whole.suffix(from: first)))
          == CRC32C.checksum(whole))
    }
  }

  @Test(arguments: [1, 7, 64, 1000])
  func `chunks grow with the blob, and their number stays bounded`(pieceSize: Int) throws {
    for length in [1, 64, 65, 255, 256, 257, 320, 321, 512, 513, 1024, 1025, 3000, 4096, 4097] {
      let files = AttachmentFixture(inlineSizeLimit: 0, chunkCountLimit: 4).files
      let blob = AttachmentFixture.blob(length)
      let writer = files.makeWriter()
      for start in stride(from: 0, to: length, by: pieceSize) {
        try writer.append(blob.suffix(from: start).prefix(min(pieceSize, length - start)))
      }
      guard case .file(let chunks) = try writer.finish().record.content else {
        Issue.record("no file")
        continue
      }
      var size = 64
      while length > 4 * size { size *= 2 }
      #expect(chunks.size == size, "\(length)")
      let expected = stride(from: 0, to: length, by: size).map {
        CRC32C.checksum(blob.suffix(from: $0).prefix(min(size, length - $0)))
      }
      #expect((0..<chunks.count).map { chunks[$0] } == expected, "\(length)")
    }
  }

  // MARK: Digests and names

  @Test func `a digest is encoded as its bytes, which sort like digests`() throws {
    var digests = (0..<50).map { SHA256.digest(of: AttachmentFixture.blob($0)) }
    for digest in digests {
      var writer = ByteWriter()
      writer.append(digest)
      #expect(writer.array == digest.bytes)
      var reader = ByteReader(writer.sharedCopy)
      #expect(try reader.readDigest() == digest)
      #expect(throws: ByteError.self) { try reader.readDigest() }
    }
    digests.sort()
    for (a, b) in zip(digests, digests.dropFirst()) {
      #expect(a.bytes.lexicographicallyPrecedes(b.bytes))
    }
    #expect(Set(digests).count == 50)
  }

  @Test func `an attachment's file is named by its digest, in a folder named by the first byte`()
    throws
  {
    let name = AttachmentName(SHA256.digest(of: .empty))
    let file = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    #expect(name.description == "attachments/e3/\(file)")
    #expect(AttachmentName(folder: "e3", file: file) == name)
    for (folder, file) in [
      ("e4", file), ("e", file), ("e3b", file), ("", file), ("E3", file.uppercased()),
      ("e3", String(file.dropLast())), ("e3", file + "0"), ("e3", ""),
    ] {
      #expect(AttachmentName(folder: folder, file: file) == nil, "\(folder)/\(file)")
    }
    #expect(["00", "3f", "ff"].allSatisfy(AttachmentName.isFolder))
    #expect(!["", "3", "3F", "3g", "3f9", "é"].contains(where: AttachmentName.isFolder))
  }
}
