/// The verdict of a filter on a document.
enum FilterVerdict: UInt64 {
  // The numbers are the two bits of each verdict in ``FilterVerdicts``, where 0 means unknown.
  case refused = 1
  case accepted = 2
  /// The document is deleted, so the filter is not run.
  case deleted = 3
}

/// The verdicts of one filter on documents: see ``RememberedPlace``.
///
/// Each takes two bits. Pages share their memory with copies of this until one of the two adds
/// verdicts.
struct FilterVerdicts: Sendable {
  /// The verdicts of each page, thirty-two in a word; empty if none is known.
  private var pages: [[UInt64]] = []
  private let firstPage: UInt64
  /// The size in bytes.
  private(set) var size = 0
  private let sizeLimit: Int
  /// Whether anything was recorded since ``endNews()``.
  private(set) var hasNews = false

  private static let verdictsPerWord = 32
  private static let wordsPerPage = RememberedPlace.pageSize / verdictsPerWord

  /// Creates an empty entry, which takes at most `sizeLimit` bytes; more verdicts are not recorded.
  init(firstPage: UInt64, sizeLimit: Int) {
    self.firstPage = firstPage
    self.sizeLimit = sizeLimit
  }
}

extension FilterVerdicts {
  /// Whether there are no verdicts.
  var isEmpty: Bool { size == 0 }

  /// The verdict on the document whose newest record has this number; nil if unknown.
  @inline(__always)
  subscript(sequence: UInt64) -> FilterVerdict? {
    guard let place = RememberedPlace(sequence, firstPage: firstPage), place.page < pages.count,
      !pages[place.page].isEmpty
    else { return nil }
    let word = pages[place.page][place.offset / FilterVerdicts.verdictsPerWord]
    return FilterVerdict(rawValue: word >> FilterVerdicts.shift(place.offset) & 3)
  }

  /// Records the verdict on the document whose newest record has a sequence number.
  mutating func note(_ verdict: FilterVerdict, of sequence: UInt64) {
    guard let place = RememberedPlace(sequence, firstPage: firstPage), makeRoom(for: place.page)
    else { return }
    pages[place.page][place.offset / FilterVerdicts.verdictsPerWord] |=
      verdict.rawValue << FilterVerdicts.shift(place.offset)
    hasNews = true
  }

  /// Records the verdicts on the documents of a whole page; nil for unknown ones.
  mutating func note(_ verdicts: [FilterVerdict?], ofPage page: Int) {
    precondition(verdicts.count == RememberedPlace.pageSize, "Verdicts of no whole page")
    guard makeRoom(for: page) else { return }
    for word in 0..<FilterVerdicts.wordsPerPage {
      let start = word * FilterVerdicts.verdictsPerWord
      var bits: UInt64 = 0
      for offset in start..<start + FilterVerdicts.verdictsPerWord {
        bits |= (verdicts[offset]?.rawValue ?? 0) << FilterVerdicts.shift(offset)
      }
      pages[page][word] |= bits
    }
    hasNews = true
  }

  /// Adds a page, unless it exists; returns false if there is no room for it.
  private mutating func makeRoom(for page: Int) -> Bool {
    let missing = max(0, page + 1 - pages.count)
    guard missing > 0 || pages[page].isEmpty else { return true }
    let added =
      missing * MemoryLayout<[UInt64]>.stride
      + FilterVerdicts.wordsPerPage * MemoryLayout<UInt64>.stride
    guard added <= sizeLimit - size else { return false }
    if missing > 0 { pages += Array(repeating: [], count: missing) }
    pages[page] = Array(repeating: 0, count: FilterVerdicts.wordsPerPage)
    size += added
    return true
  }

  /// Adds the verdicts that another entry of the same filter has.
  mutating func add(_ other: FilterVerdicts) {
    precondition(other.firstPage == firstPage, "Verdicts whose pages are others")
    for page in other.pages.indices where !other.pages[page].isEmpty {
      guard makeRoom(for: page) else { return }
      // Mostly the two share the page, which is then not read.
      guard pages[page] != other.pages[page] else { continue }
      for word in 0..<FilterVerdicts.wordsPerPage { pages[page][word] |= other.pages[page][word] }
    }
  }

  /// Clears ``hasNews``, so that later copies begin without news.
  mutating func endNews() { hasNews = false }

  @inline(__always)
  private static func shift(_ offset: Int) -> UInt64 {
    UInt64(truncatingIfNeeded: offset % verdictsPerWord * 2)
  }
}
