extension SHA256 {
  /// The digests of many messages in one buffer, in the order of their ranges.
  package static func digests(
    of ranges: [Range<Int>], in bytes: borrowing ByteWriter
  ) -> [Digest] {
    unsafe bytes.withUnsafeBytes { buffer in
      unsafe digests(count: ranges.count) { index in
        let range = ranges[index]
        precondition(
          range.lowerBound >= 0 && range.upperBound <= buffer.count,
          "The range is outside the bytes")
        return unsafe UnsafeRawBufferPointer(rebasing: buffer[range])
      }
    }
  }

  /// The number of messages that are hashed side by side.
  private static let laneCount = 4

  /// Hashes messages of different lengths side by side.
  ///
  /// A lane that has finished its message takes the next one, so that lanes idle only at the very
  /// end.
  private static func digests(
    count: Int, message: (Int) -> UnsafeRawBufferPointer
  ) -> [Digest] {
    guard count >= laneCount else {
      return (0..<count).map { unsafe digest(of: message($0)) }
    }
    let lanesSize = laneCount * 2 * blockSize
    return unsafe withUnsafeTemporaryAllocation(
      byteCount: lanesSize + blockSize, alignment: 16
    ) { memory in
      // Two blocks for the end of each lane's message, and one of zeros, which idle lanes hash;
      // their result is unused. The memory is not empty.
      unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
      let start = unsafe memory.baseAddress.unsafelyUnwrapped
      let idleBlock = unsafe UnsafeRawPointer(start + lanesSize)
      func lane(_ lane: Int, takes index: Int) -> Lane {
        unsafe Lane(
          index: index,
          message: PaddedMessage(message(index), tail: start + lane * 2 * blockSize))
      }

      var digests = [Digest](repeating: Digest(words: (0, 0, 0, 0)), count: count)
      var state = State<SIMD4<UInt32>>()
      var lanes = (0..<laneCount).map { lane($0, takes: $0) }
      var next = laneCount
      var working = laneCount
      unsafe withConstants { constants in
        while working > 0 {
          let block0 = unsafe lanes[0].nextBlock(orIdle: idleBlock)
          let block1 = unsafe lanes[1].nextBlock(orIdle: idleBlock)
          let block2 = unsafe lanes[2].nextBlock(orIdle: idleBlock)
          let block3 = unsafe lanes[3].nextBlock(orIdle: idleBlock)
          unsafe state.add(block0, block1, block2, block3, constants)
          for index in 0..<laneCount where lanes[index].message.isDone && lanes[index].index >= 0 {
            digests[lanes[index].index] = Digest(state.words(ofLane: index))
            if next < count {
              lanes[index] = lane(index, takes: next)
              state.restart(lane: index)
              next += 1
            } else {
              lanes[index].index = -1
              working -= 1
            }
          }
        }
      }
      return digests
    }
  }

  private struct Lane {
    /// The index of the message that is hashed here, or -1 if there is none left.
    var index: Int
    var message: PaddedMessage

    mutating func nextBlock(orIdle idle: UnsafeRawPointer) -> UnsafeRawPointer {
      message.isDone ? unsafe idle : unsafe message.nextBlock()
    }
  }

  /// The blocks of a message, with the padding that the algorithm requires.
  ///
  /// The message and the 128 bytes at `tail` must stay in place while this is used.
  @safe
  struct PaddedMessage {
    private var next: UnsafeRawPointer
    private var wholeBlocks: Int
    private let tail: UnsafeRawPointer
    private var tailBlocks: Int

    init(_ message: UnsafeRawBufferPointer, tail: UnsafeMutableRawPointer) {
      wholeBlocks = message.count / blockSize
      let rest = message.count % blockSize
      tailBlocks = rest < blockSize - 8 ? 1 : 2
      let tailSize = tailBlocks * blockSize
      // `rest` (< 64) bytes, the end marker and the length fit in the one or two blocks at `tail`.
      unsafe tail.initializeMemory(as: UInt8.self, repeating: 0, count: tailSize)
      if let base = message.baseAddress {
        unsafe tail.copyMemory(from: base + wholeBlocks * blockSize, byteCount: rest)
      }
      unsafe tail.storeBytes(of: 0x80, toByteOffset: rest, as: UInt8.self)
      unsafe tail.storeBytes(
        of: (UInt64(message.count) &* 8).bigEndian, toByteOffset: tailSize - 8, as: UInt64.self)
      unsafe self.tail = UnsafeRawPointer(tail)
      unsafe next = self.tail
      if wholeBlocks > 0, let base = message.baseAddress { unsafe next = base }
    }

    var isDone: Bool { tailBlocks == 0 }

    /// Returns the next 64 bytes.
    ///
    /// At least one must be left.
    mutating func nextBlock() -> UnsafeRawPointer {
      let block = unsafe next
      if wholeBlocks > 0 {
        wholeBlocks -= 1
        unsafe next = wholeBlocks > 0 ? block + blockSize : tail
      } else {
        precondition(tailBlocks > 0, "The message has no more blocks")
        tailBlocks -= 1
        unsafe next = block + blockSize
      }
      return unsafe block
    }
  }
}
