/// Where something stands that is remembered of a document, by the sequence number of the document's newest record.
///
/// Such a record says all that a query asks of a document, of its winning revision, and never changes; and its number is never
/// given to another one. So what was found out of it once holds in every version that has it, and nothing ever has to be
/// forgotten: a document that is changed has another number.
///
/// Numbers stand in pages. A page takes memory from when the first of its numbers is met, so those that no document has any more
/// mostly cost nothing.
struct RememberedPlace {
  /// Which page, counted from the first that is remembered.
  let page: Int
  /// Which number of the page.
  let offset: Int

  /// How many numbers a page has.
  static let pageSize = 4096
  /// How many pages there can be: those of 268 million changes.
  static let pageLimit = 1 << 16

  /// Nil if the number is too far back, or too far ahead.
  @inline(__always)
  init?(_ sequence: UInt64, firstPage: UInt64) {
    let number = sequence / UInt64(RememberedPlace.pageSize)
    guard number >= firstPage, number - firstPage < RememberedPlace.pageLimit else { return nil }
    page = Int(truncatingIfNeeded: number &- firstPage)
    offset = Int(truncatingIfNeeded: sequence % UInt64(RememberedPlace.pageSize))
  }

  /// The page that is to be the first where so many changes were made: half of the pages are for those.
  static func firstPage(lastSequence: UInt64) -> UInt64 {
    let last = lastSequence / UInt64(pageSize)
    return last - min(last, UInt64(pageLimit / 2))
  }
}
