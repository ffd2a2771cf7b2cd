internal import DivanLog

/// An entry of an index, which retains the owner of its bytes.
struct TreeEntry {
  /// The key, followed by the value.
  private let bytes: SharedBytes
  private let keySize: Int

  /// Creates an entry without a value that belongs to no page.
  init(key: SharedBytes = .empty) {
    bytes = key
    keySize = key.count
  }

  /// Creates an entry of a page that `owner` keeps alive.
  @inline(__always)
  init(_ entry: NodeEntry, ownedBy owner: AnyObject) {
    bytes = entry.bytes.shared(by: owner)
    keySize = entry.key.count
  }

  var key: SharedBytes { bytes.prefix(keySize) }
  var value: SharedBytes { bytes.suffix(from: keySize) }

  /// Returns the key from an offset on, without counting a reference.
  @inline(__always)
  consuming func takeKey(from offset: Int) -> SharedBytes {
    bytes.prefix(keySize).suffix(from: offset)
  }

  /// Whether the entry has no value: the key was removed.
  var isTombstone: Bool { bytes.count == keySize }

  /// Calls `body` with the borrowed key.
  @inline(__always)
  func withKey<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    try bytes.withSpan { (bytes) throws(E) in try body(bytes.extracting(..<keySize)) }
  }

  /// Calls `body` with the borrowed value.
  func withValue<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    try bytes.withSpan { (bytes) throws(E) in try body(bytes.extracting(keySize...)) }
  }
}

extension BTree {
  /// Returns a cursor over the entries with keys between `lower` and `upper`, in either direction.
  func scan(
    from lower: KeyBound = .unbounded, to upper: KeyBound = .unbounded, descending: Bool = false
  ) -> BTreeScan {
    BTreeScan(root, ScanRange(lower: lower, upper: upper, descending: descending))
  }
}

/// A cursor over entries of a tree as it was when the scan began.
///
/// It retains the nodes on its path, and through them every node still to come. The tree may
/// therefore be changed during the scan.
struct BTreeScan {
  private let range: ScanRange
  /// The inner nodes above the leaf, and the index of the current child of each.
  private var path: [(node: Node, index: Int)] = []
  private var leaf: Node?
  private var window: LeafWindow

  fileprivate init(_ root: Node, _ range: ScanRange) {
    self.range = range
    var node = root
    while node.level > 0 {
      let index = range.firstChild(in: node.page)
      path.append((node, index))
      node = node.child(index)
    }
    leaf = node
    window = LeafWindow(node.page, range)
  }

  /// Returns the next entry, or nil at the end.
  mutating func next() -> TreeEntry? {
    while let leaf {
      if let index = window.next(descending: range.descending) {
        return TreeEntry(leaf.page.entry(index), ownedBy: leaf)
      }
      moveToNextLeaf()
    }
    return nil
  }

  /// Takes the entries of the next leaf that precede `limit`, or all of them if it is nil.
  ///
  /// Returns nil if no entry precedes it.
  mutating func nextLeafRange(before limit: SharedBytes?) -> LeafRange? {
    while window.isAtEnd, leaf != nil { moveToNextLeaf() }
    guard let leaf else { return nil }
    let passed = window.pass(before: limit, in: leaf.page, descending: range.descending)
    return passed.isEmpty ? nil : LeafRange(leaf.page, ownedBy: leaf, passed)
  }

  private mutating func moveToNextLeaf() {
    leaf = nil
    guard !window.isLast else { return }
    while let (parent, index) = path.last {
      let isAtEnd = range.descending ? index == 0 : index == parent.page.count
      if isAtEnd {
        path.removeLast()
        continue
      }
      let next = range.descending ? index - 1 : index + 1
      path[path.count - 1].index = next
      var node = parent.child(next)
      while node.level > 0 {
        let index = range.descending ? node.page.count : 0
        path.append((node, index))
        node = node.child(index)
      }
      leaf = node
      window = LeafWindow(node.page, range)
      return
    }
  }
}
