import Divan
import DivanLog
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

struct DocumentJSONTests {
  @Test func `values survive a round trip through JSON, and both ways to the stored form agree`()
    throws
  {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<1000 {
      let value = Value.random(&random)
      let text = value.json
      let stored = try value.stored
      #expect(try Value(json: text) == value)
      #expect(try Value(json: value.prettyJSON) == value)
      #expect(try ValueEncoder.encode(json: SharedBytes(copying: Array(text.utf8))) == stored)
      #expect(try EncodedValue(stored).json() == text)
    }
  }

  static let readings: [(text: String, value: Value)] = [
    ("1", 1), ("-0", -0.0), ("1.0", 1.0), ("1e3", 1000.0), ("-0.0", -0.0),
    ("18446744073709551615", .unsigned(.max)), ("-9223372036854775808", .int(.min)),
    ("9223372036854775807", .int(.max)), ("9223372036854775808", .unsigned(1 << 63)),
    ("0.1", 0.1), ("123456789012345678901234567890.0", 123456789012345678901234567890.0),
    ("1e-400", 0.0), ("2.2250738585072011e-308", .double(.leastNormalMagnitude.nextDown)),
    (#""\u00e9\ud83d\ude00\n\/\"\\""#, "é😀\n/\"\\"), (" [ ] ", []), ("{ }", [:]),
    ("[1 , null,\ttrue,\r\nfalse]", [1, .null, true, false]),
    (#"{"b":1,"a":{"":[]}}"#, ["a": ["": []], "b": 1]),
  ]

  @Test(arguments: readings)
  func `JSON text parses into the expected values`(text: String, value: Value) throws {
    #expect(try Value(json: text) == value)
    #expect(
      try ValueEncoder.encode(json: SharedBytes(copying: Array(text.utf8))) == value.stored)
  }

  @Test(arguments: [
    ("", 0, ""), ("[", 1, ""), ("[1,]", 3, "[1]"), ("[1 2]", 3, "[0]"), ("{\"a\" 1}", 5, "at a"),
    ("{\"a\":1,}", 7, ""), ("{,}", 1, ""), ("[,]", 1, ""), ("01", 0, ""), ("-", 0, ""),
    ("1.", 2, ""), ("1.e1", 2, ""), (".5", 0, ""), ("+1", 0, ""), ("1e", 2, ""), ("1e400", 0, ""),
    ("nul", 0, ""), ("True", 0, ""), ("1 1", 2, ""), ("{}x", 2, ""), ("\"", 1, ""),
    ("\"a\u{1}b\"", 2, "control"), ("\"\\x\"", 1, ""), ("\"\\u12\"", 1, ""),
    ("\"\\ud800\"", 1, "surrogate"), ("\"\\udc00\"", 1, "surrogate"),
    ("\"\\ud800\\u0041\"", 1, "surrogate"), ("[\"a]", 4, "[0]"), ("[}", 1, ""), ("{]", 1, ""),
    ("{\"cast\":[1,2,3,{\"height\":18446744073709551616}]}", 25, "cast[3].height"),
    ("-9223372036854775809", 0, ""), ("{\"a\":{\"x\":1,\"y\":2,\"x\":3}}", 18, "a.x"),
    ("{\"x\":1,\"\\u0078\":3}", 7, "at x"), ("{\"b b\":[00]}", 8, "[\"b b\"][0]"),
    ("\u{FEFF}1", 0, ""),
    ("NaN", 0, ""), ("[1]]", 3, ""),
  ])
  func `invalid or lossy JSON is refused with its offset and path`(
    text: String, offset: Int, message: String
  ) throws {
    func check(_ error: any Error) -> Bool {
      guard let error = error as? DatabaseError else { return false }
      let isRight =
        error.code == .invalidJSON && error.offset == offset
        && (message.isEmpty || error.message.contains(message))
      if !isRight { print(text, error) }
      return isRight
    }
    #expect { try Value(json: text) } throws: { check($0) }
    #expect { try ValueEncoder.encode(json: SharedBytes(copying: Array(text.utf8))) } throws: {
      check($0)
    }
  }

  @Test func `an exponent of any size counts in full, also after as many zeros`() throws {
    // The zeros alone make up for an exponent of 100,000, but not for one ten times as great.
    let zeros = "0." + String(repeating: "0", count: 99_999)
    #expect(try Value(json: zeros + "1e100000") == 1.0)
    for exponent in ["1000000", "99999999999999999999"] {
      let error = #expect(throws: DatabaseError.self) {
        try Value(json: zeros + "1e" + exponent)
      }
      #expect(error?.code == .invalidJSON && error?.offset == 0)
    }
  }

  @Test func `JSON that is not valid UTF-8 is refused with its offset`() throws {
    for bytes in [
      [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
      [0x22, 0xE2, 0x98, 0x22], [0x22, 0xF5, 0x80, 0x80, 0x80, 0x22], [0x22, 0xE2],
    ] as [[UInt8]] {
      func check(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError else { return false }
        return error.code == .invalidJSON && error.offset == 1
      }
      let shared = SharedBytes(copying: bytes)
      #expect { try Value(json: bytes) } throws: { check($0) }
      #expect { try ValueEncoder.encode(json: shared) } throws: { check($0) }
      #expect {
        var elements = JSONElements(bytes)
        _ = try elements.next()
      } throws: {
        check($0)
      }
    }
    // Also after valid bytes, in a key, and outside of texts.
    for (bytes, offset) in [
      (Array("{\"a\":[1,\"é".utf8) + [0x80, 0x22, 0x5D, 0x7D], 11),
      ([0x7B, 0x22, 0xFE, 0x22, 0x3A, 0x31, 0x7D], 2), ([0x31, 0x20, 0xC2], 2),
    ] as [([UInt8], Int)] {
      let error = #expect(throws: DatabaseError.self) { try Value(json: bytes) }
      #expect(error?.code == .invalidJSON && error?.offset == offset)
    }
  }

  @Test func `a string decoded from invalid UTF-8 is stored with its replacement characters`()
    throws
  {
    // Swift replaces such bytes with replacement characters, and the text is stored with them.
    let text = String(decoding: [0x61, 0xFF, 0xED, 0xA0, 0x80] as [UInt8], as: UTF8.self)
    #expect(text.unicodeScalars.contains("\u{FFFD}"))
    let fileSystem = MemoryFileSystem()
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    let database = try Database(at: "/texts.divan", configuration: configuration)
    try database.write { try $0.replace(text, with: [text: .string(text)]) }
    let document = try #require(try database.snapshot().document(text))
    #expect(document.id == text)
    #expect(document.properties == [text: .string(text)])
    let stored = try Value.object([text: .string(text)]).stored
    try EncodedValue(stored).validate()
    #expect(try Value(json: document.json) == .object(document.properties))
  }

  @Test func `parsing, encoding and decoding share the nesting limit of 100 levels`() throws {
    let allowed = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
    var value = try Value(json: allowed)
    let stored = try value.stored
    #expect(try EncodedValue(stored).decode() == value)

    let refused = "[" + allowed + "]"
    #expect { try Value(json: refused) } throws: {
      ($0 as? DatabaseError)?.code == .documentTooLarge
    }
    value = [value]
    #expect { try value.stored } throws: { ($0 as? DatabaseError)?.code == .documentTooLarge }
    #expect(value.json == refused)
    // The decoder does not read what the encoder does not write: 101 containers, built by hand.
    var bytes: [UInt8] = [0xB0]
    for _ in 0..<100 {
      bytes =
        [0xB1 + (bytes.count < 256 ? 0 : 1)]
        + (bytes.count < 256
          ? [UInt8(bytes.count)] : [UInt8(bytes.count & 0xFF), UInt8(bytes.count >> 8)]) + bytes
    }
    #expect { try EncodedValue(SharedBytes(copying: bytes)).decode() } throws: {
      ($0 as? DatabaseError)?.code == .damaged
    }
    let bomb = [UInt8](repeating: 0x5B, count: 1_000_000)
    #expect(throws: DatabaseError.self) { try Value(json: bomb) }
  }

  @Test func `encoding an object above the size limit is refused`() throws {
    let half = Value.string(String(repeating: "x", count: DocumentLimits.sizeInBytes / 2))
    #expect(throws: Never.self) { try (["a": half] as Value).stored }
    #expect { try (["a": half, "b": half] as Value).stored } throws: {
      ($0 as? DatabaseError)?.code == .documentTooLarge
    }
    #expect(try (["a": half] as Value).stored.count < (["a": half] as Value).json.utf8.count)
  }

  @Test func `numbers that are not finite are refused with their path`() throws {
    let value: Value = ["cast": [1, 2, ["height": .double(.nan)]]]
    #expect { try value.stored } throws: {
      ($0 as? DatabaseError)?.code == .invalidValue
        && ($0 as? DatabaseError)?.message.contains("cast[2].height") == true
    }
    #expect(value.json == #"{"cast":[1,2,{"height":null}]}"#)
  }

  static let texts: [(text: String, elements: [Value])] = [
    ("", []), (" [ ] ", []), ("[1, {\"a\":[]} ,\"x\"]\n", [1, ["a": []], "x"]),
    ("{\"a\":1}\n{\"a\":2}\n", [["a": 1], ["a": 2]]), ("{}", [[:]]), ("\n\n1\n", [1]),
  ]

  @Test(arguments: texts)
  func `JSON elements are read one by one from an array or from lines`(
    text: String, expected: [Value]
  ) throws {
    var elements = JSONElements(text.utf8)
    var found: [Value] = []
    while let element = try elements.next() { found.append(element) }
    #expect(found == expected)
    #expect(try elements.next() == nil)
  }

  @Test(arguments: ["[1 2]", "[1,", "[1]2", "[1,]", "{\"a\":1}x", "[", "{\"a\":"])
  func `after a syntax error the element reader repeats the same error`(text: String) throws {
    var elements = JSONElements(text.utf8)
    var count = 0
    let error = #expect(throws: DatabaseError.self) {
      while try elements.next() != nil { count += 1 }
    }
    #expect(count <= 1)
    #expect { try elements.next() } throws: { ($0 as? DatabaseError)?.offset == error?.offset }
  }

  @Test func `the stored form of real documents takes no more bytes than their JSON`() throws {
    guard let directory = ProcessInfo.processInfo.environment["DIVAN_DATA"] else {
      print("DIVAN_DATA is not set: no films were read")
      return
    }
    let data = try Data(contentsOf: URL(fileURLWithPath: directory + "/movies/movies-1920s.json"))
    var elements = JSONElements(data)
    var count = 0
    var storedSize = 0
    var textSize = 0
    while let film = try elements.next() {
      let stored = try film.stored
      let text = film.json
      #expect(stored.count <= text.utf8.count)
      count += 1
      storedSize += stored.count
      textSize += text.utf8.count
      if count % 50 == 0 {
        #expect(try EncodedValue(stored).decode() == film)
        try EncodedValue(stored).validate()
        #expect(try Value(json: text) == film)
      }
    }
    print("films:", count, "stored:", storedSize, "JSON:", textSize)
    #expect(count > 1000)
  }
}
