/// The first 4,096 bytes of a checkpoint. FILE_FORMAT.md §11
///
/// Each page after it is one frame of the same size, so that page `n` begins at byte `4096 × (n +
/// 1)`. The frame of the directory follows the last page.
package struct CheckpointHeader: Equatable, Sendable {
  package var preamble: FilePreamble
  package var number: UInt64
  package var pageCount: UInt32
  /// The size of the directory's frame, in bytes.
  package var directorySize: UInt64

  package init(
    preamble: FilePreamble, number: UInt64, pageCount: UInt32, directorySize: UInt64
  ) {
    self.preamble = preamble
    self.number = number
    self.pageCount = pageCount
    self.directorySize = directorySize
  }

  package static let size = 4096
  /// The size of a page's frame in bytes.
  package static let pageFrameSize = 4096
  /// The size of a page without its frame's header.
  package static let pageSize = pageFrameSize - FrameHeader.size

  /// Returns the size of a page before it is encrypted, which makes it larger.
  package static func pageSize(encryptedBy encryption: FileEncryption?) -> Int {
    encryption == nil ? pageSize : pageSize - FileEncryption.overhead
  }

  /// Returns the offset of page `number`.
  package static func offset(ofPage number: UInt32) -> Int {
    size + Int(number) * pageFrameSize
  }

  package var directoryOffset: Int { CheckpointHeader.offset(ofPage: pageCount) }
}

extension CheckpointHeader {
  package func encode() -> SharedBytes {
    var writer = ByteWriter(capacity: CheckpointHeader.size)
    preamble.encode(to: &writer)
    writer.append(number)
    writer.append(UInt64(pageCount))
    writer.append(directorySize)
    FilePreamble.finish(&writer, size: CheckpointHeader.size)
    return writer.sharedCopy
  }

  package static func decode(
    _ block: SharedBytes, path: String
  ) throws(LogError) -> CheckpointHeader {
    let preamble = try FilePreamble.decode(block: block, kind: .checkpoint, path: path)
    guard block.count == size, let pageCount = UInt32(exactly: block.load(UInt64.self, at: 72))
    else {
      throw .damaged(Damage(path: path, offset: 0, reason: "the header has a wrong size"))
    }
    return CheckpointHeader(
      preamble: preamble, number: block.load(UInt64.self, at: 64), pageCount: pageCount,
      directorySize: block.load(UInt64.self, at: 80))
  }
}
