/// The log's record of an attachment: the blob itself if it is small, or how to check its file.
///
/// ```
/// form u8            1 inline · 2 in a file
/// digest 32 bytes    SHA-256 of the blob
/// length varint      of the blob, in bytes
/// inline:            the blob
/// in a file:         chunk size u8, as a power of two · checksums u32 × number of chunks
/// ```
///
/// The content of a record of kind ``Record/Kind/attachment``. FILE_FORMAT.md §18
package struct AttachmentRecord: Equatable, Sendable {
  package let digest: SHA256.Digest
  /// The size of the blob, in bytes.
  package let length: Int
  package let content: Content

  package enum Content: Equatable, Sendable {
    /// The blob itself.
    case inline(SharedBytes)
    /// The blob is in the file that its digest names.
    case file(AttachmentChunks)
  }

  /// Creates the record of a blob that is stored inline; `digest` is the blob's.
  package init(inline blob: SharedBytes, digest: SHA256.Digest) {
    self.init(digest: digest, length: blob.count, content: .inline(blob))
  }

  init(digest: SHA256.Digest, length: Int, content: Content) {
    self.digest = digest
    self.length = length
    self.content = content
  }

  /// The longest blob, in bytes: 1 TiB.
  package static let lengthLimit = AttachmentChunks.Plan.standard.lengthLimit
  /// Blobs up to this many bytes are written inline.
  ///
  /// A file costs flushes of its own and of directories, which bytes in the log do not need. A
  /// compaction copies the log, but not files. Readers accept either form at any length.
  package static let inlineSizeLimit = 64 << 10
}

extension AttachmentRecord {
  private enum Form {
    static let inline: UInt8 = 1
    static let file: UInt8 = 2
  }

  package func encode(to writer: inout ByteWriter) {
    switch content {
    case .inline: writer.append(Form.inline)
    case .file: writer.append(Form.file)
    }
    writer.append(digest)
    writer.appendVarint(length)
    switch content {
    case .inline(let blob): writer.append(blob)
    case .file(let chunks): chunks.encode(to: &writer)
    }
  }

  /// Decodes the content of a record.
  ///
  /// The blob and the checksums share its memory. An inline blob is covered by the record's
  /// checksum, and is not compared with its digest here.
  package static func decode(_ payload: SharedBytes) throws(ByteError) -> AttachmentRecord {
    var reader = ByteReader(payload)
    let form = try reader.read(UInt8.self)
    guard form == Form.inline || form == Form.file else {
      throw ByteError(offset: 0, reason: "the attachment record has an unknown form")
    }
    let digest = try reader.readDigest()
    let start = reader.offset
    let length = try reader.readCount(limit: lengthLimit)
    let content: Content
    if form == Form.inline {
      guard reader.remaining == length else {
        throw ByteError(
          offset: start, reason: "the attachment's length is not the one that its record states")
      }
      content = .inline(reader.readRest())
    } else {
      guard length > 0 else {
        throw ByteError(
          offset: start, reason: "the attachment record names a file for an empty blob")
      }
      content = .file(try AttachmentChunks.decode(&reader, length: length))
    }
    return AttachmentRecord(digest: digest, length: length, content: content)
  }
}

extension AttachmentRecord {
  /// Returns the size of a damaged record that begins `bytes`, if it is an inline attachment.
  ///
  /// The size is stored twice, as the record's and as the content's. The content must not be
  /// searched for records: it may be a file of another store, with records of that store.
  ///
  /// - Parameters:
  ///   - bytes: the record and the bytes after it.
  ///   - isRecord: whether a whole record begins at this offset in `bytes`.
  /// - Returns: its size in bytes; nil if it cannot be determined.
  package static func size(
    ofDamaged bytes: SharedBytes, isRecord: (Int) -> Bool
  ) -> Int? {
    var reader = ByteReader(bytes)
    guard let size = try? reader.readCount(limit: Record.sizeLimit) else { return nil }
    let claimed = reader.offset + size
    guard (try? reader.readBytes(4)) != nil,
      (try? reader.read(UInt8.self)) == Record.Kind.attachment.rawValue,
      (try? reader.read(UInt8.self)) == Form.inline, (try? reader.readDigest()) != nil
    else { return nil }
    let length = try? reader.readCount(limit: Record.sizeLimit)
    let byLength = length.map { reader.offset + $0 }
    if claimed == byLength, claimed <= bytes.count { return claimed }
    // One of the two is damaged. The next record begins where the other one ends.
    return [byLength, claimed].compactMap { $0 }.first { end in
      end == bytes.count || end < bytes.count && isRecord(end)
    }
  }
}
