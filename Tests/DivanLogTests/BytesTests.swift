import Testing

@testable import DivanLog

/// The smallest pieces: bytes that are compared, summed, edited, and read as digits.
@Suite struct BytesTests {
  @Test func `bytes that are nowhere change no checksum`() {
    var check = CRC32C()
    check.add(SharedBytes(copying: Array("123456789".utf8)))
    let before = check.checksum
    unsafe check.add(UnsafeRawBufferPointer(start: nil, count: 0))
    check.add(SharedBytes.empty)
    #expect(check.checksum == before)
    #expect(before == 0xE306_9283)
  }

  @Test func `streams and the end of a log have names and places of their own`() throws {
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

  @Test func `a byte that was written can be looked at and changed`() {
    var writer = ByteWriter()
    writer.append([1, 2, 3])
    writer[1] += 5
    #expect(writer[1] == 7)
    #expect(writer.array == [1, 7, 3])
  }

  @Test func `bytes are a text's only if they are all of it`() {
    let bytes = SharedBytes(utf8: "film")
    #expect(bytes.isUTF8(of: "film"))
    #expect(!bytes.isUTF8(of: "fil"))
    #expect(!bytes.isUTF8(of: "filM"))
    #expect(bytes == SharedBytes(utf8: "film"))
    #expect(bytes != SharedBytes(utf8: "fil"))
  }

  @Test func `digits are hexadecimal, lower-case, and as many as there should be`() {
    let digits = String(repeating: "0123456789abcdef", count: 4)
    #expect(SHA256.Digest(digits)?.description == digits)
    #expect(SHA256.Digest(String(digits.dropLast())) == nil)
    #expect(SHA256.Digest(digits.uppercased()) == nil)
    #expect(UInt64(lowercaseHexadecimal: Array("0123".utf8)) == nil)
    #expect(UInt64(lowercaseHexadecimal: Array("000000000000001g".utf8)) == nil)
    #expect(UInt64(lowercaseHexadecimal: Array("000000000000001f".utf8)) == 31)
  }
}
