/// What a filter says of a document.
enum FilterVerdict: UInt64 {
  // The numbers are the two bits that each has in ``FilterVerdicts``, where 0 stands for what is not known.
  case refused = 1
  case accepted = 2
  /// The document is deleted, so that nobody is asked.
  case deleted = 3
}

/// What one filter has said of documents, by the sequence numbers of their newest records.
///
/// Such a record says all that a filter looks at, of the document's winning revision, and never changes; and its number is
/// never given to another one. So what a filter has said of it once holds in every version that has it, and nothing ever has
/// to be forgotten: a document that is changed has another number.
///
/// Two bits for each number, in pages that share memory with the copies of this for as long as neither says more. A page begins
/// where the first of its numbers is met, so numbers that no document has any more cost nothing.
struct FilterVerdicts: Sendable {
  /// The numbers of each page, thirty-two in a word; nothing where none was met.
  private var pages: [[UInt64]] = []
  /// The number of the first page that there can be.
  private let firstPage: UInt64
  /// How many bytes this takes.
  private(set) var size = 0
  private let sizeLimit: Int
  /// Whether anything was noted since ``endNews()``.
  private(set) var hasNews = false

  private static let pageSize = 128
  private static let numbersPerWord: UInt64 = 32
  private static let numbersPerPage = UInt64(pageSize) * numbersPerWord
  /// How many pages there can be: those of the last 268 million changes.
  static let pageLimit = 1 << 16

  /// Knows nothing.
  ///
  /// - Parameters:
  ///   - lastSequence: the last number so far.
  ///   - sizeLimit: how many bytes it may take; what does not fit is not remembered.
  init(lastSequence: UInt64, sizeLimit: Int) {
    // Half of the pages are for what was changed already.
    let lastPage = lastSequence / FilterVerdicts.numbersPerPage
    firstPage = lastPage - min(lastPage, UInt64(FilterVerdicts.pageLimit / 2))
    self.sizeLimit = sizeLimit
  }
}

extension FilterVerdicts {
  /// Whether it says nothing of any document.
  var isEmpty: Bool { size == 0 }

  /// What the filter says of the document whose newest record has a number; nil if that is not known.
  @inline(__always)
  subscript(sequence: UInt64) -> FilterVerdict? {
    guard let place = Place(sequence, firstPage), place.page < pages.count,
      place.word < pages[place.page].count
    else { return nil }
    return FilterVerdict(rawValue: pages[place.page][place.word] >> place.shift & 3)
  }

  /// Notes what the filter says of the document whose newest record has a number.
  mutating func note(_ verdict: FilterVerdict, of sequence: UInt64) {
    guard let place = Place(sequence, firstPage), makeRoom(for: place.page) else { return }
    pages[place.page][place.word] |= verdict.rawValue << place.shift
    hasNews = true
  }

  /// Makes a page, unless it is there; returns false if there is no room for it.
  private mutating func makeRoom(for page: Int) -> Bool {
    let missing = page + 1 - pages.count
    let listSize = max(0, missing) * MemoryLayout<[UInt64]>.stride
    guard missing > 0 || pages[page].isEmpty else { return true }
    let wordsSize = FilterVerdicts.pageSize * MemoryLayout<UInt64>.stride
    guard listSize + wordsSize <= sizeLimit - size else { return false }
    if missing > 0 { pages += Array(repeating: [], count: missing) }
    pages[page] = Array(repeating: 0, count: FilterVerdicts.pageSize)
    size += listSize + wordsSize
    return true
  }

  /// Takes over what others of the same filter know, if their first pages are the same.
  mutating func add(_ other: FilterVerdicts) {
    guard other.firstPage == firstPage else { return }
    for page in other.pages.indices where !other.pages[page].isEmpty {
      guard makeRoom(for: page) else { return }
      // Mostly they share the page, which is then not gone through.
      guard pages[page] != other.pages[page] else { continue }
      for word in 0..<FilterVerdicts.pageSize { pages[page][word] |= other.pages[page][word] }
    }
  }

  /// Says that whoever copies this from now on has not noted anything yet.
  mutating func endNews() { hasNews = false }

  /// Where the bits of a number are.
  private struct Place {
    let page: Int
    let word: Int
    let shift: UInt64

    /// Nil if there can be no such page.
    @inline(__always)
    init?(_ sequence: UInt64, _ firstPage: UInt64) {
      let number = sequence / FilterVerdicts.numbersPerPage
      guard number >= firstPage, number - firstPage < FilterVerdicts.pageLimit else { return nil }
      page = Int(truncatingIfNeeded: number &- firstPage)
      word = Int(
        truncatingIfNeeded: sequence % FilterVerdicts.numbersPerPage / FilterVerdicts.numbersPerWord
      )
      shift = sequence % FilterVerdicts.numbersPerWord * 2
    }
  }
}
