import Divan
import DivanLog
import DivanTesting

extension StoreModel {
  /// Compares by every way of reading.
  func compareInAllWays(_ snapshot: Snapshot) throws {
    try compare(snapshot)
    let entries = entries
    for descending in [false, true] { try compare(snapshot, .all, descending) { _ in true } }
    for (id, entry) in entries.sorted(by: { $0.key < $1.key }) {
      let document = try snapshot.document(id)
      try expect(
        document.map(CrashOracle.Entry.init), entry.isDeleted ? nil : entry, "\(id) by itself")
      try expect(try snapshot.exists(id), !entry.isDeleted, "whether \(id) exists")
      try expect(try snapshot.revision(of: id), entry.revision, "the revision of \(id)")
      let tombstone = try snapshot.tombstone(id)
      try expect(
        tombstone.map(CrashOracle.Entry.init), entry.isDeleted ? entry : nil, "tombstone of \(id)")
    }
    try expect(try snapshot.document("never stored") == nil, true, "what was never stored")
  }

  /// Compares by one way of reading.
  func compare(_ snapshot: Snapshot, _ reading: RandomOperation.Reading) throws {
    switch reading {
    case .everything: try compareInAllWays(snapshot)
    case .prefix(let number, let descending):
      let prefix = RandomOperation.prefix(number)
      try compare(snapshot, .prefix(prefix), descending) { $0.utf8.starts(with: prefix.utf8) }
    case .range(let one, let other, let way, let descending):
      let first = RandomOperation.id(one)
      let last = RandomOperation.id(other)
      func isBelow(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }
      switch way {
      case 0: try compare(snapshot, .init(from: first), descending) { !isBelow($0, first) }
      case 1:
        try compare(snapshot, .init(from: first, upTo: last), descending) {
          !isBelow($0, first) && isBelow($0, last)
        }
      case 2:
        try compare(snapshot, .init(from: first, through: last), descending) {
          !isBelow($0, first) && !isBelow(last, $0)
        }
      case 3: try compare(snapshot, .after(first), descending) { isBelow(first, $0) }
      default: try compare(snapshot, .init(upTo: last), descending) { isBelow($0, last) }
      }
    case .changes(let perMille):
      let since = lastSequence * UInt64(perMille) / 1000
      let feed = snapshot.changes(since: since)
      let expected = documents.filter { $0.value.newest > since }
        .sorted { $0.value.newest < $1.value.newest }.map(\.key)
      try expect(try feed.collect().map(\.id), expected, "the feed since \(since)")
    }
  }

  private func compare(
    _ snapshot: Snapshot, _ range: IDRange, _ descending: Bool, _ isMeant: (String) -> Bool
  ) throws {
    var expected = liveIDs.filter(isMeant)
    if descending { expected.reverse() }
    let ids = snapshot.ids(range, descending: descending)
    try expect(try ids.collect(), expected, "the IDs of \(range)")
    let documents = snapshot.documents(range, descending: descending)
    let found = try documents.collect()
    try expect(found.map(\.id), expected, "the documents of \(range)")
    let entries = entries
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

extension StoreModel {
  /// Returns this model after changes, which are also made in the transaction.
  func changed(
    _ changes: [StoreChange], _ transaction: WriteTransaction, _ random: inout SeededGenerator
  ) throws -> StoreModel {
    var changed = self
    for change in changes {
      try changed.make(change, in: transaction) { random.next() }
    }
    return changed
  }
}
