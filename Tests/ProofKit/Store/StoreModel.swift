package import Divan
import DivanLog
import Foundation

/// What a store should hold at one moment, in the plainest way: dictionaries and lists that are searched
/// when somebody asks.
///
/// It follows from what was done, not from what the store says of it; only revision IDs and sequence
/// numbers are taken over, when they are handed out.
package struct StoreModel: Equatable, Sendable {
  /// One revision, and what it holds.
  package struct Entry: Equatable, Sendable {
    package var number: Int64
    /// Of the text; below 0 if there is none.
    package var size: Int
    package var revision: RevisionID?
    package var sequence: UInt64
    package var isDeleted: Bool
    package var attachments: [String: Attached] = [:]
  }

  /// What a revision says of an attachment.
  package struct Attached: Equatable, Sendable {
    /// The SHA-256 in hexadecimal digits, by which its file is called if it has one.
    package var digest: String
    package var length: Int
    package var generation: UInt64
  }

  /// A document with all its leaves.
  package struct Lineage: Equatable, Sendable {
    /// The winner first.
    package fileprivate(set) var leaves: [Entry] = []
    /// The sequence number of its last change.
    package fileprivate(set) var newest: UInt64 = 0
    /// In milliseconds since 1970.
    package fileprivate(set) var expiry: UInt64?
    /// The revisions that have successors, in the order in which they got them.
    package fileprivate(set) var past: [Entry] = []
    /// From here on ``past`` is surely known to the store: what came before may have gone with a branch.
    package fileprivate(set) var firstSurePast = 0
    /// Whether there never was a second leaf.
    package fileprivate(set) var isChain = true
    /// The revisions that are known by their IDs.
    private var tree = PlainHistories()
    /// The revision that was inserted last without its nearest ancestors.
    fileprivate(set) var gap: Gap?
    /// Whether revisions were forgotten because they are far from every leaf.
    package private(set) var isPruned = false

    package var winner: Entry { leaves[0] }
    package var hasConflicts: Bool { leaves.count { !$0.isDeleted } > 1 }
  }

  /// A revision that was inserted without its nearest ancestors: see ``StoreChange/insertAhead(_:size:)``.
  struct Gap: Equatable, Sendable {
    /// From the revision to one that was known when it was inserted.
    var history: [RevisionID]
    var number: Int64
    var size: Int
  }

  /// A version that was named.
  package struct Named: Equatable, Sendable {
    package var sequence: UInt64
    package var documents: [String: Lineage]
  }

  /// By their IDs.
  package private(set) var documents: [String: Lineage] = [:]
  /// The documents in an order that is the same in every process, as a dictionary's is not: one seed makes one
  /// row of calls.
  var inOrder: [(key: String, value: Lineage)] { documents.sorted { $0.key < $1.key } }
  /// The local documents by their IDs.
  package private(set) var locals: [String: Value.Object] = [:]
  /// The named snapshots.
  package private(set) var named: [String: Named] = [:]
  /// The names of the indexes, all of which are by the documents' numbers first.
  package private(set) var indexes: Set<String> = []
  /// The highest sequence number of a change.
  package private(set) var lastSequence: UInt64 = 0
  /// Of documents that were purged: a sequence number through which they are in no version any more.
  private var purgedThrough: [String: UInt64] = [:]
  /// Of documents that lost a leaf: a sequence number below which it is not said here what they were.
  private var disturbedBelow: [String: UInt64] = [:]
  /// How many revisions of each branch the store knows by their IDs, in all its sessions.
  package var revisionDepth = Configuration().revisionDepth
  /// Whether any version ever had a name, so that revisions may be held for it still.
  package private(set) var hasHadNames = false

  package init() {}
}

extension StoreModel {
  /// The winning revisions of all documents.
  package var entries: [String: Entry] { documents.mapValues(\.winner) }

  /// The IDs of documents that are not deleted, in the order of their bytes.
  package var liveIDs: [String] {
    documents.filter { !$0.value.winner.isDeleted }.map(\.key)
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// Whether anything is there that plain documents have not.
  package var isRich: Bool {
    !locals.isEmpty || !named.isEmpty || !indexes.isEmpty
      || documents.values.contains {
        !$0.isChain || $0.expiry != nil || !$0.winner.attachments.isEmpty
      }
  }

  /// The number of the transaction of a ``CrashWriter`` that this is the version of, or one after.
  package var clock: Int { Int(documents[CrashOracle.clock]?.winner.number ?? 0) }

  /// An earlier version, as it is to be read now: without what was purged since; and the documents of
  /// which nothing is said.
  package func past(_ documents: [String: Lineage], at sequence: UInt64) -> (Self, Set<String>) {
    var earlier = StoreModel()
    earlier.documents = documents.filter { (purgedThrough[$0.key] ?? 0) < $0.value.newest }
    earlier.lastSequence = sequence
    return (earlier, Set(disturbedBelow.filter { sequence < $0.value }.keys))
  }
}

// MARK: Changes

extension StoreModel.Lineage {
  /// Puts a revision in the place of a leaf, or beside all of them, and forgets what is then further from
  /// every leaf than `depth` says.
  fileprivate mutating func add(
    _ entry: StoreModel.Entry, inPlaceOf old: RevisionID?, after ancestors: [RevisionID], depth: Int
  ) {
    if let index = leaves.firstIndex(where: { $0.revision == old && old != nil }) {
      past.append(leaves.remove(at: index))
      // What is long ago and has left nothing behind need not be remembered.
      if past.count > 64, past[0].attachments.isEmpty {
        past.removeFirst()
        firstSurePast = max(0, firstSurePast - 1)
      }
    }
    leaves.append(entry)
    if leaves.count > 1 { isChain = false }
    newest = entry.sequence
    sort()
    if let revision = entry.revision { take([revision] + ancestors, depth: depth) }
  }

  /// Takes in a revision with its history, which may join what was apart; returns whether it became a
  /// leaf, and whether anything changed.
  fileprivate mutating func insert(
    _ entry: StoreModel.Entry, _ history: [RevisionID], depth: Int
  ) -> (isNew: Bool, isChange: Bool) {
    let before = tree
    take(history, depth: depth)
    guard tree != before else { return (false, false) }
    let isNew = tree.leaves.contains(history[0]) && !before.leaves.contains(history[0])
    past += leaves.filter { $0.revision.map { !tree.leaves.contains($0) } ?? false }
    leaves.removeAll { $0.revision.map { !tree.leaves.contains($0) } ?? false }
    if isNew {
      leaves.append(entry)
    } else {
      sort()
      // Of a revision that is known only the history is news: it is stored again with that.
      let index = leaves.firstIndex { $0.revision == history[0] } ?? 0
      leaves[index].sequence = entry.sequence
    }
    if leaves.count > 1 { isChain = false }
    newest = entry.sequence
    sort()
    return (isNew, true)
  }

  private mutating func take(_ history: [RevisionID], depth: Int) {
    let all = tree.known.union(history)
    tree.insert(history, depth: depth)
    if tree.known != all { isPruned = true }
  }

  /// The revision and those before it, newest first, as far as they are known.
  package func revisions(leadingTo revision: RevisionID) -> [RevisionID] {
    tree.history(of: revision)
  }

  /// Whether a revision is known by its ID.
  package func knows(_ revision: RevisionID) -> Bool { tree.known.contains(revision) }

  /// Forgets a leaf, and what came before it alone.
  fileprivate mutating func remove(_ leaf: RevisionID) {
    leaves.removeAll { $0.revision == leaf }
    tree.remove(leaf: leaf)
  }

  fileprivate mutating func sort() {
    leaves.sort { one, other in
      if one.isDeleted != other.isDeleted { return other.isDeleted }
      guard let first = one.revision, let second = other.revision else { return false }
      return first > second
    }
  }
}

extension StoreModel {
  /// Notes a revision that was stored.
  ///
  /// Unless `ancestors` says otherwise, it was made from the one in whose place it is.
  mutating func add(
    _ entry: Entry, to id: String, inPlaceOf old: RevisionID?, after ancestors: [RevisionID]? = nil
  ) throws {
    try expect(
      entry.sequence > lastSequence,
      "\(id) has sequence \(entry.sequence), not above \(lastSequence)")
    documents[id, default: Lineage()].add(
      entry, inPlaceOf: old, after: ancestors ?? (old.map { [$0] } ?? []), depth: revisionDepth)
    lastSequence = entry.sequence
  }

  /// Notes a revision that came with its history, which may have been known.
  mutating func insert(
    _ entry: Entry, to id: String, _ history: [RevisionID]
  ) -> (isNew: Bool, isChange: Bool) {
    let done = documents[id, default: Lineage()].insert(entry, history, depth: revisionDepth)
    if done.isChange { lastSequence = max(lastSequence, entry.sequence) }
    return done
  }

  /// Remembers the history and content of a revision that was inserted without that history.
  mutating func setGap(_ gap: Gap?, of id: String) { documents[id]?.gap = gap }

  /// Notes that a document is gone.
  mutating func purge(_ id: String, through sequence: UInt64) {
    documents[id] = nil
    purgedThrough[id] = sequence
  }

  /// Notes that a leaf is gone, and that its document has another sequence number.
  mutating func purgeLeaf(_ revision: RevisionID?, of id: String, sequence: UInt64) {
    guard var document = documents[id], let revision else { return }
    document.remove(revision)
    document.leaves[0].sequence = sequence
    document.newest = sequence
    document.firstSurePast = document.past.count
    document.isChain = false
    documents[id] = document
    lastSequence = sequence
    disturbedBelow[id] = sequence
  }

  mutating func setExpiry(_ expiry: UInt64?, of id: String) { documents[id]?.expiry = expiry }

  mutating func setLocal(_ id: String, _ properties: Value.Object?) { locals[id] = properties }

  /// Gives this version a name; the store says how far it counted.
  package mutating func name(_ name: String, sequence: UInt64) {
    named[name] = Named(sequence: sequence, documents: documents)
    hasHadNames = true
  }

  package mutating func removeName(_ name: String) { named[name] = nil }

  package mutating func addIndex(_ name: String) { indexes.insert(name) }
  package mutating func removeIndex(_ name: String) { indexes.remove(name) }

  /// The index of a name: some are by number and text, and some have only documents with a short text.
  package static func index(_ name: String) -> DocumentIndex {
    if name.hasPrefix("number, text") { return DocumentIndex(name, on: ["number"], ["text"]) }
    return DocumentIndex(
      name, on: "number", eachElement: name.hasPrefix("each"),
      where: isOfShort(name) ? [.less("text", .string(text(shortSize)))] : [])
  }

  /// Whether an index has only documents with a short text.
  static func isOfShort(_ name: String) -> Bool { name.hasPrefix("short") }

  /// From how many bytes on a text is not short.
  static let shortSize = 20

  /// The text of a document, by its size.
  static func text(_ size: Int) -> String { String(repeating: "x", count: size) }

  /// Takes the documents away that have expired; returns whether there were any.
  package mutating func purgeExpired(at time: UInt64, lastSequence: UInt64) -> Bool {
    let due = documents.filter { $0.value.expiry.map { $0 <= time } ?? false }.keys
    for id in due { purge(id, through: lastSequence) }
    return !due.isEmpty
  }
}

// MARK: Reading

extension StoreModel.Entry {
  package init(_ document: Document) {
    self.init(
      number: Int64(document["number"]?.intValue ?? document["version"]?.intValue ?? -1),
      size: document["text"]?.stringValue?.utf8.count ?? -1, revision: document.revision,
      sequence: document.sequence, isDeleted: document.isDeleted)
    guard !document.attachments.isEmpty else { return }
    attachments = document.attachments.mapValues { attachment in
      var digest = "not stored"
      if case .stored(let stored, _) = attachment.body { digest = "\(stored)" }
      return StoreModel.Attached(
        digest: digest, length: attachment.length, generation: attachment.generation)
    }
  }
}

/// What the attachments of the proofs hold: bytes that follow from the first of them and their number.
package enum AttachedContent {
  package static func bytes(_ seed: UInt8, _ size: Int) -> [UInt8] {
    (0..<size).map { $0 == 0 ? seed : UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) ^ seed }
  }

  /// Throws if the content of any attachment cannot be read or is not what was stored.
  package static func check(_ document: Document) throws {
    for (name, attachment) in document.attachments.sorted(by: { $0.key < $1.key }) {
      let content = try attachment.content()
      try expect(
        Array(content) == bytes(content.first ?? 0, attachment.length),
        "\(name) of \(document.id) has other content")
    }
  }
}
