internal import DivanLog

/// A sorted map from bytes to bytes, in memory.
///
/// It is a value: copying it takes constant time, and a copy never changes. One writer may change
/// its tree while any number of threads read copies, without locks; what they share is copied node
/// by node when it is first changed, and what nobody else holds is changed in place.
///
/// Values live in the leaves. An inner node of *n* separators has *n + 1* children; a key equal to
/// a separator is right of it. Separators are the shortest bytes that tell their neighbours apart.
///
/// Invariants, which ``checkInvariants()`` tests:
/// - All leaves have the same depth; none is empty but the root.
/// - Keys rise strictly from left to right, and lie between the separators around their leaf.
/// - A node holds at most `pageSize` bytes. One that a removal leaves below two fifths of that is
///   merged with a neighbour if the two fit in one.
struct BTree {
  var root: Node
  /// How many keys the tree holds.
  var count: Int
  /// The largest page of a node, in bytes.
  let pageSize: Int
}

// `@unchecked Sendable`: a node that anybody else holds is copied before it is written to, see ``Node``, so
// copies of a tree on several threads share only what stays as it is.
extension BTree: @unchecked Sendable {}

extension BTree {
  /// The page size that is best for keys and values of a few dozen bytes: with the object around it
  /// a node is 4 KiB.
  static let defaultPageSize = 4064

  /// Makes an empty tree.
  ///
  /// - Parameter pageSize: the largest page, from 128 bytes up; small ones make deep trees for tests.
  init(pageSize: Int = BTree.defaultPageSize) {
    precondition(
      pageSize >= 128 && pageSize <= NodePageWriter.capacityLimit, "An impossible page size")
    self.pageSize = pageSize
    root = Node.make(level: 0, capacity: min(pageSize, 128))
    count = 0
  }

  /// The greatest sum of the lengths of a key and its value.
  var entryLimit: Int { BTree.entryLimit(pageSize: pageSize) }

  /// The greatest sum of the lengths of a key and its value, for pages of `pageSize` bytes: four
  /// entries fit in any page, so that each half of a split page has room for one more.
  static func entryLimit(pageSize: Int) -> Int {
    // Four bytes of lengths; eight for the child that stands beside a separator.
    (pageSize - NodePage.headerSize) / 4 - NodePage.slotSize - 4 - Node.childValueLength
  }

  /// The smallest page in which a key and a value of together `length` bytes are within the limit.
  static func pageSize(forEntry length: Int) -> Int {
    (length + NodePage.slotSize + 4 + Node.childValueLength) * 4 + NodePage.headerSize
  }

  /// Whether the tree has no keys.
  var isEmpty: Bool { count == 0 }
}

extension BTree {
  /// The value of `key`, or nil.
  ///
  /// The bytes are lent by the tree's node, which stays alive, and is copied by the next change to
  /// it, for as long as they are kept.
  func find(_ key: Span<UInt8>) -> SharedBytes? {
    LentBytes.lend(key) { find($0) }
  }

  /// Whether the tree holds `key`.
  func contains(_ key: Span<UInt8>) -> Bool {
    LentBytes.lend(key) { contains($0) }
  }

  /// The value of `key`, or nil, as ``find(_:)-(Span<UInt8>)``.
  @inline(__always)
  func find(_ key: LentBytes) -> SharedBytes? {
    withEntry(of: key) { leaf, index in leaf.page.value(index).shared(by: leaf) }
  }

  /// Whether the tree holds `key`.
  func contains(_ key: LentBytes) -> Bool { withEntry(of: key) { _, _ in true } ?? false }
}
