import DivanLog

extension WriterState {
  /// The highest sequence number of any named snapshot; 0 if there is none.
  mutating func pinnedThrough(in store: Store) -> UInt64 {
    if knownPin == nil { knownPin = view(of: store).pinnedThrough }
    // If the snapshots cannot be read, everything counts as needed.
    return knownPin ?? .max
  }
}
