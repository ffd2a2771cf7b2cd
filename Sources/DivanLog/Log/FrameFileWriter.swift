/// Writes a file of chained frames, and at the end the header that makes it valid.
struct FrameFileWriter: ~Copyable {
  private let file: any OpenFile
  private let salt: UInt64
  private let commit: UInt64
  private let encryption: FileEncryption?
  private var buffer = ByteWriter(capacity: bufferSize)
  /// The file offset of the bytes in `buffer`.
  private var writtenSize: Int
  private var chain: UInt32

  /// The number of bytes after which the buffer is written; a frame may exceed it.
  private static let bufferSize = 1 << 18

  /// - Parameters:
  ///   - file: an empty file.
  ///   - preamble: the start of its header, from which the chain begins.
  ///   - commit: the commit of all frames.
  ///   - headerSize: the offset of the first frame.
  ///   - encryption: the encryption of the payloads, if the file is encrypted.
  init(
    _ file: any OpenFile, preamble: FilePreamble, commit: UInt64, headerSize: Int,
    encryptedBy encryption: FileEncryption?
  ) {
    self.file = file
    self.encryption = encryption
    self.commit = commit
    salt = preamble.salt
    writtenSize = headerSize
    var encoded = ByteWriter()
    preamble.encode(to: &encoded)
    chain = CRC32C.checksum(encoded.sharedCopy)
  }

  /// The file's size in bytes so far.
  var size: Int { writtenSize + buffer.count }

  /// Appends a frame.
  ///
  /// Every payload of a checkpoint or of a view's file that is written passes here.
  mutating func append(_ payload: Span<UInt8>, _ kind: FrameHeader.Kind) throws(LogError) {
    let start = buffer.count
    buffer.appendZeros(FrameHeader.size)
    buffer.append(payload)
    if let encryption {
      encryption.seal(
        &buffer, from: start + FrameHeader.size,
        as: .frame(kind: kind.rawValue, offset: writtenSize + start, salt: salt))
    }
    let payloadSize = buffer.count - start - FrameHeader.size
    buffer.pad(to: FrameHeader.alignment)
    var check = CRC32C()
    check.add(buffer, in: start + FrameHeader.size..<buffer.count)
    let header = FrameHeader(
      kind: kind, flags: [], payloadSize: payloadSize, payloadChecksum: check.checksum,
      commit: commit, chain: chain)
    chain = header.encode(into: &buffer, at: start, offset: writtenSize + start, salt: salt)
    if buffer.count >= FrameFileWriter.bufferSize { try writeOut() }
  }

  /// Writes the remaining frames, and then the header, without which the rest is not trusted.
  mutating func finish(_ header: SharedBytes) throws(LogError) {
    try writeOut()
    let file = file
    try attempt { () throws(SystemError) in try file.write(header, at: 0) }
  }

  private mutating func writeOut() throws(LogError) {
    guard buffer.count > 0 else { return }
    do throws(SystemError) {
      try file.write(buffer, at: writtenSize)
    } catch {
      throw .system(error)
    }
    writtenSize += buffer.count
    buffer.removeAll()
  }
}
