internal import DivanLog
internal import Synchronization

/// Pages at equal distances in one piece of memory, usually a mapped file.
///
/// Each page is checked when it is first requested; a flag then records the result. Two threads may
/// check the same page at once: both get the same result.
///
/// `@unchecked Sendable`: everything is immutable except the flags, which are atomic.
@safe
final class MappedPages: PageSource, @unchecked Sendable {
  private let bytes: SharedBytes
  /// The address of `bytes`.
  private let base: UnsafeRawPointer
  private let layout: Layout
  /// The number of pages that may be within the bytes.
  private let count: Int
  private let check: @Sendable (UInt32, SharedBytes) throws(PageError) -> Void
  private let checked: PageFlags

  /// The positions of pages.
  struct Layout: Sendable {
    /// The offset of the first page.
    let start: Int
    /// The distance from the beginning of one page to that of the next.
    let stride: Int
    /// The size of a page in bytes.
    let pageSize: Int
    /// The number of pages.
    let count: Int
  }

  /// Creates a source of the pages in `bytes`.
  ///
  /// - Parameters:
  ///   - bytes: the memory, which contains all pages.
  ///   - layout: the positions of the pages; a page outside the bytes is damaged.
  ///   - check: throws if the page's frame is wrong, above all its checksum. It is called before a
  ///     page is first returned.
  init(
    _ bytes: SharedBytes, _ layout: Layout,
    check: @escaping @Sendable (UInt32, SharedBytes) throws(PageError) -> Void = {
      (_, _) throws(PageError) in
    }
  ) {
    precondition(
      layout.start >= 0 && layout.stride >= layout.pageSize && layout.pageSize > 0,
      "The pages overlap")
    self.bytes = bytes
    unsafe base = bytes.withUnsafeBytes { unsafe $0.baseAddress.unsafelyUnwrapped }
    self.layout = layout
    self.check = check
    // The count may come from a file. A page that is not within the bytes is never read.
    count = max(0, min(layout.count, (bytes.count - layout.start) / layout.stride + 1))
    checked = PageFlags(count: count)
  }

  func page(_ number: UInt32) throws(PageError) -> Page {
    guard number < count else {
      throw .damaged(page: number, reason: "the run has no such page")
    }
    if !checked[number, .entries] { try checkPage(number) }
    // It is within `bytes`, which this source retains: that was checked.
    return unsafe Page(
      view: NodePage(base: base + layout.start + Int(number) * layout.stride), owner: nil)
  }

  private func checkPage(_ number: UInt32) throws(PageError) {
    _ = try Page(try checkedBytes(number), number: number)
    checked.set(number, .entries)
  }

  /// Returns the page's bytes after checking its frame.
  private func checkedBytes(_ number: UInt32) throws(PageError) -> SharedBytes {
    guard let page = bytes.slice(layout.start + Int(number) * layout.stride, layout.pageSize)
    else { throw .damaged(page: number, reason: "it is past the end of the file") }
    try check(number, page)
    return page
  }

  var pageSize: Int { layout.pageSize }

  func filterBlock(page number: UInt32, offset: Int) throws(PageError) -> FilterBlock {
    guard number < count, offset >= 0, offset <= layout.pageSize - BloomFilter.blockSize else {
      throw .damaged(page: number, reason: "the filter has no such block")
    }
    if !checked[number, .checksum] {
      _ = try checkedBytes(number)
      checked.set(number, .checksum)
    }
    // It is within `bytes`, which this source retains: that was checked.
    return unsafe FilterBlock(
      littleEndianAt: base + layout.start + Int(number) * layout.stride + offset)
  }
}

extension FilterBlock {
  /// Reads eight words; 64 bytes must be readable at `address`.
  @unsafe fileprivate init(littleEndianAt address: UnsafeRawPointer) {
    self.init()
    for index in indices {
      self[index] = UInt64(
        littleEndian: unsafe address.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
    }
  }

  /// Reads eight words; `bytes` must have 64 bytes from `offset` on.
  init(_ bytes: SharedBytes, at offset: Int) {
    self.init()
    for index in indices { self[index] = bytes.load(UInt64.self, at: offset + index * 8) }
  }
}

/// Flags that record what was checked of each page.
///
/// Any thread may set flags; none is ever cleared.
///
/// `@unchecked Sendable`: the memory is fixed, and its bytes are atomic.
@safe
private final class PageFlags: @unchecked Sendable {
  private let flags: UnsafeMutablePointer<Atomic<UInt8>>
  private let count: Int

  init(count: Int) {
    self.count = count
    unsafe flags = .allocate(capacity: max(count, 1))
    for index in 0..<count { unsafe (flags + index).initialize(to: Atomic(0)) }
  }

  deinit {
    unsafe flags.deinitialize(count: count)
    unsafe flags.deallocate()
  }

  /// The meaning of a flag.
  enum Finding: UInt8 {
    /// The page's checksum is correct.
    case checksum = 1
    /// The checksum is correct, and the entries are sound.
    case entries = 2
  }

  subscript(number: UInt32, finding: Finding) -> Bool {
    precondition(number < count, "The page does not exist")
    return unsafe flags[Int(number)].load(ordering: .acquiring) & finding.rawValue != 0
  }

  func set(_ number: UInt32, _ finding: Finding) {
    precondition(number < count, "The page does not exist")
    unsafe flags[Int(number)].bitwiseOr(finding.rawValue, ordering: .releasing)
  }
}
