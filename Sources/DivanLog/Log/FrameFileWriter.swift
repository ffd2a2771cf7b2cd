/// Writes a file that counts once it has its header: chained frames, some at a time, and then that.
struct FrameFileWriter: ~Copyable {
  private let file: any OpenFile
  private let salt: UInt64
  private let commit: UInt64
  private var buffer = ByteWriter(capacity: bufferSize)
  /// Where the bytes in `buffer` belong.
  private var writtenSize: Int
  private var chain: UInt32

  /// So many bytes are written at once, or a frame more.
  private static let bufferSize = 1 << 18

  /// - Parameters:
  ///   - file: an empty file.
  ///   - preamble: what its header begins with, from which the chain begins.
  ///   - commit: what all frames say.
  ///   - headerSize: where the first frame begins.
  init(_ file: any OpenFile, preamble: FilePreamble, commit: UInt64, headerSize: Int) {
    self.file = file
    self.commit = commit
    salt = preamble.salt
    writtenSize = headerSize
    var encoded = ByteWriter()
    preamble.encode(to: &encoded)
    chain = CRC32C.checksum(encoded.sharedCopy)
  }

  /// The file's size in bytes so far.
  var size: Int { writtenSize + buffer.count }

  mutating func append(_ payload: Span<UInt8>, _ kind: FrameHeader.Kind) throws(LogError) {
    let start = buffer.count
    buffer.appendZeros(FrameHeader.size)
    buffer.append(payload)
    buffer.pad(to: FrameHeader.alignment)
    var check = CRC32C()
    check.add(buffer, in: start + FrameHeader.size..<buffer.count)
    let header = FrameHeader(
      kind: kind, flags: [], payloadSize: payload.count, payloadChecksum: check.checksum,
      commit: commit, chain: chain)
    chain = header.encode(into: &buffer, at: start, offset: writtenSize + start, salt: salt)
    if buffer.count >= FrameFileWriter.bufferSize { try writeOut() }
  }

  /// Writes what is left, and then the header, without which nobody believes the rest.
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
