import Foundation

/// What MD5 and SHA-1 do differently: how a block of 64 bytes changes the state.
protocol BlockFunction: Sendable {
  /// Whether words and the length begin with their lowest byte.
  static var isLittleEndian: Bool { get }
  /// The words of the digest.
  var words: [UInt32] { get }

  init()
  mutating func add(_ block: SIMD16<UInt32>)
}

/// A digest of a message that arrives in pieces, for digests of other engines.
///
/// Divan's own digests are those of `SHA256`. Less than a block of the message is in memory.
struct MessageDigest<Function: BlockFunction>: Sendable {
  private var function = Function()
  /// The bytes that do not fill a block yet.
  private var pending: [UInt8] = []
  private var length: UInt64 = 0

  private static var blockSize: Int { 64 }

  /// Adds bytes to the message.
  mutating func add(_ piece: Data) {
    length &+= UInt64(piece.count)
    let bytes: [UInt8] = pending + piece
    var offset = 0
    while bytes.count - offset >= Self.blockSize {
      function.add(Self.block(of: bytes, at: offset))
      offset += Self.blockSize
    }
    pending = Array(bytes[offset...])
  }

  private static func block(of bytes: [UInt8], at offset: Int) -> SIMD16<UInt32> {
    var block = SIMD16<UInt32>()
    for index in 0..<16 {
      let first = offset + 4 * index
      let word =
        UInt32(bytes[first]) << 24 | UInt32(bytes[first + 1]) << 16
        | UInt32(bytes[first + 2]) << 8 | UInt32(bytes[first + 3])
      block[index] = Function.isLittleEndian ? word.byteSwapped : word
    }
    return block
  }

  /// The digest of the bytes added so far.
  var bytes: [UInt8] {
    var copy = self
    let zeroCount = (119 - pending.count) % Self.blockSize
    let lengthBytes = (0..<8).map { index in
      let position = Function.isLittleEndian ? index : 7 - index
      return UInt8(truncatingIfNeeded: (length &* 8) >> UInt64(8 * position))
    }
    copy.add(Data([0x80] + [UInt8](repeating: 0, count: zeroCount) + lengthBytes))
    return copy.function.words.flatMap { word in
      (0..<4).map { index in
        let position = Function.isLittleEndian ? index : 3 - index
        return UInt8(truncatingIfNeeded: word >> UInt32(8 * position))
      }
    }
  }
}

/// MD5 (RFC 1321), with which CouchDB and PouchDB name the content of attachments.
///
/// It does not protect against forgery: two contents with the same digest can be made.
struct MD5: BlockFunction {
  static var isLittleEndian: Bool { true }
  private var state: (UInt32, UInt32, UInt32, UInt32) =
    (0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476)

  var words: [UInt32] { [state.0, state.1, state.2, state.3] }

  private static let constants = (1...64).map { UInt32(abs(sin(Double($0))) * 4_294_967_296) }
  private static let rotations: [UInt32] = [
    7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21,
  ]

  mutating func add(_ block: SIMD16<UInt32>) {
    let (constants, rotations) = (Self.constants, Self.rotations)
    var (a, b, c, d) = state
    for step in 0..<64 {
      let (mixed, index): (UInt32, Int) =
        switch step >> 4 {
        case 0: ((b & c) | (~b & d), step)
        case 1: ((d & b) | (~d & c), (5 * step + 1) & 15)
        case 2: (b ^ c ^ d, (3 * step + 5) & 15)
        default: (c ^ (b | ~d), (7 * step) & 15)
        }
      let sum = a &+ mixed &+ constants[step] &+ block[index]
      let rotated = sum.rotatedLeft(by: rotations[(step >> 4) * 4 + (step & 3)])
      (a, d, c, b) = (d, c, b, b &+ rotated)
    }
    state = (state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d)
  }
}

/// SHA-1 (FIPS 180-4), with which Couchbase names the content of attachments.
struct SHA1: BlockFunction {
  static var isLittleEndian: Bool { false }
  private var state: (UInt32, UInt32, UInt32, UInt32, UInt32) =
    (0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0)

  var words: [UInt32] { [state.0, state.1, state.2, state.3, state.4] }

  mutating func add(_ block: SIMD16<UInt32>) {
    // The last sixteen words of the message schedule.
    var schedule = block
    var (a, b, c, d, e) = state
    for step in 0..<80 {
      if step >= 16 {
        let word =
          schedule[(step + 13) & 15] ^ schedule[(step + 8) & 15] ^ schedule[(step + 2) & 15]
          ^ schedule[step & 15]
        schedule[step & 15] = word.rotatedLeft(by: 1)
      }
      let (mixed, constant): (UInt32, UInt32) =
        switch step / 20 {
        case 0: ((b & c) | (~b & d), 0x5A82_7999)
        case 1: (b ^ c ^ d, 0x6ED9_EBA1)
        case 2: ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC)
        default: (b ^ c ^ d, 0xCA62_C1D6)
        }
      let sum = a.rotatedLeft(by: 5) &+ mixed &+ e &+ constant &+ schedule[step & 15]
      (e, d, c, b, a) = (d, c, b.rotatedLeft(by: 30), a, sum)
    }
    state = (
      state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d, state.4 &+ e
    )
  }
}

extension UInt32 {
  /// Rotates by 1 to 31 bits.
  fileprivate func rotatedLeft(by count: UInt32) -> UInt32 {
    self &<< count | self &>> (32 &- count)
  }
}
