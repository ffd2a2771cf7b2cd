import Divan

extension Workload {
  /// Stores and reads one large attachment: a gigabyte with the default number of documents.
  static let attaching = [
    Workload(
      name: "attachment-in", title: "an attachment stored as a stream, durably",
      unit: .millisecondsPerMegabyte, warmsUp: false
    ) { bench in
      try bench.remove("attachment")
      let database = try bench.open("attachment")
      let elapsed = try seconds { try store(in: database, bench) }
      try database.close()
      return elapsed * 1e9 / Double(size(bench))
    },
    Workload(
      name: "attachment-out", title: "the same, read as a stream and verified",
      unit: .millisecondsPerMegabyte, warmsUp: false, prepare: prepare
    ) { bench in
      let database = try bench.open("attachment")
      let elapsed = try seconds { try read(from: database, bench) }
      try database.close()
      return elapsed * 1e9 / Double(size(bench))
    },
    Workload(
      name: "attachment-part", title: "4 KiB of it at a random offset, verified",
      unit: .nanoseconds,
      warmsUp: false, prepare: prepare
    ) { bench in
      let database = try bench.open("attachment")
      let attachment = try attachment(in: database)
      var random = RandomNumbers(state: UInt64(7 + bench.repetition))
      let elapsed = try seconds {
        for _ in 0..<partCount {
          let start = random.below(max(1, attachment.length - partSize))
          _ = try attachment.data(in: start..<start + partSize)
        }
      }
      try database.close()
      return elapsed * 1e9 / Double(partCount)
    },
    Workload(
      name: "attachment-memory", title: "growth of anonymous memory while it is stored and read",
      unit: .megabytes, isApart: true, limit: 8, warmsUp: false
    ) { bench in
      try bench.remove("attachment")
      let database = try bench.open("attachment")
      var memory = GreatestMemory()
      try store(in: database, bench) { memory.look() }
      try read(from: database, bench) { memory.look() }
      try database.close()
      return try memory.growth() / 1e6
    },
  ]

  private static let partCount = 2000
  private static let partSize = 4 << 10
  private static let pieceSize = 256 << 10

  /// A gibibyte, or less in a run with few documents.
  private static func size(_ bench: Bench) -> Int { min(1 << 30, bench.count << 14) }

  private static func prepare(_ bench: Bench) throws {
    let database = try bench.open("attachment")
    if try !database.snapshot().exists("film") { try store(in: database, bench) }
    try database.close()
  }

  private static func store(
    in database: Database, _ bench: Bench, afterEach: () -> Void = {}
  ) throws {
    var random = RandomNumbers(state: UInt64(1 + bench.repetition))
    var piece = (0..<pieceSize).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    var rest = size(bench)
    var film = try database.snapshot().document("film") ?? Document(id: "film")
    film.attachments["film"] = try database.storeAttachment(contentType: "video/mp4") {
      afterEach()
      guard rest > 0 else { return nil as ArraySlice<UInt8>? }
      // No two pieces are equal.
      piece[rest % pieceSize] &+= 1
      let next = piece.prefix(rest)
      rest -= next.count
      return next
    }
    try database.write { _ = try $0.put(film) }
  }

  private static func attachment(in database: Database) throws -> Document.Attachment {
    guard let attachment = try database.snapshot().document("film")?.attachments["film"] else {
      throw BenchmarkError("the attachment is missing")
    }
    return attachment
  }

  private static func read(
    from database: Database, _ bench: Bench, afterEach: () -> Void = {}
  ) throws {
    var pieces = try attachment(in: database).pieces()
    var count = 0
    while let piece = try pieces.next() {
      count += piece.count
      afterEach()
    }
    guard count == size(bench) else { throw BenchmarkError("\(count) bytes were read") }
  }
}
