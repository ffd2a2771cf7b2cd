import DivanLog

extension Store {
  /// The highest sequence number of any named snapshot; the caller holds the writer lock.
  var pinnedThrough: UInt64 {
    if let knownPin { return knownPin }
    let view = ReadView(state: newest, store: self)
    // If the snapshots cannot be read, everything counts as needed.
    guard let named = try? view.namedCommitPoints() else { return .max }
    let pin = named.map(\.commitPoint.sequence).max() ?? 0
    knownPin = pin
    return pin
  }
}
