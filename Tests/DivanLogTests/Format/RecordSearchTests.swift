import DivanLog
import DivanTesting
import Testing

struct RecordSearchTests {
  @Test(arguments: 0..<20 as Range<UInt64>)
  func `a search finds the same records as decoding at every offset`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var writer = ByteWriter()
    for _ in 0..<12 {
      for _ in 0..<Int.random(in: 0..<40, using: &random) {
        writer.append(UInt8.random(in: 0...255, using: &random))
      }
      let size = [0, 1, 200, 5000].randomElement(using: &random) ?? 0
      _ = Record.append(kind: .document, to: &writer, encryptedBy: nil) { payload in
        for _ in 0..<size { payload.append(UInt8.random(in: 0...255, using: &random)) }
      }
    }
    var bytes = writer.sharedCopy.array
    for _ in 0..<4 { bytes[Int.random(in: bytes.indices, using: &random)] ^= 1 }
    let shared = SharedBytes(copying: bytes)
    let search = RecordSearch(shared, encryptedBy: nil)
    var found: [Int] = []
    var next = 0
    while let record = search.next(from: next) {
      found.append(record.position)
      #expect(search.record(at: record.position)?.size == record.size)
      next = record.position + 1
    }
    let expected = bytes.indices.filter {
      (try? Record.decode(shared.suffix(from: $0), encryptedBy: nil)) != nil
    }
    #expect(found == expected, "seed \(seed)")
    #expect(found.count >= 8, "seed \(seed)")
    #expect(search.next(from: 0, before: found[0]) == nil)
    #expect(search.next(from: bytes.count) == nil)
  }

  /// At each byte, a record of the remaining bytes could begin.
  ///
  /// Checking all checksums would read the rest 500,000 times.
  @Test func `a search takes time proportional to the number of bytes`() {
    let count = 1 << 20
    var bytes = [UInt8](repeating: 0x7F, count: count)
    // Varints of three bytes with sizes between half a megabyte and one.
    for index in stride(from: 0, to: count / 2, by: 3) {
      bytes[index] = 0xFF
      bytes[index + 1] = 0xFF
      bytes[index + 2] = 0x1F
    }
    let search = RecordSearch(SharedBytes(copying: bytes), encryptedBy: nil)
    #expect(search.next(from: 0) == nil)
  }
}
