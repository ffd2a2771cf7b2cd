internal import DivanLog

/// A view of one page of an index: a node of a tree in memory, or of a run in a file.
///
/// ```
/// offset  size
///  0      2      count        entries in the page
///  2      2      heapStart    where the lowest entry begins
///  4      2      garbage      bytes of entries that were removed
///  6      2      prefix       length of a prefix that all keys share
///  8      1      level        0 is a leaf
///  9      3      zero
/// 12      4      first child  in files: the page left of the first separator; else zero
/// 16      4 n    heads        the four bytes that follow the shared prefix in each key
///         2 n    slots        where each entry begins
///                free
/// heapStart      entries, in any order, to the end of the page:
///                  key length, value length   one byte below 128; else two, the high bit set
///                  key                        whole, so that it can be borrowed
///                  value                      in inner nodes the child right of the key
/// ```
///
/// Integers are little-endian. The value of a head is that of its four bytes in big-endian order,
/// with zeros for bytes that the key lacks. Heads therefore have the order of their keys, and a
/// search reads one to three cache lines of heads, then one slot and one entry.
///
/// Invariants, which ``problem(in:valueLength:)`` proves for bytes from outside:
/// - Heads and slots end at or before `heapStart`, and every entry is between it and the end.
/// - Keys ascend strictly, all begin with the same `prefix` bytes, and each head is its key's.
@safe
struct NodePage {
  // Points at a page that satisfies the invariants, which the creator of this value keeps alive.
  let base: UnsafeRawPointer

  init(base: UnsafeRawPointer) { unsafe self.base = base }
}

extension NodePage {
  static let headerSize = 16
  /// The number of bytes that an entry takes in heads and slots.
  static let slotSize = 6

  var count: Int { Int(field16(0)) }
  var heapStart: Int { Int(field16(2)) }
  var garbage: Int { Int(field16(4)) }
  var prefixLength: Int { Int(field16(6)) }
  var level: Int { Int(unsafe base.load(fromByteOffset: 8, as: UInt8.self)) }

  @inline(__always)
  private func field16(_ offset: Int) -> UInt16 {
    // A page is at least as long as its header.
    UInt16(littleEndian: unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }

  @inline(__always)
  func head(_ index: Int) -> UInt32 {
    assert(index < count)
    // Heads are within the page by the invariants.
    return UInt32(
      littleEndian: unsafe base.loadUnaligned(
        fromByteOffset: NodePage.headerSize &+ 4 &* index, as: UInt32.self))
  }

  @inline(__always)
  func slot(_ index: Int) -> Int {
    assert(index < count)
    // Slots are within the page by the invariants.
    return Int(
      UInt16(
        littleEndian: unsafe base.loadUnaligned(
          fromByteOffset: NodePage.headerSize &+ 4 &* count &+ 2 &* index, as: UInt16.self)))
  }

  @inline(__always)
  func entry(_ index: Int) -> NodeEntry {
    // Entries are within the page by the invariants.
    unsafe NodeEntry(base + slot(index))
  }

  @inline(__always)
  func key(_ index: Int) -> BorrowedBytes { entry(index).key }

  @inline(__always)
  func value(_ index: Int) -> BorrowedBytes { entry(index).value }
}

/// One entry of a page.
@safe
struct NodeEntry {
  let key: BorrowedBytes
  let value: BorrowedBytes

  /// Reads the lengths at `start`, where a whole entry must begin.
  @inline(__always)
  @unsafe init(_ start: UnsafeRawPointer) {
    var next = unsafe start
    let keyLength = unsafe NodeEntry.length(&next)
    let valueLength = unsafe NodeEntry.length(&next)
    key = unsafe BorrowedBytes(base: next, count: keyLength)
    value = unsafe BorrowedBytes(base: next + keyLength, count: valueLength)
  }

  @inline(__always)
  @unsafe private static func length(_ next: inout UnsafeRawPointer) -> Int {
    let first = Int(unsafe next.load(as: UInt8.self))
    unsafe next += 1
    if first < 0x80 { return first }
    let second = Int(unsafe next.load(as: UInt8.self))
    unsafe next += 1
    return (first & 0x7F) << 8 | second
  }

  /// The longest key or value that the lengths can express.
  static let lengthLimit = 0x7FFF

  /// The key, followed by the value.
  var bytes: BorrowedBytes { key.joined(with: value) }

  /// Returns the number of bytes that an entry takes in the heap.
  @inline(__always)
  static func size(keyLength: Int, valueLength: Int) -> Int {
    (keyLength < 0x80 ? 1 : 2) + (valueLength < 0x80 ? 1 : 2) + keyLength + valueLength
  }

  /// The number of bytes that this entry takes in the heap.
  var size: Int { NodeEntry.size(keyLength: key.count, valueLength: value.count) }
}

extension NodePage {
  /// Prefetches the cache lines in which a search begins: see
  /// ``SharedBytes/prefetchEachCacheLine()``.
  func prefetchHeads() -> UInt8 {
    var prefetched: UInt8 = 0
    for offset in stride(from: 0, to: NodePage.headerSize + NodePage.slotSize * count, by: 64) {
      // Heads and slots are within the page by the invariants.
      prefetched ^= unsafe base.load(fromByteOffset: offset, as: UInt8.self)
    }
    return prefetched
  }

  /// Returns the probable index of `key`, if it is here, and reads a byte of that entry.
  ///
  /// The index is wrong only if other keys have the same head. Reading the byte lets the cache
  /// misses of several keys overlap.
  func prefetchEntry(expectedAt key: BorrowedBytes, _ prefetched: inout UInt8) -> Int? {
    let index = firstHead(notBelow: key.head(at: prefixLength))
    guard index < count else { return nil }
    // Entries are within the page by the invariants.
    prefetched ^= unsafe base.load(fromByteOffset: slot(index), as: UInt8.self)
    return index
  }

  /// Returns the index of the first head that is not less than `head`.
  @inline(__always)
  private func firstHead(notBelow head: UInt32) -> Int {
    var first = 0
    var left = count
    // Each step of a binary search mispredicts every other branch. So it stops early, and the last
    // heads, which share a cache line or two, are counted without branches.
    while left > 16 {
      let half = left &>> 1
      if self.head(first &+ half &- 1) < head { first &+= half }
      left &-= half
    }
    var below = 0
    for index in 0..<left { below &+= self.head(first &+ index) < head ? 1 : 0 }
    return first &+ below
  }

  /// Returns the index of the entry with exactly this key, or nil.
  @inline(__always)
  func find(_ key: BorrowedBytes) -> Int? {
    let head = key.head(at: prefixLength)
    var index = firstHead(notBelow: head)
    guard index < count, self.head(index) == head else { return nil }
    // The shared prefix was not compared, so the whole key is compared here.
    if self.key(index).equals(key) { return index }
    if index + 1 == count || self.head(index + 1) != head { return nil }
    let end = self.end(ofHead: head, from: index)
    index = lowerBound(of: key, from: index + 1, to: end)
    return index < end && self.key(index).equals(key) ? index : nil
  }

  /// Returns the index of the first entry whose key is not less than `key`.
  @inline(__always)
  func lowerBound(of key: BorrowedBytes) -> Int {
    guard count > 0 else { return 0 }
    if let outside = indexOutsidePrefix(key) { return outside }
    return lowerBound(ofPrefixed: key)
  }

  /// Like ``lowerBound(of:)`` for a key with the shared prefix; any index for other keys.
  @inline(__always)
  private func lowerBound(ofPrefixed key: BorrowedBytes) -> Int {
    let head = key.head(at: prefixLength)
    let index = firstHead(notBelow: head)
    guard index < count, self.head(index) == head else { return index }
    return lowerBound(of: key, from: index, to: end(ofHead: head, from: index))
  }

  /// Returns the number of keys not greater than `key`: in an inner node, the index of its child.
  @inline(__always)
  func upperBound(of key: BorrowedBytes) -> Int {
    if count > 0, let outside = indexOutsidePrefix(key) { return outside }
    return likelyUpperBound(of: key)
  }

  /// Like ``upperBound(of:)``, but assumes that `key` begins with the shared prefix.
  ///
  /// The prefix is not read, which saves two cache lines in every inner node. A look-up descends
  /// with this function. If it finds its key, the assumption was right. If it ends in a leaf that
  /// ``surrounds(_:)`` the key, the assumption was right, too. Otherwise it must descend again with
  /// ``upperBound(of:)``.
  @inline(__always)
  func likelyUpperBound(of key: BorrowedBytes) -> Int {
    let head = key.head(at: prefixLength)
    let index = firstHead(notBelow: head)
    guard index < count, self.head(index) == head else { return index }
    let equal = lowerBound(of: key, from: index, to: end(ofHead: head, from: index))
    return equal < count && self.key(equal).equals(key) ? equal + 1 : equal
  }

  /// Whether one key of this leaf is less than `key`, and another is not.
  ///
  /// Then no other leaf can contain `key`.
  func surrounds(_ key: BorrowedBytes) -> Bool {
    let index = lowerBound(of: key)
    return index > 0 && index < count
  }

  /// Returns where a key without the shared prefix belongs; nil if the key has the prefix.
  @inline(__always)
  private func indexOutsidePrefix(_ key: BorrowedBytes) -> Int? {
    let length = prefixLength
    if length == 0 { return nil }
    let prefix = self.key(0).prefix(length)
    let common = prefix.commonPrefixLength(with: key)
    if common == length { return nil }
    return prefix.compare(key) > 0 ? 0 : count
  }

  @inline(__always)
  private func end(ofHead head: UInt32, from index: Int) -> Int {
    if index + 1 == count || self.head(index + 1) != head { return index + 1 }
    return head == .max ? count : firstHead(notBelow: head + 1)
  }

  private func lowerBound(of key: BorrowedBytes, from start: Int, to end: Int) -> Int {
    var low = start
    var high = end
    while low < high {
      let middle = (low + high) / 2
      if self.key(middle).compare(key) < 0 { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension NodePage {
  /// Returns the number of bytes that the page's content needs, without garbage.
  func usedSize(capacity: Int) -> Int {
    NodePage.headerSize + NodePage.slotSize * count + capacity - heapStart - garbage
  }

  /// Returns the length of the prefix that the keys of `range` share.
  func commonPrefixLength(in range: Range<Int>) -> Int {
    if range.isEmpty { return 0 }
    // Keys ascend, so all share the common prefix of the first and the last.
    return key(range.lowerBound).commonPrefixLength(with: key(range.upperBound - 1))
  }

  /// Returns the shortest bytes that are greater than `left` and not greater than `right`.
  ///
  /// `left` must be less than `right`.
  static func separator(between left: BorrowedBytes, and right: BorrowedBytes) -> [UInt8] {
    right.prefix(min(left.commonPrefixLength(with: right) + 1, right.count)).array
  }
}
