import DivanLog

/// One version of a store's index and counters.
///
/// Copying it makes a snapshot, in O(1).
struct Version: Sendable {
  /// Document ID → ``DocumentEntry``.
  var documents: LayeredTree
  /// Sequence number, big-endian → ``RecordLocator`` of the document's newest record that has it.
  var sequences: LayeredTree
  /// ``RetainedKey`` → ``RecordLocator`` of a retained record that is not a document's newest one.
  ///
  /// Its revision is another leaf, or an earlier one that history or a named snapshot keeps.
  var retained: LayeredTree
  /// ``CatalogKey`` → a value by kind: local documents, indexes and their entries, expiries, named
  /// snapshots and their commit points, attachments and the references to them.
  var catalog: LayeredTree
  /// ``FullTextKeys`` → the tables of full-text indexes.
  var texts: LayeredTree
  /// The number of documents that are not deleted.
  var documentCount: UInt64 = 0
  var lastSequence: UInt64 = 0
  /// Numbers above this one are only in the memtable of ``sequences``.
  var immutableSequence: UInt64 = 0
  /// The last commit in this version.
  var commit: UInt64 = 0
  /// The time of that commit, in milliseconds since 1970.
  var time: UInt64 = 0
  /// Versions before this commit may be incomplete: they may show a revision that is not retained.
  var historyHorizon: UInt64 = 0
  /// The number of documents that were purged since the store was opened.
  ///
  /// One more each time that another process may have purged some.
  var purgeCount: UInt64 = 0
  var segments: SegmentTable
  /// The part of the log that damage makes unknown; nil if none, or if it is to be ignored.
  var gap: LogGap?
  /// The indexes of documents, in the order of their names' bytes.
  ///
  /// This process is building the ones that are not ready. Indexes that an earlier process left
  /// unfinished are not included.
  var indexes: [IndexDefinition] = []
  /// Whether attachments may have lost their last reference since the last sweep.
  var mayHaveUnreferenced = true
  /// Shared by all copies of a version, to detect when no older version is left.
  var epoch = Epoch()

  /// Objects that upper layers attach to this version, while it is the newest or a reader uses it.
  var services = AttachedServices()

  /// See ``epoch``.
  final class Epoch: Sendable {}

  /// The trees, in the order in which a checkpoint stores them.
  static let trees: [any WritableKeyPath<Version, LayeredTree> & Sendable] = [
    \.documents, \.sequences, \.retained, \.catalog, \.texts,
  ]

  /// The size of all memtables in bytes; 0 if the last checkpoint has all changes.
  var memtableSize: Int { Version.trees.reduce(0) { $0 + self[keyPath: $1].memtableSize } }

  /// Rises with every change and with every purge, which is not a change.
  var changesAndPurges: UInt64 { lastSequence + purgeCount }

  /// Makes this version, which was read from the files, the successor of one in this process.
  ///
  /// Observers compare the counters of the two. Another process may have written in between, and
  /// purges that it made cannot be counted.
  mutating func follow(_ earlier: Version.Counters) {
    // Commits with the same number may be others, if those that were shown were lost.
    let isSame = commit == earlier.commit && !earlier.mayLackCommits
    purgeCount = earlier.purgeCount + (isSame ? 0 : 1)
    lastSequence = max(lastSequence, earlier.lastSequence)
    epoch = earlier.epoch
  }

  /// The counters that later versions continue.
  struct Counters: Sendable {
    let commit: UInt64
    let lastSequence: UInt64
    let purgeCount: UInt64
    let epoch: Epoch
    /// Whether the log has a segment, and with it the store's ID.
    var hasLog: Bool { lastSegment != nil }
    /// The last segment of the log; nil if there is none.
    let lastSegment: SegmentChain.Member?
    /// Whether a flush has failed, so that the last commits may be lost.
    var mayLackCommits = false
  }

  var counters: Counters {
    Counters(
      commit: commit, lastSequence: lastSequence, purgeCount: purgeCount, epoch: epoch,
      lastSegment: segments.newest?.member)
  }

  /// Creates an empty version, or one with the runs of each tree.
  ///
  /// There may be fewer lists of runs than trees; the other trees are empty.
  init(nodeSize: Int, runs: [[Run]] = []) {
    precondition(runs.count <= Version.trees.count, "There are more lists of runs than trees")
    func tree(_ index: Int) -> LayeredTree {
      LayeredTree(runs: index < runs.count ? runs[index] : [], pageSize: nodeSize)
    }
    documents = tree(0)
    sequences = tree(1)
    retained = tree(2)
    catalog = tree(3)
    texts = tree(4)
    segments = SegmentTable()
  }
}

/// A version shared by all its readers, so that passing it on is cheap.
final class VersionBox: Sendable {
  let state: Version
  /// Whether something may be missing, which each read checks.
  let hasGap: Bool

  init(_ state: Version) {
    self.state = state
    hasGap = state.gap != nil
  }
}

extension Version {
  /// Updates the document count when a record replaces another.
  ///
  /// A file's count is trusted, but never so far as to trap: a forged checkpoint can have more
  /// documents than it counts. ``Database/check(progress:)-7cjfz`` compares the two.
  mutating func countDocument(wasLive: Bool, isLive: Bool) {
    if isLive, !wasLive { documentCount += 1 }
    if wasLive, !isLive, documentCount > 0 { documentCount -= 1 }
  }

  /// The number of compactions that this version has seen.
  var compactionCount: Int { documents.compactionCount }

  /// Records that a compaction has changed the set of segments.
  mutating func noteCompaction() {
    for tree in Version.trees { self[keyPath: tree].compactionCount += 1 }
  }
}
