package import Divan
import DivanLog
import Foundation

/// A change of a transaction to one document.
///
/// It is a value, so that the same change is applied to a store and to a ``StoreModel``.
package indirect enum StoreChange: Sendable {
  /// Stores properties, whatever the document has.
  case put(String, size: Int)
  /// Changes an existing document.
  case update(String)
  /// Deletes a document as it is read: in a conflict the winner, so that another leaf wins.
  case delete(String)
  /// Ends all branches of a document.
  case deleteAll(String)
  /// Stores another successor of a revision that has one.
  case branch(String, size: Int)
  /// Stores a successor of the last leaf in winning order.
  case grow(String, size: Int)
  /// Stores a revision from elsewhere: on the winner, or on an unknown revision.
  case insert(String, size: Int, isOnto: Bool, isDeleted: Bool)
  /// Stores a revision from elsewhere, made from the winner in three steps.
  ///
  /// Its history does not reach back to the winner: so it becomes a tree of its own.
  case insertAhead(String, size: Int)
  /// Stores the same revision again, with the whole history: trees are joined.
  case join(String)
  /// Ends all branches of a document except the winning one.
  case resolve(String)
  case purge(String)
  /// Purges one of a document's leaves.
  case purgeLeaf(String, Int)
  /// Attaches content, which is determined by its seed, to a document.
  case attach(String, name: String, seed: UInt8, size: Int)
  /// Removes all attachments of a document.
  case detach(String)
  /// Lets a document expire a number of seconds after ``Configuration/proofTime``, or never.
  case expire(String, seconds: UInt64?)
  case putLocal(String, size: Int)
  case removeLocal(String)
  /// Nested changes, which are kept, or rolled back because the closure throws.
  case savepoint([StoreChange], throwing: Bool)

  /// Puts a document, deletes another, and rolls both back.
  static func takeBack(_ id: String, size: Int, deleting other: String) -> StoreChange {
    .savepoint([.put(id, size: size), .delete(other)], throwing: true)
  }
}

extension Configuration {
  /// The time of everything in the proofs, by default, in milliseconds since 1970.
  package static let proofTime: UInt64 = 1_700_000_000_000
}

extension StoreModel {
  private struct Stop: Error {}

  private func properties(_ number: Int64, _ size: Int) -> Value.Object {
    ["number": .int(number), "text": .string(StoreModel.text(size))]
  }

  /// Makes a change in a transaction and in the model, and compares the results.
  ///
  /// `draw` returns random numbers: one for each change, and more for some kinds.
  package mutating func make(
    _ change: StoreChange, in transaction: WriteTransaction, draw: () -> UInt64
  ) throws {
    let number = Int64(truncatingIfNeeded: draw() >> 40)
    switch change {
    case .put(let id, let size):
      let old = documents[id]?.winner.revision
      let document = try transaction.replace(id, with: properties(number, size))
      try add(Entry(document), to: id, inPlaceOf: old)
    case .update(let id):
      let old = documents[id]?.winner
      let updated = try transaction.update(id) { $0["number"] = .int(number) }
      try expect((updated != nil) == (old.map { !$0.isDeleted } ?? false), "an update of \(id)")
      if let updated { try add(Entry(updated), to: id, inPlaceOf: old?.revision) }
    case .delete(let id): _ = try delete(id, transaction)
    case .deleteAll(let id): while try delete(id, transaction) {}
    case .branch(let id, let size):
      try branch(id, properties(number, size), transaction)
    case .grow(let id, let size):
      guard let leaf = documents[id]?.leaves.last?.revision else { return }
      let content = EncodedValue(try ValueEncoder.encode(.object(properties(number, size))))
      let document = Document(id: id, revision: leaf, content)
      try add(Entry(transaction.put(document)), to: id, inPlaceOf: leaf)
    case .insert(let id, let size, let isOnto, let isDeleted):
      try insert(
        Document(id: id, properties(number, size)), isOnto: isOnto, isDeleted: isDeleted,
        transaction, draw)
    case .insertAhead(let id, let size):
      try insertAhead(id, number: number, size: size, transaction, draw)
    case .join(let id): try join(id, transaction)
    case .resolve(let id): try resolve(id, transaction)
    case .purge(let id):
      let isThere = documents[id] != nil
      try expect(try transaction.purge(id) == isThere, "whether there was \(id) to purge")
      if isThere { purge(id, through: transaction.lastSequence) }
    case .purgeLeaf(let id, let index): try purgeLeaf(index, of: id, transaction)
    case .attach(let id, let name, let seed, let size):
      try attach(id, name, AttachedContent.bytes(seed, size), number, transaction)
    case .detach(let id):
      guard var document = try transaction.document(id), !document.attachments.isEmpty else {
        return
      }
      let old = document.revision
      document.attachments = [:]
      try add(Entry(transaction.put(document)), to: id, inPlaceOf: old)
    case .expire(let id, let seconds):
      guard documents[id] != nil else { return }
      let time = seconds.map { Configuration.proofTime + $0 * 1000 }
      try transaction.setExpiry(time.map { Date(timeIntervalSince1970: Double($0) / 1000) }, of: id)
      setExpiry(time, of: id)
    case .putLocal(let id, let size):
      try transaction.putLocal(id, properties(number, size))
      setLocal(id, properties(number, size))
    case .removeLocal(let id):
      try expect(
        try transaction.removeLocal(id) == (locals[id] != nil), "whether there was the local \(id)")
      setLocal(id, nil)
    case .savepoint(let changes, let throwing):
      let before = self
      do {
        try transaction.savepoint {
          for change in changes { try make(change, in: transaction, draw: draw) }
          if throwing { throw Stop() }
        }
      } catch is Stop {
        self = before
      }
    }
  }

  /// Deletes the winner; returns false if there is none that is not deleted.
  private mutating func delete(_ id: String, _ transaction: WriteTransaction) throws -> Bool {
    let document = try transaction.document(id)
    let old = documents[id]?.winner
    try expect(
      document.map(Entry.init) == (old?.isDeleted == true ? nil : old), "\(id) in the transaction")
    guard let document else { return false }
    try add(Entry(transaction.delete(document)), to: id, inPlaceOf: old?.revision)
    return true
  }

  private mutating func branch(
    _ id: String, _ properties: Value.Object, _ transaction: WriteTransaction
  ) throws {
    // A join may have cut off the last replaced revision.
    guard let document = documents[id],
      let parent = document.past.suffix(from: document.firstSurePast).last(where: {
        $0.revision.map(document.knows) == true
      })
    else { return }
    let branch = Document(
      id: id, revision: parent.revision,
      EncodedValue(try ValueEncoder.encode(.object(properties))))
    try add(
      Entry(transaction.put(branch, onConflict: .branch)), to: id, inPlaceOf: nil,
      after: parent.revision.map { [$0] } ?? [])
  }

  private mutating func insert(
    _ document: Document, isOnto: Bool, isDeleted: Bool, _ transaction: WriteTransaction,
    _ draw: () -> UInt64
  ) throws {
    let random = draw()
    let id = document.id
    let old = isOnto ? documents[id]?.winner.revision : nil
    let generation = old.map { $0.generation + 1 } ?? 1 + random % 3
    // Some look like the store's own, some do not.
    let digest = String(random, radix: 16)
    let text =
      random % 4 == 0 ? "by-\(digest)" : String(repeating: "0", count: 32 - digest.count) + digest
    var history: [RevisionID] = []
    for step in 0..<min(generation, 3) {
      if step == 1, let old {
        history.append(old)
        break
      }
      if let ancestor = RevisionID(
        generation: generation - step, digest: step == 0 ? text : "0\(step)\(digest)")
      {
        history.append(ancestor)
      }
    }
    for isNew in [true, false] {
      try expect(
        try transaction.insert(
          document, history: history, isDeleted: isDeleted, origin: "elsewhere") == isNew,
        "whether a revision of \(id) is new")
    }
    var entry = Entry(document)
    entry.revision = history[0]
    entry.sequence = transaction.lastSequence
    entry.isDeleted = isDeleted
    try add(entry, to: id, inPlaceOf: old, after: Array(history.dropFirst()))
  }

  private mutating func insertAhead(
    _ id: String, number: Int64, size: Int, _ transaction: WriteTransaction, _ draw: () -> UInt64
  ) throws {
    guard let winner = documents[id]?.winner.revision else { return }
    let name = String(draw(), radix: 36)
    let later = try (1...3).reversed().map { (step: UInt64) throws in
      let revision = RevisionID(generation: winner.generation + step, digest: "\(name)-\(step)")
      guard let revision else { throw CrashOracle.Mismatch("\(name) is no digest") }
      return revision
    }
    try insert(Document(id: id, properties(number, size)), Array(later.prefix(2)), transaction)
    setGap(Gap(history: later + [winner], number: number, size: size), of: id)
  }

  private mutating func join(_ id: String, _ transaction: WriteTransaction) throws {
    guard let gap = documents[id]?.gap else { return }
    // A revision always has the same content. One that was purged or pruned since is new again.
    try insert(Document(id: id, properties(gap.number, gap.size)), gap.history, transaction)
    setGap(nil, of: id)
  }

  private mutating func insert(
    _ document: Document, _ history: [RevisionID], _ transaction: WriteTransaction
  ) throws {
    // After a crash this may be above the last number in the model.
    let before = transaction.lastSequence
    let isNew = try transaction.insert(document, history: history, origin: "elsewhere")
    var entry = Entry(document)
    entry.revision = history[0]
    entry.sequence = transaction.lastSequence
    let done = insert(entry, to: document.id, history)
    try expect(
      isNew == done.isNew, "\(history) of \(document.id) is \(done.isNew ? "" : "not ")new")
    try expect(
      done.isChange == (transaction.lastSequence > before),
      "inserting \(history) of \(document.id) is \(done.isChange ? "a" : "no") change")
  }

  private mutating func resolve(_ id: String, _ transaction: WriteTransaction) throws {
    guard let document = documents[id] else { return }
    for leaf in document.leaves.dropFirst() where !leaf.isDeleted {
      let branch = Document(id: id, revision: leaf.revision, .emptyObject)
      try add(Entry(transaction.delete(branch)), to: id, inPlaceOf: leaf.revision)
    }
  }

  private mutating func purgeLeaf(
    _ index: Int, of id: String, _ transaction: WriteTransaction
  ) throws {
    guard let document = documents[id] else { return }
    guard let revision = document.leaves[index % document.leaves.count].revision else { return }
    try expect(try transaction.purge(id, revision: revision), "there was no leaf of \(id)")
    if document.leaves.count == 1 {
      purge(id, through: transaction.lastSequence)
    } else {
      purgeLeaf(revision, of: id, sequence: transaction.lastSequence)
    }
  }

  private mutating func attach(
    _ id: String, _ name: String, _ content: [UInt8], _ number: Int64,
    _ transaction: WriteTransaction
  ) throws {
    let old = documents[id]?.winner.revision
    var document = try transaction.document(id) ?? Document(id: id)
    document["number"] = .int(number)
    document.attachments[name] = Document.Attachment(contentType: "x/y", content)
    let stored = Entry(try transaction.put(document))
    let digest = "\(SHA256.digest(of: SharedBytes(copying: content)))"
    try expect(
      stored.attachments[name]?.digest == digest
        && stored.attachments[name]?.length == content.count,
      "something else was attached to \(id)")
    try add(stored, to: id, inPlaceOf: old)
  }
}
