import Divan
import DivanLog
import Testing

struct DocumentValueCodingTests {
  @Test func `every value survives a round trip through its stored form`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<1000 {
      let value = Value.random(&random)
      let stored = EncodedValue(try value.stored)
      #expect(try stored.decode() == value)
      try stored.validate()
    }
  }

  @Test func `numbers of every size survive a round trip through a compact stored form`() throws {
    let numbers: [Value] = [
      0, 63, 64, 255, 256, 65535, 65536, -1, -16, -17, -256, -257, -258, .int(.max), .int(.min),
      .unsigned(.max), .unsigned(1 << 63), 0.0, -0.0, 1.0, -1.0, 0.1, 1e15, 1e16, 1e22, 1e23, 1e-7,
      123456789012345.0, 999999999999999.0, 1e300, 2.2250738585072014e-308,
      .double(.leastNonzeroMagnitude), .double(.leastNormalMagnitude / 8),
      .double(.greatestFiniteMagnitude), .double(0.1 + 0.2), .double(Double(Float(0.1))), 1e200,
    ]
    for number in numbers {
      let stored = EncodedValue(try number.stored)
      #expect(try stored.decode() == number)
      try stored.validate()
      if case .double(let double) = number {
        #expect(stored.bytes.count <= double.description.utf8.count, "\(double)")
      }
    }
  }

  @Test func `properties and elements are found without decoding the rest`() throws {
    var random = SeededRandom(seed: 7)
    for count in [0, 1, 2, 16, 17, 32, 33, 200, 1000] {
      var object = Value.Object()
      for index in 0..<count { object["key\(index)"] = .random(&random, depth: 2) }
      let stored = EncodedValue(try Value.object(object).stored)
      try stored.validate()
      for index in 0..<count {
        #expect(try stored.property("key\(index)")?.decode() == object["key\(index)"])
      }
      #expect(try stored.property("key") == nil)
      #expect(try stored.property("zzz") == nil)
      #expect(try stored.property("") == nil)

      let elements = (0..<count).map { _ in Value.random(&random, depth: 2) }
      let array = EncodedValue(try Value.array(elements).stored)
      try array.validate()
      for index in 0..<count { #expect(try array.element(index)?.decode() == elements[index]) }
      #expect(try array.element(count) == nil)
    }
  }
}

extension EncodedValue {
  static func == (a: EncodedValue?, b: EncodedValue) -> Bool { a?.bytes == b.bytes }
}
