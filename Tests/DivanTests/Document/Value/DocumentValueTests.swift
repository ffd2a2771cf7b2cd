import Divan
import Testing

struct DocumentValueTests {
  @Test func `values are equal exactly if their stored forms are equal`() {
    #expect(Value.int(1) != 1.0)
    #expect(Value.double(0.0) != -0.0)
    #expect(Value.double(.nan) == .double(.nan))
    #expect(Value.unsigned(5) == 5)
    #expect(Value.unsigned(5).hashValue == Value.int(5).hashValue)
    #expect(Value.integer(5) == 5)
    #expect(Value.string("\u{e9}") != "e\u{301}")
    #expect(Value.null != false)
    #expect((["b": 1, "a": 2] as Value) == ["a": 2, "b": 1])
    #expect((["b": 1, "a": 2] as Value).hashValue == (["a": 2, "b": 1] as Value).hashValue)
    #expect(([1, 2] as Value) != [2, 1])
  }

  @Test func `accessors of a value return nil for other types and missing keys`() {
    let value: Value = ["n": 1, "d": 1.5, "s": "x", "a": [true, .null], "u": .unsigned(.max)]
    #expect(value["n"]?.intValue == 1)
    #expect(value["n"]?.doubleValue == 1)
    #expect(value["d"]?.doubleValue == 1.5)
    #expect(value["d"]?.intValue == nil)
    #expect(value["s"]?.stringValue == "x")
    #expect(value["a"]?[0]?.boolValue == true)
    #expect(value["a"]?[1]?.isNull == true)
    #expect(value["a"]?[2] == nil)
    #expect(value["a"]?[-1] == nil)
    #expect(value["u"]?.intValue == nil)
    #expect(value["missing"] == nil)
    #expect(value["s"]?["x"] == nil)
    #expect(value["a"]?.arrayValue?.count == 2)
    #expect(value.objectValue?.count == 5)
  }

  @Test func `an object behaves like a dictionary sorted by the bytes of its keys`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    var object = Value.Object()
    var model: [[UInt8]: Value] = [:]
    for _ in 0..<2000 {
      let key = Value.randomText(&random, upTo: 3)
      let value = Value.random(&random, depth: 0)
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        #expect(object.removeValue(forKey: key) == model.removeValue(forKey: Array(key.utf8)))
      case 1:
        object[key] = nil
        model[Array(key.utf8)] = nil
      default:
        object[key] = value
        model[Array(key.utf8)] = value
      }
      #expect(object[key] == model[Array(key.utf8)])
      #expect(object.count == model.count)
    }
    let sorted = model.keys.sorted { $0.lexicographicallyPrecedes($1) }
    #expect(object.keys.map { Array($0.utf8) } == sorted)
    #expect(object.values.elementsEqual(sorted.map { model[$0] }) { $0 == $1 })
    #expect(Value.Object(object.map { ($0.key, $0.value) }.shuffled()) == object)
  }

  @Test func `the last value of a repeated key wins unless unique keys are required`() throws {
    #expect(Value.Object([("a", 1), ("b", 2), ("a", 3)]) == ["a": 3, "b": 2])
    #expect(try Value.Object(uniqueKeysWithValues: [("b", 2), ("a", 1)]) == ["a": 1, "b": 2])
    #expect { try Value.Object(uniqueKeysWithValues: [("a", 1), ("b", 2), ("a", 3)]) } throws: {
      ($0 as? DatabaseError)?.code == .invalidValue
    }
    #expect(Value.Object([("\u{e9}", 1), ("e\u{301}", 2)]).count == 2)
  }
}
