import DivanLog

/// What a context knows of the indexes that its inverses need.
///
/// Invariant: an index is not both `missing` and `refused`.
struct InverseIndexes {
  private typealias Scan = (snapshot: Snapshot, ids: [DocumentKey: [String]])

  /// The indexes that inverses needed and that did not exist.
  private var missing: Set<DocumentIndex> = []
  /// The indexes that cannot be built: for example, another index has the name.
  private var refused: Set<DocumentIndex> = []
  /// What a missing index would contain, in one version of the store.
  private var scans: [DocumentIndex: Scan] = [:]

  /// Notes that an inverse needs an index that does not exist.
  mutating func need(_ index: DocumentIndex) {
    if !refused.contains(index) { missing.insert(index) }
  }

  /// Notes that an index cannot be built, so that it is not needed again.
  mutating func refuse(_ index: DocumentIndex) {
    missing.remove(index)
    refused.insert(index)
  }

  /// Returns the indexes to build, in a fixed order, because they are stored.
  mutating func takeMissing() -> [DocumentIndex] {
    guard !missing.isEmpty else { return [] }
    defer { missing = [] }
    forgetScans()
    return missing.sorted { compareUTF8($0.name, $1.name) < 0 }
  }

  /// Returns what was found instead of an index in the version of a snapshot; nil if nothing was.
  func scanned(_ index: DocumentIndex, _ snapshot: Snapshot) -> [DocumentKey: [String]]? {
    guard let scan = scans[index], scan.snapshot.isSameVersion(as: snapshot) else { return nil }
    return scan.ids
  }

  /// Remembers what was found instead of an index.
  mutating func note(
    _ ids: [DocumentKey: [String]], of index: DocumentIndex, in snapshot: Snapshot
  ) {
    scans[index] = (snapshot, ids)
  }

  /// Forgets what was found: the snapshots retain files that may no longer be needed.
  mutating func forgetScans() { scans = [:] }
}
