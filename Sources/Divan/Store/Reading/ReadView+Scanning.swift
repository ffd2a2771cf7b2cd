import DivanLog

extension ReadView {
  /// Returns the next entry of a scan.
  ///
  /// Throws if something between two entries may be missing, as after damage to the log. A caller
  /// that continues after that gets the end of the scan, so that loops which skip errors terminate.
  func step(_ scan: inout LayeredScan) throws(DatabaseError) -> TreeEntry? {
    if hasGap {
      guard !scan.isRefused else { return nil }
      scan.isRefused = true
      try requireWhole()
    }
    return try repairing { (_) throws(PageError) in try scan.next() }
  }
}
