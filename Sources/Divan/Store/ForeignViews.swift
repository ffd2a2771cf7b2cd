import DivanLog

// Rows that are kept in a file are those of one version of the store, which they know by the segment with which the
// log ended then. Once that segment is merged, nothing tells any more whether it was this log's. So whoever may
// merge looks first. FILE_FORMAT.md §19

extension ViewFileHeader.Origin {
  /// Whether a version of the same store has all that was in this one, and perhaps more.
  ///
  /// The segment tells whether the log is that of then, and not one that was put in its place.
  func isBefore(_ state: StoreState) -> Bool {
    guard commit <= state.commit, sequence <= state.lastSequence else { return false }
    let segments = state.segments.segments
    guard let segment = segments.first(where: { $0.header.numbers.contains(segmentNumber) })
    else { return false }
    // A merged one has taken its place, and of that only what was durable: who merged it had looked before.
    guard segment.header.merge == nil else { return true }
    guard segment.header.preamble.salt == segmentSalt else { return false }
    guard commit > segment.end.commit else { return true }
    // The end of it was in doubt, and stands in the next one now.
    return segments.map(\.header).contains { next in
      next.numbers.contains(segmentNumber + 1)
        && (next.merge != nil || next.flushedSize > SegmentHeader.size)
    }
  }
}

extension StoreDirectory {
  /// Takes away the files of views that are not of an earlier version of a store that was just opened for writing;
  /// returns what is to be said of those that stay.
  ///
  /// The version that a file is of was durable before the file was there, so that now it is an earlier one, or
  /// never will be. A file whose header cannot be read goes, too, whatever the reason: nobody could judge it later, and
  /// its rows can be made anew.
  func removeForeignViews(
    among files: Set<FileName>, of storeID: StoreID, _ state: StoreState
  ) -> [String] {
    var notes: [String] = []
    for case .view(let digits) in files.sorted() {
      let name = FileName.view(digits)
      if let header = try? ViewFileReader(name, in: self).header,
        header.preamble.storeID == storeID, header.origin.isBefore(state)
      {
        continue
      }
      do throws(LogError) {
        try remove(name)
        // Else it could come back after a loss of power, when segments have been merged.
        try flush()
      } catch {
        notes.append("\(name) has no rows of this log, but stays: \(DatabaseError(error))")
      }
    }
    return notes
  }
}
