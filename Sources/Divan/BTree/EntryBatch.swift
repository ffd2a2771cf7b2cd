internal import DivanLog

/// A batch of entries for a tree: their bytes in one piece of memory, and a slot for each.
///
/// Sorting counts no reference, and reads hardly any key. It moves only the slots, which contain
/// the first bytes of their keys (`EntryBatch+Sorting.swift`).
struct EntryBatch: ~Copyable {
  /// The position of an entry's bytes, and its properties.
  struct Slot {
    /// The sixteen bytes of the key after the prefix that all keys share.
    ///
    /// As numbers, they have the order of the bytes. Missing bytes are zero.
    let head: (first: UInt64, second: UInt64)
    fileprivate let start: Int
    let keySize: UInt16
    /// The length of the key's prefix that must be unique; 0 if there is none.
    let uniqueSize: UInt8
    fileprivate let valueSize: UInt8
    /// The number of the item that the entry was made from.
    let source: UInt32

    var key: Range<Int> { start..<start + Int(keySize) }
    fileprivate var value: Range<Int> { key.upperBound..<key.upperBound + Int(valueSize) }
  }

  private var bytes = ByteWriter()
  private(set) var slots: [Slot] = []
  /// The length of the prefix that all keys share.
  private let sharedSize: Int
  /// The largest sum of the sizes of a key and its value.
  private(set) var longestSize = 0

  /// Creates an empty batch.
  ///
  /// - Parameter sharedSize: the length of a prefix that all keys will share; it may be too short.
  init(sharedSize: Int = 0) { self.sharedSize = sharedSize }
}

extension EntryBatch {
  var count: Int { slots.count }

  /// The memory that the entries take, in bytes.
  var size: Int { bytes.count + slots.count * MemoryLayout<Slot>.stride }

  /// An estimate of an entry's size with its slot: the key of a short text and an ID.
  static let guessedEntrySize = MemoryLayout<Slot>.stride + guessedKeySize
  private static let guessedKeySize = 48

  /// Reserves room for about `count` more entries, so that appending them copies nothing.
  mutating func reserveRoom(_ count: Int) {
    slots.reserveCapacity(slots.count + count)
    bytes.reserve(count * EntryBatch.guessedKeySize)
  }

  /// Removes all entries, and keeps the capacity.
  mutating func removeAll() {
    bytes.removeAll()
    slots.removeAll(keepingCapacity: true)
    longestSize = 0
  }

  /// Adds an entry.
  ///
  /// - Parameters:
  ///   - value: its value, one byte.
  ///   - source: the number of the item that it was made from.
  ///   - writeKey: appends the key, and returns the length of its prefix that must be unique, or 0.
  mutating func append(
    value: UInt8, source: UInt32 = 0, writeKey: (inout ByteWriter) -> Int
  ) {
    let start = bytes.count
    let uniqueSize = writeKey(&bytes)
    let end = bytes.count
    precondition(end - start <= NodeEntry.lengthLimit, "The key is too long for any index")
    bytes.append(value)
    let own = min(start + sharedSize, end)
    let head = bytes.withSpan { bytes in
      (EntryBatch.word(bytes, own, end), EntryBatch.word(bytes, min(own + 8, end), end))
    }
    slots.append(
      Slot(
        head: head, start: start, keySize: UInt16(end - start), uniqueSize: UInt8(uniqueSize),
        valueSize: 1, source: source))
    longestSize = max(longestSize, end + 1 - start)
  }

  /// Adds an entry of another batch whose keys share the same prefix.
  mutating func append(_ index: Int, of other: borrowing EntryBatch, source: UInt32) {
    let slot = other.slots[index]
    let start = bytes.count
    other.bytes.withSpan { bytes.append($0.extracting(slot.start..<slot.value.upperBound)) }
    slots.append(
      Slot(
        head: slot.head, start: start, keySize: slot.keySize, uniqueSize: slot.uniqueSize,
        valueSize: slot.valueSize, source: source))
    longestSize = max(longestSize, bytes.count - start)
  }

  /// Returns the eight bytes from `start` on as a number that has their order.
  private static func word(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> UInt64 {
    if end - start >= 8 { return bytes.word(at: start).byteSwapped }
    var word: UInt64 = 0
    for offset in 0..<8 {
      word <<= 8
      if start + offset < end { word |= UInt64(bytes[start + offset]) }
    }
    return word
  }
}

extension EntryBatch {
  /// Sorts the entries by their keys; of entries with the same key, one is kept.
  mutating func sort() {
    let sharedSize = self.sharedSize
    // Moved out, so that the bytes can be read during the sort.
    var sorted: [Slot] = []
    swap(&sorted, &slots)
    bytes.withSpan { bytes in
      sorted.sortByKeys { a, b in
        compare(
          bytes.extracting(a.key).extracting(droppingFirst: sharedSize),
          bytes.extracting(b.key).extracting(droppingFirst: sharedSize))
      }
    }
    swap(&sorted, &slots)
  }

  /// Compares an entry's key to that of an entry of another batch whose keys share the same prefix.
  ///
  /// The result is less than zero if this entry comes first.
  func order(of index: Int, against otherIndex: Int, of other: borrowing EntryBatch) -> Int {
    let (a, b) = (slots[index], other.slots[otherIndex])
    if a.head.first != b.head.first { return a.head.first < b.head.first ? -1 : 1 }
    if a.head.second != b.head.second { return a.head.second < b.head.second ? -1 : 1 }
    return bytes.withSpan { bytes in
      other.bytes.withSpan { otherBytes in
        compare(
          bytes.extracting(a.key).extracting(droppingFirst: sharedSize),
          otherBytes.extracting(b.key).extracting(droppingFirst: sharedSize))
      }
    }
  }

  /// Keeps the entries for which `isWanted` returns true, given their slot, key and value.
  mutating func keep(
    where isWanted: (Slot, Span<UInt8>, UInt8) throws(DatabaseError) -> Bool
  ) throws(DatabaseError) {
    var count = 0
    for slot in slots {
      let isKept = try bytes.withSpan { (bytes) throws(DatabaseError) in
        try isWanted(slot, bytes.extracting(slot.key), bytes[slot.value.lowerBound])
      }
      guard isKept else { continue }
      slots[count] = slot
      count += 1
    }
    slots.removeLast(slots.count - count)
  }

  /// Prefetches the bytes of entries that will be read soon.
  ///
  /// In the order of keys they are scattered in memory. Reading all at once overlaps the cache
  /// misses.
  func prefetch(_ range: Range<Int>) {
    bytes.withSpan { bytes in
      var prefetched: UInt8 = 0
      for index in range {
        let slot = slots[index]
        prefetched ^= bytes[slot.start] ^ bytes[slot.value.lowerBound]
      }
      SharedBytes.keep(prefetched)
    }
  }

  /// Calls `body` with the borrowed key and value of the entry at `index`.
  @inline(__always)
  func withEntry<R>(_ index: Int, _ body: (BorrowedBytes, BorrowedBytes) -> R) -> R {
    let slot = slots[index]
    return bytes.withSpan { bytes in
      BorrowedBytes.borrow(bytes.extracting(slot.key)) { key in
        BorrowedBytes.borrow(bytes.extracting(slot.value)) { value in body(key, value) }
      }
    }
  }

  /// The number of bytes that an entry takes in a page, with its head and slot.
  func entrySize(_ index: Int) -> Int {
    Node.entrySize(Int(slots[index].keySize), Int(slots[index].valueSize))
  }

  /// Returns the index of the first entry of a range whose key is not less than `key`.
  ///
  /// Returns the range's end if there is none. The entries must be sorted.
  func firstIndex(notBelow key: BorrowedBytes, in range: Range<Int>) -> Int {
    var low = range.lowerBound
    var high = range.upperBound
    while low < high {
      let middle = (low + high) / 2
      if withEntry(middle, { own, _ in own.compare(key) < 0 }) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }
}
