import DivanLog

/// The values of documents at one path, if they are few, by ``PredicateCacheSlot``.
///
/// Each document has one byte, the code of its value among its page's values. A filter is therefore
/// evaluated on the values of a page, not on its documents. A page with more values than a byte can
/// distinguish, or with long ones, is given up and stays empty.
struct PropertyColumn: Sendable {
  private var pages: [ColumnChunk] = []
  private let firstPage: UInt64
  /// The size in bytes.
  private(set) var size = 0
  private let sizeLimit: Int
  /// Whether anything was recorded since ``clearModified()``.
  private(set) var isModified = false

  /// Creates an empty column, which takes at most `sizeLimit` bytes; more values are not recorded.
  init(firstPage: UInt64, sizeLimit: Int) {
    self.firstPage = firstPage
    self.sizeLimit = sizeLimit
  }
}

extension PropertyColumn {
  /// Whether there are no values.
  var isEmpty: Bool { size == 0 }

  /// The page at an index; nil if nothing is known of it.
  subscript(page: Int) -> ColumnChunk? {
    guard page < pages.count, pages[page].isKnown else { return nil }
    return pages[page]
  }

  /// Records the stored value of the document whose newest record has a sequence number.
  ///
  /// No bytes mean that there is no value. Returns the value's code in its page; nil if it is not
  /// recorded.
  mutating func note(_ value: Span<UInt8>, of sequence: UInt64) -> UInt8? {
    guard let slot = beginPage(of: sequence) else { return nil }
    let sizeBefore = pages[slot.page].size
    let code = pages[slot.page].note(value, at: slot.offset)
    size += pages[slot.page].size - sizeBefore
    return code
  }

  /// Records that the document whose newest record has a sequence number is deleted.
  mutating func noteDeletion(of sequence: UInt64) {
    guard let slot = beginPage(of: sequence) else { return }
    pages[slot.page].note(ColumnChunk.deleted, at: slot.offset)
  }

  /// Returns the slot of a document, in a page that exists; nil if nothing can be recorded.
  @inline(__always)
  private mutating func beginPage(of sequence: UInt64) -> PredicateCacheSlot? {
    guard let slot = PredicateCacheSlot(sequence, firstPage: firstPage) else { return nil }
    if slot.page >= pages.count || !pages[slot.page].isKnown {
      guard begin(slot.page) else { return nil }
    }
    isModified = true
    return slot
  }

  /// Adds a page; returns false if it was given up, or there is no room for it.
  private mutating func begin(_ page: Int) -> Bool {
    let missing = max(0, page + 1 - pages.count)
    guard missing > 0 || !pages[page].isGivenUp else { return false }
    let added = missing * MemoryLayout<ColumnChunk>.stride
    guard added + ColumnChunk.leastSize <= sizeLimit - size else { return false }
    if missing > 0 { pages += Array(repeating: ColumnChunk(), count: missing) }
    pages[page].begin()
    size += added + ColumnChunk.leastSize
    return true
  }

  /// Adds the pages for which another column of the same path has more values.
  mutating func add(_ other: PropertyColumn) {
    precondition(other.firstPage == firstPage, "Columns with different first pages")
    for page in other.pages.indices {
      if page >= pages.count {
        pages.append(ColumnChunk())
        size += MemoryLayout<ColumnChunk>.stride
      }
      guard other.pages[page].knowsMore(than: pages[page]) else { continue }
      size += other.pages[page].size - pages[page].size
      pages[page] = other.pages[page]
    }
  }

  /// Clears ``isModified``, before later queries copy this.
  mutating func clearModified() { isModified = false }
}

/// One page of a ``PropertyColumn``.
struct ColumnChunk: Sendable {
  /// The code of each document's value, 1 for the first; empty if the page is unused or given up.
  private(set) var codes: [UInt8] = []
  /// The values in their stored form, each once; no bytes for a missing value.
  private(set) var values: [[UInt8]] = []
  /// A word for each value, by which most values are recognized.
  private var words: [UInt64] = []
  /// A hash table of the values' codes: each is at the slot of its word, or at the next free one.
  private var slots: [UInt8] = []
  /// The number of documents that have a code.
  private var knownCount = 0
  /// Whether the page had too many values, or too long ones.
  private(set) var isGivenUp = false
  /// The size in bytes.
  private(set) var size = 0

  /// The code of an unknown value.
  static let unknown: UInt8 = 0
  /// The code of a deleted document.
  static let deleted: UInt8 = 255
  /// The maximum number of values in a page.
  static let valueLimit = 254
  /// The maximum size of a value in bytes.
  static let valueSizeLimit = 64
  private static let slotCount = 512
  /// The size in bytes of a page without its values.
  static let leastSize = PredicateCacheSlot.pageSize + slotCount
}

extension ColumnChunk {
  /// Whether the page has any values.
  var isKnown: Bool { !codes.isEmpty }

  /// Whether to keep this page, of two that began as copies of the same one.
  func knowsMore(than other: ColumnChunk) -> Bool {
    if isGivenUp || other.isGivenUp { return isGivenUp && !other.isGivenUp }
    return knownCount > other.knownCount
  }

  /// Makes room for a page without values.
  mutating func begin() {
    codes = Array(repeating: ColumnChunk.unknown, count: PredicateCacheSlot.pageSize)
    slots = Array(repeating: ColumnChunk.unknown, count: ColumnChunk.slotCount)
    size = ColumnChunk.leastSize
  }

  /// Records the value of a document; no bytes mean that there is none.
  ///
  /// Returns its code, or nil if the page is given up.
  mutating func note(_ value: Span<UInt8>, at offset: Int) -> UInt8? {
    guard let code = code(of: value) else {
      self = ColumnChunk()
      isGivenUp = true
      return nil
    }
    note(code, at: offset)
    return code
  }

  /// Records the code of a document's value.
  mutating func note(_ code: UInt8, at offset: Int) {
    if codes[offset] == ColumnChunk.unknown { knownCount += 1 }
    codes[offset] = code
  }

  /// Returns the code of a value, which may be a new one; nil if there can be none.
  private mutating func code(of value: Span<UInt8>) -> UInt8? {
    let word = ColumnChunk.word(of: value)
    // The highest bits of the product depend on all bits of the word.
    var slot = Int(truncatingIfNeeded: (word &* 0x9E37_79B9_7F4A_7C15) >> 55)
    // There are twice as many slots as values.
    while slots[slot] != ColumnChunk.unknown {
      let index = Int(slots[slot]) - 1
      if words[index] == word, value.count < 8 || isValue(index, value) { return slots[slot] }
      slot = (slot + 1) % ColumnChunk.slotCount
    }
    guard values.count < ColumnChunk.valueLimit, value.count <= ColumnChunk.valueSizeLimit else {
      return nil
    }
    values.append(SharedBytes(copying: value).array)
    words.append(word)
    slots[slot] = UInt8(values.count)
    size += MemoryLayout<[UInt8]>.stride + MemoryLayout<UInt64>.stride + value.count
    return slots[slot]
  }

  private func isValue(_ index: Int, _ value: Span<UInt8>) -> Bool {
    let known = values[index]
    return areEqual(known.span, value)
  }

  /// Returns up to seven bytes and their number, or the hash of a longer value.
  private static func word(of value: Span<UInt8>) -> UInt64 {
    guard value.count < 8 else { return 0xFF << 56 | value.quickHash >> 8 }
    var word = UInt64(value.count)
    for index in 0..<value.count { word = word << 8 | UInt64(value[index]) }
    return word
  }
}
