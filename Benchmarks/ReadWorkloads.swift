import Divan

extension Workload {
  /// Reads documents by ID, in random order, in a store that is in the system's cache.
  static let reading = [
    Workload(
      name: "read", title: "random read of a document and one property, mapped",
      unit: .nanosecondsPerDocument, prepare: { try $0.load() }
    ) { try readOne(by: .mapped, $0) },
    Workload(
      name: "read-buffered", title: "the same, buffered", unit: .nanosecondsPerDocument,
      prepare: { try $0.load() }
    ) { try readOne(by: .buffered, $0) },
    Workload(
      name: "read-many", title: "the same, mapped, 1,000 IDs a call",
      unit: .nanosecondsPerDocument, prepare: { try $0.load() }
    ) { bench in
      try measureReads(.mapped, bench) { snapshot, ids in
        var sum = 0
        for start in stride(from: 0, to: ids.count, by: 1000) {
          let some = Array(ids[start..<min(start + 1000, ids.count)])
          for document in try snapshot.documents(some) { sum += document.map(titleSize) ?? 0 }
        }
        return sum
      }
    },
    Workload(
      name: "exists", title: "whether a document exists, from the index alone",
      unit: .nanosecondsPerDocument, prepare: { try $0.load() }
    ) { bench in
      try measureReads(.mapped, bench) { snapshot, ids in
        try ids.reduce(0) { try $0 + (snapshot.exists($1) ? 1 : 0) }
      }
    },
    Workload(
      name: "exists-not", title: "the same for IDs that do not exist",
      unit: .nanosecondsPerDocument, prepare: { try $0.load() }
    ) { bench in
      let missingIDs = (0..<bench.readCount).map { bench.samples.id(-1 - $0) }
      return try measureReads(.mapped, bench, missingIDs) { snapshot, ids in
        1 + (try ids.reduce(0) { try $0 + (snapshot.exists($1) ? 1 : 0) })
      }
    },
  ]

  /// Reads all documents in sequence.
  static let scanning = [
    Workload(
      name: "scan-id", title: "scan in the order of IDs, one property each",
      unit: .nanosecondsPerDocument, prepare: { try $0.load() }
    ) { bench in
      try measureScan(bench) { snapshot in
        var documents = snapshot.documents()
        var count = 0
        while let document = try documents.next() { count += titleSize(document) > 0 ? 1 : 0 }
        return count
      }
    },
    Workload(
      name: "scan-sequence", title: "scan in the order of changes, one property each",
      unit: .nanosecondsPerDocument, prepare: { try $0.load() }
    ) { bench in
      try measureScan(bench) { snapshot in
        var changes = snapshot.changes()
        var count = 0
        while let change = try changes.next() { count += titleSize(change.document) > 0 ? 1 : 0 }
        return count
      }
    },
    Workload(
      name: "scan-index", title: "scan of the IDs, from the index alone",
      unit: .nanosecondsPerDocument, prepare: { try $0.load() }
    ) { bench in
      try measureScan(bench) { snapshot in
        var ids = snapshot.ids()
        var count = 0
        while try ids.next() != nil { count += 1 }
        return count
      }
    },
  ]

  /// Returns the number of bytes of the title, which makes sure that the property is read.
  static func titleSize(_ document: Document) -> Int {
    document["title"]?.stringValue?.utf8.count ?? 0
  }

  private static func readOne(by mode: ReadMode, _ bench: Bench) throws -> Double {
    try measureReads(mode, bench) { snapshot, ids in
      try ids.reduce(0) { try $0 + (snapshot.document($1).map(titleSize) ?? 0) }
    }
  }

  private static func measureReads(
    _ mode: ReadMode, _ bench: Bench, _ ids: [String]? = nil,
    _ read: (Snapshot, [String]) throws -> Int
  ) throws -> Double {
    let database = try bench.open("loaded", reads: mode)
    let snapshot = try database.snapshot()
    // Reads every page once: page faults of a new mapping are not measured.
    var documents = snapshot.documents()
    while try documents.next() != nil {}
    let ids = ids ?? bench.readIDs
    var sum = 0
    let elapsed = try seconds { sum = try read(snapshot, ids) }
    guard sum > 0 else { throw BenchmarkError("nothing was read") }
    try database.close()
    return elapsed * 1e9 / Double(ids.count)
  }

  private static func measureScan(
    _ bench: Bench, _ scan: (Snapshot) throws -> Int
  ) throws -> Double {
    let database = try bench.open("loaded")
    let snapshot = try database.snapshot()
    var elapsed = 0.0
    // The first run reads the pages into memory.
    for _ in 0..<2 {
      var count = 0
      elapsed = try seconds { count = try scan(snapshot) }
      guard count == bench.count else { throw BenchmarkError("\(count) documents were scanned") }
    }
    try database.close()
    return elapsed * 1e9 / Double(bench.count)
  }
}
