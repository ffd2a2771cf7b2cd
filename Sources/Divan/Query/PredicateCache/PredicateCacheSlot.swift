/// The slot of a document in the predicate cache, by the sequence number of its newest record.
///
/// Such a record determines everything that a query reads of a document's winning revision. It
/// never changes, and its number is never given to another one. A result from it is therefore valid
/// in every version that has the record, and is never invalidated: a document that changes gets
/// another number.
///
/// Numbers are divided into pages. A page takes memory once any of its numbers is used. Numbers
/// that no document has any more therefore cost nothing in most pages.
struct PredicateCacheSlot {
  /// The index of the page, counted from the first that is cached.
  let page: Int
  /// The index of the number in the page.
  let offset: Int

  /// The number of sequence numbers in a page.
  static let pageSize = 4096
  /// The maximum number of pages, for 268 million changes.
  static let pageLimit = 1 << 16

  /// Creates a slot; nil if the number is too far back, or too far ahead.
  @inline(__always)
  init?(_ sequence: UInt64, firstPage: UInt64) {
    let number = sequence / UInt64(PredicateCacheSlot.pageSize)
    guard number >= firstPage, number - firstPage < PredicateCacheSlot.pageLimit else { return nil }
    page = Int(truncatingIfNeeded: number &- firstPage)
    offset = Int(truncatingIfNeeded: sequence % UInt64(PredicateCacheSlot.pageSize))
  }

  /// Returns the first page for a store with this last sequence number.
  ///
  /// Half of the pages are for earlier changes.
  static func firstPage(lastSequence: UInt64) -> UInt64 {
    let last = lastSequence / UInt64(pageSize)
    return last - min(last, UInt64(pageLimit / 2))
  }
}
