import DivanLog

extension ReadView {
  /// Skips the next entries of a scan; returns their number and the last one.
  func pass(
    _ scan: inout LayeredScan
  ) throws(DatabaseError) -> (count: Int, last: TreeEntry)? {
    guard !store.isClosed else { throw Store.closedError }
    while true {
      do throws(PageError) {
        return try scan.pass()
      } catch {
        try store.repairIndex(error, in: state)
      }
    }
  }
}
