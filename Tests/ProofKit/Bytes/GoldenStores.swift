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
    self.init(name) { bench in
      let database = try fill(bench)
      let store = GoldenStore(
        name: name, isClosed: database == nil, files: try bench.files(path),
        contents: bench.contents, versions: bench.versions,
        dumps: bench.dumpsSoFar.withLock { $0 })
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
    reserve, rotation, aged, leftovers, backup, multiFrame,
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

  static let interrupted = GoldenStores("interrupted") { bench in
    let first = try bench.open()
    try bench.fill(first, 0..<6)
    try first.close()
    let database = try bench.open()
    try bench.fill(database, 4..<16)
    return database
  }

  static let weak = GoldenStores("weak") { bench in
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

  static let mergedBehind = GoldenStores("merged-behind") { bench in
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

  static let reserve = GoldenStores("reserve") { bench in
    let database = try bench.open { $0.sequenceReserve = 4 }
    try bench.fill(database, 0..<14)
    return database
  }

  // MARK: More files

  static let rotation = GoldenStores("rotation") { bench in
    let database = try bench.open { $0.segmentSizeGoal = 6 << 10 }
    try bench.fill(database, 0..<24) { ["text": .string(text($0, 200))] }
    try database.close()
    return nil
  }

  static let aged = GoldenStores("aged") { bench in
    for session in 0..<6 {
      let database = try bench.open { $0.segmentSizeGoal = 6 << 10 }
      try bench.fill(database, session..<session + 8) {
        ["session": .int(Int64(session)), "text": .string(text($0, 150))]
      }
      try bench.commit(database, [("doc-\(session)", nil)])
      if session % 2 == 1 { try database.writeCheckpoint() }
      if session == 3 { try database.compact() }
      try database.close()
    }
    return nil
  }

  /// A merged file together with its inputs, which are not deleted yet.
  static let leftovers = GoldenStores(
    "leftovers",
    store: { bench in
      for session in 0..<3 {
        let database = try bench.open()
        try bench.fill(database, session..<session + 4)
        try database.close()
      }
      let before = try bench.files()
      let database = try bench.open()
      try bench.commit(database, [("doc-1", nil)])
      try database.compact()
      try database.close()
      let files = try bench.files().merging(before) { after, _ in after }
      return GoldenStore(
        name: "leftovers", isClosed: true, files: files, contents: bench.contents,
        versions: bench.versions)
    })

  static let backup = GoldenStores("backup", path: "/backup.divan") { bench in
    let database = try bench.open()
    try bench.fill(database, 0..<6)
    try bench.commit(database, [("doc-2", nil), ("doc-3", ["changed": true])])
    try database.backup(to: "/backup.divan")
    try database.close()
    return nil
  }

  /// A transaction larger than a frame, which holds up to a mebibyte.
  static let multiFrame = GoldenStores("multi-frame") { bench in
    let database = try bench.open()
    let long = String(repeating: "0123456789abcdef", count: 33_000)
    try bench.commit(
      database,
      [
        ("long-1", ["text": .string(long)]), ("long-2", ["text": .string(long + "2")]),
        ("short", ["text": "short"]),
      ])
    try bench.commit(database, [("short", ["text": "shorter"])])
    try database.close()
    return nil
  }

  // MARK: More than properties

  static let conflicts = GoldenStores("conflicts") { bench in
    var database = try bench.open()
    try bench.noteDump(database)
    try bench.change(database, .put("plain", size: 3), .put("made here", size: 4))
    try bench.change(database, .put("made here", size: 5), .branch("made here", size: 6))
    for number in 0..<4 {
      try bench.change(
        database, .insert("foreign", size: number, isOnto: false, isDeleted: number == 2))
    }
    try bench.change(
      database, .insert("foreign", size: 7, isOnto: true, isDeleted: false),
      .insert("made here", size: 8, isOnto: false, isDeleted: true))
    try database.close()
    database = try bench.open()
    try bench.change(
      database, .put("resolved", size: 1), .put("resolved", size: 2), .branch("resolved", size: 3))
    try bench.change(database, .resolve("resolved"), .delete("made here"))
    try bench.change(database, .purgeLeaf("foreign", 1), .put("purged", size: 9), .purge("purged"))
    try database.close()
    return nil
  }

  static let attachments = GoldenStores("attachments") { bench in
    let database = try bench.open { $0.attachmentInlineLimit = 100 }
    try bench.noteDump(database)
    try bench.change(
      database, .attach("one", name: "small", seed: 1, size: 20),
      .attach("one", name: "large", seed: 2, size: 300), .put("plain", size: 2))
    try bench.change(
      database, .attach("two", name: "the same", seed: 2, size: 300),
      .attach("gone", name: "large", seed: 3, size: 260))
    try bench.change(database, .update("one"), .detach("gone"))
    try database.compact()
    try bench.change(database, .attach("three", name: "empty", seed: 0, size: 0))
    try database.close()
    return nil
  }

  static let history = GoldenStores("history") { bench in
    var database = try bench.open { $0.history = .everything }
    try bench.noteDump(database)
    try bench.change(database, .put("a", size: 1), .attach("b", name: "note", seed: 4, size: 9))
    try bench.name(database, "first")
    try bench.change(database, .put("a", size: 2), .detach("b"))
    try database.close()
    database = try bench.open { $0.history = .everything }
    try bench.change(database, .delete("a"), .put("c", size: 3))
    try database.compact()
    try bench.name(database, "second")
    try bench.change(database, .put("c", size: 4), .put("a", size: 5))
    try database.close()
    return nil
  }

  /// Indexes: one that was removed, and one that changed before and after the checkpoint.
  static let indexes = GoldenStores("indexes") { bench in
    var database = try bench.open()
    try bench.noteDump(database)
    try bench.addIndex(database, "gone by number")
    try bench.change(database, .put("a", size: 1), .put("b", size: 2), .put("c", size: 3))
    try bench.addIndex(database, "by number")
    try bench.removeIndex(database, "gone by number")
    try bench.change(database, .put("b", size: 4), .branch("b", size: 5), .delete("a"))
    try database.close()
    database = try bench.open()
    try database.compact()
    try bench.change(database, .put("a", size: 6), .purge("c"), .put("d", size: 7))
    try database.close()
    return nil
  }

  /// Local documents, and expiries.
  static let local = GoldenStores("local") { bench in
    let database = try bench.open()
    try bench.noteDump(database)
    try bench.change(
      database, .putLocal("state", size: 3), .putLocal("gone", size: 2), .put("stays", size: 1))
    try bench.change(
      database, .put("ends", size: 1), .expire("ends", seconds: 1000), .removeLocal("gone"))
    try bench.change(
      database, .putLocal("state", size: 4), .expire("stays", seconds: 5),
      .expire("stays", seconds: nil))
    try database.writeCheckpoint()
    try bench.change(database, .put("ends", size: 2), .putLocal("new", size: 1))
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
