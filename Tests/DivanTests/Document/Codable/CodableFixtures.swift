import Divan
import Foundation

/// A type with a property of every kind.
struct AllKinds: Codable, Equatable {
  @DocumentID var id: String?
  var text = "Grüße, 世界 \u{0}\"\\\n"
  var emptyText = ""
  var yes = true
  var no = false
  var int = -42
  var int8 = Int8.min
  var int16 = Int16.max
  var int32 = Int32.min
  var int64 = Int64.min
  var uint = UInt.max
  var uint8 = UInt8.max
  var uint16 = UInt16.max
  var uint32 = UInt32.max
  var uint64 = UInt64.max
  var int128 = Int128(Int64.min)
  var uint128 = UInt128(UInt64.max)
  var double = 0.1
  var wholeDouble = 3.0
  var negativeZero = -0.0
  var largest = Double.greatestFiniteMagnitude
  var smallest = Double.leastNonzeroMagnitude
  var float = Float(0.1)
  var largestFloat = Float.greatestFiniteMagnitude
  var smallestFloat = Float.leastNonzeroMagnitude
  var date = Date(timeIntervalSince1970: 1_772_366_400.123)
  var earlyDate = Date(timeIntervalSince1970: -62_135_596_800)
  var data = Data([0, 1, 2, 250, 255])
  var emptyData = Data()
  var decimal = Decimal(string: "-12345678901234567890.123456789") ?? 0
  var url = URL(string: "https://example.org/a%20b?c=d#e")
  var uuid = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
  var present: String? = "here"
  var missing: Int?
  var color = Color.green
  var shape = Shape.box(width: 3, height: 4.5)
  var point = Shape.point
  var circle = Shape.circle(1)
  var nested = Nested(name: "inner", deeper: Nested(name: "innermost"))
  var strings = ["a", "", "ß"]
  var ints = [1, -1, .max, .min]
  var doubles = [0.5, 2, -1e300]
  var dates = [Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 0.001)]
  var matrix = [[1, 2], [], [3]]
  var gaps: [Int?] = [1, nil, 3]
  var optionalGaps: [String?]? = [nil]
  var many = (0..<300).map { $0 * $0 }
  var manyNested = (0..<40).map { Nested(name: "n\($0)") }
  var byName = ["one": 1, "two": 2, "": 0]
  var byNumber = [1: "one", -2: "minus two"]
  var byColor = [Color.red: 1, Color.green: 2]
  var byPlace: [Place: String] = [Place(x: 1, y: 2): "here"]
  var byDate = ["first": Date(timeIntervalSince1970: 86_400)]
  var set: Set<Int> = [1, 2, 3]
  var range = 1..<5
  var value: Value = ["a": [1, 1.5, .null, true], "n": .unsigned(.max)]
  var object: Value.Object = ["z": 1, "a": "b"]

  enum Color: String, Codable, CodingKeyRepresentable {
    case red, green
  }

  indirect enum Shape: Codable, Equatable {
    case point
    case circle(Double)
    case box(width: Int, height: Double)
    case pair(Shape, Shape?)
  }

  struct Place: Codable, Hashable {
    var x: Int
    var y: Int
  }

  final class Nested: Codable, Equatable, Sendable {
    let name: String
    let deeper: Nested?

    init(name: String, deeper: Nested? = nil) {
      self.name = name
      self.deeper = deeper
    }

    static func == (a: Nested, b: Nested) -> Bool { a.name == b.name && a.deeper == b.deeper }
  }
}

/// A value of random shape, for comparison with the JSON coders.
struct RandomShape: Codable, Equatable {
  var flag: Bool
  var number: Int64
  var unsigned: UInt64
  var double: Double
  var float: Float
  var text: String
  var maybe: String?
  var texts: [String]
  var numbers: [String: Int]
  var shape: AllKinds.Shape
  var inner: [RandomShape]
  var grid: [[Double?]]

  init(_ random: inout SeededRandom, depth: Int = 3) {
    flag = .random(using: &random)
    number = Int64(bitPattern: random.next()) >> Int64.random(in: 0..<64, using: &random)
    unsigned = random.next() >> UInt64.random(in: 0..<64, using: &random)
    double = Double.random(in: -1e6...1e6, using: &random)
    float = Float.random(in: -1000...1000, using: &random)
    text = Value.randomText(&random, upTo: 10)
    maybe = Bool.random(using: &random) ? nil : Value.randomText(&random, upTo: 70)
    texts = (0..<Int.random(in: 0..<40, using: &random)).map { _ in
      Value.randomText(&random, upTo: 4)
    }
    numbers = [:]
    for _ in 0..<Int.random(in: 0..<30, using: &random) {
      numbers[Value.randomText(&random, upTo: 3)] = Int.random(in: -100...100, using: &random)
    }
    shape = RandomShape.shape(&random)
    inner =
      depth == 0
      ? []
      : (0..<Int.random(in: 0..<3, using: &random)).map { _ in
        RandomShape(&random, depth: depth - 1)
      }
    grid = (0..<Int.random(in: 0..<4, using: &random)).map { _ in
      (0..<Int.random(in: 0..<20, using: &random)).map { _ in
        Bool.random(using: &random) ? nil : Double(Int.random(in: 0...9, using: &random)) / 4
      }
    }
  }

  private static func shape(_ random: inout SeededRandom) -> AllKinds.Shape {
    switch Int.random(in: 0..<5, using: &random) {
    case 0: .point
    case 1: .circle(Double.random(in: 0...1, using: &random))
    case 2: .box(width: Int.random(in: 0...9, using: &random), height: 0.25)
    default: .pair(shape(&random), Bool.random(using: &random) ? nil : shape(&random))
    }
  }
}

/// A value that a closure encodes.
struct Encoding: Encodable, Sendable {
  var body: @Sendable (any Encoder) throws -> Void

  init(_ body: @escaping @Sendable (any Encoder) throws -> Void) { self.body = body }

  func encode(to encoder: any Encoder) throws { try body(encoder) }
}

/// A coding key with any value.
struct AnyKey: CodingKey, ExpressibleByStringLiteral {
  var stringValue: String
  var intValue: Int? { nil }
  init(stringLiteral value: String) { stringValue = value }
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

/// A mutable value that closures of one thread share.
final class SharedBox<Content>: @unchecked Sendable {
  var value: Content
  init(_ value: Content) { self.value = value }
}
