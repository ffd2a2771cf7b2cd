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

  /// Whether nothing would be noted of the document whose newest record has a number.
  func refuses(_ sequence: UInt64) -> Bool {
    guard let place = RememberedPlace(sequence, firstPage: firstPage) else { return true }
    return place.page < pages.count && pages[place.page].isGivenUp
  }

  /// Notes which value the document has, in its stored form, whose newest record has a number; no bytes stand for none.
  mutating func note(_ value: Span<UInt8>, of sequence: UInt64) {
    change(sequence) { page, offset in page.note(value, at: offset) }
  }

  /// Notes that the document is deleted whose newest record has a number.
  mutating func noteDeletion(of sequence: UInt64) {
    change(sequence) { page, offset in page.note(ColumnPage.deleted, at: offset) }
  }

  private mutating func change(_ sequence: UInt64, _ note: (inout ColumnPage, Int) -> Void) {
    guard let place = RememberedPlace(sequence, firstPage: firstPage) else { return }
    let missing = max(0, place.page + 1 - pages.count)
    if missing > 0 || pages[place.page].isUnused {
      let added = missing * MemoryLayout<ColumnPage>.stride + ColumnPage.leastSize
      guard added <= sizeLimit - size else { return }
      if missing > 0 { pages += Array(repeating: ColumnPage(), count: missing) }
      size += missing * MemoryLayout<ColumnPage>.stride
    }
    let sizeBefore = pages[place.page].size
    note(&pages[place.page], place.offset)
    size += pages[place.page].size - sizeBefore
    hasNews = true
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
  /// The codes of the values by their hashes: each stands at its hash's place, or at the next free one.
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
  /// Whether nothing was noted yet.
  var isUnused: Bool { codes.isEmpty && !isGivenUp }

  /// Whether something is known.
  var isKnown: Bool { !codes.isEmpty }

  /// Whether this is to be kept of two, of which one began as a copy of the other or of what that was.
  func knowsMore(than other: ColumnPage) -> Bool {
    if isGivenUp || other.isGivenUp { return isGivenUp && !other.isGivenUp }
    return knownCount > other.knownCount
  }

  /// Notes which value a document has; no bytes stand for none.
  mutating func note(_ value: Span<UInt8>, at offset: Int) {
    guard !isGivenUp else { return }
    guard let code = code(of: value) else { return giveUp() }
    note(code, at: offset)
  }

  /// Notes the code of what a document has.
  mutating func note(_ code: UInt8, at offset: Int) {
    guard !isGivenUp else { return }
    if codes.isEmpty { begin() }
    if codes[offset] == ColumnPage.unknown { knownCount += 1 }
    codes[offset] = code
  }

  /// The code of a value, which is a new one if need be; nil if there can be none.
  private mutating func code(of value: Span<UInt8>) -> UInt8? {
    if codes.isEmpty { begin() }
    var slot = Int(truncatingIfNeeded: value.quickHash % UInt64(ColumnPage.slotCount))
    // There are twice as many slots as values.
    while slots[slot] != ColumnPage.unknown {
      let known = values[Int(slots[slot]) - 1]
      if areEqual(known.span, value) { return slots[slot] }
      slot = (slot + 1) % ColumnPage.slotCount
    }
    guard values.count < ColumnPage.valueLimit, value.count <= ColumnPage.valueSizeLimit else {
      return nil
    }
    values.append(SharedBytes(copying: value).array)
    slots[slot] = UInt8(values.count)
    size += MemoryLayout<[UInt8]>.stride + value.count
    return slots[slot]
  }

  private mutating func begin() {
    codes = Array(repeating: ColumnPage.unknown, count: RememberedPlace.pageSize)
    slots = Array(repeating: ColumnPage.unknown, count: ColumnPage.slotCount)
    size = ColumnPage.leastSize
  }

  private mutating func giveUp() {
    self = ColumnPage()
    isGivenUp = true
  }
}
