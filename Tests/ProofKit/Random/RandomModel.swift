import Divan
import DivanLog
import DivanTesting

/// What a store should hold, in the plainest way: a dictionary, sorted and searched when asked.
struct RandomModel: Equatable, Sendable {
  var entries: CrashOracle.Version = [:]

  /// What a snapshot holds by its feed, the widest way to read it.
  init(reading snapshot: Snapshot) throws {
    var feed = snapshot.changes()
    while let change = try feed.next() { entries[change.id] = CrashOracle.Entry(change.document) }
  }

  init() {}

  /// The IDs of documents that are not deleted, in the order of their bytes.
  var liveIDs: [String] {
    entries.filter { !$0.value.isDeleted }.map(\.key)
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  var highestSequence: UInt64 { entries.values.map(\.sequence).max() ?? 0 }
}

extension RandomModel {
  /// Compares by every way of reading.
  func compare(_ snapshot: Snapshot) throws {
    try expect(snapshot.count, liveIDs.count, "the count")
    try expect(try RandomModel(reading: snapshot).entries, entries, "the feed")
    for descending in [false, true] { try compare(snapshot, .all, descending) { _ in true } }
    for (id, entry) in entries {
      let document = try snapshot.get(id)
      try expect(
        document.map(CrashOracle.Entry.init), entry.isDeleted ? nil : entry, "\(id) by itself")
      try expect(try snapshot.exists(id), !entry.isDeleted, "whether \(id) exists")
      try expect(try snapshot.revision(of: id), entry.revision, "the revision of \(id)")
      let tombstone = try snapshot.tombstone(id)
      try expect(
        tombstone.map(CrashOracle.Entry.init), entry.isDeleted ? entry : nil, "tombstone of \(id)")
    }
    try expect(try snapshot.get("never stored") == nil, true, "what was never stored")
  }

  /// Compares by one way of reading.
  func compare(_ snapshot: Snapshot, _ reading: RandomOperation.Reading) throws {
    switch reading {
    case .everything: try compare(snapshot)
    case .prefix(let number, let descending):
      let prefix = RandomOperation.prefix(number)
      try compare(snapshot, .prefix(prefix), descending) { $0.utf8.starts(with: prefix.utf8) }
    case .range(let one, let other, let way, let descending):
      let first = RandomOperation.id(one)
      let last = RandomOperation.id(other)
      func isBelow(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }
      switch way {
      case 0: try compare(snapshot, .from(first), descending) { !isBelow($0, first) }
      case 1:
        try compare(snapshot, .from(first, upTo: last), descending) {
          !isBelow($0, first) && isBelow($0, last)
        }
      case 2:
        try compare(snapshot, .from(first, through: last), descending) {
          !isBelow($0, first) && !isBelow(last, $0)
        }
      case 3: try compare(snapshot, .after(first), descending) { isBelow(first, $0) }
      default: try compare(snapshot, .before(last), descending) { isBelow($0, last) }
      }
    case .changes(let perMille):
      let since = highestSequence * UInt64(perMille) / 1000
      var feed = snapshot.changes(since: since)
      let expected = entries.filter { $0.value.sequence > since }
        .sorted { $0.value.sequence < $1.value.sequence }.map(\.key)
      try expect(try feed.rest().map(\.id), expected, "the feed since \(since)")
    }
  }

  private func compare(
    _ snapshot: Snapshot, _ range: IDRange, _ descending: Bool, _ isMeant: (String) -> Bool
  ) throws {
    var expected = liveIDs.filter(isMeant)
    if descending { expected.reverse() }
    var ids = snapshot.ids(range, descending: descending)
    try expect(try ids.rest(), expected, "the IDs of \(range)")
    var documents = snapshot.documents(range, descending: descending)
    let found = try documents.rest()
    try expect(found.map(\.id), expected, "the documents of \(range)")
    for document in found {
      try expect(CrashOracle.Entry(document), entries[document.id], "\(document.id) in \(range)")
    }
  }

  private func expect<T: Equatable>(_ found: T, _ expected: T, _ what: String) throws {
    guard found != expected else { return }
    throw CrashOracle.Mismatch(
      "\(what): \("\(found)".prefix(300)) and not \("\(expected)".prefix(300))")
  }
}

extension RandomModel {
  /// This model after changes, which are made in the transaction too.
  func changed(
    _ changes: [RandomOperation.Change], _ transaction: WriteTransaction,
    _ random: inout SeededGenerator
  ) throws -> RandomModel {
    var changed = self
    for change in changes { try changed.make(change, transaction, &random) }
    return changed
  }

  private struct Stop: Error {}

  private mutating func make(
    _ change: RandomOperation.Change, _ transaction: WriteTransaction,
    _ random: inout SeededGenerator
  ) throws {
    let number = Value.int(Int64(truncatingIfNeeded: random.next() >> 40))
    switch change {
    case .put(let which, let size):
      let id = RandomOperation.id(which)
      let text = Value.string(String(repeating: "x", count: size))
      try note(transaction.overwrite(id, with: ["number": number, "text": text]))
    case .update(let which):
      let id = RandomOperation.id(which)
      let updated = try transaction.update(id) { $0["number"] = number }
      try expect(updated != nil, entries[id].map { !$0.isDeleted } ?? false, "an update of \(id)")
      if let updated { try note(updated) }
    case .delete(let which):
      let id = RandomOperation.id(which)
      let document = try transaction.get(id)
      let entry = entries[id]
      try expect(
        document.map(CrashOracle.Entry.init), entry?.isDeleted == true ? nil : entry,
        "\(id) in the transaction")
      if let document { try note(transaction.delete(document)) }
    case .nested(let changes, let throwing):
      let before = self
      do {
        try transaction.nested {
          for change in changes { try make(change, transaction, &random) }
          if throwing { throw Stop() }
        }
      } catch is Stop {
        self = before
      }
    }
  }

  private mutating func note(_ document: Document) throws {
    guard document.sequence > highestSequence else {
      throw CrashOracle.Mismatch(
        "\(document.id) has sequence \(document.sequence), not above \(highestSequence)")
    }
    entries[document.id] = CrashOracle.Entry(document)
  }
}
