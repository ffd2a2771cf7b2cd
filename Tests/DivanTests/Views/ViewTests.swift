import Divan
import DivanTesting
import Foundation
import Synchronization
import Testing

/// Tests of the rows of views, and of their updates after changes of documents.
struct ViewTests {
  private let byYear = MapReduceView("by year", version: "1", reduction: .count) { film, emit in
    emit(film["year"], film["title"])
  }

  private func films() throws -> Database {
    let database = try Database.inMemory()
    try database.write { transaction in
      for (id, title, year) in [
        ("n", "Nosferatu", 1922), ("m", "Metropolis", 1927), ("s", "Sunrise", 1927),
        ("b", "Blackmail", 1929), ("k", "Citizen Kane", 1941),
      ] as [(String, String, Int64)] {
        _ = try transaction.put(Document(id: id, ["title": .string(title), "year": .int(year)]))
      }
      _ = try transaction.put(Document(id: "x", ["title": "Unknown"]))
    }
    return database
  }

  // MARK: Queries

  @Test func `rows are sorted by key, then by document ID`() throws {
    let database = try films()
    let rows = try database.rows(of: byYear, .all.unreduced())
    #expect(rows.map(\.sourceID) == ["n", "m", "s", "b", "k"])
    #expect(rows.map(\.key) == [1922, 1927, 1927, 1929, 1941])
    #expect(rows.first?.value == "Nosferatu")
    let twenties = ViewQuery.keys(in: 1920..<1929).unreduced()
    #expect(try database.rows(of: byYear, twenties).map(\.documentID) == ["n", "m", "s"])
    #expect(
      try database.rows(of: byYear, twenties.reversed()).map(\.documentID) == ["s", "m", "n"])
    #expect(
      try database.rows(of: byYear, twenties.skip(1).limit(1)).map(\.documentID) == ["m"])
    #expect(try database.snapshot().rowCount(of: byYear, twenties) == 3)
    #expect(try database.snapshot().rowCount(of: byYear, twenties.skip(1).limit(1)) == 1)
    let listed = ViewQuery.keys([1941, 1927, 1900]).unreduced()
    #expect(try database.rows(of: byYear, listed).map(\.documentID) == ["k", "m", "s"])
    #expect(try database.rows(of: byYear, .keys([]).unreduced()).isEmpty)
    var later = ViewQuery.keys(in: 1927...).unreduced()
    later.startID = "m"
    later.includesStart = false
    #expect(try database.rows(of: byYear, later).map(\.documentID) == ["s", "b", "k"])
  }

  @Test func `rows are reduced in total or by group`() throws {
    let database = try films()
    #expect(try database.rows(of: byYear).value == 5)
    let perYear = try database.rows(of: byYear, .all.grouped())
    #expect(perYear.map(\.key) == [1922, 1927, 1929, 1941])
    #expect(perYear.map(\.value) == [1, 2, 1, 1])
    #expect(perYear.allSatisfy { $0.sourceID == nil && $0.documentID == nil })
    #expect(try database.rows(of: byYear, .all.grouped().skip(1).limit(2)).map(\.value) == [2, 1])
    #expect(try database.rows(of: byYear, .keys(in: 2000...)).isEmpty)
    #expect(try database.rows(of: byYear, .keys(in: 2000...)).value == nil)
    let byDecade = MapReduceView("by decade", version: "1", reduction: .count) { film, emit in
      guard let year = film["year"]?.intValue else { return }
      emit([.int(Int64(year / 10 * 10)), .int(Int64(year))])
    }
    let decades = try database.rows(of: byDecade, .all.grouped(byFirst: 1))
    #expect(decades.map(\.key) == [[1920], [1940]] && decades.map(\.value) == [4, 1])
  }

  @Test func `built-in and custom reductions compute the expected values`() throws {
    let database = try Database.inMemory()
    let numbers: [Value] = [4, 1, 2.5, "text", .null, .int(-3), true]
    try database.write { transaction in
      for number in numbers { _ = try transaction.put(Document(["n": number])) }
    }
    func value(_ reduction: ViewReduction, _ query: ViewQuery = .all) throws -> Value? {
      let view = MapReduceView("numbers", version: "1", reduction: reduction) { document, emit in
        emit("all", document["n"])
      }
      return try database.rows(of: view, query).value
    }
    #expect(try value(.count) == 7)
    #expect(try value(.sum) == 4.5)
    #expect(try value(.average) == 1.125)
    #expect(try value(.minimum) == true)
    #expect(try value(.maximum) == "text")
    #expect(try value(.median) == 1.75)
    let deviation = try #require(try value(.standardDeviation)?.doubleValue)
    #expect(abs(deviation - 3.0104) < 0.001)
    #expect(
      try value(.statistics)
        == ["count": 4, "sum": 4.5, "sumsqr": 32.25, "min": -3, "max": 4])
    let joined = ViewReduction.custom { rows in
      .int(Int64(rows.count))
    } rereduce: { values in
      .int(values.reduce(0) { $0 + Int64($1.intValue ?? 0) })
    }
    #expect(try value(joined) == 7)
    try database.write { transaction in
      for number in 0..<2500 { _ = try transaction.put(Document(["n": .int(Int64(number))])) }
      _ = try transaction.put(Document(["n": .int(.max)]))
      _ = try transaction.put(Document(["n": .int(.max)]))
    }
    #expect(try value(joined) == 2509)
    #expect(try value(.sum)?.doubleValue == 2 * 0x1p63 + 3_123_750 + 2.5)
  }

  /// Returns the reduction of rows with these values.
  private func reduced(_ values: [Value], _ reduction: ViewReduction) throws -> Value? {
    let database = try Database.inMemory()
    try database.write { transaction in
      for value in values { _ = try transaction.put(Document(["n": value])) }
    }
    let view = MapReduceView("numbers", version: "1", reduction: reduction) { document, emit in
      emit("all", document["n"])
    }
    return try database.rows(of: view).value
  }

  @Test func `sums of integers are exact, and mixed sums are the nearest double`() throws {
    let large = Int64(1) << 53
    #expect(try reduced([.int(large), 1], .sum) == .int(large + 1))
    // In double arithmetic, rounding would lose both ones.
    #expect(try reduced([.int(large + 1), .double(1)], .sum) == .double(Double(large) + 2))
    #expect(try reduced([.int(.max), .int(.min), .double(0.5)], .sum) == .double(-0.5))
    #expect(try reduced([.int(.max), 1], .sum) == .unsigned(1 << 63))
    #expect(try reduced([.unsigned(.max), .unsigned(.max)], .sum) == .double(0x1p65))
    #expect(try reduced([.unsigned(.max), .unsigned(.max)], .average) == .double(0x1p64))
    let huge = Value.double(.greatestFiniteMagnitude)
    for reduction in [ViewReduction.sum, .average] {
      #expect(try reduced([huge, huge], reduction) == .null)
    }
  }

  @Test func `the median is the middle number or the mean of the middle two`()
    throws
  {
    #expect(try reduced([3, .double(1.5), 2, "text", .null], .median) == 2)
    #expect(try reduced([1, .double(1.5), 2, .double(2.5)], .median) == .double(1.75))
    #expect(try reduced([.double(2), 2, 1, 3], .median)?.doubleValue == 2)
    #expect(try reduced([.int(-4), .unsigned(.max), .double(0.5)], .median) == .double(0.5))
    let huge = Value.double(.greatestFiniteMagnitude)
    #expect(try reduced([huge, huge], .median) == huge)
    #expect(try reduced(["text", true], .median) == .null)
  }

  @Test func `a prefix query ignores accents and case`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      for title in ["École", "ecology", "Eco", "echo", "zebra"] {
        _ = try transaction.put(Document(id: title, ["title": .string(title)]))
      }
    }
    let byTitle = MapReduceView("by title", version: "1") { document, emit in
      emit(document["title"])
      emit(["title", document["title"] ?? .null])
    }
    func ids(_ query: ViewQuery) throws -> [String] {
      try database.rows(of: byTitle, query).compactMap(\.sourceID)
    }
    #expect(try ids(.beginning(with: "eco")) == ["Eco", "École", "ecology"])
    #expect(try ids(.beginning(with: "éCO").reversed()) == ["ecology", "École", "Eco"])
    #expect(try ids(.beginning(with: ["title"])).count == 5)
    var within = ViewQuery.key(["title", "ec"])
    within.prefixLevel = 2
    #expect(try ids(within) == ["echo", "Eco", "École", "ecology"])
  }

  @Test func `a row whose value has an ID refers to the document with that ID`() throws {
    let database = try films()
    try database.write { transaction in
      _ = try transaction.put(Document(id: "cast", ["film": "m", "actor": "Brigitte Helm"]))
      _ = try transaction.put(Document(id: "lost", ["film": "gone", "actor": "Unknown"]))
    }
    let byActor = MapReduceView("by actor", version: "1") { role, emit in
      guard let film = role["film"] else { return }
      emit(role["actor"], ["_id": film])
    }
    let rows = try database.rows(of: byActor)
    #expect(rows.map(\.sourceID) == ["cast", "lost"] && rows.map(\.documentID) == ["m", "gone"])
    #expect(try rows.documents().map { $0?["title"] } == ["Metropolis", nil])
    #expect(try rows.document(of: rows[0])?.id == "m")
  }

  // MARK: Updates

  /// A view that counts the calls of its map function.
  private func counted(_ version: String = "1") -> (view: MapReduceView, count: () -> Int) {
    let counter = Counter()
    let view = MapReduceView("counted", version: version) { film, emit in
      counter.number.wrappingAdd(1, ordering: .relaxed)
      emit(film["year"], .string(version))
    }
    return (view, { counter.number.exchange(0, ordering: .relaxed) })
  }

  private final class Counter: Sendable {
    let number = Atomic(0)
  }

  @Test func `only changed documents are mapped again`() throws {
    let database = try films()
    let (view, count) = counted()
    #expect(try database.rows(of: view).count == 5 && count() == 6)
    #expect(try database.rows(of: view, .key(1927)).count == 2 && count() == 0)
    try database.write { transaction in
      _ = try transaction.update("m") { $0["year"] = 1928 }
      try transaction.delete("s")
      _ = try transaction.put(Document(id: "new", ["year": 1930]))
    }
    #expect(try database.rows(of: view).map(\.key) == [1922, 1928, 1929, 1930, 1941])
    #expect(count() == 2)
    try database.write { try $0.purge("b") }
    #expect(try database.rows(of: view).map(\.key) == [1922, 1928, 1930, 1941])
    #expect(count() == 0)
    // Another version of the map function rebuilds all rows.
    let (other, otherCount) = counted("2")
    #expect(try database.rows(of: other).allSatisfy { $0.value == "2" } && otherCount() == 5)
    #expect(database.removeView(named: "counted") && !database.removeView(named: "counted"))
    #expect(try database.rows(of: other).count == 4 && otherCount() == 5)
  }

  @Test func `later changes do not affect a snapshot's rows`() throws {
    let database = try films()
    let before = try database.snapshot()
    let (view, count) = counted()
    let rows = try before.rows(of: view)
    try database.write { try $0.purge("n") }
    try database.remove("m")
    let after = try database.snapshot()
    #expect(try after.rows(of: view).map(\.key) == [1927, 1929, 1941])
    #expect(try before.rows(of: view).map(\.key) == rows.map(\.key))
    #expect(rows.map(\.key) == [1922, 1927, 1927, 1929, 1941] && count() == 6)
  }

  @Test func `a past version has the rows of that version`() throws {
    var configuration = Configuration()
    configuration.history = .unlimited
    let database = try Database.inMemory(configuration: configuration)
    try database.write { _ = try $0.put(Document(id: "a", ["year": 1])) }
    let then = try database.snapshot().sequence
    try database.write { transaction in
      _ = try transaction.update("a") { $0["year"] = 2 }
      _ = try transaction.put(Document(id: "b", ["year": 3]))
    }
    let (view, _) = counted()
    #expect(try database.rows(of: view).map(\.key) == [2, 3])
    #expect(try database.snapshot(at: then).rows(of: view).map(\.key) == [1])
    #expect(try database.rows(of: view).map(\.key) == [2, 3])
  }

  @Test func `a map function can read the conflicting revisions`() throws {
    let database = try films()
    let conflicted = MapReduceView("conflicts", version: "1") { document, emit in
      if !document.conflicts.isEmpty {
        emit(.string(document.id), .array(document.conflicts.map { $0["title"] ?? .null }))
      }
    }
    #expect(try database.rows(of: conflicted).isEmpty)
    let base = try #require(try database.snapshot().document("m"))
    for title in ["One", "Two"] {
      var edit = base
      edit["title"] = .string(title)
      try database.write { _ = try $0.put(edit, onConflict: .branch) }
    }
    let row = try #require(try database.rows(of: conflicted).first)
    let winner = try database.snapshot().document("m")?["title"]
    #expect(row.key == "m" && row.value == (winner == "One" ? ["Two"] : ["One"]))
    try database.write { _ = try $0.resolve("m") { _ in .mine } }
    #expect(try database.rows(of: conflicted).isEmpty)
  }

  @Test func `a view with a document type maps only documents of that type`() throws {
    let database = try films()
    try database.write { _ = try $0.put(Document(id: "t", ["type": "song", "title": "Yes"])) }
    let songs = MapReduceView("songs", version: "1", documentType: "song") { song, emit in
      emit(song["title"])
    }
    #expect(try database.rows(of: songs).map(\.key) == ["Yes"])
  }

  // MARK: Errors

  private struct Refusal: Error {}

  @Test func `an error of a map function names the document and the view`() throws {
    let database = try films()
    let picky = MapReduceView("picky", version: "1") { film, emit in
      guard let year = film["year"] else { throw Refusal() }
      emit(year)
    }
    let error = #expect(throws: DatabaseError.self) { try database.rows(of: picky) }
    #expect(error?.code == .viewFailed && error?.documentID == "x")
    #expect(error?.underlying is Refusal && error?.message.contains("picky") == true)
    try database.write { _ = try $0.update("x") { $0["year"] = 1 } }
    #expect(try database.rows(of: picky).count == 6)
    // The same applies once there are rows.
    try database.write { _ = try $0.update("x") { $0["year"] = nil } }
    #expect(throws: DatabaseError.self) { try database.rows(of: picky) }
    try database.remove("x")
    #expect(try database.rows(of: picky).count == 5)
  }

  @Test func `emitting a value that cannot be stored throws`() throws {
    let database = try films()
    var deep: Value = 1
    for _ in 0..<1000 { deep = [deep] }
    for wrong: Value in [.double(.nan), [.double(.infinity)], deep] {
      for isKey in [true, false] {
        let view = MapReduceView("wrong", version: "\(wrong.isNull) \(isKey)") { _, emit in
          emit(isKey ? wrong : 1, isKey ? 1 : wrong)
        }
        database.removeView(named: "wrong")
        let error = #expect(throws: DatabaseError.self) { try database.rows(of: view) }
        #expect(error?.code == .viewFailed && error?.documentID != nil)
      }
    }
  }

  @Test func `a read error is thrown, and the next query builds the rows`() throws {
    let disk = SimulatedDisk()
    var configuration = Configuration()
    configuration.readMode = .buffered
    let database = try Database(
      at: "/films.divan", configuration: disk.configuration(configuration))
    try database.write { transaction in
      for year in 0..<20 { _ = try transaction.put(Document(["year": .int(Int64(1900 + year))])) }
    }
    disk.fail(.read, with: .inputOutput, isLasting: true)
    let error = #expect(throws: DatabaseError.self) { try database.rows(of: byYear) }
    #expect(error?.code == .inputOutput)
    disk.stopFailing()
    #expect(try database.rows(of: byYear).value == 20)
    // The same applies to later changes.
    try database.write { _ = try $0.put(Document(["year": 1930])) }
    disk.fail(.read, with: .inputOutput, isLasting: true)
    #expect(throws: DatabaseError.self) { try database.rows(of: byYear) }
    disk.stopFailing()
    #expect(try database.rows(of: byYear).value == 21)
  }

  @Test func `rows that could not be updated are kept, and updated by the next query`() throws {
    let database = try films()
    let (mapCount, fails) = (Counter(), Counter())
    let counting = MapReduceView("counting", version: "1") { film, emit in
      guard film.id != "m" || fails.number.load(ordering: .relaxed) == 0 else { throw Refusal() }
      mapCount.number.add(1, ordering: .relaxed)
      emit(film["year"], film["title"])
    }
    #expect(try database.rows(of: counting).count == 5)
    // The second of two changed documents fails.
    try database.update("n") { $0["year"] = 1999 }
    try database.update("m") { $0["year"] = 2000 }
    mapCount.number.store(0, ordering: .relaxed)
    fails.number.store(1, ordering: .relaxed)
    for _ in 0..<2 {
      #expect(throws: DatabaseError.self) { try database.rows(of: counting) }
    }
    fails.number.store(0, ordering: .relaxed)
    #expect(try database.rows(of: counting).map(\.sourceID) == ["s", "b", "k", "n", "m"])
    #expect(mapCount.number.load(ordering: .relaxed) == 4, "only changed documents are mapped")
  }

  @Test func `snapshots keep their rows while those of the newest one are updated in place`()
    throws
  {
    let database = try films()
    let mapCount = Counter()
    let counting = MapReduceView("counting", version: "1") { film, emit in
      mapCount.number.add(1, ordering: .relaxed)
      emit(film["year"])
    }
    #expect(try database.rows(of: counting).count == 5)
    mapCount.number.store(0, ordering: .relaxed)
    var older: [(snapshot: Snapshot, rows: [Value])] = []
    for step in 0..<40 {
      let year = Value.int(Int64(1900 + step * 17 % 50))
      try database.write { _ = try $0.replace("s", with: ["year": year, "title": "Sunrise"]) }
      // Every third version has a snapshot.
      if step.isMultiple(of: 3) { older.append((try database.snapshot(), [])) }
      let rows = try database.rows(of: counting)
      #expect(rows.first { $0.sourceID == "s" }?.key == year && rows.count == 5)
      if step.isMultiple(of: 3) { older[older.count - 1].rows = rows.map(\.key) }
      if step.isMultiple(of: 7) { older.removeFirst() }
      for (snapshot, rows) in older {
        #expect(try snapshot.rows(of: counting).map(\.key) == rows)
      }
    }
    #expect(mapCount.number.load(ordering: .relaxed) == 40, "rows in use are not computed again")
  }

  @Test func `a map function cannot write, close, compact or back up a database`()
    throws
  {
    let database = try films()
    let writing = MapReduceView("writing", version: "1") { film, emit in
      try database.write { _ = try $0.replace("log", with: ["seen": .string(film.id)]) }
    }
    let closing = MapReduceView("closing", version: "1") { _, _ in try database.close() }
    let compacting = MapReduceView("compacting", version: "1") { _, _ in try database.compact() }
    let backingUp = MapReduceView("backingUp", version: "1") { _, _ in
      try database.backup(to: "/copy.divan")
    }
    for view in [writing, closing, compacting, backingUp] {
      // Also when the caller that requests the rows holds the writer lock.
      for isWithinWrite in [false, true] {
        let error = #expect(throws: DatabaseError.self) {
          if isWithinWrite {
            try database.write { _ in _ = try database.rows(of: view) }
          } else {
            _ = try database.rows(of: view)
          }
        }
        #expect(error?.code == .viewFailed && error?.documentID != nil)
        #expect((error?.underlying as? DatabaseError)?.code == .viewFailed)
      }
    }
    #expect(try database.rows(of: byYear).value == 5)
  }

  @Test func `view names and versions are compared by their bytes`() throws {
    let database = try films()
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    func view(_ name: String, _ version: String) -> MapReduceView {
      MapReduceView(name, version: version) { film, emit in
        emit(.array([.string(name), .string(version)]))
      }
    }
    for (name, version) in [
      (composed, "1"), (decomposed, "1"), (composed, composed), (composed, decomposed),
    ] {
      let key = try #require(try database.rows(of: view(name, version)).first?.key.arrayValue)
      #expect(
        key.map { Array(($0.stringValue ?? "").utf8) } == [Array(name.utf8), Array(version.utf8)])
    }
    #expect(database.removeView(named: decomposed) && !database.removeView(named: decomposed))
    #expect(database.removeView(named: composed))
  }

  @Test func `a map function that queries a view throws instead of deadlocking`() throws {
    let database = try films()
    let byYear = byYear
    let nested = MapReduceView("nested", version: "1") { film, emit in
      emit(film["year"], try database.rows(of: byYear).value)
    }
    let error = #expect(throws: DatabaseError.self) { try database.rows(of: nested) }
    #expect(error?.code == .viewFailed)
    #expect(try database.rows(of: byYear).value == 5)
  }

  @Test func `invalid view queries and failing reductions throw`() throws {
    let database = try films()
    let plain = MapReduceView("plain", version: "1") { film, emit in emit(film["year"]) }
    var reduced = ViewQuery.all
    reduced.isReduced = true
    var both = ViewQuery.all.unreduced()
    both.groupLevel = 1
    for query in [reduced, .all.grouped(), both, .all.limit(-1), .all.skip(-1)] {
      let error = #expect(throws: DatabaseError.self) { try database.rows(of: plain, query) }
      #expect(error?.code == .invalidQuery)
    }
    let failing = MapReduceView(
      "plain", version: "1",
      reduction: .custom { _ in
        throw Refusal()
      } rereduce: { _ in
        .null
      }
    ) { film, emit in emit(film["year"]) }
    let error = #expect(throws: DatabaseError.self) { try database.rows(of: failing) }
    #expect(error?.code == .viewFailed && error?.underlying is Refusal)
    try database.close()
    #expect(throws: DatabaseError.self) { try database.rows(of: plain) }
  }

  @Test func `cancelling a task stops building rows`() async throws {
    let database = try films()
    let started = AsyncStream<Void>.makeStream()
    let isCancelled = Counter()
    let endless = MapReduceView("endless", version: "1") { film, emit in
      started.continuation.yield()
      while isCancelled.number.load(ordering: .acquiring) == 0 {
        Thread.sleep(forTimeInterval: 0.001)
      }
      emit(film["year"])
    }
    let task = Task { try await database.rows(of: endless) }
    for await _ in started.stream { break }
    task.cancel()
    isCancelled.number.store(1, ordering: .releasing)
    let error = await #expect(throws: DatabaseError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    #expect(try await database.rows(of: endless).count == 5)
  }

  @Test func `a task that waits for rows built by another task can be cancelled`() async throws {
    let database = try films()
    let started = AsyncStream<Void>.makeStream()
    let isReleased = Counter()
    let slow = MapReduceView("slow", version: "1") { film, emit in
      started.continuation.yield()
      while isReleased.number.load(ordering: .acquiring) == 0 {
        Thread.sleep(forTimeInterval: 0.001)
      }
      emit(film["year"])
    }
    let first = Task { try await database.rows(of: slow).count }
    for await _ in started.stream { break }
    let second = Task { try await database.rows(of: slow).count }
    second.cancel()
    let error = await #expect(throws: DatabaseError.self) { try await second.value }
    #expect(error?.code == .cancelled)
    isReleased.number.store(1, ordering: .releasing)
    #expect(try await first.value == 5)
  }
}
