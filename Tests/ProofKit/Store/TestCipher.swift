package import DivanLog
import Synchronization

/// A cipher for tests: reversible, and of no security.
///
/// The bytes are combined with those of a generator, and the tag is made of a checksum. So a wrong
/// key, a changed byte and a part in another place are noticed, unless someone is out to forge.
package final class TestCipher: Cipher {
  /// The secrets of the keys, by their IDs.
  private let secrets: [UInt64: UInt64]
  package let keyID: UInt64
  private let sealCount = Atomic<UInt64>(0)

  /// The sizes of the nonce and the tag, in bytes.
  private static let nonceSize = 12
  private static let tagSize = 16

  /// Creates a cipher that seals with a key, and opens what older ones have sealed.
  package init(secret: UInt64, olderSecrets: [UInt64] = []) {
    keyID = TestCipher.keyID(of: secret)
    secrets = Dictionary(
      uniqueKeysWithValues: ([secret] + olderSecrets).map { (TestCipher.keyID(of: $0), $0) })
  }

  /// The ID of a key, which follows from it and is not 0.
  private static func keyID(of secret: UInt64) -> UInt64 { mixed(secret) | 1 }

  package func hasKey(_ id: UInt64) -> Bool { secrets[id] != nil }
}

extension TestCipher {
  package func seal(
    _ part: Span<UInt8>, key: UInt64, authenticating context: Span<UInt8>,
    to writer: inout ByteWriter
  ) {
    // The same in every run of a test, and another one for every part.
    var check = CRC32C()
    check.add(context)
    check.add(part)
    let count = sealCount.wrappingAdd(1, ordering: .relaxed).newValue
    let start = writer.count
    writer.append(TestCipher.mixed(count))
    writer.append(check.checksum)
    apply(key, nonceAt: start, to: part, &writer)
    let tag = tag(key, writer, from: start, context)
    writer.append(tag.0)
    writer.append(tag.1)
  }

  package func open(
    _ sealed: Span<UInt8>, key: UInt64, authenticating context: Span<UInt8>,
    to writer: inout ByteWriter
  ) -> Bool {
    guard sealed.count >= TestCipher.nonceSize + TestCipher.tagSize else { return false }
    var copy = ByteWriter(capacity: sealed.count)
    copy.append(sealed.extracting(droppingLast: TestCipher.tagSize))
    let expected = tag(key, copy, from: 0, context)
    var offset = sealed.count - TestCipher.tagSize
    let found = (
      try? sealed.read(UInt64.self, at: &offset), try? sealed.read(UInt64.self, at: &offset)
    )
    let part = copy.copy(from: TestCipher.nonceSize)
    part.withSpan { part in
      var opened = ByteWriter(capacity: part.count + TestCipher.nonceSize)
      opened.append(sealed.extracting(first: TestCipher.nonceSize))
      apply(key, nonceAt: 0, to: part, &opened)
      writer.append(opened.copy(from: TestCipher.nonceSize))
    }
    return found == (expected.0, expected.1)
  }

  /// Appends bytes that are combined with those that follow from the key and a nonce.
  private func apply(
    _ key: UInt64, nonceAt start: Int, to part: Span<UInt8>, _ writer: inout ByteWriter
  ) {
    let nonce = writer.copy(from: start, count: TestCipher.nonceSize)
    var state =
      (secrets[key] ?? 0) ^ nonce.load(UInt64.self, at: 0)
      ^ UInt64(nonce.load(UInt32.self, at: 8)) << 16
    var word: UInt64 = 0
    for index in part.indices {
      if index % 8 == 0 {
        state &+= 0x9E37_79B9_7F4A_7C15
        word = TestCipher.mixed(state)
      }
      writer.append(UInt8(truncatingIfNeeded: word) ^ part[index])
      word >>= 8
    }
  }

  /// The tag of the bytes that a writer has from `start` on: a nonce and a ciphertext.
  private func tag(
    _ key: UInt64, _ writer: borrowing ByteWriter, from start: Int, _ context: Span<UInt8>
  ) -> (UInt64, UInt64) {
    let secret = secrets[key] ?? 0
    var check = CRC32C()
    check.add(secret)
    check.add(UInt64(context.count))
    check.add(context)
    check.add(writer, in: start..<writer.count)
    let sum = UInt64(check.checksum)
    return (TestCipher.mixed(sum ^ secret), TestCipher.mixed(sum &+ ~secret))
  }

  /// Returns a number of which every bit depends on every bit of another one (splitmix64).
  private static func mixed(_ number: UInt64) -> UInt64 {
    var mixed = number
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}

extension TestCipher {
  package func name(of digest: SHA256.Digest) -> SHA256.Digest {
    let words = digest.words
    let mask = { (index: UInt64) in TestCipher.mixed(0x6E61_6D65 &+ index) }
    return SHA256.Digest(
      words: (words.0 ^ mask(0), words.1 ^ mask(1), words.2 ^ mask(2), words.3 ^ mask(3)))
  }

  package func digest(ofName name: SHA256.Digest) -> SHA256.Digest { self.name(of: name) }
}
