/// Reads a view's file from its beginning, frame by frame, and checks everything that it returns.
package struct ViewFileReader {
  package let path: String
  package let header: ViewFileHeader
  private let file: any OpenFile
  private let encryption: FileEncryption?
  private var offset = ViewFileHeader.size
  private var chain: UInt32
  private var frameCount: UInt64 = 0

  /// Opens a file, and checks its header and its size.
  package init(_ name: FileName, in directory: StoreDirectory) throws(LogError) {
    path = directory.path(of: name)
    let path = path
    file = try attempt { () throws(SystemError) in
      try directory.fileSystem.open(path, .readingOwn)
    }
    let file = file
    let block = try attempt { () throws(SystemError) in
      try file.read(ViewFileHeader.size, at: 0)
    }
    header = try ViewFileHeader.decode(block, path: path)
    encryption = try directory.encryption(header.preamble, path: path)
    chain = CRC32C.checksum(block.prefix(FilePreamble.size))
    let size = try attempt { () throws(SystemError) in try file.size() }
    guard UInt64(size) == header.fileSize else {
      throw .damaged(
        Damage(
          path: path, offset: size, reason: "the file's size is not the one that its header states")
      )
    }
  }

  /// Returns the payload of the next frame; nil after the last one.
  package mutating func next() throws(LogError) -> SharedBytes? {
    guard frameCount < header.frameCount else {
      guard UInt64(offset) == header.fileSize else {
        throw damage("there are bytes after the last frame")
      }
      return nil
    }
    let kind: FrameHeader.Kind = frameCount == 0 ? .directory : .page
    let bytes = try read(FrameHeader.size, at: offset)
    guard let frame = FrameHeader.decode(bytes, offset: offset, salt: header.preamble.salt),
      frame.kind == kind, frame.flags.isEmpty, frame.chain == chain,
      frame.commit == header.origin.commit,
      // The whole frame is within the file, and nothing beyond is read.
      UInt64(offset + frame.frameSize) <= header.fileSize
    else { throw damage("there is no frame of a view's file here") }
    let padded = try read(frame.paddedSize, at: offset + FrameHeader.size)
    let payload: SharedBytes
    do throws(ByteError) {
      // The file may have become shorter since it was opened.
      payload = try frame.payload(
        in: padded, at: offset, salt: header.preamble.salt, encryptedBy: encryption)
    } catch {
      throw damage(error.reason)
    }
    chain = FrameHeader.chain(after: bytes)
    offset += frame.frameSize
    frameCount += 1
    return payload
  }

  private func read(_ count: Int, at offset: Int) throws(LogError) -> SharedBytes {
    try attempt { () throws(SystemError) in try file.read(count, at: offset) }
  }

  /// Returns an error about the frame that is read next, or was just read.
  package func damage(_ reason: String) -> LogError {
    .damaged(Damage(path: path, offset: offset, reason: reason))
  }
}
