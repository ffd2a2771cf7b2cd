internal import DivanLog
internal import Synchronization

/// Pages that all lie at equal distances in one piece of memory: a mapped file, as a rule.
///
/// Each page is checked when it is first asked for; then a flag says that it was. Two threads may
/// check the same page at once: both find the same.
///
/// `@unchecked Sendable`: all is immutable but the flags, which are atomic.
@safe
final class PagesInMemory: PageSource, @unchecked Sendable {
  private let bytes: SharedBytes
  /// Where `bytes` begins.
  private let base: UnsafeRawPointer
  private let layout: Layout
  /// How many pages may lie within the bytes.
  private let count: Int
  private let check: @Sendable (UInt32, SharedBytes) throws(PageError) -> Void
  private let checked: PageFlags

  /// Where pages lie.
  struct Layout: Sendable {
    /// Where the first page begins.
    let start: Int
    /// From the beginning of one page to that of the next.
    let stride: Int
    /// The bytes of a page.
    let pageSize: Int
    /// How many pages there are.
    let count: Int
  }

  /// Lends pages of `bytes`.
  ///
  /// - Parameters:
  ///   - bytes: the memory, which holds all pages.
  ///   - layout: where the pages are; where one lies outside the bytes, it is damaged.
  ///   - check: throws if the page's surroundings, its checksum above all, are not what they should
  ///     be. It is called before a page is first lent.
  init(
    _ bytes: SharedBytes, _ layout: Layout,
    check: @escaping @Sendable (UInt32, SharedBytes) throws(PageError) -> Void = {
      (_, _) throws(PageError) in
    }
  ) {
    precondition(
      layout.start >= 0 && layout.stride >= layout.pageSize && layout.pageSize > 0,
      "Pages that overlap")
    self.bytes = bytes
    unsafe base = bytes.withUnsafeBytes { unsafe $0.baseAddress.unsafelyUnwrapped }
    self.layout = layout
    self.check = check
    // The count may come from a file. What does not lie within the bytes is never looked for.
    count = max(0, min(layout.count, (bytes.count - layout.start) / layout.stride + 1))
    checked = PageFlags(count: count)
  }

  func page(_ number: UInt32) throws(PageError) -> Page {
    guard number < count else {
      throw .damaged(page: number, reason: "there is no such page")
    }
    if !checked[number, .entries] { try checkPage(number) }
    // It lies within `bytes`, which this source holds, as was found when it was checked.
    return unsafe Page(
      view: NodePage(base: base + layout.start + Int(number) * layout.stride), owner: nil)
  }

  private func checkPage(_ number: UInt32) throws(PageError) {
    _ = try Page(try surroundings(number), number: number)
    checked.set(number, .entries)
  }

  /// The page's bytes, once what surrounds them was checked.
  private func surroundings(_ number: UInt32) throws(PageError) -> SharedBytes {
    guard let page = bytes.slice(layout.start + Int(number) * layout.stride, layout.pageSize)
    else { throw .damaged(page: number, reason: "it lies behind the end of the file") }
    try check(number, page)
    return page
  }

  var pageSize: Int { layout.pageSize }

  func filterBlock(page number: UInt32, offset: Int) throws(PageError) -> FilterBlock {
    guard number < count, offset >= 0, offset <= layout.pageSize - KeyFilter.blockSize else {
      throw .damaged(page: number, reason: "there is no such block")
    }
    if !checked[number, .checksum] {
      _ = try surroundings(number)
      checked.set(number, .checksum)
    }
    // It lies within `bytes`, which this source holds, as was found when it was checked.
    return unsafe FilterBlock(
      littleEndianAt: base + layout.start + Int(number) * layout.stride + offset)
  }
}

extension FilterBlock {
  /// Reads eight words, of which 64 bytes must be readable at `address`.
  @unsafe fileprivate init(littleEndianAt address: UnsafeRawPointer) {
    self.init()
    for index in indices {
      self[index] = UInt64(
        littleEndian: unsafe address.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
    }
  }

  /// Reads eight words; fewer bytes than 64 are not enough.
  init(_ bytes: SharedBytes, at offset: Int) {
    self.init()
    for index in indices { self[index] = bytes.load(UInt64.self, at: offset + index * 8) }
  }
}

/// What was found of each page, which any thread may add to; nothing is ever taken back.
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

  /// What a flag says.
  enum Finding: UInt8 {
    /// The page's checksum holds.
    case checksum = 1
    /// That, and its entries are sound.
    case entries = 2
  }

  subscript(number: UInt32, finding: Finding) -> Bool {
    precondition(number < count, "A page that is not there")
    return unsafe flags[Int(number)].load(ordering: .acquiring) & finding.rawValue != 0
  }

  func set(_ number: UInt32, _ finding: Finding) {
    precondition(number < count, "A page that is not there")
    unsafe flags[Int(number)].bitwiseOr(finding.rawValue, ordering: .releasing)
  }
}
