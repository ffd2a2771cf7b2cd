import Divan
import Foundation
import Testing

/// Tests of how hand-written `encode(to:)` and `init(from:)` can use their containers.
struct CodableContainerTests {
  private class Person: Codable {
    var name: String
    init(name: String) { self.name = name }
  }

  private final class Actor: Person {
    var roles: [String]

    private enum CodingKeys: CodingKey { case roles }

    init(name: String, roles: [String]) {
      self.roles = roles
      super.init(name: name)
    }

    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      roles = try container.decode([String].self, forKey: .roles)
      try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try super.encode(to: container.superEncoder())
      try container.encode(roles, forKey: .roles)
    }
  }

  private final class Singer: Person {
    var voice: String

    private enum CodingKeys: CodingKey { case voice }

    init(name: String, voice: String) {
      self.voice = voice
      super.init(name: name)
    }

    required init(from decoder: any Decoder) throws {
      voice = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .voice)
      try super.init(from: decoder)
    }

    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(voice, forKey: .voice)
    }
  }

  @Test func `a subclass can encode its superclass in a nested super container`() throws {
    let document = try Document(encoding: Actor(name: "Lorre", roles: ["Beckert", "Cairo"]))
    #expect(document.properties == ["super": ["name": "Lorre"], "roles": ["Beckert", "Cairo"]])
    let actor = try document.decode(Actor.self)
    #expect(actor.name == "Lorre")
    #expect(actor.roles == ["Beckert", "Cairo"])
  }

  @Test func `a subclass can encode its superclass into its own container`() throws {
    let document = try Document(encoding: Singer(name: "Callas", voice: "soprano"))
    #expect(document.properties == ["name": "Callas", "voice": "soprano"])
    let singer = try document.decode(Singer.self)
    #expect(singer.name == "Callas")
    #expect(singer.voice == "soprano")
  }

  @Test func `nested containers can be filled in any order`() throws {
    let document = try Document(
      encoding: Encoding { encoder in
        var top = encoder.container(keyedBy: AnyKey.self)
        var object = top.nestedContainer(keyedBy: AnyKey.self, forKey: "object")
        var array = top.nestedUnkeyedContainer(forKey: "array")
        let parent = top.superEncoder()
        let other = top.superEncoder(forKey: "other")
        try top.encode(1, forKey: "z")
        try array.encode("first")
        try object.encode(2, forKey: "y")
        var inner = array.nestedContainer(keyedBy: AnyKey.self)
        try top.encode(3, forKey: "a")
        try array.encode("third")
        var list = array.nestedUnkeyedContainer()
        let last = array.superEncoder()
        try inner.encode(4, forKey: "x")
        try list.encode(5)
        try array.encode("sixth")
        try object.encode([6], forKey: "b")
        var same = top.nestedContainer(keyedBy: AnyKey.self, forKey: "object")
        try same.encode(7, forKey: "c")
        var value = parent.singleValueContainer()
        try value.encode(true)
        _ = other
        var text = last.singleValueContainer()
        try text.encode("last")
        #expect(array.count == 6)
      })
    try document.encoded().validate()
    #expect(
      document.properties == [
        "object": ["y": 2, "b": [6], "c": 7],
        "array": ["first", ["x": 4], "third", [5], "last", "sixth"],
        "super": true, "other": [:], "z": 1, "a": 3,
      ])
  }

  @Test
  func `nested containers of an array keep their positions when they are filled out of order`()
    throws
  {
    let document = try Document(
      encoding: Encoding { encoder in
        var top = encoder.container(keyedBy: AnyKey.self)
        var array = top.nestedUnkeyedContainer(forKey: "array")
        var parts: [any UnkeyedEncodingContainer] = []
        for index in 0..<100 {
          if index % 3 == 0 {
            try array.encode(index)
          } else {
            parts.append(array.nestedUnkeyedContainer())
          }
        }
        for index in parts.indices.reversed() {
          for element in 0..<index { try parts[index].encode(element) }
        }
      })
    try document.encoded().validate()
    var next = 0
    let expected = (0..<100).map { index -> Value in
      if index % 3 == 0 { return .int(Int64(index)) }
      defer { next += 1 }
      return .array((0..<next).map { .int(Int64($0)) })
    }
    #expect(document["array"] == .array(expected))
  }

  @Test func `a value that fails to encode leaves nothing, and its key can be encoded again`()
    throws
  {
    struct Half: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        try container.encode("written", forKey: "first")
        var list = container.nestedUnkeyedContainer(forKey: "list")
        try list.encode(1)
        try container.encode([Double.nan], forKey: "second")
      }
    }
    let document = try Document(
      encoding: Encoding { encoder in
        var container = encoder.container(keyedBy: AnyKey.self)
        try container.encode(0, forKey: "before")
        for value in [Double.infinity, 1.5] {
          try? container.encode(value, forKey: "number")
        }
        try? container.encode(Half(), forKey: "half")
        try container.encode("whole", forKey: "half")
        var list = container.nestedUnkeyedContainer(forKey: "list")
        try? list.encode(Half())
        try? list.encode(Float.nan)
        try list.encode("only")
        #expect(list.count == 1)
      })
    #expect(
      document.properties == ["before": 0, "number": 1.5, "half": "whole", "list": ["only"]])
  }

  @Test func `decoding can try several types and skip elements of unknown types`() throws {
    enum Either: Decodable, Equatable {
      case number(Int)
      case text(String)
      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        do {
          self = .number(try container.decode(Int.self))
        } catch DecodingError.typeMismatch {
          self = .text(try container.decode(String.self))
        }
      }
    }
    let document = Document(["list": [1, "a", 2]])
    #expect(
      try document.decode([String: [Either]].self) == [
        "list": [.number(1), .text("a"), .number(2)]
      ])

    struct Lossy: Decodable {
      var numbers: [Int] = []
      enum CodingKeys: CodingKey { case list }
      struct Ignored: Decodable { init(from _: any Decoder) {} }
      init(from decoder: any Decoder) throws {
        var list = try decoder.container(keyedBy: CodingKeys.self)
          .nestedUnkeyedContainer(forKey: .list)
        #expect(list.count == 3)
        while !list.isAtEnd {
          if let number = try? list.decode(Int.self) {
            numbers.append(number)
          } else {
            _ = try list.decode(Ignored.self)
          }
        }
        #expect(list.currentIndex == 3)
      }
    }
    #expect(try document.decode(Lossy.self).numbers == [1, 2])
  }

  @Test func `a decoder's coding paths and keys are those of the document`() throws {
    struct Observer: Decodable {
      static func text(_ path: [any CodingKey]) -> String {
        path.map(\.stringValue).joined(separator: "/")
      }
      init(from decoder: any Decoder) throws {
        let top = try decoder.container(keyedBy: AnyKey.self)
        #expect(top.allKeys.map(\.stringValue) == ["a", "n"])
        #expect(top.contains("a"))
        #expect(!top.contains("b"))
        #expect(try top.decodeNil(forKey: "n"))
        let inner = try top.nestedContainer(keyedBy: AnyKey.self, forKey: "a")
        #expect(Observer.text(inner.codingPath) == "a")
        var list = try inner.nestedUnkeyedContainer(forKey: "list")
        #expect(try !list.decodeNil())
        let object = try list.nestedContainer(keyedBy: AnyKey.self)
        #expect(Observer.text(object.codingPath) == "a/list/Index 0")
        var numbers = try list.nestedUnkeyedContainer()
        #expect(try numbers.decode(Int.self) == 1)
        #expect(numbers.isAtEnd)
        #expect(try list.decodeNil())
        let last = try list.superDecoder()
        #expect(Observer.text(last.codingPath) == "a/list/Index 3")
        #expect(try last.singleValueContainer().decode(String.self) == "end")
        let absent = try top.superDecoder()
        #expect(try absent.singleValueContainer().decodeNil())
        let present = try top.superDecoder(forKey: "a")
        #expect(try present.container(keyedBy: AnyKey.self).contains("list"))
      }
    }
    _ = try Document(["a": ["list": [[:], [1], .null, "end"]], "n": .null]).decode(Observer.self)
  }
}
