/// What a filter says of a document.
enum FilterVerdict: UInt64 {
  // The numbers are the two bits that each has in ``FilterVerdicts``, where 0 stands for what is not known.
  case refused = 1
  case accepted = 2
  /// The document is deleted, so that nobody is asked.
  case deleted = 3
}

/// What one filter has said of documents: see ``RememberedPlace``.
///
/// Two bits for each. Pages share their memory with copies of this for as long as neither says more.
struct FilterVerdicts: Sendable {
  /// The verdicts of each page, thirty-two in a word; nothing where none is known.
  private var pages: [[UInt64]] = []
  private let firstPage: UInt64
  /// How many bytes this takes.
  private(set) var size = 0
  private let sizeLimit: Int
  /// Whether anything was noted since ``endNews()``.
  private(set) var hasNews = false

  private static let verdictsPerWord = 32
  private static let wordsPerPage = RememberedPlace.pageSize / verdictsPerWord

  /// Knows nothing, and takes at most so many bytes: what does not fit is not remembered.
  init(firstPage: UInt64, sizeLimit: Int) {
    self.firstPage = firstPage
    self.sizeLimit = sizeLimit
  }
}

extension FilterVerdicts {
  /// Whether it says nothing of any document.
  var isEmpty: Bool { size == 0 }

  /// What the filter says of the document whose newest record has a number; nil if that is not known.
  @inline(__always)
  subscript(sequence: UInt64) -> FilterVerdict? {
    guard let place = RememberedPlace(sequence, firstPage: firstPage), place.page < pages.count,
      !pages[place.page].isEmpty
    else { return nil }
    let word = pages[place.page][place.offset / FilterVerdicts.verdictsPerWord]
    return FilterVerdict(rawValue: word >> FilterVerdicts.shift(place.offset) & 3)
  }

  /// Notes what the filter says of the document whose newest record has a number.
  mutating func note(_ verdict: FilterVerdict, of sequence: UInt64) {
    guard let place = RememberedPlace(sequence, firstPage: firstPage), makeRoom(for: place.page)
    else { return }
    pages[place.page][place.offset / FilterVerdicts.verdictsPerWord] |=
      verdict.rawValue << FilterVerdicts.shift(place.offset)
    hasNews = true
  }

  /// Notes what the filter says of the documents of a whole page, nil for those of which that is not known.
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

  /// Makes a page, unless it is there; returns false if there is no room for it.
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

  /// Takes over what others of the same filter know.
  mutating func add(_ other: FilterVerdicts) {
    precondition(other.firstPage == firstPage, "Verdicts whose pages are others")
    for page in other.pages.indices where !other.pages[page].isEmpty {
      guard makeRoom(for: page) else { return }
      // Mostly they share the page, which is then not gone through.
      guard pages[page] != other.pages[page] else { continue }
      for word in 0..<FilterVerdicts.wordsPerPage { pages[page][word] |= other.pages[page][word] }
    }
  }

  /// Says that whoever copies this from now on has not noted anything yet.
  mutating func endNews() { hasNews = false }

  @inline(__always)
  private static func shift(_ offset: Int) -> UInt64 {
    UInt64(truncatingIfNeeded: offset % verdictsPerWord * 2)
  }
}
