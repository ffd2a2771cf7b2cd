/// A word of the algorithm, or the same word of several messages, one in each lane.
protocol SHA256Word: BitwiseCopyable {
  init(all value: UInt32)
  func adding(_ other: Self) -> Self
  func rotatedRight(_ count: UInt32) -> Self
  func shiftedRight(_ count: UInt32) -> Self
  static func & (a: Self, b: Self) -> Self
  static func | (a: Self, b: Self) -> Self
  static func ^ (a: Self, b: Self) -> Self
}

extension UInt32: SHA256Word {
  @inline(__always) init(all value: UInt32) { self = value }
  @inline(__always) func adding(_ other: UInt32) -> UInt32 { self &+ other }
  @inline(__always) func rotatedRight(_ count: UInt32) -> UInt32 {
    (self &>> count) | (self &<< (32 &- count))
  }
  @inline(__always) func shiftedRight(_ count: UInt32) -> UInt32 { self &>> count }
}

extension SIMD4<UInt32>: SHA256Word {
  @inline(__always) init(all value: UInt32) { self.init(repeating: value) }
  @inline(__always) func adding(_ other: Self) -> Self { self &+ other }
  @inline(__always) func rotatedRight(_ count: UInt32) -> Self {
    // An addition, not `|`: the compiler recognises the idiom with `|` as a rotation. Where the
    // processor has no vector rotation, it then splits the lanes, at five times the cost.
    (self &>> Self(repeating: count)) &+ (self &<< Self(repeating: 32 &- count))
  }
  @inline(__always) func shiftedRight(_ count: UInt32) -> Self {
    self &>> Self(repeating: count)
  }
}

extension SHA256 {
  /// The eight words that blocks are mixed into.
  struct State<Word: SHA256Word>: Sendable where Word: Sendable {
    // FIPS 180-4, section 5.3.3.
    var a = Word(all: 0x6A09_E667)
    var b = Word(all: 0xBB67_AE85)
    var c = Word(all: 0x3C6E_F372)
    var d = Word(all: 0xA54F_F53A)
    var e = Word(all: 0x510E_527F)
    var f = Word(all: 0x9B05_688C)
    var g = Word(all: 0x1F83_D9AB)
    var h = Word(all: 0x5BE0_CD19)
  }

  /// Calls `body` with the 64 constants of FIPS 180-4, section 4.2.2.
  @inline(__always)
  static func withConstants<R>(_ body: (UnsafePointer<UInt32>) -> R) -> R {
    unsafe constants.withUnsafeBufferPointer { buffer in
      // The array is not empty.
      unsafe body(buffer.baseAddress.unsafelyUnwrapped)
    }
  }

  private static let constants: [UInt32] = [
    0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1, 0x923F_82A4,
    0xAB1C_5ED5, 0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3, 0x72BE_5D74, 0x80DE_B1FE,
    0x9BDC_06A7, 0xC19B_F174, 0xE49B_69C1, 0xEFBE_4786, 0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F,
    0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA, 0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7,
    0xC6E0_0BF3, 0xD5A7_9147, 0x06CA_6351, 0x1429_2967, 0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC,
    0x5338_0D13, 0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85, 0xA2BF_E8A1, 0xA81A_664B,
    0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070, 0x19A4_C116,
    0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A, 0x5B9C_CA4F, 0x682E_6FF3,
    0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208, 0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7,
    0xC671_78F2,
  ]
}

extension SHA256.State {
  /// Mixes in sixteen words of each message (FIPS 180-4, section 6.2.2).
  ///
  /// The message schedule is computed sixteen words at a time, in place.
  @inline(__always)
  mutating func add(_ words: (Int) -> Word, _ constants: UnsafePointer<UInt32>) {
    var (a, b, c, d, e, f, g, h) = (a, b, c, d, e, f, g, h)
    var schedule = Schedule(words)
    var index = 0
    while true {
      // `constants` has 64 entries; `index` is 0, 16, 32 and 48.
      round(a, b, c, &d, e, f, g, &h, unsafe constants[index + 0], schedule.w0)
      round(h, a, b, &c, d, e, f, &g, unsafe constants[index + 1], schedule.w1)
      round(g, h, a, &b, c, d, e, &f, unsafe constants[index + 2], schedule.w2)
      round(f, g, h, &a, b, c, d, &e, unsafe constants[index + 3], schedule.w3)
      round(e, f, g, &h, a, b, c, &d, unsafe constants[index + 4], schedule.w4)
      round(d, e, f, &g, h, a, b, &c, unsafe constants[index + 5], schedule.w5)
      round(c, d, e, &f, g, h, a, &b, unsafe constants[index + 6], schedule.w6)
      round(b, c, d, &e, f, g, h, &a, unsafe constants[index + 7], schedule.w7)
      round(a, b, c, &d, e, f, g, &h, unsafe constants[index + 8], schedule.w8)
      round(h, a, b, &c, d, e, f, &g, unsafe constants[index + 9], schedule.w9)
      round(g, h, a, &b, c, d, e, &f, unsafe constants[index + 10], schedule.w10)
      round(f, g, h, &a, b, c, d, &e, unsafe constants[index + 11], schedule.w11)
      round(e, f, g, &h, a, b, c, &d, unsafe constants[index + 12], schedule.w12)
      round(d, e, f, &g, h, a, b, &c, unsafe constants[index + 13], schedule.w13)
      round(c, d, e, &f, g, h, a, &b, unsafe constants[index + 14], schedule.w14)
      round(b, c, d, &e, f, g, h, &a, unsafe constants[index + 15], schedule.w15)
      index += 16
      if index == 64 { break }
      schedule.advance()
    }
    self.a = self.a.adding(a)
    self.b = self.b.adding(b)
    self.c = self.c.adding(c)
    self.d = self.d.adding(d)
    self.e = self.e.adding(e)
    self.f = self.f.adding(f)
    self.g = self.g.adding(g)
    self.h = self.h.adding(h)
  }

  @inline(__always)
  private func round(
    _ a: Word, _ b: Word, _ c: Word, _ d: inout Word, _ e: Word, _ f: Word, _ g: Word,
    _ h: inout Word, _ constant: UInt32, _ word: Word
  ) {
    let mixed = e.rotatedRight(6) ^ e.rotatedRight(11) ^ e.rotatedRight(25)
    let chosen = g ^ (e & (f ^ g))
    let first = h.adding(word.adding(Word(all: constant))).adding(chosen).adding(mixed)
    d = d.adding(first)
    let majority = (a & b) | (c & (a | b))
    h = first.adding(
      (a.rotatedRight(2) ^ a.rotatedRight(13) ^ a.rotatedRight(22)).adding(majority))
  }
}

extension SHA256.State<UInt32> {
  /// Mixes in the 64 readable bytes at `block`.
  mutating func add(_ block: UnsafeRawPointer, _ constants: UnsafePointer<UInt32>) {
    unsafe add(
      { index in
        // Index is below 16, four bytes each.
        UInt32(bigEndian: unsafe block.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self))
      }, constants)
  }

  /// The words, most significant first.
  var words: (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32) {
    (a, b, c, d, e, f, g, h)
  }
}

extension SHA256.State<SIMD4<UInt32>> {
  /// Mixes in the 64 readable bytes at each pointer, each into its lane.
  mutating func add(
    _ block0: UnsafeRawPointer, _ block1: UnsafeRawPointer, _ block2: UnsafeRawPointer,
    _ block3: UnsafeRawPointer, _ constants: UnsafePointer<UInt32>
  ) {
    unsafe add(
      { index in
        // Index is below 16, four bytes each.
        let offset = 4 * index
        return SIMD4(
          UInt32(bigEndian: unsafe block0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)),
          UInt32(bigEndian: unsafe block1.loadUnaligned(fromByteOffset: offset, as: UInt32.self)),
          UInt32(bigEndian: unsafe block2.loadUnaligned(fromByteOffset: offset, as: UInt32.self)),
          UInt32(bigEndian: unsafe block3.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
      }, constants)
  }

  /// The words of one lane, most significant first.
  func words(
    ofLane lane: Int
  ) -> (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32) {
    (a[lane], b[lane], c[lane], d[lane], e[lane], f[lane], g[lane], h[lane])
  }

  /// Begins a new message in one lane.
  mutating func restart(lane: Int) {
    let fresh = SHA256.State<UInt32>()
    a[lane] = fresh.a
    b[lane] = fresh.b
    c[lane] = fresh.c
    d[lane] = fresh.d
    e[lane] = fresh.e
    f[lane] = fresh.f
    g[lane] = fresh.g
    h[lane] = fresh.h
  }
}

extension SHA256.State {
  /// Sixteen consecutive words of the message schedule (FIPS 180-4, section 6.2.2, step 1).
  struct Schedule {
    var w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15: Word

    @inline(__always)
    init(_ words: (Int) -> Word) {
      w0 = words(0)
      w1 = words(1)
      w2 = words(2)
      w3 = words(3)
      w4 = words(4)
      w5 = words(5)
      w6 = words(6)
      w7 = words(7)
      w8 = words(8)
      w9 = words(9)
      w10 = words(10)
      w11 = words(11)
      w12 = words(12)
      w13 = words(13)
      w14 = words(14)
      w15 = words(15)
    }

    /// Replaces the words by the next sixteen.
    @inline(__always)
    mutating func advance() {
      w0 = scheduled(w0, w1, w9, w14)
      w1 = scheduled(w1, w2, w10, w15)
      w2 = scheduled(w2, w3, w11, w0)
      w3 = scheduled(w3, w4, w12, w1)
      w4 = scheduled(w4, w5, w13, w2)
      w5 = scheduled(w5, w6, w14, w3)
      w6 = scheduled(w6, w7, w15, w4)
      w7 = scheduled(w7, w8, w0, w5)
      w8 = scheduled(w8, w9, w1, w6)
      w9 = scheduled(w9, w10, w2, w7)
      w10 = scheduled(w10, w11, w3, w8)
      w11 = scheduled(w11, w12, w4, w9)
      w12 = scheduled(w12, w13, w5, w10)
      w13 = scheduled(w13, w14, w6, w11)
      w14 = scheduled(w14, w15, w7, w12)
      w15 = scheduled(w15, w0, w8, w13)
    }

    /// Returns the schedule's word `t` from the words `t` − 16, − 15, − 7 and − 2.
    @inline(__always)
    private func scheduled(_ w16: Word, _ w15: Word, _ w7: Word, _ w2: Word) -> Word {
      let near = w2.rotatedRight(17) ^ w2.rotatedRight(19) ^ w2.shiftedRight(10)
      let far = w15.rotatedRight(7) ^ w15.rotatedRight(18) ^ w15.shiftedRight(3)
      return w16.adding(far).adding(w7.adding(near))
    }
  }
}
