import DivanTesting
import Dispatch
import ProofKit
import Synchronization
import TestSupport
import Testing

@testable import Divan

/// Tests of handlers that use the database, are slow, or are never called.
struct EventHandlerTests {
  private let disk = SimulatedDisk(seed: 12)

  private func open(
    _ handler: DatabaseEvent.Handler?, _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> Database {
    var configuration = disk.configuration()
    configuration.maintenance = .background
    configuration.eventHandler = handler
    configuration.slowQueryThreshold = .zero
    configuration.slowCommitThreshold = nil
    change(&configuration)
    return try Database(at: "/Notes.divan", configuration: configuration)
  }

  private let everything = Query<Document>().filter { $0["n"] >= 0 }

  @Test func `a handler reads, writes, queries and compacts without a deadlock or a loop`() throws {
    let shared = Mutex<Database?>(nil)
    let kinds = Recorder<DatabaseEvent.Kind>()
    let failures = Recorder<String>()
    let everything = everything
    let database = try open(
      DatabaseEvent.Handler { event in
        kinds.append(event.kind)
        guard event.kind == .slowQuery, let database = shared.withLock({ $0 }) else { return }
        do {
          let count = try database.snapshot().find(everything).count
          try database.write { transaction in
            _ = try transaction.find(everything)
            _ = try transaction.replace("handled-\(count)", with: ["n": .int(Int64(count))])
          }
          try database.compact()
          try database.flush()
        } catch {
          failures.append("\(error)")
        }
      })
    shared.withLock { $0 = database }
    for number in 0..<10 {
      try database.write { transaction in
        _ = try transaction.replace("note-\(number)", with: ["n": 1])
        // The thread has the writer lock, which the handler needs, too.
        _ = try transaction.find(everything)
      }
      _ = try database.snapshot().find(everything)
    }
    database.drainEvents()
    #expect(failures.all.isEmpty, "\(failures.all)")
    #expect(kinds.all.filter { $0 == .slowQuery }.count == 20)
    #expect(try database.snapshot().count > 10)
    #expect(database.metrics.queries == 20 + 2 * 20)
    shared.withLock { $0 = nil }
    try database.close()
    #expect(kinds.all.last == .closed)
  }

  @Test func `a handler closes the database`() throws {
    let shared = Mutex<Database?>(nil)
    let kinds = Recorder<DatabaseEvent.Kind>()
    let database = try open(
      DatabaseEvent.Handler { event in
        kinds.append(event.kind)
        if event.kind == .slowQuery { try? shared.withLock { $0 }?.close() }
      })
    shared.withLock { $0 = database }
    _ = try database.snapshot().find(everything)
    // The event of closing follows the one whose handler has closed it.
    for _ in 0..<2 { database.drainEvents() }
    let error = #expect(throws: DatabaseError.self) { try database.snapshot() }
    #expect(error?.code == .closed)
    #expect(kinds.all == [.opened, .slowQuery, .closed])
    shared.withLock { $0 = nil }
  }

  @Test func `a handler that blocks delays no call, and events that are too many are dropped`()
    throws
  {
    let gate = DispatchSemaphore(value: 0)
    let count = Atomic(0)
    let database = try open(
      DatabaseEvent.Handler { _ in
        count.add(1, ordering: .relaxed)
        gate.wait()
        gate.signal()
      })
    for _ in 0..<1500 { _ = try database.snapshot().find(everything) }
    // The one for opening is being handled.
    #expect(database.metrics.droppedEvents == 501)
    let start = ContinuousClock.now
    try database.close()
    #expect(start.duration(to: .now) < .seconds(30))
    gate.signal()
    database.drainEvents()
    let handled = count.load(ordering: .relaxed)
    #expect(handled == 1001, "the last event comes in any case")
  }

  @Test func `a handler is released when the database is closed`() throws {
    final class Sink: Sendable {}
    var sink: Sink? = Sink()
    weak let released = sink
    let database = try open(DatabaseEvent.Handler { [sink] _ in _ = sink })
    sink = nil
    #expect(released != nil)
    let snapshot = try database.snapshot()
    try database.close()
    database.drainEvents()
    #expect(released == nil)
    withExtendedLifetime((database, snapshot)) {}
  }

  @Test func `events of several threads arrive one at a time, and those of each in order`() throws {
    let running = Atomic(0)
    let overlaps = Atomic(0)
    let texts = Recorder<String>()
    let database = try open(
      DatabaseEvent.Handler { event in
        if running.add(1, ordering: .sequentiallyConsistent).newValue > 1 {
          overlaps.add(1, ordering: .relaxed)
        }
        texts.append(event.query?.text ?? "")
        running.subtract(1, ordering: .sequentiallyConsistent)
      })
    onOwnThreads(4) { thread in
      for number in 0..<50 {
        let value = Int64(thread * 1000 + number)
        _ = try? database.snapshot().find(Query<Document>().filter { $0["n"] == .int(value) })
      }
    }
    database.drainEvents()
    #expect(overlaps.load(ordering: .relaxed) == 0)
    let values = texts.all.compactMap { text in
      Int(text.split { !$0.isNumber }.last ?? "")
    }
    #expect(values.count == 200)
    for thread in 0..<4 {
      let own = values.filter { $0 / 1000 == thread }
      #expect(own == own.sorted() && own.count == 50)
    }
  }

  /// The same work with and without a handler makes the same calls and the same files.
  @Test func `a handler changes nothing on the disk`() throws {
    func run(_ handler: DatabaseEvent.Handler?) throws -> (UInt64, UInt64) {
      let disk = SimulatedDisk(seed: 5)
      var configuration = disk.configuration()
      configuration.eventHandler = handler
      configuration.slowCommitThreshold = .zero
      configuration.slowQueryThreshold = .zero
      let database = try Database(at: "/Notes.divan", configuration: configuration)
      for number in 0..<120 {
        try database.write { _ = try $0.replace("\(number % 20)", with: ["n": .int(7)]) }
        _ = try database.snapshot().find(everything)
      }
      try database.compact()
      try database.close()
      return (disk.traceHash, disk.contentHash)
    }
    let recorder = EventRecorder()
    #expect(try run(nil) == run(recorder.handler))
    #expect(recorder.all.count > 240)
  }
}
