/// Writes a view's file: the identity of the view, its rows, and then the header.
package struct ViewFileWriter: ~Copyable {
  private let preamble: FilePreamble
  private let origin: ViewFileHeader.Origin
  private var frames: FrameFileWriter
  private var frameCount: UInt64 = 0

  package init(
    _ file: any OpenFile, preamble: FilePreamble, origin: ViewFileHeader.Origin,
    encryptedBy encryption: FileEncryption? = nil
  ) {
    self.preamble = preamble
    self.origin = origin
    frames = FrameFileWriter(
      file, preamble: preamble, commit: origin.commit, headerSize: ViewFileHeader.size,
      encryptedBy: encryption)
  }

  /// Appends a frame: the first identifies the view, and the others contain rows.
  package mutating func append(_ payload: borrowing ByteWriter) throws(LogError) {
    let kind: FrameHeader.Kind = frameCount == 0 ? .directory : .page
    try payload.withSpan { (payload: Span<UInt8>) throws(LogError) in
      try frames.append(payload, kind)
    }
    frameCount += 1
  }

  /// Writes the remaining frames, and the header.
  package mutating func finish(collation: UInt64, rowCount: UInt64) throws(LogError) {
    let header = ViewFileHeader(
      preamble: preamble, origin: origin, collation: collation, rowCount: rowCount,
      frameCount: frameCount, fileSize: UInt64(frames.size))
    try frames.finish(header.encode())
  }
}
