/// The match result of a document: whether a filter accepts it.
enum MatchResult: UInt64 {
  // The numbers are the two bits of each result in ``MatchResults``, where 0 means unknown.
  case refused = 1
  case accepted = 2
  /// The document is deleted, so the filter is not run.
  case deleted = 3
}

/// The match results of documents for one filter, by ``PredicateCacheSlot``.
///
/// Each takes two bits. Pages share their memory with copies of this until one of the two adds
/// results.
struct MatchResults: Sendable {
  /// The results of each page, thirty-two in a word; empty if none is known.
  private var pages: [[UInt64]] = []
  private let firstPage: UInt64
  /// The size in bytes.
  private(set) var size = 0
  private let sizeLimit: Int
  /// Whether anything was recorded since ``clearModified()``.
  private(set) var isModified = false

  private static let resultsPerWord = 32
  private static let wordsPerPage = PredicateCacheSlot.pageSize / resultsPerWord

  /// Creates results of no documents.
  ///
  /// They take at most `sizeLimit` bytes; more results are not recorded.
  init(firstPage: UInt64, sizeLimit: Int) {
    self.firstPage = firstPage
    self.sizeLimit = sizeLimit
  }
}

extension MatchResults {
  /// Whether there are no results.
  var isEmpty: Bool { size == 0 }

  /// The result of the document whose newest record has this number; nil if unknown.
  @inline(__always)
  subscript(sequence: UInt64) -> MatchResult? {
    guard let slot = PredicateCacheSlot(sequence, firstPage: firstPage), slot.page < pages.count,
      !pages[slot.page].isEmpty
    else { return nil }
    let word = pages[slot.page][slot.offset / MatchResults.resultsPerWord]
    return MatchResult(rawValue: word >> MatchResults.shift(slot.offset) & 3)
  }

  /// Records the result of the document whose newest record has a sequence number.
  mutating func note(_ matchResult: MatchResult, of sequence: UInt64) {
    guard let slot = PredicateCacheSlot(sequence, firstPage: firstPage), makeRoom(for: slot.page)
    else { return }
    pages[slot.page][slot.offset / MatchResults.resultsPerWord] |=
      matchResult.rawValue << MatchResults.shift(slot.offset)
    isModified = true
  }

  /// Adds a page, unless it exists; returns false if there is no room for it.
  private mutating func makeRoom(for page: Int) -> Bool {
    let missing = max(0, page + 1 - pages.count)
    guard missing > 0 || pages[page].isEmpty else { return true }
    let added =
      missing * MemoryLayout<[UInt64]>.stride
      + MatchResults.wordsPerPage * MemoryLayout<UInt64>.stride
    guard added <= sizeLimit - size else { return false }
    if missing > 0 { pages += Array(repeating: [], count: missing) }
    pages[page] = Array(repeating: 0, count: MatchResults.wordsPerPage)
    size += added
    return true
  }

  /// Adds other results of the same filter.
  mutating func add(_ other: MatchResults) {
    precondition(other.firstPage == firstPage, "Match results with different first pages")
    for page in other.pages.indices where !other.pages[page].isEmpty {
      guard makeRoom(for: page) else { return }
      // Mostly the two share the page, which is then not read.
      guard pages[page] != other.pages[page] else { continue }
      for word in 0..<MatchResults.wordsPerPage { pages[page][word] |= other.pages[page][word] }
    }
  }

  /// Clears ``isModified``, before later queries copy this.
  mutating func clearModified() { isModified = false }

  @inline(__always)
  private static func shift(_ offset: Int) -> UInt64 {
    UInt64(truncatingIfNeeded: offset % resultsPerWord * 2)
  }
}
