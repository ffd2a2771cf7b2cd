import Divan
import DivanLog
import Synchronization

/// Works with a store from several threads, and records the operations and results of each.
final class HistoryRecorder: Sendable {
  let database: Database
  private let history: Guarded<History>
  private let moment = Atomic(0)
  /// The sequence number of a snapshot before the first commit since opening, and its meaning.
  ///
  /// After a crash it is above that of the last change.
  private let opening: (found: UInt64, meant: UInt64)

  struct ThrownByPlan: Error {}

  init(_ database: Database, spentSequence: UInt64) throws {
    self.database = database
    let snapshot = try database.snapshot()
    var history = History()
    history.initial = try HistoryRecorder.changes(in: snapshot, since: 0)
    history.spentSequence = spentSequence
    opening = (snapshot.sequence, history.initial.last?.sequence ?? 0)
    self.history = Guarded(history)
  }

  /// The history so far.
  var recorded: History { history.withLock { $0 } }

  private func tick() -> Int { moment.add(1, ordering: .sequentiallyConsistent).newValue }

  private func sequence(of snapshot: Snapshot) -> UInt64 {
    snapshot.sequence == opening.found ? opening.meant : snapshot.sequence
  }

  /// Returns the latest changes of all documents after a sequence number.
  static func changes(in snapshot: Snapshot, since: UInt64) throws -> [History.Change] {
    let cursor = snapshot.changes(since: since)
    return try cursor.collect().map { change in
      History.Change(
        change.id, change.isDeleted ? nil : change.document["v"]?.stringValue,
        sequence: change.sequence)
    }
  }
}

extension HistoryRecorder {
  /// The steps of a transaction while it runs.
  final class Steps {
    var steps: [History.Step] = []
    let transaction: WriteTransaction
    init(_ transaction: WriteTransaction) { self.transaction = transaction }

    func read(_ key: String) throws -> String? {
      let value = try transaction.document(key)?["v"]?.stringValue
      steps.append(.read(key, value))
      return value
    }

    func write(_ key: String, _ value: String, padding: Int) throws {
      let text = Value.string(String(repeating: "x", count: padding))
      let document = try transaction.replace(key, with: ["v": .string(value), "pad": text])
      steps.append(.write(key, value, sequence: document.sequence))
    }

    func delete(_ key: String) throws {
      guard let document = try transaction.document(key) else { return }
      steps.append(.write(key, nil, sequence: try transaction.delete(document).sequence))
    }

    /// Runs `body` nested; if it throws the planned error, that is rolled back and ignored.
    func savepoint(_ body: () throws -> Void) throws {
      steps.append(.begin)
      do {
        try transaction.savepoint(body)
        steps.append(.taken)
      } catch is ThrownByPlan {
        steps.append(.takenBack)
      }
    }
  }

  /// Runs a transaction and records it; returns false if the store cannot write any more.
  func write(
    _ name: String, _ durability: Durability, _ body: (Steps) throws -> Void
  ) throws -> Bool {
    var steps: Steps?
    let begin = tick()
    var outcome = History.Outcome.committed
    var goesOn = true
    do {
      try database.write(durability: durability) { transaction in
        let own = Steps(transaction)
        steps = own
        try body(own)
      }
    } catch is ThrownByPlan {
      outcome = .aborted
    } catch let error as DatabaseError where error.code == .outcomeUnknown {
      (outcome, goesOn) = (.unknown, false)
    } catch is DatabaseError {
      (outcome, goesOn) = (.aborted, false)
    }
    let end = tick()
    let transaction = History.Transaction(
      name, begin...end, steps?.steps ?? [], outcome, isFull: durability == .full)
    history.withLock { $0.transactions.append(transaction) }
    return goesOn
  }

  /// A snapshot whose reads are recorded, until it is released.
  final class Reader {
    let snapshot: Snapshot
    private let recorder: HistoryRecorder
    private var view: History.View

    fileprivate init(_ recorder: HistoryRecorder, _ snapshot: Snapshot, _ view: History.View) {
      self.recorder = recorder
      self.snapshot = snapshot
      self.view = view
    }

    deinit { recorder.take(view) }

    var sequence: UInt64 { view.sequence }

    func read(_ key: String) throws {
      view.reads.append(.document(key, try snapshot.document(key)?["v"]?.stringValue))
    }

    func readEverything(descending: Bool) throws {
      var cursor = snapshot.documents(descending: descending)
      var found: [String: String] = [:]
      while let document = try cursor.next() {
        found[document.id] = document["v"]?.stringValue ?? "no value"
      }
      view.reads += [.everything(found), .count(try snapshot.count)]
    }

    func readChanges(since: UInt64) throws {
      view.reads.append(
        .changes(since: since, try HistoryRecorder.changes(in: snapshot, since: since)))
    }
  }

  /// Takes a snapshot whose reads are recorded.
  func reader(_ name: String) throws -> Reader {
    let begin = tick()
    let snapshot = try database.snapshot()
    let end = tick()
    return Reader(
      self, snapshot, History.View(name, begin...end, sequence: sequence(of: snapshot), []))
  }

  private func take(_ view: History.View) { history.withLock { $0.views.append(view) } }
}
