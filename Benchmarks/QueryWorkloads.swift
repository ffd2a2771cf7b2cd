import Divan

extension Workload {
  /// Queries of a store with two indexes.
  ///
  /// One has the creation dates of documents, which are nearly all different; the other has their
  /// tags.
  static let querying = [
    Workload(
      name: "query-equal", title: "one document by an indexed value", unit: .nanoseconds,
      prepare: { try loadIndexed($0) }
    ) { bench in
      // Consecutive documents have neighbouring records, whose pages would be in the caches.
      var random = RandomNumbers(state: UInt64(31 + bench.repetition))
      let dates = (0..<min(bench.count, 20_000)).compactMap { _ in
        bench.samples.document(random.below(bench.count))["created"]?.stringValue
      }
      return try measureQueries(bench, dates) { snapshot, date in
        try snapshot.find(Query<Document>().filter { $0["created"] == .string(date) }).count
      }
    },
    Workload(
      name: "query-range", title: "100 documents in the order of an index", unit: .nanoseconds,
      prepare: { try loadIndexed($0) }
    ) { bench in
      let days = (0..<500).map { "20\(10 + $0 % 10)-0\(1 + $0 % 9)-1\($0 % 7)" }
      return try measureQueries(bench, days) { snapshot, day in
        let query = Query<Document>().filter { $0["created"] >= .string(day) }
          .sorted(by: "created", texts: .bytes).limit(100)
        return try snapshot.find(query).count
      }
    },
    Workload(
      name: "query-element", title: "100 documents by an array element",
      unit: .nanoseconds, prepare: { try loadIndexed($0) }
    ) { bench in
      let tags = bench.samples.documents(0..<500).compactMap { $0["tags"]?[0] }
      return try measureQueries(bench, tags) { snapshot, tag in
        try snapshot.find(Query<Document>().filter { $0["tags"].contains(tag) }.limit(100)).count
      }
    },
    Workload(
      name: "query-count", title: "count of a tenth of an index's entries",
      unit: .nanosecondsPerDocument,
      prepare: { try loadIndexed($0) }
    ) { bench in
      var count = 0
      let elapsed = try measureQueries(bench, ["2005", "2010", "2015"]) { snapshot, year in
        let end = "20" + year.suffix(2).prefix(1) + (year.hasSuffix("0") ? "3" : "8")
        let query = Query<Document>().filter {
          $0["created"] >= .string(year) && $0["created"] < .string(end)
        }
        count = try snapshot.count(query)
        return count
      }
      return elapsed / Double(count)
    },
    Workload(
      name: "query-scan", title: "a filter without an index, over all documents",
      unit: .nanosecondsPerDocument, prepare: { try loadIndexed($0) }
    ) { bench in
      try measureQueries(bench, [1950, 1990], cachesPredicates: false) { snapshot, year in
        try snapshot.count(done(after: year))
      } / Double(bench.count)
    },
    Workload(
      name: "query-scan-first", title: "the same, filling the predicate cache",
      unit: .nanosecondsPerDocument, prepare: { try loadIndexed($0) }
    ) { bench in try scanning(bench).first },
    Workload(
      name: "query-scan-again", title: "the same filter again, from the predicate cache",
      unit: .nanosecondsPerDocument, prepare: { try loadIndexed($0) }
    ) { bench in try scanning(bench).again },
    Workload(
      name: "query-scan-changed", title: "the same after a change of one document in a hundred",
      unit: .nanosecondsPerDocument, prepare: { try loadIndexed($0) }, measure: scanningAfterChanges
    ),
    Workload(
      name: "query-scan-ratio",
      title: "a filter without cache or index ÷ a scan by ID, alternately",
      unit: .times, prepare: { try loadIndexed($0) }, measure: scanRatio
    ),
    Workload(
      name: "index-build", title: "building an index of texts that are nearly all different",
      unit: .nanosecondsPerDocument, prepare: { try $0.load("indexing") }
    ) { bench in try indexing(bench, created).building },
    Workload(
      name: "index-build-elements",
      title: "building an index of the two or three tags of each document",
      unit: .nanosecondsPerDocument, prepare: { try $0.load("indexing") }
    ) { bench in try indexing(bench, tags).building },
    Workload(
      name: "index-remove", title: "removing the index of texts",
      unit: .nanosecondsPerDocument, prepare: { try $0.load("indexing") }
    ) { bench in try indexing(bench, created).removing },
  ]

  private static let created = DocumentIndex("created", on: "created")
  private static let tags = DocumentIndex("tags", on: "tags", eachElement: true)

  /// Returns nanoseconds for each document.
  private static func indexing(
    _ bench: Bench, _ index: DocumentIndex
  ) throws -> (building: Double, removing: Double) {
    let database = try bench.open("indexing")
    let building = try seconds { try database.addIndex(index) }
    guard try database.snapshot().count(by: index.name) == bench.count else {
      throw BenchmarkError("the index lacks documents")
    }
    let removing = try seconds { try database.removeIndex(named: index.name) }
    try database.close()
    let share = 1e9 / Double(bench.count)
    return (building * share, removing * share)
  }

  /// Returns nanoseconds for each document, for filters that no index answers.
  ///
  /// The filter is first one that was never asked, and then the same again.
  private static func scanning(
    _ bench: Bench
  ) throws -> (first: Double, again: Double) {
    let database = try bench.open("indexed")
    let snapshot = try database.snapshot()
    var documents = snapshot.documents()
    // Reads all pages into memory.
    while let document = try documents.next() { _ = titleSize(document) }
    let times = try (0..<2).map { _ in
      try seconds {
        guard try snapshot.count(done(after: 1970)) > 0 else {
          throw BenchmarkError("nothing was found")
        }
      } * 1e9 / Double(bench.count)
    }
    try database.close()
    return (times[0], times[1])
  }

  private static func done(after year: Int64) -> Query<Document> {
    Query().filter { $0["year"] > .int(year) && $0["done"] == true }
  }

  /// Returns nanoseconds for each document, for a query that ran before some documents changed.
  private static func scanningAfterChanges(_ bench: Bench) throws -> Double {
    try bench.remove("changed")
    try bench.load("changed")
    let database = try bench.open("changed", .none)
    let query = done(after: 1950)
    let before = try database.snapshot().count(query)
    try database.write { transaction in
      for number in stride(from: 0, to: bench.count, by: 100) {
        guard var document = try transaction.document(bench.samples.id(number)) else { continue }
        document["done"] = true
        document["year"] = 2000
        try transaction.put(document)
      }
    }
    let snapshot = try database.snapshot()
    var after = 0
    let elapsed = try seconds { after = try snapshot.count(query) }
    guard after > before else { throw BenchmarkError("changes were not counted") }
    try database.close()
    return elapsed * 1e9 / Double(bench.count)
  }

  /// Returns the time of a query without an index, relative to reading every document.
  private static func scanRatio(_ bench: Bench) throws -> Double {
    let database = try bench.open("indexed", cachesPredicates: false)
    let snapshot = try database.snapshot()
    let query = done(after: 1950)
    guard try snapshot.explain(query).documentsRead == bench.count else {
      throw BenchmarkError("not every document was read")
    }
    var (filtering, scanning) = ([Double](), [Double]())
    for _ in 0..<3 {
      filtering.append(try seconds { _ = try snapshot.count(query) })
      var count = 0
      scanning.append(
        try seconds {
          var documents = snapshot.documents()
          while let document = try documents.next() { count += titleSize(document) > 0 ? 1 : 0 }
        })
      guard count == bench.count else { throw BenchmarkError("\(count) documents were scanned") }
    }
    try database.close()
    return filtering.quantile(0.5) / scanning.quantile(0.5)
  }

  private static func loadIndexed(_ bench: Bench) throws {
    try bench.load("indexed")
    let database = try bench.open("indexed")
    try database.addIndex(created)
    try database.addIndex(tags)
    let counted = Query<Document>().filter { $0["created"] < "2005" }
    guard try database.snapshot().explain(counted).documentsRead == 0 else {
      throw BenchmarkError("counting the entries of an index reads documents")
    }
    try database.close()
  }

  /// Returns nanoseconds for each query.
  private static func measureQueries<Parameter>(
    _ bench: Bench, _ parameters: [Parameter], cachesPredicates: Bool = true,
    _ query: (Snapshot, Parameter) throws -> Int
  ) throws -> Double {
    let database = try bench.open("indexed", cachesPredicates: cachesPredicates)
    let snapshot = try database.snapshot()
    var elapsed = 0.0
    // The first run reads the pages into memory.
    for _ in 0..<2 {
      var found = 0
      elapsed = try seconds {
        for parameter in parameters { found += try query(snapshot, parameter) }
      }
      guard found > 0 else { throw BenchmarkError("nothing was found") }
    }
    try database.close()
    return elapsed * 1e9 / Double(parameters.count)
  }
}
