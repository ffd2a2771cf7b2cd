/// The secure hash algorithm with digests of 256 bits (FIPS 180-4).
///
/// Use a value of this type for one message that arrives in pieces, ``digest(of:)`` for one in
/// memory, and ``digests(of:in:)`` for many in one buffer. The latter hashes several messages at
/// once and is about twice as fast.
package struct SHA256: Sendable {
  /// Bytes that do not fill a block yet; only the first `pendingCount` are valid.
  private var pending = [UInt8](repeating: 0, count: SHA256.blockSize)
  private var pendingCount = 0
  private var length: UInt64 = 0
  private var state = State<UInt32>()

  /// The number of bytes that are hashed in one step.
  static let blockSize = 64

  /// Begins a message of no bytes.
  package init() {}
}

extension SHA256 {
  /// A digest of 32 bytes, as four integers.
  package struct Digest: Equatable, Sendable, BitwiseCopyable {
    /// Bytes 0–7, 8–15, 16–23 and 24–31, read big-endian.
    package var words: (UInt64, UInt64, UInt64, UInt64)

    /// Creates a digest from its words.
    package init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }

    /// The size of a digest in bytes.
    package static let size = 32

    package static func == (a: Digest, b: Digest) -> Bool { a.words == b.words }
  }

  /// The digest of `bytes`.
  package static func digest(of bytes: SharedBytes) -> Digest {
    unsafe bytes.withUnsafeBytes { unsafe digest(of: $0) }
  }

  /// The digest of `bytes`.
  package static func digest(of bytes: Span<UInt8>) -> Digest {
    unsafe bytes.withUnsafeBytes { unsafe digest(of: $0) }
  }

  /// The digest of `bytes`.
  package static func digest(of bytes: UnsafeRawBufferPointer) -> Digest {
    unsafe withUnsafeTemporaryAllocation(byteCount: 2 * blockSize, alignment: 16) { tail in
      // The temporary memory has the size that a message's last blocks need, and is not empty.
      var message = unsafe PaddedMessage(bytes, tail: tail.baseAddress.unsafelyUnwrapped)
      var state = State<UInt32>()
      unsafe withConstants { constants in
        while !message.isDone { unsafe state.add(message.nextBlock(), constants) }
      }
      return Digest(state.words)
    }
  }

  /// Adds bytes to the message.
  package mutating func add(_ bytes: SharedBytes) {
    unsafe bytes.withUnsafeBytes { unsafe add($0) }
  }

  /// Adds bytes to the message.
  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    length &+= UInt64(bytes.count)
    var offset = 0
    if pendingCount > 0 {
      offset = min(bytes.count, SHA256.blockSize - pendingCount)
      unsafe keep(bytes, 0..<offset)
      guard pendingCount == SHA256.blockSize else { return }
      addPendingBlock()
    }
    if let base = bytes.baseAddress {
      unsafe SHA256.withConstants { constants in
        while bytes.count - offset >= SHA256.blockSize {
          // A whole block is readable from `offset` on.
          unsafe state.add(base + offset, constants)
          offset += SHA256.blockSize
        }
      }
    }
    unsafe keep(bytes, offset..<bytes.count)
  }

  /// Keeps bytes that do not fill a block yet.
  private mutating func keep(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
    for offset in range {
      pending[pendingCount] = unsafe bytes[offset]
      pendingCount += 1
    }
  }

  /// The digest of the bytes added so far; you can add more afterwards.
  package var digest: Digest {
    var copy = self
    copy.pending[pendingCount] = 0x80
    copy.pendingCount += 1
    if copy.pendingCount > SHA256.blockSize - 8 {
      copy.fillPendingWithZeros(upTo: SHA256.blockSize)
      copy.addPendingBlock()
    }
    copy.fillPendingWithZeros(upTo: SHA256.blockSize - 8)
    for index in 0..<8 {
      copy.pending[SHA256.blockSize - 8 + index] =
        UInt8(truncatingIfNeeded: (length &* 8) >> UInt64(56 - 8 * index))
    }
    copy.addPendingBlock()
    return Digest(copy.state.words)
  }

  private mutating func fillPendingWithZeros(upTo end: Int) {
    while pendingCount < end {
      pending[pendingCount] = 0
      pendingCount += 1
    }
  }

  private mutating func addPendingBlock() {
    unsafe pending.withUnsafeBytes { buffer in
      // `pending` always has the size of a block.
      unsafe SHA256.withConstants { constants in
        unsafe state.add(buffer.baseAddress.unsafelyUnwrapped, constants)
      }
    }
    pendingCount = 0
  }
}

extension SHA256.Digest: CustomStringConvertible {
  init(_ words: (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32)) {
    func pair(_ high: UInt32, _ low: UInt32) -> UInt64 { UInt64(high) << 32 | UInt64(low) }
    self.init(
      words: (
        pair(words.0, words.1), pair(words.2, words.3), pair(words.4, words.5),
        pair(words.6, words.7)
      ))
  }

  /// The digest as 64 lower-case hexadecimal digits.
  package var description: String {
    words.0.hexadecimalText + words.1.hexadecimalText + words.2.hexadecimalText
      + words.3.hexadecimalText
  }

  /// The digest's bytes.
  package var bytes: [UInt8] {
    [words.0, words.1, words.2, words.3].flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) }
    }
  }

  /// Parses 64 lower-case hexadecimal digits, or returns nil if `text` is anything else.
  package init?(_ text: String) {
    let digits = Array(text.utf8)
    guard digits.count == 64 else { return nil }
    var words: [UInt64] = []
    for start in stride(from: 0, to: 64, by: 16) {
      guard let word = UInt64(lowercaseHexadecimal: digits[start..<start + 16]) else { return nil }
      words.append(word)
    }
    self.init(words: (words[0], words[1], words[2], words[3]))
  }
}

extension UInt64 {
  /// This number as exactly sixteen lower-case hexadecimal digits.
  package var hexadecimalText: String {
    unsafe String(unsafeUninitializedCapacity: 16) { buffer in
      // The buffer has at least the requested sixteen bytes.
      for index in 0..<16 {
        let digit = UInt8(truncatingIfNeeded: self >> UInt64(60 - 4 * index)) & 0xF
        unsafe buffer[index] = digit < 10 ? 0x30 + digit : 0x61 - 10 + digit
      }
      return 16
    }
  }

  /// Parses exactly sixteen lower-case hexadecimal digits, or returns nil.
  package init?(lowercaseHexadecimal digits: some Collection<UInt8>) {
    guard digits.count == 16 else { return nil }
    var value: UInt64 = 0
    for digit in digits {
      switch digit {
      case 0x30...0x39: value = value << 4 | UInt64(digit - 0x30)
      case 0x61...0x66: value = value << 4 | UInt64(digit - 0x61 + 10)
      default: return nil
      }
    }
    self = value
  }
}
