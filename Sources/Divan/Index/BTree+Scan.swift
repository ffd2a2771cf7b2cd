internal import DivanLog

/// An entry of an index, its bytes lent by a page, which they keep alive.
struct IndexEntry {
  /// The key, and behind it the value.
  private let bytes: SharedBytes
  private let keySize: Int

  /// An entry without a value, of no page.
  init(key: SharedBytes = .empty) {
    bytes = key
    keySize = key.count
  }

  /// An entry of a page that is kept alive by `owner`.
  @inline(__always)
  init(_ entry: NodeEntry, heldBy owner: AnyObject) {
    bytes = entry.bytes.shared(by: owner)
    keySize = entry.key.count
  }

  var key: SharedBytes { bytes.prefix(keySize) }
  var value: SharedBytes { bytes.suffix(from: keySize) }

  /// The key from an offset on, for whoever wants nothing else, so that no reference is counted.
  @inline(__always)
  consuming func takeKey(from offset: Int) -> SharedBytes {
    bytes.prefix(keySize).suffix(from: offset)
  }

  /// Whether there is no value: the key is gone.
  var isTombstone: Bool { bytes.count == keySize }

  /// Lends the key.
  @inline(__always)
  func withKey<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    try bytes.withSpan { (bytes) throws(E) in try body(bytes.extracting(..<keySize)) }
  }

  /// Lends the value.
  func withValue<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    try bytes.withSpan { (bytes) throws(E) in try body(bytes.extracting(keySize...)) }
  }
}

extension BTree {
  /// The entries with keys between `lower` and `upper`, in order of keys or in the opposite order.
  func scan(
    from lower: KeyBound = .unbounded, to upper: KeyBound = .unbounded, descending: Bool = false
  ) -> BTreeScan {
    BTreeScan(root, ScanRange(lower: lower, upper: upper, descending: descending))
  }
}

/// A walk over entries of a tree as it was when the walk began.
///
/// It holds the nodes on its path, and through them every node still to come; so the tree may be
/// changed meanwhile.
struct BTreeScan {
  private let range: ScanRange
  /// The inner nodes above the leaf, and which child of each is being walked.
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

  /// The next entry, or nil at the end.
  mutating func next() -> IndexEntry? {
    while let leaf {
      if let index = window.next(descending: range.descending) {
        return IndexEntry(leaf.page.entry(index), heldBy: leaf)
      }
      moveToNextLeaf()
    }
    return nil
  }

  /// Passes those of the next leaf's entries that come before a key, or all if there is none; nil if
  /// no entry comes before it.
  mutating func nextStretch(before limit: SharedBytes?) -> LeafStretch? {
    while window.isAtEnd, leaf != nil { moveToNextLeaf() }
    guard let leaf else { return nil }
    let passed = window.pass(before: limit, in: leaf.page, descending: range.descending)
    return passed.isEmpty ? nil : LeafStretch(leaf.page, heldBy: leaf, passed)
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
