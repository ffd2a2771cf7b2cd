import DivanLog

/// Reads the record of an attachment, and the file that it describes.
///
/// The first byte's lowest bit selects whether the record's digest is corrected. The second byte is
/// the number of bytes at the end that are the file. Then come the content of the record, and the
/// file.
enum FuzzAttachments {
  static func read(_ input: [UInt8]) throws {
    guard input.count >= 2 else { return }
    let file = SharedBytes(copying: Array(input.dropFirst(2).suffix(Int(input[1]))))
    var content = Array(input.dropFirst(2).dropLast(file.count))
    if input[0] & 1 == 1, content.count >= 33 {
      content.replaceSubrange(1..<33, with: SHA256.digest(of: file).bytes)
    }
    let record: AttachmentRecord
    do throws(ByteError) {
      record = try AttachmentRecord.decode(SharedBytes(copying: content))
    } catch {
      try expect((0...content.count).contains(error.offset), "an error outside of the record")
      return
    }
    var writer = ByteWriter()
    record.encode(to: &writer)
    try expect(writer.array == content, "an attachment's record is written differently")
    for isMapped in [true, false] {
      let files = try prepare(file, record, isMapped: isMapped)
      guard let reader = try undamaged({ () throws(LogError) in try files.open(record) }) else {
        continue
      }
      if case .inline(let body) = record.content {
        try compare(reader, with: body)
      } else {
        try compare(reader, with: file)
      }
    }
  }

  /// Returns a store with only this file, under the name that the record gives it.
  private static func prepare(
    _ file: SharedBytes, _ record: AttachmentRecord, isMapped: Bool
  ) throws -> AttachmentFiles {
    let fileSystem = MemoryFileSystem()
    let files = AttachmentFiles(
      StoreDirectory("/fuzz", on: fileSystem), AttachmentFiles.Settings(isMapped: isMapped))
    let path = files.path(of: record.digest)
    try fileSystem.makeDirectory("/fuzz")
    try fileSystem.makeDirectory("/fuzz/attachments")
    try fileSystem.makeDirectory(String(path.dropLast(65)))
    try fileSystem.open(path, .creating).write(file, at: 0)
    return files
  }

  /// Checks that reads return the stored bytes.
  ///
  /// A whole read must succeed if and only if the digest matches.
  private static func compare(_ reader: AttachmentReader, with body: SharedBytes) throws {
    try expect(reader.length == body.count, "an attachment of another length than its file")
    var isSound = true
    for lower in stride(from: 0, to: body.count, by: 61) {
      let range = lower..<min(lower + 61, body.count)
      if let part = try undamaged({ () throws(LogError) in try reader.read(range) }) {
        try expect(part.array == Array(body.array[range]), "a part of something else")
      } else {
        isSound = false
      }
    }
    isSound = isSound && SHA256.digest(of: body) == reader.record.digest
    let whole = try undamaged { () throws(LogError) in try reader.readAll() }
    try expect(whole == (isSound ? body : nil), "a whole that its parts are not")
    let verified: Void? = try undamaged { () throws(LogError) in try reader.verify() }
    try expect((verified != nil) == isSound, "a stream that differs from the whole")
  }

  /// Returns the result of a read, or nil if it was rejected as damaged.
  private static func undamaged<T>(_ body: () throws(LogError) -> T) throws -> T? {
    do throws(LogError) {
      return try body()
    } catch .damaged {
      return nil
    } catch {
      throw FuzzFinding("bytes fail in another way than by being damaged: \(error)")
    }
  }

  /// Valid records and files as seeds.
  static var seeds: [(name: String, bytes: [UInt8])] {
    [0, 1, 64, 65, 200, 255].flatMap { length -> [(name: String, bytes: [UInt8])] in
      let body = SharedBytes(copying: (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      let digest = SHA256.digest(of: body)
      var seeds: [(name: String, bytes: [UInt8])] = []
      var inline = ByteWriter()
      AttachmentRecord(inline: body, digest: digest).encode(to: &inline)
      seeds.append(("inline-\(length)", [0, 0] + inline.array))
      guard length > 0 else { return seeds }
      for exponent in [6, 7, 16] as [UInt8] {
        var filed = ByteWriter()
        filed.append(2 as UInt8)
        filed.append(digest)
        filed.appendVarint(length)
        filed.append(exponent)
        for start in stride(from: 0, to: length, by: 1 << Int(exponent)) {
          let rest = body.suffix(from: start)
          filed.append(CRC32C.checksum(rest.prefix(min(rest.count, 1 << Int(exponent)))))
        }
        seeds.append(
          ("file-\(length)-\(exponent)", [1, UInt8(length)] + filed.array + body.array))
      }
      return seeds
    }
  }
}
