/// The checksums of an attachment in a file of its own, one for each chunk.
///
/// With them, a part can be checked without the rest. All chunks have the same size, a power of
/// two, except the last one, which ends with the attachment. FILE_FORMAT.md §18
package struct AttachmentChunks: Equatable, Sendable {
  /// The size of a chunk, in bytes.
  package let size: Int
  /// The checksums, one after the other as in the record.
  private let checksums: SharedBytes

  /// No attachment has more chunks, which bounds its record to some 256 KiB.
  package static let countLimit = 1 << 16
  /// The exponents of the allowed chunk sizes, which are powers of two.
  ///
  /// A reader has at least one chunk in memory.
  package static let sizeExponents: ClosedRange<UInt8> = 6...24
}

extension AttachmentChunks {
  /// The number of chunks.
  package var count: Int { checksums.count / 4 }

  /// The CRC-32C of a chunk.
  package subscript(index: Int) -> UInt32 { checksums.load(UInt32.self, at: 4 * index) }

  func encode(to writer: inout ByteWriter) {
    writer.append(UInt8(size.trailingZeroBitCount))
    writer.append(checksums)
  }

  /// Reads the chunks of a blob of `length` bytes, at least one, to the end of the record.
  static func decode(_ reader: inout ByteReader, length: Int) throws(ByteError) -> AttachmentChunks
  {
    let start = reader.offset
    let exponent = try reader.read(UInt8.self)
    guard sizeExponents.contains(exponent) else {
      throw ByteError(offset: start, reason: "the chunk size is not a valid power of two")
    }
    let count = (length - 1) >> Int(exponent) + 1
    guard count <= countLimit, reader.remaining == 4 * count else {
      throw ByteError(offset: start, reason: "the record does not have one checksum for each chunk")
    }
    return AttachmentChunks(size: 1 << Int(exponent), checksums: reader.readRest())
  }
}

extension AttachmentChunks {
  /// The rule for the size of chunks: the smallest that keeps their number within a limit.
  package struct Plan: Equatable, Sendable {
    /// The size of the first chunks.
    package let smallestSize: Int
    /// The largest size of a chunk.
    package let largestSize: Int
    /// Two and two chunks are joined when there would be more than this number, which is even.
    package let countLimit: Int

    package init(smallestSize: Int, largestSize: Int, countLimit: Int) {
      precondition(
        [smallestSize, largestSize].allSatisfy {
          $0.nonzeroBitCount == 1
            && AttachmentChunks.sizeExponents.contains(UInt8($0.trailingZeroBitCount))
        }, "The chunk size is not a valid power of two")
      precondition(
        countLimit > 1 && countLimit % 2 == 0 && countLimit <= AttachmentChunks.countLimit,
        "The limit of chunks is not even, or out of range")
      self.smallestSize = smallestSize
      self.largestSize = largestSize
      self.countLimit = countLimit
    }

    /// Chunks of 64 KiB up to 4 GiB, and then of 128 KiB, 256 KiB … 16 MiB.
    ///
    /// Reading a byte costs a chunk; a checksum for every 64 KiB costs practically nothing.
    package static let standard = Plan(
      smallestSize: 1 << 16, largestSize: 1 << Int(AttachmentChunks.sizeExponents.upperBound),
      countLimit: AttachmentChunks.countLimit)

    /// The longest attachment, in bytes.
    package var lengthLimit: Int {
      // On 32-bit machines no file is as long as this could be.
      Int(clamping: UInt64(countLimit) * UInt64(largestSize))
    }
  }

  /// Computes the checksums of bytes that come in pieces and whose number is known only at the end.
  ///
  /// Takes four bytes of memory for each chunk of the plan.
  struct Maker {
    private let plan: Plan
    private(set) var size: Int
    private var checksums: [UInt32] = []
    /// The current chunk, and the number of its bytes so far.
    private var check = CRC32C()
    private var pendingCount = 0

    init(_ plan: Plan) {
      self.plan = plan
      size = plan.smallestSize
    }
  }
}

extension AttachmentChunks.Maker {
  /// Adds bytes; their total must not exceed ``AttachmentChunks/Plan/lengthLimit``.
  mutating func add(_ bytes: Span<UInt8>) {
    var rest = bytes
    while !rest.isEmpty {
      if pendingCount == size { endChunk() }
      let count = min(rest.count, size - pendingCount)
      check.add(rest.extracting(first: count))
      pendingCount += count
      rest = rest.extracting(droppingFirst: count)
    }
  }

  private mutating func endChunk() {
    checksums.append(check.checksum)
    check = CRC32C()
    pendingCount = 0
    // All chunks are whole and their number is even: two and two are joined.
    if checksums.count == plan.countLimit {
      let joint = CRC32C.Joint(secondCount: size)
      checksums = stride(from: 0, to: checksums.count, by: 2).map {
        joint.joined(checksums[$0], checksums[$0 + 1])
      }
      size *= 2
    }
  }

  /// Returns the chunks of the added bytes.
  consuming func finish() -> AttachmentChunks {
    var writer = ByteWriter(capacity: 4 * (checksums.count + 1))
    for checksum in checksums { writer.append(checksum) }
    if pendingCount > 0 { writer.append(check.checksum) }
    return AttachmentChunks(size: size, checksums: writer.sharedCopy)
  }
}
