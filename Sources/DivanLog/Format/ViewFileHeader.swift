/// The first 4,096 bytes of a view's file, with the version of its rows. FILE_FORMAT.md §19
package struct ViewFileHeader: Equatable, Sendable {
  package var preamble: FilePreamble
  package var origin: Origin
  /// The version of the order that the rows are in.
  package var collation: UInt64
  package var rowCount: UInt64
  /// The number of frames after this block, of which the first identifies the view.
  package var frameCount: UInt64
  package var fileSize: UInt64

  /// The version of a store that something was built from, so that later versions recognise it.
  package struct Origin: Equatable, Sendable {
    /// The last commit of that version, which was durable before the file got its name.
    package var commit: UInt64
    /// The highest sequence number of a document in that version.
    ///
    /// Numbers above it may have been lost in a crash, and may be assigned to other documents
    /// later.
    package var sequence: UInt64
    /// The last segment of the log at that version.
    package var segmentNumber: UInt64
    package var segmentSalt: UInt64

    package init(commit: UInt64, sequence: UInt64, segmentNumber: UInt64, segmentSalt: UInt64) {
      self.commit = commit
      self.sequence = sequence
      self.segmentNumber = segmentNumber
      self.segmentSalt = segmentSalt
    }
  }

  package init(
    preamble: FilePreamble, origin: Origin, collation: UInt64, rowCount: UInt64,
    frameCount: UInt64, fileSize: UInt64
  ) {
    self.preamble = preamble
    self.origin = origin
    self.collation = collation
    self.rowCount = rowCount
    self.frameCount = frameCount
    self.fileSize = fileSize
  }

  /// The header's size in bytes, and the offset of the first frame.
  package static let size = 4096
  /// The end of the last field; what follows is reserved.
  package static let usedSize = 128
}

extension ViewFileHeader {
  package func encode() -> SharedBytes {
    var writer = ByteWriter(capacity: ViewFileHeader.size)
    preamble.encode(to: &writer)
    writer.append(origin.commit)
    writer.append(origin.sequence)
    writer.append(origin.segmentNumber)
    writer.append(origin.segmentSalt)
    writer.append(collation)
    writer.append(rowCount)
    writer.append(frameCount)
    writer.append(fileSize)
    FilePreamble.finish(&writer, size: ViewFileHeader.size)
    return writer.sharedCopy
  }

  package static func decode(_ block: SharedBytes, path: String) throws(LogError) -> ViewFileHeader
  {
    let preamble = try FilePreamble.decode(block: block, kind: .view, path: path)
    guard block.count == size else {
      throw .damaged(Damage(path: path, offset: 0, reason: "the header has a wrong size"))
    }
    for offset in [64, 72, 80, 104, 112, 120]
    where block.load(UInt64.self, at: offset) > counterLimit {
      throw .damaged(
        Damage(path: path, offset: offset, reason: "a number exceeds the limit of counters"))
    }
    return ViewFileHeader(
      preamble: preamble,
      origin: Origin(
        commit: block.load(UInt64.self, at: 64), sequence: block.load(UInt64.self, at: 72),
        segmentNumber: block.load(UInt64.self, at: 80),
        segmentSalt: block.load(UInt64.self, at: 88)),
      collation: block.load(UInt64.self, at: 96), rowCount: block.load(UInt64.self, at: 104),
      frameCount: block.load(UInt64.self, at: 112), fileSize: block.load(UInt64.self, at: 120))
  }
}
