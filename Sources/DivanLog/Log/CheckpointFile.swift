/// A checkpoint that is open for reading: pages, and a directory that describes them.
package final class CheckpointFile: Sendable {
  package let path: String
  package let header: CheckpointHeader
  package let file: any OpenFile
  /// The whole file as memory; empty if the file is not mapped.
  package let mapped: SharedBytes
  /// The encryption of the pages; nil if the store is not encrypted.
  private let encryption: FileEncryption?

  private init(
    path: String, header: CheckpointHeader, file: any OpenFile, mapped: SharedBytes,
    encryption: FileEncryption?
  ) {
    self.path = path
    self.header = header
    self.file = file
    self.mapped = mapped
    self.encryption = encryption
  }

  /// Opens a checkpoint and checks its header and its size.
  package static func open(
    _ number: UInt64, in directory: StoreDirectory, isMapped: Bool
  ) throws(LogError) -> CheckpointFile {
    let path = directory.path(of: .checkpoint(number))
    let file = try attempt { () throws(SystemError) in
      try directory.fileSystem.open(path, .readingOwn)
    }
    let block = try attempt { () throws(SystemError) in
      try file.read(CheckpointHeader.size, at: 0)
    }
    let header = try CheckpointHeader.decode(block, path: path)
    let size = try attempt { () throws(SystemError) in try file.size() }
    guard header.number == number,
      header.directorySize <= UInt64(max(0, size - header.directoryOffset))
    else {
      throw .damaged(
        Damage(path: path, offset: 0, reason: "the file is shorter than its header states"))
    }
    // Sealed pages are decrypted to memory, so a map would be of no use.
    let encryption = try directory.encryption(header.preamble, path: path)
    let mapped =
      isMapped && encryption == nil
      ? try attempt { () throws(SystemError) in try file.map(size) } : SharedBytes.empty
    return CheckpointFile(
      path: path, header: header, file: file, mapped: mapped, encryption: encryption)
  }
}

extension CheckpointFile {
  /// The size of a page without its frame's header, and as it was before it was sealed, in bytes.
  package var pageSize: Int { CheckpointHeader.pageSize(encryptedBy: encryption) }

  /// Returns the bytes of a page, after its frame was checked.
  package func page(_ number: UInt32) throws(LogError) -> SharedBytes {
    let offset = CheckpointHeader.offset(ofPage: number)
    guard number < header.pageCount else {
      throw .damaged(
        Damage(path: path, offset: offset, reason: "the checkpoint has no page \(number)"))
    }
    let page = try payload(at: offset, size: CheckpointHeader.pageFrameSize, kind: .page)
    guard page.count == pageSize else {
      throw .damaged(Damage(path: path, offset: offset, reason: "the page is not full"))
    }
    return page
  }

  /// Returns the bytes of the directory, after its frame was checked.
  package func directory() throws(LogError) -> SharedBytes {
    try payload(
      at: header.directoryOffset, size: Int(clamping: header.directorySize), kind: .directory)
  }

  private func payload(
    at offset: Int, size: Int, kind: FrameHeader.Kind
  ) throws(LogError) -> SharedBytes {
    let frame: SharedBytes
    if let slice = mapped.slice(offset, size) {
      frame = slice
    } else {
      frame = try attempt { () throws(SystemError) in try file.read(size, at: offset) }
    }
    guard frame.count == size,
      let frameHeader = FrameHeader.decode(frame, offset: offset, salt: header.preamble.salt),
      frameHeader.kind == kind, frameHeader.frameSize == size
    else {
      throw .damaged(
        Damage(path: path, offset: offset, reason: "there is no frame of a checkpoint here"))
    }
    do throws(ByteError) {
      return try frameHeader.payload(
        in: frame.suffix(from: FrameHeader.size), at: offset, salt: header.preamble.salt,
        encryptedBy: encryption)
    } catch {
      throw .damaged(Damage(path: path, offset: offset, size: size, reason: error.reason))
    }
  }
}

/// Writes a checkpoint's pages, then its directory.
package struct CheckpointFileWriter: ~Copyable {
  private let preamble: FilePreamble
  private var frames: FrameFileWriter
  /// The size of each page in bytes.
  package let pageSize: Int
  package private(set) var pageCount: UInt32 = 0

  package init(
    _ file: any OpenFile, preamble: FilePreamble, commit: UInt64,
    encryptedBy encryption: FileEncryption? = nil
  ) {
    self.preamble = preamble
    pageSize = CheckpointHeader.pageSize(encryptedBy: encryption)
    frames = FrameFileWriter(
      file, preamble: preamble, commit: commit, headerSize: CheckpointHeader.size,
      encryptedBy: encryption)
  }

  /// Writes a page of ``CheckpointHeader/pageSize(encryptedBy:)`` bytes and returns its number.
  package mutating func append(page: Span<UInt8>) throws(LogError) -> UInt32 {
    precondition(page.count == pageSize, "The page has a wrong size")
    try frames.append(page, .page)
    defer { pageCount += 1 }
    return pageCount
  }

  /// Writes the directory and the header, and returns the header.
  package mutating func finish(
    number: UInt64, directory: borrowing ByteWriter
  ) throws(LogError) -> CheckpointHeader {
    try directory.withSpan { (bytes: Span<UInt8>) throws(LogError) in
      try frames.append(bytes, .directory)
    }
    let header = CheckpointHeader(
      preamble: preamble, number: number, pageCount: pageCount,
      directorySize: UInt64(frames.size - CheckpointHeader.offset(ofPage: pageCount)))
    try frames.finish(header.encode())
    return header
  }
}
