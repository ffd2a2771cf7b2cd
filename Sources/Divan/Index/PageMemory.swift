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
    if !checked[number] { try checkPage(number) }
    // It lies within `bytes`, which this source holds, as was found when it was checked.
    return unsafe Page(
      view: NodePage(base: base + layout.start + Int(number) * layout.stride), owner: nil)
  }

  private func checkPage(_ number: UInt32) throws(PageError) {
    guard let page = bytes.slice(layout.start + Int(number) * layout.stride, layout.pageSize)
    else { throw .damaged(page: number, reason: "it lies behind the end of the file") }
    try check(number, page)
    _ = try Page(page, number: number)
    checked.set(number)
  }
}

/// A byte for each page, which any thread may set; none is ever cleared.
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

  subscript(number: UInt32) -> Bool {
    precondition(number < count, "A page that is not there")
    return unsafe flags[Int(number)].load(ordering: .acquiring) != 0
  }

  func set(_ number: UInt32) {
    precondition(number < count, "A page that is not there")
    unsafe flags[Int(number)].store(1, ordering: .releasing)
  }
}
