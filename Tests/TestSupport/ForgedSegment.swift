package import DivanLog

/// A segment built frame by frame, with valid checksums, in ways that no writer would.
package struct ForgedSegment {
  package var header: SegmentHeader
  private var frames: [UInt8] = []
  private var chain: UInt32

  /// Creates a segment without frames.
  package init(
    numbers: ClosedRange<UInt64> = 1...1, fileID: UInt64 = 1, storeID: UInt64 = 1,
    generation: UInt32 = 0, after predecessor: LogEnd = LogEnd(offset: 0, commit: 0, chain: 0),
    compaction: SegmentHeader.Compaction? = nil
  ) {
    header = SegmentHeader(
      preamble: FilePreamble(
        kind: .segment, storeID: StoreID(high: storeID, low: storeID), salt: 1000 + fileID,
        createdAt: 0),
      fileID: fileID, numbers: numbers, generation: generation, predecessor: predecessor,
      lastSequence: 0, sequenceBound: 100, flushedSize: UInt64(SegmentHeader.size),
      compaction: compaction)
    chain = SegmentHeader.chain(of: header.encode())
  }

  /// The whole file, whose header claims that all of it was flushed.
  package var bytes: [UInt8] {
    var header = header
    header.flushedSize = UInt64(size)
    header.compaction?.fileSize = UInt64(size)
    return header.encode().array + frames
  }

  package var size: Int { SegmentHeader.size + frames.count }

  /// Returns the position after the last frame.
  package func end(commit: UInt64) -> LogEnd {
    LogEnd(offset: UInt64(size), commit: commit, chain: chain)
  }
}

extension ForgedSegment {
  /// Appends a frame; it follows the one before it, unless `breakingChain`.
  package mutating func appendFrame(
    _ kind: FrameHeader.Kind = .transaction, _ flags: FrameHeader.Flags = [.first, .last],
    commit: UInt64, breakingChain: Bool = false, payload: [UInt8]
  ) {
    var writer = ByteWriter()
    writer.appendZeros(FrameHeader.size)
    writer.append(payload)
    writer.pad(to: FrameHeader.alignment)
    var check = CRC32C()
    check.add(writer, in: FrameHeader.size..<writer.count)
    let frame = FrameHeader(
      kind: kind, flags: flags, payloadSize: payload.count, payloadChecksum: check.checksum,
      commit: commit, chain: breakingChain ? ~chain : chain)
    chain = frame.encode(into: &writer, at: 0, offset: size, salt: header.preamble.salt)
    frames += writer.array
  }

  /// Appends a whole transaction of one frame.
  package mutating func appendTransaction(
    commit: UInt64, _ records: [UInt8], lastSequence: UInt64 = 0, documentCount: UInt64 = 0,
    flushedThrough: UInt64 = 0
  ) {
    appendFrame(
      commit: commit,
      payload: records
        + ForgedSegment.trailer(
          lastSequence: lastSequence, documentCount: documentCount, flushedThrough: flushedThrough))
  }

  /// Returns the bytes of a commit's trailer.
  package static func trailer(
    frameCount: UInt32 = 1, lastSequence: UInt64 = 0, documentCount: UInt64 = 0,
    flushedThrough: UInt64 = 0
  ) -> [UInt8] {
    var writer = ByteWriter()
    CommitTrailer(
      frameCount: frameCount, recordCount: 0, lastSequence: lastSequence, sequenceBound: 100,
      flushedThrough: flushedThrough, time: 1, documentCount: documentCount
    ).encode(to: &writer)
    return writer.array
  }

  /// Returns the bytes of a record.
  package static func record(_ kind: UInt8, _ payload: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    _ = Record.append(kind: Record.Kind(rawValue: kind), to: &writer, encryptedBy: nil) {
      $0.append(payload)
    }
    return writer.array
  }

  /// Writes the file to a store's directory, which is created if it does not exist.
  package func write(to directory: StoreDirectory) throws {
    if try !directory.fileSystem.exists(directory.path) {
      try directory.fileSystem.makeDirectory(directory.path)
    }
    let path = directory.path(of: .segment(header.numbers))
    let file = try directory.fileSystem.open(path, .creating)
    try file.write(SharedBytes(copying: bytes), at: 0)
    try file.close()
  }
}

/// Returns a header block after a change, with its checksum corrected.
package func rechecksummed(_ block: SharedBytes, _ change: (inout [UInt8]) -> Void) -> SharedBytes {
  var bytes = block.array
  change(&bytes)
  let checksum = CRC32C.checksum(SharedBytes(copying: Array(bytes.dropLast(4))))
  for index in 0..<4 {
    bytes[bytes.count - 4 + index] = UInt8(truncatingIfNeeded: checksum >> UInt32(8 * index))
  }
  return SharedBytes(copying: bytes)
}

/// Overwrites eight bytes with a number, least significant byte first.
package func put(_ number: UInt64, in bytes: inout [UInt8], at offset: Int) {
  for index in 0..<8 {
    bytes[offset + index] = UInt8(truncatingIfNeeded: number >> UInt64(8 * index))
  }
}
