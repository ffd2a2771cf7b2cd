import Divan
import DivanLog
import Foundation
import Testing

struct CodableErrorTests {
  private func expect(
    _ code: DatabaseError.Code, at path: String?, _ phrase: String,
    _ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) {
    let error = #expect(throws: DatabaseError.self, sourceLocation: location) { try body() }
    #expect(error?.code == code, sourceLocation: location)
    #expect(error?.propertyPath == path, sourceLocation: location)
    #expect(
      error?.message.contains(phrase) == true, "\(error?.message ?? "")", sourceLocation: location)
  }

  private struct Cast: Codable {
    var cast: [Role]
    var born: [String: Date]?

    struct Role: Codable {
      var name: String
      var height: Double
      var age: UInt8?
      var home: URL?
      var key: UUID?
      var photo: Data?
      var fee: Decimal?
    }
  }

  private func cast(_ role: Value.Object) -> Document {
    Document(id: "d", ["cast": [["name": "a", "height": 1], .object(role)]])
  }

  @Test func `a decoding error names the property path and the stored type`() {
    func refuse(_ role: Value.Object, at path: String, _ phrase: String) {
      expect(.mismatchedType, at: path, phrase) { _ = try cast(role).decode(Cast.self) }
    }
    refuse(["name": "b"], at: "cast[1].height", "the value is missing; Double is expected")
    refuse(
      ["name": "b", "height": "tall"], at: "cast[1].height",
      "the value is a text; Double is expected")
    refuse(
      ["name": .null, "height": 1], at: "cast[1].name", "the value is null; String is expected")
    refuse(
      ["name": [1], "height": 1], at: "cast[1].name", "the value is an array; String is expected")
    refuse(["name": true, "height": 1], at: "cast[1].name", "the value is a truth value; String")
    refuse(["name": 7, "height": 1], at: "cast[1].name", "the value is a whole number; String")
    refuse(["name": 7.5, "height": 1], at: "cast[1].name", "a number with a fraction")
    let role: Value.Object = ["name": "b", "height": 1]
    func refuse(_ name: String, _ value: Value, _ phrase: String) {
      var role = role
      role[name] = value
      refuse(role, at: "cast[1].\(name)", phrase)
    }
    refuse("age", 256, "the number does not fit UInt8")
    refuse("age", -1, "the number does not fit UInt8")
    refuse("age", 1.5, "the number does not fit UInt8")
    refuse("home", "", "the text is not a valid URL")
    refuse("key", "E621E1F8", "the text is not a valid UUID")
    refuse("photo", "%%%", "the text is not a valid Data")
    refuse("fee", "1,5", "the text is not a valid Decimal")
    refuse("fee", "12x", "the text is not a valid Decimal")
    refuse("fee", "NaN", "the text is not a valid Decimal")
    expect(.mismatchedType, at: "cast", "the value is an object; Array<Any> is expected") {
      _ = try Document(["cast": [:]]).decode(Cast.self)
    }
    expect(.mismatchedType, at: "cast[0]", "the value is a whole number; Dictionary<String, Any>") {
      _ = try Document(["cast": [1]]).decode(Cast.self)
    }
    expect(.mismatchedType, at: "born[\"a b\"]", "the text is not a valid Date") {
      _ = try Document(["cast": [], "born": ["a b": "yesterday"]]).decode(Cast.self)
    }
    expect(.mismatchedType, at: "list[2]", "the value is a text; Int") {
      _ = try Document(["list": [1, 2, "3"]]).decode([String: [Int]].self)
    }
    expect(.mismatchedType, at: "list[1]", "the array ends") {
      struct Pair: Decodable {
        init(from decoder: any Decoder) throws {
          var list = try decoder.unkeyedContainer()
          _ = try (list.decode(Int.self), list.decode(Int.self))
        }
      }
      _ = try Document(["list": [1]]).decode([String: Pair].self)
    }
    expect(.mismatchedType, at: nil, "the value is an object; Array<Any>") {
      _ = try Document(["a": 1]).decode([Int].self)
    }
  }

  @Test func `a decoding error names the document and carries Swift's DecodingError`() throws {
    let error = #expect(throws: DatabaseError.self) { try cast([:]).decode(Cast.self) }
    #expect(error?.documentID == "d")
    guard case .keyNotFound(let key, let context) = error?.underlying as? DecodingError else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(key.stringValue == "name")
    #expect(context.codingPath.map(\.stringValue) == ["cast", "Index 1"])
  }

  @Test
  func `errors thrown by a type's own coding are passed on, with their path if they have one`() {
    struct Strict: Codable {
      struct Failure: Error {}
      var even: Int
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        even = try container.decode(Int.self, forKey: .even)
        if even == 1 { throw Failure() }
        if even % 2 == 1 {
          throw DecodingError.dataCorruptedError(
            forKey: .even, in: container, debugDescription: "odd")
        }
      }
    }
    expect(.mismatchedType, at: "a.even", "does not fit Dictionary<String, Strict> at a.even") {
      _ = try Document(["a": ["even": 3]]).decode([String: Strict].self)
    }
    #expect(throws: Strict.Failure.self) {
      try Document(["a": ["even": 1]]).decode([String: Strict].self)
    }
    #expect(throws: Strict.Failure.self) {
      try Document(encoding: Encoding { _ in throw Strict.Failure() })
    }
    expect(.invalidValue, at: "a", "cannot be stored at a") {
      _ = try Document(
        encoding: Encoding { encoder in
          throw EncodingError.invalidValue(
            1, .init(codingPath: [AnyKey("a")], debugDescription: "one"))
        })
    }
  }

  @Test func `an encoding error names the path of the value`() {
    struct Holder<Content: Encodable>: Encodable {
      var list: [[String: Content]]
      init(_ content: Content) { list = [[:], ["x": content]] }
    }
    func refuse(_ value: some Encodable, _ phrase: String) {
      expect(.invalidValue, at: "list[1].x", phrase) { _ = try Document(encoding: Holder(value)) }
    }
    refuse(Double.nan, "not finite")
    refuse(Double.infinity, "not finite")
    refuse(-Float.infinity, "not finite")
    refuse(Decimal.nan, "not finite")
    refuse(Date(timeIntervalSince1970: 1e12), "outside the years")
    refuse(Date(timeIntervalSince1970: .nan), "outside the years")
    refuse(Int128(UInt64.max) + 1, "ranges of Int64 and UInt64")
    refuse(Int128(Int64.min) - 1, "ranges of Int64 and UInt64")
    refuse(UInt128.max, "ranges of Int64 and UInt64")
    refuse(Value.double(.nan), "cannot be stored")
    expect(.invalidValue, at: "list[1].x[2]", "not finite") {
      _ = try Document(encoding: Holder([1, nil, Float.nan] as [Float?]))
    }
    expect(.invalidValue, at: "list[1].x", "not finite") {
      _ = try Document(encoding: Holder([1, Double.nan]))
    }
  }

  @Test func `only values that encode as objects become documents`() throws {
    expect(.invalidValue, at: nil, "Array<Int> does not encode itself as an object") {
      _ = try Document(encoding: [1, 2])
    }
    expect(.invalidValue, at: nil, "String does not encode itself") {
      _ = try Document(encoding: "text")
    }
    expect(.invalidValue, at: nil, "does not encode itself") {
      _ = try Document(encoding: 1 as Int?)
    }
    expect(.invalidValue, at: nil, "does not encode itself") { _ = try Document(encoding: Date()) }
    struct Empty: Codable {}
    #expect(try Document(encoding: Empty()).properties.isEmpty)
  }

  @Test func `property names with a leading underscore are refused except in nested objects`()
    throws
  {
    expect(.invalidValue, at: "_id", "underscore") { _ = try Document(encoding: ["_id": 1]) }
    expect(.invalidValue, at: "_x", "underscore") {
      _ = try Document(
        encoding: Encoding { encoder in
          var container = encoder.container(keyedBy: AnyKey.self)
          _ = container.nestedContainer(keyedBy: AnyKey.self, forKey: "_x")
        })
    }
    #expect(try Document(encoding: ["a": ["_id": 1]])["a"] == ["_id": 1])
  }

  @Test func `encoding a property twice throws`() {
    expect(.invalidValue, at: "a", "twice") {
      _ = try Document(
        encoding: Encoding { encoder in
          var container = encoder.container(keyedBy: AnyKey.self)
          for value in 0..<2 { try container.encode(value, forKey: "a") }
        })
    }
    expect(.invalidValue, at: "a.b", "twice") {
      _ = try Document(
        encoding: Encoding { encoder in
          var container = encoder.container(keyedBy: AnyKey.self)
          var inner = container.nestedContainer(keyedBy: AnyKey.self, forKey: "a")
          for value in 0..<2 { try inner.encode(value, forKey: "b") }
          try container.encode(1, forKey: "c")
        })
    }
  }

  @Test func `encoding two values into one encoder throws`() {
    func refuse(at path: String?, _ body: @escaping @Sendable (any Encoder) throws -> Void) {
      expect(.invalidValue, at: path, "two values where one belongs") {
        _ = try Document(encoding: ["x": Encoding(body)])
      }
    }
    refuse(at: "x") { encoder in
      var container = encoder.singleValueContainer()
      try container.encode(1)
      try container.encode(2)
    }
    refuse(at: "x") { encoder in
      _ = encoder.container(keyedBy: AnyKey.self)
      _ = encoder.unkeyedContainer()
    }
    refuse(at: "x") { encoder in
      var container = encoder.singleValueContainer()
      try container.encode(1)
      _ = encoder.container(keyedBy: AnyKey.self)
    }
    refuse(at: "x.a") { encoder in
      // Writes to a container while a value in it is being encoded.
      var outer = encoder.container(keyedBy: AnyKey.self)
      let box = SharedBox(outer)
      try outer.encode(
        Encoding { inner in
          _ = inner.container(keyedBy: AnyKey.self)
          try box.value.encode(1, forKey: "a")
        }, forKey: "b")
    }
  }

  @Test func `encoding into a container that outlives its encoder throws`() throws {
    let late = SharedBox<KeyedEncodingContainer<AnyKey>?>(nil)
    let part = SharedBox<(any UnkeyedEncodingContainer)?>(nil)
    _ = try Document(
      encoding: [
        "x": Encoding { encoder in
          late.value = encoder.container(keyedBy: AnyKey.self)
          part.value = late.value?.nestedUnkeyedContainer(forKey: "a")
        }
      ])
    #expect(throws: EncodingError.self) { try late.value?.encode(1, forKey: "b") }
    #expect(throws: EncodingError.self) { try part.value?.encode(1) }
  }

  @Test func `encoding a value nested deeper than the document limit throws`() throws {
    indirect enum Nest: Codable {
      case end
      case list([Nest])
      init(depth: Int) { self = depth == 0 ? .end : .list([Nest(depth: depth - 1)]) }
      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self = container.decodeNil() ? .end : .list(try container.decode([Nest].self))
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .end: try container.encodeNil()
        case .list(let list): try container.encode(list)
        }
      }
    }
    let deepest = try Document(encoding: ["x": Nest(depth: 99)])
    try deepest.encoded().validate()
    _ = try deepest.decode([String: Nest].self)
    let path = "x" + String(repeating: "[0]", count: 99)
    expect(.documentTooLarge, at: path, "nested more than 100 deep") {
      _ = try Document(encoding: ["x": Nest(depth: 100)])
    }
    expect(.documentTooLarge, at: "x" + String(repeating: ".x", count: 99), "100 deep") {
      _ = try Document(
        encoding: Encoding { encoder in
          var container = encoder.container(keyedBy: AnyKey.self)
          for _ in 0..<100_000 {
            container = container.nestedContainer(keyedBy: AnyKey.self, forKey: "x")
          }
        })
    }
  }

  @Test func `encoding an array of texts or numbers nested too deep throws`() throws {
    struct Nest<Innermost: Encodable>: Encodable {
      var depth: Int
      var innermost: Innermost
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        if depth == 1 {
          try container.encode(innermost, forKey: "x")
        } else {
          try container.encode(Nest(depth: depth - 1, innermost: innermost), forKey: "x")
        }
      }
    }
    let deepest = try Document(encoding: Nest(depth: 99, innermost: ["a"]))
    try deepest.encoded().validate()
    try Document(encoding: Nest(depth: 100, innermost: "a")).encoded().validate()
    let path = "x" + String(repeating: ".x", count: 99)
    expect(.documentTooLarge, at: path, "100 deep") {
      _ = try Document(encoding: Nest(depth: 100, innermost: ["a"]))
    }
    expect(.documentTooLarge, at: path, "100 deep") {
      _ = try Document(encoding: Nest(depth: 100, innermost: [1.5]))
    }
    expect(.documentTooLarge, at: path, "100 deep") {
      _ = try Document(encoding: Nest(depth: 100, innermost: [] as [Int]))
    }
    expect(.documentTooLarge, at: String(path.dropLast(2)) + "[0]", "100 deep") {
      _ = try Document(encoding: Nest(depth: 99, innermost: [[1]]))
    }
  }

  @Test func `encoding and decoding stop infinite recursion with an error`() {
    struct Endless: Codable {
      init() {}
      init(from decoder: any Decoder) throws {
        self = try decoder.singleValueContainer().decode(Endless.self)
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self)
      }
    }
    expect(.documentTooLarge, at: nil, "encode each other") {
      _ = try Document(encoding: Endless())
    }
    expect(.mismatchedType, at: nil, "decode each other") {
      _ = try Document(["a": 1]).decode(Endless.self)
    }
  }

  @Test func `encoding a document above the size limit throws`() {
    let large = String(repeating: "x", count: DocumentLimits.sizeInBytes + 1)
    expect(.documentTooLarge, at: "a", "bytes") { _ = try Document(encoding: ["a": large]) }
    expect(.documentTooLarge, at: "a", "bytes") {
      let size = DocumentLimits.sizeInBytes / 4 * 3 + 1
      _ = try Document(encoding: ["a": Data(count: size)])
    }
    let half = String(repeating: "x", count: DocumentLimits.sizeInBytes / 2)
    expect(.documentTooLarge, at: "b", "bytes") {
      _ = try Document(encoding: ["b": [half, half, half]])
    }
    expect(.documentTooLarge, at: nil, "bytes") {
      _ = try Document(encoding: ["a": half, "b": half])
    }
    expect(.documentTooLarge, at: "b", "bytes") {
      _ = try Document(
        encoding: Encoding { encoder in
          var container = encoder.container(keyedBy: AnyKey.self)
          for key in ["a", "b"] {
            var list = container.nestedUnkeyedContainer(forKey: AnyKey(stringValue: key))
            try list.encode(half)
          }
        })
    }
  }

  @Test func `decoding damaged or truncated bytes never traps and throws only DatabaseError`()
    throws
  {
    var random = SeededRandom(seed: 11)
    let shape = RandomShape(&random, depth: 1)
    let stored = try Document(encoding: shape).encoded().bytes.array
    var damages = 0
    for index in stored.indices {
      for bit in 0..<8 {
        var bytes = stored
        bytes[index] ^= 1 << UInt8(bit)
        let part = Document(id: "d", revision: nil, EncodedValue(SharedBytes(copying: bytes)))
        do {
          _ = try part.decode(RandomShape.self)
        } catch {
          damages += 1
          #expect(error is DatabaseError)
        }
      }
    }
    print("refused:", damages, "of", stored.count * 8)
    for size in 0..<min(stored.count, 500) {
      let cut = SharedBytes(copying: Array(stored[..<size]))
      #expect(throws: DatabaseError.self) {
        try Document(id: "d", revision: nil, EncodedValue(cut)).decode(RandomShape.self)
      }
    }
  }
}
