import Divan
import DivanLog
import Testing

/// Reads `bytes` in every way; none of them may trap.
private func probe(_ bytes: [UInt8]) {
  let encoded = EncodedValue(SharedBytes(copying: bytes))
  _ = encoded.kind
  _ = (encoded.int, encoded.double, encoded.string)
  for key in ["", "a", "key3", "key20", "zzz"] { _ = try? encoded.property(key)?.decode() }
  for index in [0, 1, 16, 17, 40, Int.max] { _ = try? encoded.element(index)?.decode() }
  if let value = try? encoded.decode() {
    // Everything that can be read can be written.
    #expect(throws: Never.self) { try value.stored }
    if (try? encoded.validate()) != nil {
      #expect((try? value.stored) == encoded.bytes)
    }
  } else {
    #expect(throws: DatabaseError.self) { try encoded.validate() }
  }
}

struct DocumentHostileBytesTests {
  @Test func `reading a stored value with changed or missing bytes never traps`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    var values: [Value] = [
      [
        "title": "Moana", "year": 1926, "cast": ["Ta'avale", "Fa'amgase"], "rating": 7.3,
        "x": -1e20,
      ],
      .array((0..<40).map { .int($0 * 40) }), .double(.leastNonzeroMagnitude),
    ]
    var wide = Value.Object()
    for index in 0..<40 { wide["key\(index)"] = .int(Int64(index)) }
    values.append(.object(wide))
    values.append(["a": .object(wide), "long": .string(String(repeating: "é", count: 200))])
    for _ in 0..<5 { values.append(.random(&random)) }
    for value in values {
      let bytes = try value.stored.array
      guard bytes.count < 2000 else { continue }
      for index in bytes.indices {
        probe(Array(bytes[..<index]))
        var changed = bytes
        for mask: UInt8 in [0x01, 0x10, 0x80, 0xFF] {
          changed[index] = bytes[index] ^ mask
          probe(changed)
        }
      }
      probe(bytes + [0])
    }
  }

  @Test func `reading random bytes as a value never traps`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    probe([])
    for first in 0...255 as ClosedRange<UInt8> {
      probe([first])
      probe([first] + [UInt8](repeating: 0xFF, count: 20))
      probe([first] + [UInt8](repeating: 0, count: 20))
      for _ in 0..<20 {
        probe(
          [first]
            + (0..<Int.random(in: 1...40, using: &random)).map { _ in
              UInt8.random(in: 0...255, using: &random)
            })
      }
    }
  }

  @Test(
    arguments: [
      [0x90, 0x05],  // 5 in two bytes
      [0x91, 0x50, 0x00],  // 80 in three bytes
      [0x98, 0x05],  // -6 in two bytes
      [0x9F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],  // below Int64
      [0xA8, 0x01, 0x61],  // a short text with a long header
      [0xB1, 0x01, 0x00],  // an outermost array with a size
      [0xB5, 0xB5, 0x00],  // an inner array without a size
      [0xB5],  // an array without elements, not written as empty
      [0xC5, 0x01, 0x62, 0x00, 0x01, 0x61, 0x00],  // keys not sorted
      [0xC5, 0x01, 0x61, 0x00, 0x01, 0x61, 0x00],  // a key twice
      [0xC5, 0x81, 0x00, 0x61, 0x00],  // a size with a needless byte
      [0x41, 0xFF], [0xC5, 0x01, 0xFF, 0x00],  // not UTF-8
      [0xA5, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F],  // 1.0 in nine bytes
      [0xA4, 0, 0, 0x80, 0x7F],  // infinity
      [0xD8, 0x14],  // 1.0 as 10 / 10
      [0xE8, 0x00, 0x02],  // 1.0 with an exponent of 0
      [0xA6], [0xAF], [0xFF], [0xBA], [0xCF], [0xD7],
    ] as [[UInt8]])
  func `validation refuses encodings that are not canonical`(bytes: [UInt8]) {
    #expect(throws: DatabaseError.self) {
      try EncodedValue(SharedBytes(copying: bytes)).validate()
    }
  }

  @Test func `the stored form of a document takes no more bytes than compact JSON`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<2000 {
      let value = Value.randomObject(&random)
      let stored = try value.stored
      #expect(stored.count <= value.json.utf8.count, "\(value.json)")
    }
  }

  @Test func `documents of long texts take no more bytes than compact JSON`() throws {
    for size in [63, 64, 200, 255, 256, 300, 65_535, 65_536, 100_000] {
      let text = Value.string(String(repeating: "x", count: size))
      for document in [
        ["k": text], ["a": text, "b": text], ["k": [text]], ["k": ["k": text]], ["k": [text, 1]],
        ["k": .array(Array(repeating: "abc", count: size))],
      ] as [Value] {
        let stored = try document.stored
        // See ValueFormat: arrays of texts larger than 64 KiB may take a few more bytes.
        #expect(stored.count <= document.json.utf8.count + (size > 65_535 ? 2 : 0), "\(size)")
        try EncodedValue(stored).validate()
        #expect(try EncodedValue(stored).decode() == document)
      }
    }
  }
}
