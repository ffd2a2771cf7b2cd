import DivanLog

extension WriteTransaction {
  /// Returns the index change for a record that becomes a document's newest; nil without indexes.
  ///
  /// All reads happen here, so that applying the change cannot fail.
  func indexChange(
    to record: DocumentRecord, _ id: String, over current: DocumentEntry?
  ) throws(DatabaseError) -> IndexChange? {
    guard !state.indexes.isEmpty else { return nil }
    let old = try indexKeys(of: current, id)
    // The record's locator does not matter here.
    let entry = DocumentEntry(record, at: RecordLocator(fileID: 0, offset: 0, size: 0))
    var new = IndexedKeys()
    if !entry.isDeleted {
      var properties: SharedBytes? = record.body
      if let sequence = entry.winningSequence {
        properties =
          if let current, sequence == current.sequence {
            try contentIfSound { () throws(DatabaseError) in
              try view.newestRecord(of: current, id).body
            }
          } else {
            try contentIfSound { () throws(DatabaseError) in
              try view.retainedRecord(sequence, of: id).body
            }
          }
      }
      if let properties {
        new = IndexEntries.entries(state.indexes, of: EncodedValue(properties), id: record.idBytes)
      }
    }
    return IndexChange(id: record.idBytes, old: old, new: new)
  }

  /// Returns the index change for the purge of a document; nil without indexes.
  func indexChange(
    purging id: SharedBytes, _ text: String, _ current: DocumentEntry?
  ) throws(DatabaseError) -> IndexChange? {
    guard !state.indexes.isEmpty else { return nil }
    return IndexChange(id: id, old: try indexKeys(of: current, text), new: IndexedKeys())
  }

  /// Applies an index change, and records the values whose uniqueness is to be checked.
  func make(_ change: IndexChange) {
    state.changeIndexEntries(from: change.old, to: change.new.all, of: change.id)
    for (start, name) in change.new.unique where !change.old.contains(start + change.id.array) {
      valuesToCheck[start] = name
    }
  }

  /// Refuses the transaction if two documents now have the same value in a unique index.
  ///
  /// The check is made only at the end, so that two documents can exchange values.
  func checkUniqueness() throws(DatabaseError) {
    for (prefix, name) in valuesToCheck.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      try view.requireUnique(prefix, of: name)
    }
  }

  private func indexKeys(
    of entry: DocumentEntry?, _ id: String
  ) throws(DatabaseError) -> IndexKeySet {
    guard let entry, !entry.isDeleted else { return IndexKeySet() }
    let bytes = SharedBytes(utf8: id)
    let properties = try contentIfSound { () throws(DatabaseError) in
      try view.winningRecord(at: entry.location, bytes).body
    }
    guard let properties else {
      // Its old values are unknown, but the document must not be found by them any longer.
      return try view.repairing { (version) throws(PageError) in
        try version.state.indexKeys(of: bytes, in: self.state.indexes)
      }
    }
    return IndexEntries.keys(state.indexes, of: EncodedValue(properties), id: bytes)
  }

  /// Returns the properties that `read` reads; nil if their record is damaged.
  private func contentIfSound(
    _ read: () throws(DatabaseError) -> SharedBytes
  ) throws(DatabaseError) -> SharedBytes? {
    do throws(DatabaseError) {
      return try read()
    } catch {
      guard error.code == .damaged else { throw error }
      return nil
    }
  }

  /// Appends the record of an index, and inserts it into the catalog.
  func append(_ record: IndexDefinitionRecord) throws(DatabaseError) {
    let locator = try append(.index, id: nil) { writer in record.encode(to: &writer) }
    state.put(record, at: locator, scratch: &entryScratch)
  }
}
