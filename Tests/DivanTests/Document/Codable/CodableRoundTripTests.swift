import Divan
import DivanLog
import Foundation
import Testing

struct CodableRoundTripTests {
  @Test func `a value with a property of every kind survives a round trip`() throws {
    let value = AllKinds()
    let document = try Document(encoding: value)
    try document.encoded().validate()
    #expect(try document.decode(AllKinds.self) == value)
    #expect(try document.decode(AllKinds.self).negativeZero.sign == .minus)
  }

  @Test func `types that JSON lacks have one documented stored form`() throws {
    let document = try Document(encoding: AllKinds())
    #expect(document["date"] == "2026-03-01T12:00:00.123Z")
    #expect(document["earlyDate"] == "0001-01-01T00:00:00.000Z")
    #expect(document["data"] == "AAEC+v8=")
    #expect(document["decimal"] == "-12345678901234567890.123456789")
    #expect(document["url"] == "https://example.org/a%20b?c=d#e")
    #expect(document["uuid"] == "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
    #expect(document["float"] == 0.1)
    #expect(document["int64"] == .int(.min))
    #expect(document["uint64"] == .unsigned(.max))
    #expect(document["wholeDouble"] == .double(3))
    #expect(document["shape"] == ["box": ["width": 3, "height": 4.5]])
    #expect(document["circle"] == ["circle": ["_0": 1.0]])
    #expect(document["byNumber"] == ["-2": "minus two", "1": "one"])
    #expect(document["byColor"] == ["red": 1, "green": 2])
    #expect(document["byPlace"] == [["x": 1, "y": 2], "here"])
    #expect(document["gaps"] == [1, .null, 3])
    #expect(document["id"] == nil)
    #expect(document["missing"] == nil)
  }

  @Test func `dates are stored as ISO 8601 in UTC, rounded to milliseconds`() throws {
    struct Event: Codable { var at: Date }
    let event = Event(at: Date(timeIntervalSince1970: 1.000_6))
    let document = try Document(encoding: event)
    #expect(document["at"] == "1970-01-01T00:00:01.001Z")
    #expect(
      try document.decode(Event.self).at
        == Date(timeIntervalSince1970: 1.001))
    let other = Document(["at": "2026-03-01T13:00:00+01:00"])
    #expect(
      try other.decode(Event.self).at == Date(timeIntervalSince1970: 1_772_366_400))
  }

  @Test
  func `Codable encoding agrees with the canonical stored form and with the JSON coders`()
    throws
  {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    let encoder = JSONEncoder()
    let decoder = JSONDecoder()
    for _ in 0..<300 {
      let shape = RandomShape(&random)
      let document = try Document(encoding: shape)
      let stored = try document.encoded()
      try stored.validate()
      // The tree of values gives the same bytes: the stored form is unique.
      #expect(try stored.decode().stored == stored.bytes)
      #expect(try document.decode(RandomShape.self) == shape)
      #expect(try decoder.decode(RandomShape.self, from: Data(document.json.utf8)) == shape)

      let text = try encoder.encode(shape)
      guard case .object(let properties) = try Value(json: [UInt8](text)) else {
        Issue.record("the JSON is not an object")
        return
      }
      #expect(try Document(properties).decode(RandomShape.self) == shape)
    }
  }

  @Test func `random values survive a round trip through Codable`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<500 {
      guard case .object(var properties) = Value.randomObject(&random) else { return }
      for name in properties.keys where name.hasPrefix("_") { properties[name] = nil }
      let document = Document(properties)
      let object = try document.decode(Value.Object.self)
      #expect(object == properties)
      #expect(try Document(encoding: object).encoded().bytes == document.encoded().bytes)
      #expect(try Document(encoding: ["x": object])["x"] == .object(properties))
      // Through another coder, numbers lose only the distinctions that JSON does not make.
      let text = try JSONEncoder().encode(Value.object(["t": "a", "n": [1, -1, .null, true]]))
      #expect(
        try JSONDecoder().decode(Value.self, from: text) == ["t": "a", "n": [1, -1, .null, true]])
    }
  }

  @Test func `a Float is stored with the fewest digits that restore it exactly`() throws {
    struct Holder: Codable { var float: Float }
    var random = SeededRandom(seed: 3)
    for _ in 0..<5000 {
      let float = Float(bitPattern: UInt32(truncatingIfNeeded: random.next()))
      guard float.isFinite else { continue }
      let document = try Document(encoding: Holder(float: float))
      #expect(try document.decode(Holder.self).float.bitPattern == float.bitPattern)
    }
    #expect(try Document(encoding: Holder(float: 1234.5678))["float"] == 1234.5677)
  }

  @Test func `a number decodes as another number type if nothing is lost`() throws {
    struct Numbers: Codable, Equatable {
      var double: Double
      var int: Int
      var decimal: Decimal
      var huge: Double
    }
    let document = Document(["double": 2, "int": 2.0, "decimal": 2.5, "huge": .unsigned(.max)])
    #expect(
      try document.decode(Numbers.self)
        == Numbers(double: 2, int: 2, decimal: Decimal(string: "2.5") ?? 0, huge: 0x1p64))
  }

  @Test func `userInfo reaches encoding and decoding`() throws {
    struct Probe: Codable {
      var info: String
      enum CodingKeys: CodingKey { case info }
      static var key: CodingUserInfoKey? { CodingUserInfoKey(rawValue: "probe") }
      init() { info = "" }
      init(from decoder: any Decoder) throws {
        info = Probe.key.flatMap { decoder.userInfo[$0] as? String } ?? ""
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(
          Probe.key.flatMap { encoder.userInfo[$0] as? String } ?? "", forKey: .info)
      }
    }
    let key = try #require(Probe.key)
    var encoder = DocumentEncoder()
    encoder.userInfo[key] = "out"
    let document = try encoder.encode(Probe())
    #expect(document["info"] == "out")
    var decoder = DocumentDecoder()
    decoder.userInfo[key] = "in"
    #expect(try decoder.decode(Probe.self, from: document).info == "in")
  }
}
