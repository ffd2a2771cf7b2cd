import DivanTesting
import Testing

@testable import DivanLog

/// Tests of basic operations on bytes: comparison, checksums, editing, and parsing of digits.
@Suite struct BytesTests {
  @Test func `empty bytes do not change a checksum`() {
    var check = CRC32C()
    check.add(SharedBytes(copying: Array("123456789".utf8)))
    let before = check.checksum
    unsafe check.add(UnsafeRawBufferPointer(start: nil, count: 0))
    check.add(SharedBytes.empty)
    #expect(check.checksum == before)
    #expect(before == 0xE306_9283)
  }

  @Test func `a checksum equals its bitwise definition, wherever it starts, continues and ends`() {
    // Long enough for each path: blocks of four words, words, half a word, and single bytes.
    var random = SeededGenerator(seed: 3720)
    let bytes = (0..<200).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    // The checksums of the first 0, 1, 2… bytes, calculated bit by bit.
    var sums: [UInt32] = [0]
    for byte in bytes {
      var crc = ~sums[sums.count - 1] ^ UInt32(byte)
      for _ in 0..<8 { crc = (crc >> 1) ^ (crc & 1 == 0 ? 0 : 0x82F6_3B78) }
      sums.append(~crc)
    }
    let shared = SharedBytes(copying: bytes)
    var wrong: [Range<Int>] = []
    for start in 0...bytes.count {
      for end in start...bytes.count {
        var check = CRC32C(continuing: sums[start])
        check.add(shared.suffix(from: start).prefix(end - start))
        if check.checksum != sums[end] { wrong.append(start..<end) }
      }
    }
    #expect(wrong.isEmpty)
  }

  @Test func `standard streams have names, and a log tail has a flushed end per segment`() throws {
    #expect("\(StandardStream.output)" == "standard output")
    #expect("\(StandardStream.error)" == "standard error")
    let file = try MemoryFileSystem().open("/a", .creating)
    let tail = LogTail(sequenceBound: 0)
    #expect(tail.flushedEnd(in: 1) == nil)
    #expect(try tail.flush() == 0)
    let end = LogEnd(offset: 4096, commit: 3, chain: 1)
    tail.noteFlushed(LogTail.Point(file: file, fileID: 1, end: end, sequenceBound: 9))
    #expect(tail.flushedEnd(in: 1) == end)
    #expect(tail.flushedEnd(in: 2) == nil)
    #expect(try tail.flush() == 3)
    #expect(tail.sequenceBound == 9)
  }

  @Test func `a flush that ends late does not move the durable watermark back`() throws {
    // Regression: a flush of one segment ended after the next segment was created. The next segment
    // then counted as not flushed at all.
    let disk = SimulatedFileSystem()
    let (old, new) = (try disk.open("/1", .creating), try disk.open("/2", .creating))
    let begin = LogEnd(offset: 4096, commit: 0, chain: 1)
    let end = LogEnd(offset: 5000, commit: 3, chain: 2)
    let next = LogEnd(offset: 4096, commit: 3, chain: 3)
    let tail = LogTail(sequenceBound: 0)
    tail.noteFlushed(LogTail.Point(file: old, fileID: 1, end: begin, sequenceBound: 9))
    tail.noteAppended(LogTail.Point(file: old, fileID: 1, end: end, sequenceBound: 12))
    disk.observeCalls { call in
      guard call.verb == .flush else { return }
      tail.noteFlushed(LogTail.Point(file: new, fileID: 2, end: next, sequenceBound: 20))
    }
    #expect(try tail.flush() == 3)
    disk.observeCalls(nil)
    #expect(tail.flushedEnd(in: 2) == next)
    #expect(tail.sequenceBound == 20)
    #expect(try tail.flush() == 3)
  }

  @Test func `bytes can be compared from any offset, up to their end`() {
    let bytes = Array("a register of films".utf8)
    for offset in 0...bytes.count {
      for length in 0...bytes.count {
        let other = Array(bytes.dropFirst(offset).prefix(length)) + Array("!".utf8)
        let part = Array(other.dropLast())
        let (isMore, isPart) = (
          areEqual(bytes.span, at: offset, other.span), areEqual(bytes.span, at: offset, part.span)
        )
        #expect(!isMore && isPart, "\(offset), \(length)")
      }
    }
  }

  @Test func `equal bytes have equal quick hashes, and different bytes rarely do`() {
    let texts =
      (0..<5000).map { "model \($0)" } + (0..<40).map { String(repeating: "\0", count: $0) }
    let hashes = texts.map { text in withUTF8(of: text) { $0.quickHash } }
    let again = texts.map { text in
      let bytes = Array(text.utf8)
      return bytes.span.quickHash
    }
    #expect(hashes == again)
    // With this many random 32-bit numbers, two are equal in one of some hundreds of runs.
    #expect(Set(hashes.map { UInt32(truncatingIfNeeded: $0) }).count >= texts.count - 2)
  }

  @Test func `a written byte can be read and changed`() {
    var writer = ByteWriter()
    writer.append([1, 2, 3])
    writer[1] += 5
    #expect(writer[1] == 7)
    #expect(writer.array == [1, 7, 3])
  }

  @Test func `bytes are the UTF-8 of a string only as a whole`() {
    let bytes = SharedBytes(utf8: "film")
    #expect(bytes.isUTF8(of: "film"))
    #expect(!bytes.isUTF8(of: "fil"))
    #expect(!bytes.isUTF8(of: "filM"))
    #expect(bytes == SharedBytes(utf8: "film"))
    #expect(bytes != SharedBytes(utf8: "fil"))
  }

  @Test func `UTF-8 validation agrees with the standard library, wherever bytes are invalid`() {
    let seed = UInt64.random(in: 0...(.max))
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let pieces = ["a", "film", "ü", "€", "🎞", "12345678"].map { Array($0.utf8) }
    var invalidCount = 0
    for _ in 0..<2000 {
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 0...8, using: &random) {
        bytes += pieces[Int.random(in: 0..<pieces.count, using: &random)]
      }
      if !bytes.isEmpty, Bool.random(using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(
          in: .min ... .max, using: &random)
      }
      let text = String(validating: bytes, as: UTF8.self)
      #expect(String(utf8: bytes.span).map { Array($0.utf8) } == text.map { Array($0.utf8) })
      guard text == nil, let offset = firstInvalidUTF8(in: bytes.span) else { continue }
      invalidCount += 1
      #expect(String(validating: bytes[..<offset], as: UTF8.self) != nil, "\(bytes)")
    }
    #expect(invalidCount > 100)
  }

  @Test func `the UTF-8 of a string is the same if it is borrowed or copied`() {
    for text in ["", "film", "ein Film über Käfer, länger als ein kurzer Text", "🎞️"] {
      let bytes = Array(text.utf8)
      let isBorrowed = withUTF8(of: text) { areEqual($0, bytes.span) }
      let isCopied = withCopiedUTF8(of: text) { areEqual($0, bytes.span) }
      #expect(isBorrowed && isCopied, "\(text)")
    }
  }

  @Test func `hexadecimal digits must be lowercase and of the exact number`() {
    let digits = String(repeating: "0123456789abcdef", count: 4)
    #expect(SHA256.Digest(digits)?.description == digits)
    #expect(SHA256.Digest(String(digits.dropLast())) == nil)
    #expect(SHA256.Digest(digits.uppercased()) == nil)
    #expect(UInt64(lowercaseHexadecimal: Array("0123".utf8)) == nil)
    #expect(UInt64(lowercaseHexadecimal: Array("000000000000001g".utf8)) == nil)
    #expect(UInt64(lowercaseHexadecimal: Array("000000000000001f".utf8)) == 31)
  }
}
