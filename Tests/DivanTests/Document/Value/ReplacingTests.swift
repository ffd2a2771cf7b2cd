import DivanLog
import DivanTesting
import Testing

@testable import Divan

/// Tests of objects in their stored form in which some properties are replaced.
struct ReplacingTests {
  private func bytes(_ object: Value.Object) throws -> SharedBytes {
    try ValueEncoder.encode(.object(object))
  }

  /// Returns the object with changes, in its stored form.
  private func replacing(
    _ changes: [(key: String, value: Value?)], in object: SharedBytes
  ) throws -> SharedBytes {
    var encoder = ValueEncoder()
    var writer = ByteWriter()
    var stored: [PropertyChange] = []
    for (key, value) in changes {
      let value = try value.map { try encoder.nestedForm(of: $0) }
      stored.append(PropertyChange(key: SharedBytes(utf8: key), value: value))
    }
    stored.sort { a, b in a.key.withSpan { a in b.key.withSpan { b in compare(a, b) < 0 } } }
    try encoder.encode(EncodedValue(object), replacing: stored, into: &writer)
    return writer.sharedCopy
  }

  /// Returns a value that is nested at most `depth` deep.
  private func value(_ random: inout SeededGenerator, depth: Int = 3) -> Value {
    switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
    case 0: .null
    case 1: .bool(.random(using: &random))
    case 2: .int(.random(in: -300...70_000, using: &random))
    case 3: .double(Double(Int.random(in: -999...999, using: &random)) / 8)
    case 4: .string(String(repeating: "é", count: Int.random(in: 0...200, using: &random)))
    case 5: .string("")
    case 6:
      .array(
        (0..<Int.random(in: 0...20, using: &random)).map { _ in
          value(&random, depth: depth - 1)
        })
    default: .object(object(&random, depth: depth - 1))
    }
  }

  private func object(_ random: inout SeededGenerator, depth: Int = 3) -> Value.Object {
    var object: Value.Object = [:]
    for _ in 0..<Int.random(in: 0...40, using: &random) {
      object[key(&random)] = value(&random, depth: depth - 1)
    }
    return object
  }

  private func key(_ random: inout SeededGenerator) -> String {
    let all = ["", "a", "b", "é", "e\u{301}", "title", "x\u{0}y"]
    return (all.randomElement(using: &random) ?? "") + "\(Int.random(in: 0...60, using: &random))"
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `an object with replaced properties has the bytes of the object encoded as a whole`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    var expected = object(&random)
    let before = try bytes(expected)
    var changes: [String: Value?] = [:]
    for _ in 0..<Int.random(in: 0...12, using: &random) {
      let known = expected.keys.randomElement(using: &random)
      let key = Bool.random(using: &random) ? known ?? key(&random) : key(&random)
      guard !changes.keys.contains(where: { haveSameUTF8($0, key) || $0 == key }) else { continue }
      let isRemoved = Int.random(in: 0..<4, using: &random) == 0
      let new = isRemoved ? nil : value(&random)
      changes[key] = .some(new)
      expected[key] = new
    }
    let sorted = changes.sorted { $0.key < $1.key }.map { (key: $0.key, value: $0.value) }
    let result = try replacing(sorted, in: before)
    #expect(try EncodedValue(result).decode() == .object(expected), "seed \(seed)")
    #expect(try result == bytes(expected), "seed \(seed)")
  }

  @Test func `bytes that are no whole object are damage, and never more`() throws {
    var random = SeededGenerator(seed: 7)
    let whole = try bytes(object(&random)).array
    let change = [(key: "m", value: Value.int(1) as Value?)]
    #expect(throws: DatabaseError.self) { try replacing(change, in: SharedBytes(copying: [0xA0])) }
    for end in 0..<whole.count {
      let cut = SharedBytes(copying: Array(whole[..<end]))
      // A cut between two properties is an object, too: the outermost one ends with the bytes.
      if case .object(var expected) = try? EncodedValue(cut).decode() {
        expected["m"] = 1
        #expect(try EncodedValue(replacing(change, in: cut)).decode() == .object(expected))
      } else {
        // Damage in a value that is only copied is not found here.
        #expect(throws: Never.self) {
          do { _ = try replacing(change, in: cut) } catch is DatabaseError {}
        }
      }
    }
  }

  @Test func `an object that becomes too large is refused`() throws {
    let text = Value.string(String(repeating: "x", count: DocumentLimits.sizeInBytes))
    let error = #expect(throws: DatabaseError.self) {
      try replacing([(key: "a", value: text)], in: bytes(["b": 1]))
    }
    #expect(error?.code == .documentTooLarge)
  }
}
