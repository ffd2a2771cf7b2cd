import Divan
import DivanLog
import Synchronization

/// The recipes of the golden stores of format version 1.
///
/// A store that was checked in is never changed here, so that its files can be recreated and
/// compared; new ones are added at the end.
package struct GoldenStores: Sendable {
  package let name: String
  let fill: @Sendable (GoldenBench) throws -> GoldenStore

  package func make() throws -> GoldenStore { try fill(GoldenBench()) }

  /// Creates a recipe from `fill`, which returns a database that is still open, or nil.
  ///
  /// An open database is left as if its process had been killed; with nil, the store was closed.
  private init(
    _ name: String, path: String = GoldenBench.path,
    _ fill: @escaping @Sendable (GoldenBench) throws -> Database?
  ) {
    self.init(name) { fixture in
      let database = try fill(fixture)
      let store = GoldenStore(
        name: name, isClosed: database == nil, files: try fixture.files(path),
        contents: fixture.contents, versions: fixture.versions,
        dumps: fixture.dumpsSoFar.withLock { $0 })
      try database?.close()
      return store
    }
  }

  private init(
    _ name: String, store: @escaping @Sendable (GoldenBench) throws -> GoldenStore
  ) {
    self.name = name
    fill = store
  }

  package static let all = [
    empty, fresh, sessions, interrupted, weak, mergedOne, mergedMany, mergedBehind, checkpoint,
    deltas, tree, tombstones, large, longIDs, unicode, values, nested, manyProperties, histories,
    reserve, rotation, aged, leftovers, backup, multiFrame, zerosAhead,
  ]

  /// Stores whose documents have more than properties.
  package static let rich = [conflicts, attachments, history, local, indexes]

  /// The names of checked-in stores that no writer leaves in this state any more.
  ///
  /// `merged-one-spent`: after a merge of one segment no checkpoint was written, so that the
  /// existing one cannot be used.
  package static let ofEarlierWriters = ["merged-one-spent"]
}

extension GoldenStores {
  // MARK: Logs

  static let empty = GoldenStores("empty") { fixture in
    let database = try fixture.open()
    try fixture.commit(database, [])
    try database.close()
    return nil
  }

  static let fresh = GoldenStores("fresh") { fixture in
    let database = try fixture.open()
    try fixture.commit(database, [("ada", ["born": 1815]), ("zeno", ["paradoxes": 9])])
    try fixture.commit(database, [("ada", ["born": 1815, "name": "Ada Lovelace"]), ("zeno", nil)])
    try database.close()
    return nil
  }

  static let sessions = GoldenStores("sessions") { fixture in
    for session in 0..<4 {
      let database = try fixture.open()
      try fixture.fill(database, session * 3..<session * 3 + 5)
      try database.close()
    }
    return nil
  }

  static let interrupted = GoldenStores("interrupted") { fixture in
    let first = try fixture.open()
    try fixture.fill(first, 0..<6)
    try first.close()
    let database = try fixture.open()
    try fixture.fill(database, 4..<16)
    return database
  }

  static let weak = GoldenStores("weak") { fixture in
    let database = try fixture.open()
    try fixture.fill(database, 0..<3)
    try fixture.fill(database, 3..<9, durability: .none)
    try database.flush()
    try fixture.fill(database, 9..<12, durability: .none)
    return database
  }

  // MARK: Merged

  static let mergedOne = GoldenStores("merged-one") { fixture in
    var database = try fixture.open()
    try fixture.fill(database, 0..<8)
    try fixture.fill(database, 0..<6) { ["again": .int(Int64($0))] }
    try database.close()
    database = try fixture.open()
    try database.compact()
    try database.close()
    return nil
  }

  static let mergedMany = GoldenStores("merged-many") { fixture in
    for session in 0..<5 {
      let database = try fixture.open()
      try fixture.fill(database, session..<session + 6) {
        ["text": .string(text($0, 40 + session))]
      }
      if session == 3 { try fixture.commit(database, [("doc-3", nil), ("doc-5", nil)]) }
      if session == 4 { try database.compact() }
      try database.close()
    }
    return nil
  }

  static let mergedBehind = GoldenStores("merged-behind") { fixture in
    for session in 0..<3 {
      let database = try fixture.open()
      try fixture.fill(database, session..<session + 4)
      if session == 2 { try database.compact() }
      try database.close()
    }
    let database = try fixture.open()
    try fixture.fill(database, 2..<5) { ["after": .int(Int64($0))] }
    return database
  }

  // MARK: Checkpoints

  static let checkpoint = GoldenStores("checkpoint") { fixture in
    let database = try fixture.open()
    try fixture.fill(database, 0..<12)
    try database.writeCheckpoint()
    try fixture.fill(database, 10..<14) { ["after": .int(Int64($0))] }
    try database.close()
    return nil
  }

  static let deltas = GoldenStores("deltas") { fixture in
    let database = try fixture.open()
    try fixture.commit(
      database, (0..<120).map { ("doc-\($0)", ["number": .int(Int64($0))]) })
    try database.writeCheckpoint()
    for round in 0..<3 {
      try fixture.fill(database, round * 2..<round * 2 + 3) { ["round": .int(Int64($0 + round))] }
      try fixture.commit(database, [("doc-\(round + 20)", nil)])
      try database.writeCheckpoint()
    }
    try fixture.fill(database, 1..<3) { ["last": .int(Int64($0))] }
    try database.close()
    return nil
  }

  static let tree = GoldenStores("tree") { fixture in
    let database = try fixture.open()
    try fixture.commit(
      database,
      (0..<260).map {
        (String(repeating: "\($0 % 10)", count: 60) + "-\($0)", ["n": .int(Int64($0))])
      })
    try database.writeCheckpoint()
    try database.close()
    return nil
  }

  // MARK: Documents

  static let tombstones = GoldenStores("tombstones") { fixture in
    var database = try fixture.open()
    try fixture.fill(database, 0..<10)
    for number in 0..<10 { try fixture.commit(database, [("doc-\(number)", nil)]) }
    try fixture.fill(database, 3..<5) { ["revived": .int(Int64($0))] }
    try database.close()
    database = try fixture.open()
    try database.writeCheckpoint()
    try database.close()
    return nil
  }

  static let large = GoldenStores("large") { fixture in
    let database = try fixture.open()
    try fixture.commit(
      database, [("large", ["text": .string(text(1, 9000))]), ("small", ["text": "small"])])
    try fixture.commit(database, [("large", ["text": .string(text(2, 5000))])])
    try database.close()
    return nil
  }

  static let longIDs = GoldenStores("long-ids") { fixture in
    let database = try fixture.open()
    for length in [1, 2, 127, 128, 239, 240] {
      try fixture.commit(database, [(String(repeating: "i", count: length), ["length": 1])])
    }
    try fixture.commit(database, [(String(repeating: "\u{1F6CB}", count: 60), ["couch": true])])
    try database.writeCheckpoint()
    try database.close()
    return nil
  }

  static let unicode = GoldenStores("unicode") { fixture in
    let database = try fixture.open()
    let texts = [
      "\u{E9}", "e\u{301}", "\u{6F22}\u{5B57}", "\u{62F}\u{6CC}\u{648}\u{627}\u{646}",
      "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", "a\u{0}b", "line\nbreak", "\u{FEFF}mark",
      "\u{10FFFF}", "\"quoted\" \\ slashed /",
    ]
    for text in texts {
      try fixture.commit(database, [(text, [text: .string(text), "list": [.string(text)]])])
    }
    try database.close()
    return nil
  }

  static let values = GoldenStores("values") { fixture in
    let database = try fixture.open()
    let integers: [Int64] = [
      0, 63, 64, 255, 256, 65535, 65536, 1 << 24, 1 << 32, 1 << 40, 1 << 48, 1 << 56, .max, -1, -16,
      -17, -256, -257, -65537, .min,
    ]
    let doubles = [
      0.0, -0.0, 1, -1, 0.5, 3.14, -0.01, 0.001, 1e15, 1e16, 123456.789, 1e100, 1e-200, 1e300,
      1.0 / 3, Double(Float(1) / 3), .leastNonzeroMagnitude, .greatestFiniteMagnitude, 1.5e-7,
    ]
    try fixture.commit(
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

  static let nested = GoldenStores("nested") { fixture in
    let database = try fixture.open()
    for depth in [1, 16, 17, 98, 99] {
      var arrays: Value = .int(Int64(depth))
      var objects: Value = .int(Int64(depth))
      for level in 0..<depth {
        arrays = [arrays]
        objects = .object(["level \(level)": objects])
      }
      try fixture.commit(database, [("depth-\(depth)", ["arrays": arrays, "objects": objects])])
    }
    try database.close()
    return nil
  }

  static let manyProperties = GoldenStores("many-properties") { fixture in
    let database = try fixture.open()
    for count in [0, 1, 15, 16, 17, 32, 33, 200] {
      let properties = (0..<count).map { ("property \($0)", Value.int(Int64($0 * $0))) }
      let list = Value.array((0..<count).map { .string("element \($0)") })
      try fixture.commit(
        database,
        [("count-\(count)", Value.Object(properties)), ("list-\(count)", ["list": list])])
    }
    try database.close()
    return nil
  }

  static let histories = GoldenStores("histories") { fixture in
    let database = try fixture.open()
    for round in 0..<30 { try fixture.commit(database, [("often", ["round": .int(Int64(round))])]) }
    try database.writeCheckpoint()
    try fixture.commit(database, [("often", nil), ("once", ["round": 0])])
    try fixture.commit(database, [("often", ["round": 31])])
    try database.close()
    return nil
  }

  static let reserve = GoldenStores("reserve") { fixture in
    let database = try fixture.open { $0.sequenceReserve = 4 }
    try fixture.fill(database, 0..<14)
    return database
  }

  // MARK: More files

  static let rotation = GoldenStores("rotation") { fixture in
    let database = try fixture.open { $0.segmentSizeGoal = 6 << 10 }
    try fixture.fill(database, 0..<24) { ["text": .string(text($0, 200))] }
    try database.close()
    return nil
  }

  static let aged = GoldenStores("aged") { fixture in
    for session in 0..<6 {
      let database = try fixture.open { $0.segmentSizeGoal = 6 << 10 }
      try fixture.fill(database, session..<session + 8) {
        ["session": .int(Int64(session)), "text": .string(text($0, 150))]
      }
      try fixture.commit(database, [("doc-\(session)", nil)])
      if session % 2 == 1 { try database.writeCheckpoint() }
      if session == 3 { try database.compact() }
      try database.close()
    }
    return nil
  }

  /// A merged file together with its inputs, which are not deleted yet.
  static let leftovers = GoldenStores(
    "leftovers",
    store: { fixture in
      for session in 0..<3 {
        let database = try fixture.open()
        try fixture.fill(database, session..<session + 4)
        try database.close()
      }
      let before = try fixture.files()
      let database = try fixture.open()
      try fixture.commit(database, [("doc-1", nil)])
      try database.compact()
      try database.close()
      let files = try fixture.files().merging(before) { after, _ in after }
      return GoldenStore(
        name: "leftovers", isClosed: true, files: files, contents: fixture.contents,
        versions: fixture.versions)
    })

  static let backup = GoldenStores("backup", path: "/backup.divan") { fixture in
    let database = try fixture.open()
    try fixture.fill(database, 0..<6)
    try fixture.commit(database, [("doc-2", nil), ("doc-3", ["changed": true])])
    try database.backup(to: "/backup.divan")
    try database.close()
    return nil
  }

  /// A process that was killed, with zeros after the end of its log.
  static let zerosAhead = GoldenStores("zeros-ahead") { fixture in
    let database = try fixture.open { $0.segmentSizeGoal = 64 << 10 }
    try fixture.fill(database, 0..<90) { ["text": .string(text($0, 200))] }
    return database
  }

  /// A transaction larger than a frame, which holds up to a mebibyte.
  static let multiFrame = GoldenStores("multi-frame") { fixture in
    let database = try fixture.open()
    let long = String(repeating: "0123456789abcdef", count: 33_000)
    try fixture.commit(
      database,
      [
        ("long-1", ["text": .string(long)]), ("long-2", ["text": .string(long + "2")]),
        ("short", ["text": "short"]),
      ])
    try fixture.commit(database, [("short", ["text": "shorter"])])
    try database.close()
    return nil
  }

  // MARK: More than properties

  static let conflicts = GoldenStores("conflicts") { fixture in
    var database = try fixture.open()
    try fixture.noteDump(database)
    try fixture.change(database, .put("plain", size: 3), .put("made here", size: 4))
    try fixture.change(database, .put("made here", size: 5), .branch("made here", size: 6))
    for number in 0..<4 {
      try fixture.change(
        database, .insert("foreign", size: number, isOnto: false, isDeleted: number == 2))
    }
    try fixture.change(
      database, .insert("foreign", size: 7, isOnto: true, isDeleted: false),
      .insert("made here", size: 8, isOnto: false, isDeleted: true))
    try database.close()
    database = try fixture.open()
    try fixture.change(
      database, .put("resolved", size: 1), .put("resolved", size: 2), .branch("resolved", size: 3))
    try fixture.change(database, .resolve("resolved"), .delete("made here"))
    try fixture.change(
      database, .purgeLeaf("foreign", 1), .put("purged", size: 9), .purge("purged"))
    try database.close()
    return nil
  }

  static let attachments = GoldenStores("attachments") { fixture in
    let database = try fixture.open { $0.attachmentInlineLimit = 100 }
    try fixture.noteDump(database)
    try fixture.change(
      database, .attach("one", name: "small", seed: 1, size: 20),
      .attach("one", name: "large", seed: 2, size: 300), .put("plain", size: 2))
    try fixture.change(
      database, .attach("two", name: "the same", seed: 2, size: 300),
      .attach("gone", name: "large", seed: 3, size: 260))
    try fixture.change(database, .update("one"), .detach("gone"))
    try database.compact()
    try fixture.change(database, .attach("three", name: "empty", seed: 0, size: 0))
    try database.close()
    return nil
  }

  static let history = GoldenStores("history") { fixture in
    var database = try fixture.open { $0.history = .unlimited }
    try fixture.noteDump(database)
    try fixture.change(database, .put("a", size: 1), .attach("b", name: "note", seed: 4, size: 9))
    try fixture.name(database, "first")
    try fixture.change(database, .put("a", size: 2), .detach("b"))
    try database.close()
    database = try fixture.open { $0.history = .unlimited }
    try fixture.change(database, .delete("a"), .put("c", size: 3))
    try database.compact()
    try fixture.name(database, "second")
    try fixture.change(database, .put("c", size: 4), .put("a", size: 5))
    try database.close()
    return nil
  }

  /// Indexes: one that was removed, and one that changed before and after the checkpoint.
  static let indexes = GoldenStores("indexes") { fixture in
    var database = try fixture.open()
    try fixture.noteDump(database)
    try fixture.addIndex(database, "gone by number")
    try fixture.change(database, .put("a", size: 1), .put("b", size: 2), .put("c", size: 3))
    try fixture.addIndex(database, "by number")
    try fixture.removeIndex(database, "gone by number")
    try fixture.change(database, .put("b", size: 4), .branch("b", size: 5), .delete("a"))
    try database.close()
    database = try fixture.open()
    try database.compact()
    try fixture.change(database, .put("a", size: 6), .purge("c"), .put("d", size: 7))
    try database.close()
    return nil
  }

  /// Local documents, and expiries.
  static let local = GoldenStores("local") { fixture in
    let database = try fixture.open()
    try fixture.noteDump(database)
    try fixture.change(
      database, .putLocal("state", size: 3), .putLocal("gone", size: 2), .put("stays", size: 1))
    try fixture.change(
      database, .put("ends", size: 1), .expire("ends", seconds: 1000), .removeLocal("gone"))
    try fixture.change(
      database, .putLocal("state", size: 4), .expire("stays", seconds: 5),
      .expire("stays", seconds: nil))
    try database.writeCheckpoint()
    try fixture.change(database, .put("ends", size: 2), .putLocal("new", size: 1))
    try database.close()
    return nil
  }

  /// Returns a text of `count` bytes, which does not soon repeat.
  private static func text(_ seed: Int, _ count: Int) -> String {
    var state = UInt32(truncatingIfNeeded: seed &+ 1)
    return String(
      (0..<count).map { _ in
        state = state &* 1_664_525 &+ 1_013_904_223
        return Character(Unicode.Scalar(UInt8(97 + state >> 24 % 26)))
      })
  }
}
