package import Divan
import DivanLog
import Foundation

/// The expected contents of a store at one moment, as plain dictionaries and lists.
///
/// They are derived from the operations, not from the store's answers; only revision IDs and
/// sequence numbers are taken from the store, when they are assigned.
package struct StoreModel: Equatable, Sendable {
  /// One revision with its contents.
  package struct Entry: Equatable, Sendable {
    package var number: Int64
    /// The size of the text; below 0 if there is none.
    package var size: Int
    package var revision: RevisionID?
    package var sequence: UInt64
    package var isDeleted: Bool
    package var attachments: [String: Attached] = [:]
  }

  /// A revision's data about an attachment.
  package struct Attached: Equatable, Sendable {
    /// The SHA-256 in hexadecimal digits, which is the name of its file if it has one.
    package var digest: String
    package var length: Int
    package var generation: UInt64
  }

  /// A document with all its leaves.
  package struct Lineage: Equatable, Sendable {
    /// The leaves, the winner first.
    package fileprivate(set) var leaves: [Entry] = []
    /// The sequence number of its last change.
    package fileprivate(set) var newest: UInt64 = 0
    /// The expiry in milliseconds since 1970.
    package fileprivate(set) var expiry: UInt64?
    /// The revisions that have successors, in the order in which they got them.
    package fileprivate(set) var past: [Entry] = []
    /// The index from which ``past`` is surely known; earlier ones may have gone with a branch.
    package fileprivate(set) var firstSurePast = 0
    /// Whether there has never been a second leaf.
    package fileprivate(set) var isChain = true
    /// The revisions that are known by their IDs.
    private var tree = PlainHistories()
    /// The revision that was inserted last without its nearest ancestors.
    fileprivate(set) var gap: Gap?
    /// Whether revisions were removed because they are far from every leaf.
    package private(set) var isPruned = false

    package var winner: Entry { leaves[0] }
    package var hasConflicts: Bool { leaves.count { !$0.isDeleted } > 1 }
  }

  /// A revision that was inserted without its nearest ancestors: see
  /// ``StoreChange/insertAhead(_:size:)``.
  struct Gap: Equatable, Sendable {
    /// The path from the revision to one that was known when it was inserted.
    var history: [RevisionID]
    var number: Int64
    var size: Int
  }

  /// A version that was named.
  package struct Named: Equatable, Sendable {
    package var sequence: UInt64
    package var documents: [String: Lineage]
  }

  /// The documents by their IDs.
  package private(set) var documents: [String: Lineage] = [:]
  /// The documents in an order that is the same in every process, unlike that of a dictionary.
  ///
  /// So one seed leads to one sequence of calls.
  var inOrder: [(key: String, value: Lineage)] { documents.sorted { $0.key < $1.key } }
  /// The local documents by their IDs.
  package private(set) var locals: [String: Value.Object] = [:]
  /// The named snapshots.
  package private(set) var named: [String: Named] = [:]
  /// The names of the indexes, whose first key is always the documents' numbers.
  package private(set) var indexes: Set<String> = []
  /// The highest sequence number of a change.
  package private(set) var lastSequence: UInt64 = 0
  /// For purged documents: a sequence number up to which no version has them any more.
  private var purgedThrough: [String: UInt64] = [:]
  /// For documents that lost a leaf: a sequence number below which their state is not modelled.
  private var disturbedBelow: [String: UInt64] = [:]
  /// The number of revisions of each branch that the store knows by their IDs, in all its sessions.
  package var revisionDepth = Configuration().revisionDepth
  /// Whether any version ever had a name, so that revisions may still be retained for it.
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

  /// Whether there is anything that plain documents do not have.
  package var isRich: Bool {
    !locals.isEmpty || !named.isEmpty || !indexes.isEmpty
      || documents.values.contains {
        !$0.isChain || $0.expiry != nil || !$0.winner.attachments.isEmpty
      }
  }

  /// The number of the ``CrashWriter`` transaction whose version this is, or the next one.
  package var clock: Int { Int(documents[CrashOracle.clock]?.winner.number ?? 0) }

  /// Returns an earlier version as it is readable now, and the documents in an unknown state.
  ///
  /// Documents that were purged since are missing from it.
  package func past(_ documents: [String: Lineage], at sequence: UInt64) -> (Self, Set<String>) {
    var earlier = StoreModel()
    earlier.documents = documents.filter { (purgedThrough[$0.key] ?? 0) < $0.value.newest }
    earlier.lastSequence = sequence
    return (earlier, Set(disturbedBelow.filter { sequence < $0.value }.keys))
  }
}

// MARK: Changes

extension StoreModel.Lineage {
  /// Replaces a leaf by a revision, or adds it as another leaf, and prunes to a depth.
  fileprivate mutating func add(
    _ entry: StoreModel.Entry, inPlaceOf old: RevisionID?, after ancestors: [RevisionID], depth: Int
  ) {
    if let index = leaves.firstIndex(where: { $0.revision == old && old != nil }) {
      past.append(leaves.remove(at: index))
      // Old revisions without attachments need not be kept.
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

  /// Inserts a revision with its history, which may join separate trees.
  ///
  /// Returns whether it became a leaf, and whether anything changed.
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
      // For a known revision, only the history is new: the revision is stored again with it.
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

  /// Returns the revision and its known ancestors, newest first.
  package func revisions(leadingTo revision: RevisionID) -> [RevisionID] {
    tree.history(of: revision)
  }

  /// Whether a revision is known by its ID.
  package func knows(_ revision: RevisionID) -> Bool { tree.known.contains(revision) }

  /// Removes a leaf, and those of its ancestors that no other leaf has.
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
  /// Records a revision that was stored.
  ///
  /// Unless `ancestors` specifies others, its parent is the revision that it replaces.
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

  /// Records a revision that came with its history, and may have been known.
  mutating func insert(
    _ entry: Entry, to id: String, _ history: [RevisionID]
  ) -> (isNew: Bool, isChange: Bool) {
    let done = documents[id, default: Lineage()].insert(entry, history, depth: revisionDepth)
    if done.isChange { lastSequence = max(lastSequence, entry.sequence) }
    return done
  }

  /// Keeps the history and content of a revision that was inserted without that history.
  mutating func setGap(_ gap: Gap?, of id: String) { documents[id]?.gap = gap }

  /// Records that a document was purged.
  mutating func purge(_ id: String, through sequence: UInt64) {
    documents[id] = nil
    purgedThrough[id] = sequence
  }

  /// Records that a leaf was purged, and that its document has another sequence number.
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

  /// Names this version; the store provides the sequence number.
  package mutating func name(_ name: String, sequence: UInt64) {
    named[name] = Named(sequence: sequence, documents: documents)
    hasHadNames = true
  }

  package mutating func removeName(_ name: String) { named[name] = nil }

  package mutating func addIndex(_ name: String) { indexes.insert(name) }
  package mutating func removeIndex(_ name: String) { indexes.remove(name) }

  /// Returns the index of a name: some are by number and text, some only for short texts.
  package static func index(_ name: String) -> DocumentIndex {
    if name.hasPrefix("number, text") { return DocumentIndex(name, on: "number", "text") }
    if isOfWords(name) { return DocumentIndex(name, fullText: "text") }
    return DocumentIndex(
      name, on: "number", eachElement: name.hasPrefix("each"),
      where: isOfShort(name) ? [.less("text", .string(text(shortSize)))] : [])
  }

  /// Whether an index only has documents with a short text.
  static func isOfShort(_ name: String) -> Bool { name.hasPrefix("short") }

  /// Whether an index is of the words of texts.
  static func isOfWords(_ name: String) -> Bool { name.hasPrefix("words") }

  /// The size in bytes from which a text is not short.
  static let shortSize = 20

  /// Returns the text of a document, by its size.
  ///
  /// A text that is not short has several words, of which some are in many texts. All texts are in
  /// the order of their sizes up to ``shortSize``.
  static func text(_ size: Int) -> String {
    let start = String(repeating: "x", count: min(size, shortSize))
    let words = (0..<max(0, size - shortSize)).map { place in
      place % (3 + size % 4) == 0 ? " " : place % 7 == size % 7 ? "y" : "x"
    }
    return start + words.joined()
  }

  /// Returns the words of a text.
  static func words(_ size: Int) -> Set<Substring> { Set(text(max(0, size)).split(separator: " ")) }

  /// Removes the documents that have expired; returns whether there were any.
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

/// The contents of the attachments in the proofs: bytes determined by the first one and the size.
package enum AttachedContent {
  package static func bytes(_ seed: UInt8, _ size: Int) -> [UInt8] {
    (0..<size).map { $0 == 0 ? seed : UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) ^ seed }
  }

  /// Throws if the content of any attachment cannot be read or is not what was stored.
  package static func check(_ document: Document) throws {
    for (name, attachment) in document.attachments.sorted(by: { $0.key < $1.key }) {
      let content = try attachment.data()
      try expect(
        Array(content) == bytes(content.first ?? 0, attachment.length),
        "\(name) of \(document.id) has other content")
    }
  }
}
