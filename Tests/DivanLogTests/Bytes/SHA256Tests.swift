import DivanLog
import Testing

struct SHA256Tests {
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
    ),
  ])
  func `published messages have their published digests`(message: String, digest: String) {
    #expect(SHA256.digest(of: SharedBytes(copying: Array(message.utf8))).description == digest)
    #expect(SHA256.Digest(digest)?.description == digest)
  }

  @Test func `a million times the letter a has its published digest`() {
    var hash = SHA256()
    let thousand = SharedBytes(copying: [UInt8](repeating: 0x61, count: 1000))
    for _ in 0..<1000 { hash.add(thousand) }
    #expect(
      hash.digest.description
        == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test func `a message in pieces has the digest of the whole`() {
    var random = SystemRandomNumberGenerator()
    let message = (0..<300).map { _ in UInt8.random(in: 0...255, using: &random) }
    for length in 0...message.count {
      var hash = SHA256()
      var start = 0
      while start < length {
        let end = Int.random(in: start + 1...length, using: &random)
        hash.add(SharedBytes(copying: Array(message[start..<end])))
        start = end
      }
      #expect(hash.digest == SHA256.digest(of: SharedBytes(copying: Array(message[..<length]))))
    }
  }

  @Test(arguments: [0, 1, 3, 4, 5, 8, 50])
  func `messages that are hashed together have the digests of each alone`(count: Int) {
    var writer = ByteWriter()
    var ranges: [Range<Int>] = []
    var messages: [SharedBytes] = []
    for index in 0..<count {
      let message = (0..<Int.random(in: 0...300)).map {
        UInt8(truncatingIfNeeded: $0 &* (index + 7))
      }
      let start = writer.count
      writer.append(message)
      ranges.append(start..<writer.count)
      messages.append(SharedBytes(copying: message))
    }
    let expected = messages.map { SHA256.digest(of: $0) }
    #expect(SHA256.digests(of: ranges, in: writer) == expected)
  }
}
