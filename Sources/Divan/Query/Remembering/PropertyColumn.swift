import DivanLog

/// The values that documents have at one path, where these are few: see ``RememberedPlace``.
///
/// One byte for each document, which says which of its page's values it has. So a filter is asked of the values of a page, and
/// not of its documents. A page with more values than a byte can tell apart, or with long ones, is given up.
struct PropertyColumn: Sendable {
  private var pages: [ColumnPage] = []
  private let firstPage: UInt64
  /// How many bytes this takes.
  private(set) var size = 0
  private let sizeLimit: Int
  /// Whether anything was noted since ``endNews()``.
  private(set) var hasNews = false

  /// Knows nothing, and takes at most so many bytes: what does not fit is not remembered.
  init(firstPage: UInt64, sizeLimit: Int) {
    self.firstPage = firstPage
    self.sizeLimit = sizeLimit
  }
}

extension PropertyColumn {
  /// Whether it says nothing of any document.
  var isEmpty: Bool { size == 0 }

  /// A page; nil if nothing is known of it.
  subscript(page: Int) -> ColumnPage? {
    guard page < pages.count, pages[page].isKnown else { return nil }
    return pages[page]
  }

  /// Notes which value the document has, in its stored form, whose newest record has a number; no bytes stand for none.
  ///
  /// Returns the value's code in its page; nil if it is not remembered.
  mutating func note(_ value: Span<UInt8>, of sequence: UInt64) -> UInt8? {
    guard let place = beginPage(of: sequence) else { return nil }
    let sizeBefore = pages[place.page].size
    let code = pages[place.page].note(value, at: place.offset)
    size += pages[place.page].size - sizeBefore
    return code
  }

  /// Notes that the document is deleted whose newest record has a number.
  mutating func noteDeletion(of sequence: UInt64) {
    guard let place = beginPage(of: sequence) else { return }
    pages[place.page].note(ColumnPage.deleted, at: place.offset)
  }

  /// Where something is to be noted, on a page that has begun; nil if nothing can be.
  @inline(__always)
  private mutating func beginPage(of sequence: UInt64) -> RememberedPlace? {
    guard let place = RememberedPlace(sequence, firstPage: firstPage) else { return nil }
    if place.page >= pages.count || !pages[place.page].isKnown {
      guard begin(place.page) else { return nil }
    }
    hasNews = true
    return place
  }

  /// Returns false if the page was given up, or there is no room for it.
  private mutating func begin(_ page: Int) -> Bool {
    let missing = max(0, page + 1 - pages.count)
    guard missing > 0 || !pages[page].isGivenUp else { return false }
    let added = missing * MemoryLayout<ColumnPage>.stride
    guard added + ColumnPage.leastSize <= sizeLimit - size else { return false }
    if missing > 0 { pages += Array(repeating: ColumnPage(), count: missing) }
    pages[page].begin()
    size += added + ColumnPage.leastSize
    return true
  }

  /// Takes over the pages of which others of the same path know more.
  mutating func add(_ other: PropertyColumn) {
    precondition(other.firstPage == firstPage, "A column whose pages are others")
    for page in other.pages.indices {
      if page >= pages.count {
        pages.append(ColumnPage())
        size += MemoryLayout<ColumnPage>.stride
      }
      guard other.pages[page].knowsMore(than: pages[page]) else { continue }
      size += other.pages[page].size - pages[page].size
      pages[page] = other.pages[page]
    }
  }

  /// Says that whoever copies this from now on has not noted anything yet.
  mutating func endNews() { hasNews = false }
}

/// One page of a ``PropertyColumn``.
struct ColumnPage: Sendable {
  /// Of each number, which value its document has: 1 stands for the first; nothing if the page is unused or given up.
  private(set) var codes: [UInt8] = []
  /// The values in their stored form, each once; no bytes for what is missing.
  private(set) var values: [[UInt8]] = []
  /// Of each value its word, by which most values are recognized.
  private var words: [UInt64] = []
  /// The codes of the values: each stands at the place that follows from its word, or at the next free one.
  private var slots: [UInt8] = []
  /// How many numbers have a code.
  private var knownCount = 0
  /// Whether there were too many values, or too long ones.
  private(set) var isGivenUp = false
  /// How many bytes the page takes.
  private(set) var size = 0

  /// The code of what is not known.
  static let unknown: UInt8 = 0
  /// The code of documents that are deleted.
  static let deleted: UInt8 = 255
  /// How many values a page has at most.
  static let valueLimit = 254
  /// How many bytes a value has at most.
  static let valueSizeLimit = 64
  private static let slotCount = 512
  /// How many bytes a page takes without its values.
  static let leastSize = RememberedPlace.pageSize + slotCount
}

extension ColumnPage {
  /// Whether something is known.
  var isKnown: Bool { !codes.isEmpty }

  /// Whether this is to be kept of two, of which one began as a copy of the other or of what that was.
  func knowsMore(than other: ColumnPage) -> Bool {
    if isGivenUp || other.isGivenUp { return isGivenUp && !other.isGivenUp }
    return knownCount > other.knownCount
  }

  /// Makes room for a page of which nothing was noted yet.
  mutating func begin() {
    codes = Array(repeating: ColumnPage.unknown, count: RememberedPlace.pageSize)
    slots = Array(repeating: ColumnPage.unknown, count: ColumnPage.slotCount)
    size = ColumnPage.leastSize
  }

  /// Notes which value a document has, of which no bytes stand for none; returns its code, or nil if the page is given up.
  mutating func note(_ value: Span<UInt8>, at offset: Int) -> UInt8? {
    guard let code = code(of: value) else {
      self = ColumnPage()
      isGivenUp = true
      return nil
    }
    note(code, at: offset)
    return code
  }

  /// Notes the code of what a document has.
  mutating func note(_ code: UInt8, at offset: Int) {
    if codes[offset] == ColumnPage.unknown { knownCount += 1 }
    codes[offset] = code
  }

  /// The code of a value, which is a new one if need be; nil if there can be none.
  private mutating func code(of value: Span<UInt8>) -> UInt8? {
    let word = ColumnPage.word(of: value)
    // The highest bits of the product are those of all bits of the word.
    var slot = Int(truncatingIfNeeded: (word &* 0x9E37_79B9_7F4A_7C15) >> 55)
    // There are twice as many slots as values.
    while slots[slot] != ColumnPage.unknown {
      let index = Int(slots[slot]) - 1
      if words[index] == word, value.count < 8 || isValue(index, value) { return slots[slot] }
      slot = (slot + 1) % ColumnPage.slotCount
    }
    guard values.count < ColumnPage.valueLimit, value.count <= ColumnPage.valueSizeLimit else {
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

  /// Up to seven bytes and how many these are, or else a hash.
  private static func word(of value: Span<UInt8>) -> UInt64 {
    guard value.count < 8 else { return 0xFF << 56 | value.quickHash >> 8 }
    var word = UInt64(value.count)
    for index in 0..<value.count { word = word << 8 | UInt64(value[index]) }
    return word
  }
}
