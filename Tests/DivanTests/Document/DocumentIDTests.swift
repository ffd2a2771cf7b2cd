import Divan
import Synchronization
import Testing

struct DocumentIDTests {
  @Test(arguments: [
    "a", "é", " ", "a_", "-", "_design/a", "_design/_", String(repeating: "x", count: 240),
  ])
  func `valid document IDs are accepted`(id: String) throws {
    try DocumentID.validate(id)
  }

  @Test(arguments: [
    ("", "empty"), ("_a", "underscore"), ("_", "underscore"), ("_design/", "underscore"),
    ("_designs/a", "underscore"), ("_local/a", "underscore"),
    (String(repeating: "x", count: 241), "241 bytes"),
    (String(repeating: "é", count: 121), "242 bytes"),
  ])
  func `invalid document IDs are refused with the reason`(id: String, reason: String) {
    #expect { try DocumentID.validate(id) } throws: {
      let error = $0 as? DatabaseError
      return error?.code == .invalidDocumentID && error?.message.contains(reason) == true
    }
  }

  @Test func `generated IDs ascend even if the clock steps back`() throws {
    let clock = Mutex<UInt64>(1_700_000_000_000)
    let generator = DocumentIDGenerator.timeOrdered(
      millisecondsSince1970: {
        clock.withLock { time in
          time = time + 2 - UInt64.random(in: 0...3)
          return time
        }
      }, random: { .random(in: 0...UInt64.max) })
    var last = ""
    for _ in 0..<2000 {
      let id = generator.next()
      try DocumentID.validate(id)
      #expect(id.utf8.count == 20)
      #expect(last.utf8.lexicographicallyPrecedes(id.utf8))
      last = id
    }
    let later = DocumentIDGenerator.timeOrdered(
      millisecondsSince1970: { 1_900_000_000_000 }, random: { 0 })
    #expect(last < later.next())
    #expect(DocumentIDGenerator.timeOrdered.next() != DocumentIDGenerator.timeOrdered.next())
  }

  /// Regression: IDs began with a hyphen, which command-line tools take for an option.
  @Test func `generated IDs ascend and never begin with a hyphen or an underscore`()
    throws
  {
    var last = ""
    for first in 0..<64 as Range<UInt64> {
      let generator = DocumentIDGenerator.timeOrdered(
        millisecondsSince1970: { first << 42 }, random: { 0 })
      let id = generator.next()
      try DocumentID.validate(id)
      #expect(!id.hasPrefix("-"))
      #expect(last.utf8.lexicographicallyPrecedes(id.utf8))
      last = id
    }
    #expect(DocumentIDGenerator.timeOrdered.next().first?.isASCII == true)
    #expect(DocumentIDGenerator.timeOrdered.next().first?.isNumber == true)
  }

  @Test func `generated IDs ascend when the random bits overflow`() {
    let generator = DocumentIDGenerator.timeOrdered(
      millisecondsSince1970: { 5 }, random: { UInt64.max })
    var last = generator.next()
    for _ in 0..<100 {
      let next = generator.next()
      #expect(last.utf8.lexicographicallyPrecedes(next.utf8))
      last = next
    }
  }

  @Test func `the IDs of a custom generator are used unchanged`() {
    let count = Atomic(0)
    let generator = DocumentIDGenerator { "doc\(count.add(1, ordering: .relaxed).newValue)" }
    #expect(generator.next() == "doc1")
    #expect(generator.next() == "doc2")
  }
}

struct DocumentPropertyNamesTests {
  @Test(arguments: ["_id", "_", "_x"])
  func `top-level property names that begin with an underscore are reserved`(name: String) throws {
    let object: Value.Object = ["Above": 1, name: 1, "a": 2, "\u{1}": 1]
    func check(_ error: any Error) -> Bool {
      let error = error as? DatabaseError
      return error?.code == .invalidValue && error?.message.contains("\"\(name)\"") == true
    }
    #expect { try PropertyNames.validate(object) } throws: { check($0) }
    let stored = EncodedValue(try Value.object(object).stored)
    #expect { try PropertyNames.validate(stored) } throws: { check($0) }
  }

  @Test func `nested properties may have any name`() throws {
    let value: Value = ["a": ["_id": 1], "A_": 1, "": 1]
    try PropertyNames.validate(try #require(value.objectValue))
    try PropertyNames.validate(EncodedValue(try value.stored))
  }
}
