internal import DivanLog

/// A page of a run that was checked: reading it cannot leave its bytes.
///
/// Invariant: the bytes passed ``problem(in:)`` and do not change. They live as long as `owner` or,
/// if that is nil, as long as the source of the page.
///
/// `@unchecked Sendable`: the bytes are immutable and `owner` is only retained and released.
@safe
struct Page: @unchecked Sendable {
  let view: NodePage
  /// The object that keeps the bytes alive; nil if the page's source does.
  let owner: AnyObject?
}

extension Page {
  /// Checks bytes that should be a page, and retains them.
  ///
  /// - Parameters:
  ///   - bytes: the page, without its frame in the file.
  ///   - number: the page's number, for the error.
  /// - Throws: ``PageError/damaged(page:reason:)``, if the bytes are not a page.
  init(_ bytes: SharedBytes, number: UInt32) throws(PageError) {
    if let reason = Page.problem(in: bytes) {
      throw .damaged(page: number, reason: reason)
    }
    view = unsafe bytes.withUnsafeBytes {
      // Shared bytes have an address, and their owner is retained with it.
      unsafe NodePage(base: $0.baseAddress.unsafelyUnwrapped)
    }
    owner = bytes.owner
  }

  /// Returns the reason why bytes are not a page of a run, or nil if they are one.
  static func problem(in bytes: SharedBytes) -> String? {
    unsafe bytes.withUnsafeBytes { buffer in
      if let problem = unsafe NodePage.problem(in: buffer) { return problem }
      let page = unsafe NodePage(base: buffer.baseAddress.unsafelyUnwrapped)
      return page.problemOfRunPage(entryLimit: BTree.entryLimit(pageSize: buffer.count))
    }
  }
}

extension NodePage {
  fileprivate func problemOfRunPage(entryLimit: Int) -> String? {
    for index in 0..<count {
      let entry = self.entry(index)
      if level > 0, entry.value.count != NodePage.childNumberLength {
        return "separator \(index) has no child"
      }
      if entry.key.count + (level > 0 ? 0 : entry.value.count) > entryLimit {
        return "entry \(index) is too long"
      }
    }
    return nil
  }

  /// The size of a page number in an entry of an inner page, in bytes.
  static let childNumberLength = 4

  /// Returns the page number of the child at `index` of an inner page in a file.
  @inline(__always)
  func childNumber(_ index: Int) -> UInt32 {
    if index == 0 {
      // Within the header.
      return UInt32(littleEndian: unsafe base.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
    }
    // The values of inner pages are checked to have four bytes.
    return UInt32(littleEndian: unsafe value(index - 1).base.loadUnaligned(as: UInt32.self))
  }
}

/// The pages of one run, in memory or in a file.
protocol PageSource: AnyObject, Sendable {
  /// Returns the page with this number, checked.
  ///
  /// Each call returns the same bytes. You may call it on any thread and with any number: a number
  /// out of range is a damaged page.
  func page(_ number: UInt32) throws(PageError) -> Page

  /// The size of each page in bytes.
  var pageSize: Int { get }

  /// Returns a block of a ``BloomFilter``, at an offset in a page without entries.
  func filterBlock(page number: UInt32, offset: Int) throws(PageError) -> FilterBlock
}
