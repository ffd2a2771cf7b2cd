import Divan
import DivanLog

/// How the golden stores of format version 1 were made.
///
/// A store that once was checked in is never changed here, so that its files can be made again and
/// compared; new ones are added at the end.
package struct GoldenStores: Sendable {
  package let name: String
  let fill: @Sendable (GoldenBench) throws -> GoldenStore

  package func make() throws -> GoldenStore { try fill(GoldenBench()) }

  private init(
    _ name: String, isClosed: Bool = true,
    _ fill: @escaping @Sendable (GoldenBench) throws -> Database?
  ) {
    self.name = name
    self.fill = { bench in
      let database = try fill(bench)
      let store = try bench.store(name, isClosed: isClosed)
      try database?.close()
      return store
    }
  }

  package static let all = [
    empty, fresh, sessions, interrupted, weak, mergedOne, mergedMany, mergedBehind, checkpoint,
    deltas, tree, tombstones, large, longIDs, unicode, values, nested, manyProperties, histories,
    reserve,
  ]
}

extension GoldenStores {
  // MARK: Logs

  static let empty = GoldenStores("empty") { bench in
    let database = try bench.open()
    try bench.commit(database, [])
    try database.close()
    return nil
  }

  static let fresh = GoldenStores("fresh") { bench in
    let database = try bench.open()
    try bench.commit(database, [("ada", ["born": 1815]), ("zeno", ["paradoxes": 9])])
    try bench.commit(database, [("ada", ["born": 1815, "name": "Ada Lovelace"]), ("zeno", nil)])
    try database.close()
    return nil
  }

  static let sessions = GoldenStores("sessions") { bench in
    for session in 0..<4 {
      let database = try bench.open()
      try bench.fill(database, session * 3..<session * 3 + 5)
      try database.close()
    }
    return nil
  }

  static let interrupted = GoldenStores("interrupted", isClosed: false) { bench in
    let first = try bench.open()
    try bench.fill(first, 0..<6)
    try first.close()
    let database = try bench.open()
    try bench.fill(database, 4..<16)
    return database
  }

  static let weak = GoldenStores("weak", isClosed: false) { bench in
    let database = try bench.open()
    try bench.fill(database, 0..<3)
    try bench.fill(database, 3..<9, durability: .none)
    try database.flush()
    try bench.fill(database, 9..<12, durability: .none)
    return database
  }

  // MARK: Merged

  static let mergedOne = GoldenStores("merged-one") { bench in
    var database = try bench.open()
    try bench.fill(database, 0..<8)
    try bench.fill(database, 0..<6) { ["again": .int(Int64($0))] }
    try database.close()
    database = try bench.open()
    try database.compact()
    try database.close()
    return nil
  }

  static let mergedMany = GoldenStores("merged-many") { bench in
    for session in 0..<5 {
      let database = try bench.open()
      try bench.fill(database, session..<session + 6) { ["text": .string(text($0, 40 + session))] }
      if session == 3 { try bench.commit(database, [("doc-3", nil), ("doc-5", nil)]) }
      if session == 4 { try database.compact() }
      try database.close()
    }
    return nil
  }

  static let mergedBehind = GoldenStores("merged-behind", isClosed: false) { bench in
    for session in 0..<3 {
      let database = try bench.open()
      try bench.fill(database, session..<session + 4)
      if session == 2 { try database.compact() }
      try database.close()
    }
    let database = try bench.open()
    try bench.fill(database, 2..<5) { ["after": .int(Int64($0))] }
    return database
  }

  // MARK: Checkpoints

  static let checkpoint = GoldenStores("checkpoint") { bench in
    let database = try bench.open()
    try bench.fill(database, 0..<12)
    try database.writeCheckpoint()
    try bench.fill(database, 10..<14) { ["after": .int(Int64($0))] }
    try database.close()
    return nil
  }

  static let deltas = GoldenStores("deltas") { bench in
    let database = try bench.open()
    try bench.commit(
      database, (0..<120).map { ("doc-\($0)", ["number": .int(Int64($0))]) })
    try database.writeCheckpoint()
    for round in 0..<3 {
      try bench.fill(database, round * 2..<round * 2 + 3) { ["round": .int(Int64($0 + round))] }
      try bench.commit(database, [("doc-\(round + 20)", nil)])
      try database.writeCheckpoint()
    }
    try bench.fill(database, 1..<3) { ["last": .int(Int64($0))] }
    try database.close()
    return nil
  }

  static let tree = GoldenStores("tree") { bench in
    let database = try bench.open()
    try bench.commit(
      database,
      (0..<260).map {
        (String(repeating: "\($0 % 10)", count: 60) + "-\($0)", ["n": .int(Int64($0))])
      })
    try database.writeCheckpoint()
    try database.close()
    return nil
  }

  // MARK: Documents

  static let tombstones = GoldenStores("tombstones") { bench in
    var database = try bench.open()
    try bench.fill(database, 0..<10)
    for number in 0..<10 { try bench.commit(database, [("doc-\(number)", nil)]) }
    try bench.fill(database, 3..<5) { ["revived": .int(Int64($0))] }
    try database.close()
    database = try bench.open()
    try database.writeCheckpoint()
    try database.close()
    return nil
  }

  static let large = GoldenStores("large") { bench in
    let database = try bench.open()
    // Two frames: a frame is closed at a mebibyte.
    try bench.commit(
      database, [("large", ["text": .string(text(1, 9000))]), ("small", ["text": "small"])])
    try bench.commit(database, [("large", ["text": .string(text(2, 5000))])])
    try database.close()
    return nil
  }

  static let longIDs = GoldenStores("long-ids") { bench in
    let database = try bench.open()
    for length in [1, 2, 127, 128, 239, 240] {
      try bench.commit(database, [(String(repeating: "i", count: length), ["length": 1])])
    }
    try bench.commit(database, [(String(repeating: "\u{1F6CB}", count: 60), ["couch": true])])
    try database.writeCheckpoint()
    try database.close()
    return nil
  }

  static let unicode = GoldenStores("unicode") { bench in
    let database = try bench.open()
    let texts = [
      "\u{E9}", "e\u{301}", "\u{6F22}\u{5B57}", "\u{62F}\u{6CC}\u{648}\u{627}\u{646}",
      "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", "a\u{0}b", "line\nbreak", "\u{FEFF}mark",
      "\u{10FFFF}", "\"quoted\" \\ slashed /",
    ]
    for text in texts {
      try bench.commit(database, [(text, [text: .string(text), "list": [.string(text)]])])
    }
    try database.close()
    return nil
  }

  static let values = GoldenStores("values") { bench in
    let database = try bench.open()
    let integers: [Int64] = [
      0, 63, 64, 255, 256, 65535, 65536, 1 << 24, 1 << 32, 1 << 40, 1 << 48, 1 << 56, .max, -1, -16,
      -17, -256, -257, -65537, .min,
    ]
    let doubles = [
      0.0, -0.0, 1, -1, 0.5, 3.14, -0.01, 0.001, 1e15, 1e16, 123456.789, 1e100, 1e-200, 1e300,
      1.0 / 3, Double(Float(1) / 3), .leastNonzeroMagnitude, .greatestFiniteMagnitude, 1.5e-7,
    ]
    try bench.commit(
      database,
      [
        ("integers", ["list": .array(integers.map { .int($0) }), "max": .integer(UInt64.max)]),
        ("doubles", ["list": .array(doubles.map { .double($0) })]),
        (
          "others",
          ["yes": true, "no": false, "nothing": .null, "empty": "", "none": [], "no one": [:]]
        ),
        (
          "texts",
          ["list": .array([0, 1, 62, 63, 64, 65, 255, 256, 300].map { .string(text($0, $0)) })]
        ),
      ])
    try database.close()
    return nil
  }

  static let nested = GoldenStores("nested") { bench in
    let database = try bench.open()
    for depth in [1, 16, 17, 98, 99] {
      var arrays: Value = .int(Int64(depth))
      var objects: Value = .int(Int64(depth))
      for level in 0..<depth {
        arrays = [arrays]
        objects = .object(["level \(level)": objects])
      }
      try bench.commit(database, [("depth-\(depth)", ["arrays": arrays, "objects": objects])])
    }
    try database.close()
    return nil
  }

  static let manyProperties = GoldenStores("many-properties") { bench in
    let database = try bench.open()
    for count in [0, 1, 15, 16, 17, 32, 33, 200] {
      let properties = (0..<count).map { ("property \($0)", Value.int(Int64($0 * $0))) }
      let list = Value.array((0..<count).map { .string("element \($0)") })
      try bench.commit(
        database,
        [("count-\(count)", Value.Object(properties)), ("list-\(count)", ["list": list])])
    }
    try database.close()
    return nil
  }

  static let histories = GoldenStores("histories") { bench in
    let database = try bench.open()
    for round in 0..<30 { try bench.commit(database, [("often", ["round": .int(Int64(round))])]) }
    try database.writeCheckpoint()
    try bench.commit(database, [("often", nil), ("once", ["round": 0])])
    try bench.commit(database, [("often", ["round": 31])])
    try database.close()
    return nil
  }

  static let reserve = GoldenStores("reserve", isClosed: false) { bench in
    let database = try bench.open { $0.sequenceReserve = 4 }
    try bench.fill(database, 0..<14)
    return database
  }

  /// A text of so many bytes, which does not repeat soon.
  private static func text(_ seed: Int, _ count: Int) -> String {
    var state = UInt32(truncatingIfNeeded: seed &+ 1)
    return String(
      (0..<count).map { _ in
        state = state &* 1_664_525 &+ 1_013_904_223
        return Character(Unicode.Scalar(UInt8(97 + state >> 24 % 26)))
      })
  }
}
