/// A goal of the design for one of Divan's measures.
///
/// It is at most (or at least) a ratio times a peer's measure, or at most an absolute bound.
struct Goal {
  var title: String
  /// The engine whose figure it is.
  var engine = DivanEngine.name
  var measure: Measure
  /// Nil if `ratio` is an absolute bound in the measure's unit.
  var peer: (engine: String, measure: Measure)?
  var ratio: Double
  /// Whether the bound is a minimum instead of a maximum.
  var isFloor = false
}

extension Goal {
  /// The goals of the design that this package can measure.
  static var all: [Goal] {
    [
      Goal(title: "bulk load: faster than RocksDB", .load, "rocksdb", 1),
      Goal(title: "bulk load: faster than RocksDB without compression", .load, "rocksdb-plain", 1),
      Goal(title: "bulk load: 2.2 × as fast as LMDB", .load, "lmdb", 1 / 2.2),
      Goal(title: "bulk load: 3.5 × as fast as SQLite", .load, "sqlite", 1 / 3.5),
      Goal(title: "durable commit: 1.1 × a bare overwrite", .commitMedian, "overwrite", 1.1),
      Goal(title: "durable commit: faster than SQLite", .commitMedian, "sqlite", 1),
      Goal(title: "durable commit: faster than RocksDB", .commitMedian, "rocksdb", 1),
      Goal(title: "durable commit, 99th percentile: RocksDB", .commit99, "rocksdb", 1),
      Goal(
        title: "8 threads: four times one thread's rate", measure: .commitSpeedup, ratio: 4,
        isFloor: true),
      Goal(title: "8 threads: faster than RocksDB", .commitThreads, "rocksdb", 1),
      Goal(
        title: "read, verified: bare LMDB", measure: .readVerified, peer: ("lmdb", .readValue),
        ratio: 1),
      Goal(
        title: "read of a property: 1.2 × bare LMDB", measure: .readProperty,
        peer: ("lmdb", .readValue), ratio: 1.2),
      Goal(
        title: "read of a property, buffered: 1.6 × bare LMDB", engine: "divan-buffered",
        measure: .readProperty, peer: ("lmdb", .readValue), ratio: 1.6),
      Goal(title: "scan by ID: 3 × LMDB", .scanID, "lmdb", 3),
      Goal(title: "scan by ID: SQLite, JSON", .scanID, "sqlite", 1),
      Goal(title: "scan by ID: SQLite, columns", .scanID, "sqlite-columns", 1),
      Goal(title: "scan by sequence", measure: .scanSequence, ratio: 350),
      Goal(title: "open, closed cleanly", measure: .openClean, ratio: 1),
      Goal(title: "open, after kill -9", measure: .openKilled, ratio: 20),
      Goal(title: "memory, everything resident", measure: .memoryRead, ratio: 120),
      Goal(title: "memory, just opened", measure: .memoryOpened, ratio: 16),
      Goal(title: "disk after the load, whole directory", measure: .diskLoaded, ratio: 0.9),
      Goal(
        title: "disk while overwriting (and two segments)", measure: .diskOverwriteMaximum,
        ratio: 2.5),
      Goal(title: "insert records: a third of GRDB", .recordsInsert, "grdb", 1 / 3),
      Goal(title: "load records: a third of GRDB", .recordsLoad, "grdb", 1 / 3),
      Goal(title: "load records, absolute", measure: .recordsLoad, ratio: 1),
      Goal(title: "one value of an index: 0.7 × SQLite", .queryEqual, "sqlite", 0.7),
      Goal(title: "100 documents of an index: 0.5 × SQLite", .queryRange, "sqlite", 0.5),
      Goal(title: "building an index of texts: 0.7 × GRDB", .indexBuild, "grdb", 0.7),
      Goal(
        title: "filter without an index: a scan by ID", measure: .queryFilterUnknown,
        peer: (DivanEngine.name, .scanID), ratio: 1),
    ] + queries + texts
  }

  /// Full-text search, which may be half as slow again as FTS5 in two of eight.
  private static var texts: [Goal] {
    let measures: [Measure] = [
      .textBuild, .textSize, .textWord, .textBoth, .textPhrase, .textPrefix, .textTop, .textUpdate,
    ]
    return measures.map { Goal(title: "\($0): ahead of FTS5 with GRDB", $0, "grdb", 1) }
  }

  /// All queries, also compared with the stores that answer them.
  private static var queries: [Goal] {
    let measures: [Measure] = [
      .queryEqual, .queryRange, .queryElement, .queryCount, .queryFilterUnknown, .queryFilterFirst,
      .queryFilter,
      .queryFindFirst, .queryFind, .indexBuild, .indexBuildElements,
    ]
    return measures.flatMap { measure in
      ["sqlite", "grdb"].map { Goal(title: "\(measure): ahead of \($0)", measure, $0, 1) }
    }
  }

  private init(title: String, _ measure: Measure, _ engine: String, _ ratio: Double) {
    self.init(title: title, measure: measure, peer: (engine, measure), ratio: ratio)
  }
}
