import DivanLog

extension WriterState {
  /// Returns a view of the newest version.
  func view(of store: Store) -> ReadView { ReadView(state: newest, store.environment) }

  /// Makes changes that read the index: all of them, or none if an error is thrown.
  ///
  /// `change` runs again, on the same version, after a damaged page was rebuilt.
  mutating func rebuildNewest(
    of store: Store, _ change: (inout Version) throws(PageError) -> Void
  ) throws(DatabaseError) {
    let changed = try view(of: store).repairing { (version) throws(PageError) in
      var state = version.state
      try change(&state)
      return state
    }
    changeNewest { $0 = changed }
  }
}
