import DivanLog

// Rows in a file belong to one version of the store. The file identifies it by the segment with
// which the log ended then. Once that segment is compacted, there is no way to tell whether it was
// this log's. So a writer checks the files before it may compact segments. FILE_FORMAT.md §19

extension ViewFileHeader.Origin {
  /// Whether a version of the same store has everything that was in this one, and perhaps more.
  ///
  /// The segment tells whether this is the same log, and not one that replaced it.
  func isBefore(_ state: Version) -> Bool {
    guard commit <= state.commit, sequence <= state.lastSequence else { return false }
    let segments = state.segments.segments
    guard let segment = segments.first(where: { $0.header.numbers.contains(segmentNumber) })
    else { return false }
    // A compacted segment replaced it, with durable commits only: the writer that compacted it had
    // checked the views.
    guard segment.header.compaction == nil else { return true }
    guard segment.header.preamble.salt == segmentSalt else { return false }
    guard commit > segment.end.commit else { return true }
    // The end of the segment was in doubt, and is now in the next one.
    return segments.map(\.header).contains { next in
      next.numbers.contains(segmentNumber + 1)
        && (next.compaction != nil || next.flushedSize > SegmentHeader.size)
    }
  }
}

extension StoreDirectory {
  /// Removes the files of views that do not belong to an earlier version of a store.
  ///
  /// The store was just opened for writing. Returns notes about the files that stay. The version of
  /// a file was durable before the file existed, so it is an earlier version now, or never will be
  /// one. A file whose header cannot be read for any reason is removed, too: it could not be
  /// checked later, and its rows can be rebuilt.
  func removeUnrelatedViews(
    among files: Set<FileName>, of storeID: StoreID, _ state: Version
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
        // Otherwise the file could come back after a loss of power, when segments have been
        // compacted.
        try flush()
      } catch {
        notes.append(
          "\(name) does not belong to this log and could not be removed: \(DatabaseError(error))")
      }
    }
    return notes
  }
}
