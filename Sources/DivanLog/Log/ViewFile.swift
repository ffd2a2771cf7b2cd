/// Reads a view's file from its beginning, frame by frame, and believes nothing that is not checked.
package struct ViewFileReader {
  package let path: String
  package let header: ViewFileHeader
  private let file: any OpenFile
  private var offset = ViewFileHeader.size
  private var chain: UInt32
  private var frameCount: UInt64 = 0

  /// Opens a file, and checks its header and its size.
  package init(_ name: FileName, in directory: StoreDirectory) throws(LogError) {
    path = directory.path(of: name)
    let path = path
    file = try attempt { () throws(SystemError) in
      try directory.fileSystem.open(path, .reading)
    }
    let file = file
    let block = try attempt { () throws(SystemError) in
      try file.read(ViewFileHeader.size, at: 0)
    }
    header = try ViewFileHeader.decode(block, path: path)
    chain = CRC32C.checksum(block.prefix(FilePreamble.size))
    let size = try attempt { () throws(SystemError) in try file.size() }
    guard UInt64(size) == header.fileSize else {
      throw .damaged(Damage(path: path, offset: size, reason: "the file has another size"))
    }
  }

  /// Where the next frame begins.
  package var position: Int { offset }

  /// The payload of the next frame; nil after the last one.
  package mutating func next() throws(LogError) -> SharedBytes? {
    guard frameCount < header.frameCount else {
      guard UInt64(offset) == header.fileSize else {
        throw damage("bytes behind the last frame")
      }
      return nil
    }
    let kind: FrameHeader.Kind = frameCount == 0 ? .directory : .page
    let bytes = try read(FrameHeader.size, at: offset)
    guard let frame = FrameHeader.decode(bytes, offset: offset, salt: header.preamble.salt),
      frame.kind == kind, frame.flags.isEmpty, frame.chain == chain,
      frame.commit == header.origin.commit,
      // So much is there, and no more is asked for.
      UInt64(offset + frame.frameSize) <= header.fileSize
    else { throw damage("no frame of a view's file") }
    let padded = try read(frame.paddedSize, at: offset + FrameHeader.size)
    guard padded.count == frame.paddedSize else { throw damage("the file ends too early") }
    guard CRC32C.checksum(padded) == frame.payloadChecksum else {
      throw damage("a frame whose payload does not match its checksum")
    }
    chain = FrameHeader.chain(after: bytes)
    offset += frame.frameSize
    frameCount += 1
    return padded.prefix(frame.payloadSize)
  }

  private func read(_ count: Int, at offset: Int) throws(LogError) -> SharedBytes {
    try attempt { () throws(SystemError) in try file.read(count, at: offset) }
  }

  /// What is wrong with the frame that is to be read, or was just read.
  package func damage(_ reason: String) -> LogError {
    .damaged(Damage(path: path, offset: offset, reason: reason))
  }
}

/// Writes a view's file: which view it is, its rows, and then the header.
package struct ViewFileWriter: ~Copyable {
  private let file: any OpenFile
  private let preamble: FilePreamble
  private let origin: ViewFileHeader.Origin
  private var writer = ByteWriter(capacity: 1 << 18)
  /// Where the bytes in `writer` belong.
  private var writtenSize = ViewFileHeader.size
  private var chain: UInt32
  private var frameCount: UInt64 = 0

  package init(
    _ file: any OpenFile, preamble: FilePreamble, origin: ViewFileHeader.Origin
  ) {
    self.file = file
    self.preamble = preamble
    self.origin = origin
    var encoded = ByteWriter()
    preamble.encode(to: &encoded)
    chain = CRC32C.checksum(encoded.sharedCopy)
  }

  /// Appends a frame: the first says which view it is, and the others have rows.
  package mutating func append(_ payload: borrowing ByteWriter) throws(LogError) {
    chain = payload.withSpan { (payload: Span<UInt8>) in
      writer.appendFrame(
        payload, frameCount == 0 ? .directory : .page, commit: origin.commit, chain: chain,
        at: writtenSize + writer.count, salt: preamble.salt)
    }
    frameCount += 1
    if writer.count >= 1 << 18 { try writeOut() }
  }

  /// Writes what is left, and the header.
  package mutating func finish(collation: UInt64, rowCount: UInt64) throws(LogError) {
    try writeOut()
    let header = ViewFileHeader(
      preamble: preamble, origin: origin, collation: collation, rowCount: rowCount,
      frameCount: frameCount, fileSize: UInt64(writtenSize))
    let block = header.encode()
    let file = file
    try attempt { () throws(SystemError) in try file.write(block, at: 0) }
  }

  private mutating func writeOut() throws(LogError) {
    do throws(SystemError) {
      try file.write(writer, at: writtenSize)
    } catch {
      throw .system(error)
    }
    writtenSize += writer.count
    writer.removeAll()
  }
}
