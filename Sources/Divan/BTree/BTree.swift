internal import DivanLog

/// A sorted map from bytes to bytes, in memory.
///
/// It is a value: copying it takes constant time, and a copy never changes. One writer may change
/// its tree while any number of threads read copies, without locks. Nodes that copies share are
/// copied when they are first changed; nodes without other references are changed in place.
///
/// Values are stored in the leaves. An inner node with *n* separators has *n + 1* children; a key
/// equal to a separator is right of it. Separators are the shortest bytes that distinguish their
/// neighbours.
///
/// Invariants, which ``checkInvariants()`` tests:
/// - All leaves have the same depth. No leaf is empty, except the root.
/// - Keys ascend strictly from left to right, and are between the separators around their leaf.
/// - A node has at most `pageSize` bytes. A removal that leaves less than two fifths of that in a
///   node merges it with a neighbour if the two fit in one.
struct BTree {
  var root: Node
  /// The number of keys in the tree.
  var count: Int
  /// The maximum size of a node's page, in bytes.
  let pageSize: Int
}

// `@unchecked Sendable`: a node with other references is copied before it is written to (see
// ``Node``), so copies of a tree on several threads share only nodes that do not change.
extension BTree: @unchecked Sendable {}

extension BTree {
  /// The best page size for keys and values of a few dozen bytes.
  ///
  /// With it, a node is 4 KiB including its object header.
  static let defaultPageSize = 4064

  /// Creates an empty tree.
  ///
  /// - Parameter pageSize: the maximum page size, at least 128 bytes; small ones make deep trees
  ///   for tests.
  init(pageSize: Int = BTree.defaultPageSize) {
    precondition(
      pageSize >= 128 && pageSize <= NodePageWriter.capacityLimit, "The page size is out of range")
    self.pageSize = pageSize
    root = Node.make(level: 0, capacity: min(pageSize, 128))
    count = 0
  }

  /// The maximum sum of the lengths of a key and its value.
  var entryLimit: Int { BTree.entryLimit(pageSize: pageSize) }

  /// The maximum sum of the lengths of a key and its value, for pages of `pageSize` bytes.
  ///
  /// Four entries fit in any page, so each half of a split page has room for one more.
  static func entryLimit(pageSize: Int) -> Int {
    // Four bytes of lengths; eight for the child next to a separator.
    (pageSize - NodePage.headerSize) / 4 - NodePage.slotSize - 4 - Node.childValueLength
  }

  /// The smallest page size whose limit allows a key and a value of together `length` bytes.
  static func pageSize(forEntry length: Int) -> Int {
    (length + NodePage.slotSize + 4 + Node.childValueLength) * 4 + NodePage.headerSize
  }

  /// Whether the tree has no keys.
  var isEmpty: Bool { count == 0 }
}

extension BTree {
  /// Returns the value of `key`, or nil.
  ///
  /// The bytes are borrowed from the tree's node. While you keep them, the node stays alive, and
  /// the next change to it copies it.
  func find(_ key: Span<UInt8>) -> SharedBytes? {
    BorrowedBytes.borrow(key) { find($0) }
  }

  /// Whether the tree contains `key`.
  func contains(_ key: Span<UInt8>) -> Bool {
    BorrowedBytes.borrow(key) { contains($0) }
  }

  /// Returns the value of `key`, or nil, like ``find(_:)-(Span<UInt8>)``.
  @inline(__always)
  func find(_ key: BorrowedBytes) -> SharedBytes? {
    withEntry(of: key) { leaf, index in leaf.page.value(index).shared(by: leaf) }
  }

  /// Whether the tree contains `key`.
  func contains(_ key: BorrowedBytes) -> Bool { withEntry(of: key) { _, _ in true } ?? false }
}
