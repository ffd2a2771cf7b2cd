internal import DivanLog

/// A sorted map from bytes to bytes whose older part lies in files.
///
/// ```
/// overlay   changes since the last freeze          in memory, written to
/// frozen    changes being written to a run         in memory, fixed; absent between checkpoints
/// runs      what checkpoints wrote, newest first   in files, immutable
/// ```
///
/// What a key maps to is what the topmost layer that knows the key says. A layer says that a key is
/// gone with a *tombstone*: an empty value. So values are never empty.
///
/// Like ``BTree`` it is a value: copies are O(1) and never change.
///
/// Invariant: where nothing lies below, a layer holds no tombstones.
struct LayeredTree: Sendable {
  /// What changed since the last freeze.
  private(set) var overlay: BTree
  /// What a checkpoint is writing to a run.
  private(set) var frozen: BTree?

  /// Makes a map of what runs hold, the newest first.
  init(pageSize: Int = BTree.defaultPageSize) {
    overlay = BTree(pageSize: pageSize)
  }
}

extension LayeredTree {
  /// Whether a key that the overlay does not know may be known below.
  private var hasLowerLayers: Bool {
    !(frozen?.isEmpty ?? true)
  }

  /// The greatest sum of the lengths of a key and its value.
  var entryLimit: Int { overlay.entryLimit }

  /// The value of `key`, or nil.
  ///
  /// The bytes are lent by the index's memory or file, which stays as long as they are kept.
  func find(_ key: Span<UInt8>) throws(PageError) -> SharedBytes? {
    try LentBytes.lend(key) { (key) throws(PageError) in try find(key) }
  }

  /// Whether there is a value for `key`.
  func contains(_ key: Span<UInt8>) throws(PageError) -> Bool { try find(key) != nil }

  private func find(_ key: LentBytes) throws(PageError) -> SharedBytes? {
    if !overlay.isEmpty, let value = overlay.find(key) { return value.isEmpty ? nil : value }
    if let value = frozen?.find(key) { return value.isEmpty ? nil : value }
    return nil
  }

  /// Gives `key` a value.
  ///
  /// - Precondition: the value is not empty; key and value are no longer than ``entryLimit``.
  mutating func set(_ key: Span<UInt8>, _ value: Span<UInt8>) {
    precondition(!value.isEmpty, "An empty value marks a removed key")
    overlay.set(key, value)
  }

  /// Removes `key`.
  ///
  /// - Parameter isNewSinceCheckpoint: the caller knows that no layer below the overlay holds the
  ///   key, so that no tombstone is needed.
  mutating func remove(_ key: Span<UInt8>, isNewSinceCheckpoint: Bool = false) {
    if isNewSinceCheckpoint || !hasLowerLayers {
      overlay.remove(key)
    } else {
      overlay.set(key, [UInt8]().span)
    }
  }
}

extension LayeredTree {
  /// Fixes what the overlay holds, to be written to a run; later changes go to a new overlay.
  ///
  /// - Precondition: nothing is frozen.
  mutating func freeze() {
    precondition(frozen == nil, "A checkpoint of this index is being written already")
    frozen = overlay
    overlay = BTree(pageSize: overlay.pageSize)
  }

  /// Takes back a freeze whose checkpoint failed.
  mutating func thaw() {
    guard var merged = frozen else { return }
    frozen = nil
    var changes = overlay.scan()
    while let change = changes.next() {
      change.key.withSpan { key in
        change.value.withSpan { value in
          if value.isEmpty, !hasLowerLayers { merged.remove(key) } else { merged.set(key, value) }
        }
      }
    }
    overlay = merged
  }
}
