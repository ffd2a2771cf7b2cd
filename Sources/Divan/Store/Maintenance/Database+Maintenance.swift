import DivanLog

extension Database {
  /// Frees the space of everything that is no longer needed, now.
  ///
  /// The segment that commits are appended to is left as it is, until it has a successor or the
  /// database is opened again; ``statistics`` says which one that is. Files of
  /// attachments that could not be deleted before are deleted. The database does this by
  /// itself, when it is worth it. You can read and write while it runs. It takes time that is
  /// proportional to the store, and up to one compacted segment of extra space.
  ///
  /// - Throws: ``DatabaseError`` with the codes `damaged` or `inputOutput` (which name the first
  ///   file that could not be read: it is left unchanged until the database is opened again, and
  ///   the others are compacted), `diskFull`, `readOnly`, `nestedWrite` or `closed`.
  public func compact() throws {
    try store.maintenance.exclusively(store) { () throws(DatabaseError) in
      try store.compactEverything()
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

  /// Compacts the segments that the policy chooses now, for tests that must know when.
  package func compactWhatPays() throws {
    try store.maintenance.exclusively(store) { () throws(DatabaseError) in
      try store.compactWhatPays()
    }
  }
}
