internal import DivanLog

/// A page of a run, found sound: reading it cannot leave its bytes.
///
/// Invariant: the bytes passed ``NodePage/problem(in:entryLimit:valueLength:)`` and do not change.
/// They live as long as `owner`, or, if that is nil, as long as the source that gave the page.
///
/// `@unchecked Sendable`: the bytes are immutable and `owner` is only retained and released.
@safe
struct Page: @unchecked Sendable {
  let view: NodePage
  /// Who keeps the bytes alive; nil if the page's source does.
  let owner: AnyObject?
}

extension Page {
  /// Checks bytes that should be a page, and lends them.
  ///
  /// - Parameters:
  ///   - bytes: the page, without what surrounds it in its file.
  ///   - number: the page's number, for the error.
  /// - Throws: ``PageError/damaged(page:reason:)``, if the bytes are no page.
  init(_ bytes: SharedBytes, number: UInt32) throws(PageError) {
    if let reason = Page.problem(in: bytes) {
      throw .damaged(page: number, reason: reason)
    }
    view = unsafe bytes.withUnsafeBytes {
      // Shared bytes have an address, and their owner is kept beside it.
      unsafe NodePage(base: $0.baseAddress.unsafelyUnwrapped)
    }
    owner = bytes.owner
  }

  /// What is wrong with bytes that should be a page of a run, or nil.
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

  /// The bytes of a page number in an entry of an inner page.
  static let childNumberLength = 4

  /// The page number of the child at `index` of an inner page in a file.
  @inline(__always)
  func childNumber(_ index: Int) -> UInt32 {
    if index == 0 {
      // Within the header.
      return UInt32(littleEndian: unsafe base.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
    }
    // The values of inner pages have four bytes, as was checked.
    return UInt32(littleEndian: unsafe value(index - 1).base.loadUnaligned(as: UInt32.self))
  }
}

/// The pages of one run, wherever they are.
protocol PageSource: AnyObject, Sendable {
  /// The page with this number, checked; the same bytes each time. Any thread may ask.
  ///
  /// The number may be any: one out of range is a damaged page.
  func page(_ number: UInt32) throws(PageError) -> Page

  /// The bytes of each page.
  var pageSize: Int { get }

  /// A block of a ``KeyFilter``, at an offset in a page that holds no entries.
  func filterBlock(page number: UInt32, offset: Int) throws(PageError) -> FilterBlock
}
