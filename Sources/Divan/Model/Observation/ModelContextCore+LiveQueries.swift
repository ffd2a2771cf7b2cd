extension ModelContextCore {
  /// Updates the live queries to the context's state.
  func updateLiveQueries() {
    guard !liveQueries.isEmpty else { return }
    for each in liveQueries { each.query?.contextMoved() }
  }
}
