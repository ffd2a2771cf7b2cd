import DivanLog

extension Database {
  /// Gives back the space of everything that is not needed any more, now; also of files of attachments that
  /// were left where they could not be deleted.
  ///
  /// The database does this by itself, when it pays. Reading and writing go on meanwhile. It takes
  /// time that is proportional to the store, and up to one merged segment of extra space.
  ///
  /// - Throws: ``DatabaseError`` with the codes `damaged` (which names what was left as it is),
  ///   `diskFull`, `inputOutput`, `readOnly` or `closed`.
  public func compact() throws {
    try store.maintenance.exclusively(store) { () throws(DatabaseError) in
      try store.mergeEverything()
    }
  }
}

extension Database {
  /// Writes a checkpoint now, for tests that must know when.
  package func writeCheckpoint() throws {
    try store.maintenance.exclusively(store) { () throws(DatabaseError) in
      try store.writeCheckpoint()
    }
  }

  /// Merges now what the policy finds worth it, for tests that must know when.
  package func mergeWhatPays() throws {
    try store.maintenance.exclusively(store) { () throws(DatabaseError) in
      try store.mergeWhatPays()
    }
  }
}
