import DivanLog

extension WriteTransaction {
  /// Returns the index change for a record that becomes a document's newest; nil without indexes.
  ///
  /// All reads happen here, so that applying the change cannot fail.
  func indexChange(
    to record: DocumentRecord, _ id: String, over current: DocumentEntry?
  ) throws(DatabaseError) -> IndexChange? {
    guard !state.indexes.isEmpty else { return nil }
    let old = try content(of: current, record.idBytes)
    // The record's locator does not matter here.
    let entry = DocumentEntry(record, at: RecordLocator(fileID: 0, offset: 0, size: 0))
    var new = IndexedContent.none
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
      new = properties.map { .properties(EncodedValue($0)) } ?? .unreadable
    }
    return try indexChange(of: record.idBytes, from: old, to: new)
  }

  /// Returns the index change for the purge of a document; nil without indexes.
  func indexChange(
    purging id: SharedBytes, _ text: String, _ current: DocumentEntry?
  ) throws(DatabaseError) -> IndexChange? {
    guard !state.indexes.isEmpty else { return nil }
    return try indexChange(of: id, from: try content(of: current, id), to: .none)
  }

  private func indexChange(
    of id: SharedBytes, from old: IndexedContent, to new: IndexedContent
  ) throws(DatabaseError) -> IndexChange {
    try view.repairing { (_) throws(PageError) in
      // The state is that of the transaction, also where the view's is older.
      try self.state.indexChange(of: id, from: old, to: new, in: self.state.indexes)
    }
  }

  /// Applies an index change, and records the values whose uniqueness is to be checked.
  func make(_ change: IndexChange) {
    change.apply(to: &state)
    for (start, name) in change.uniqueStarts { valuesToCheck[start] = name }
  }

  /// Refuses the transaction if two documents now have the same value in a unique index.
  ///
  /// The check is made only at the end, so that two documents can exchange values.
  func checkUniqueness() throws(DatabaseError) {
    for (prefix, name) in valuesToCheck.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      try view.requireUnique(prefix, of: name)
    }
  }

  private func content(
    of entry: DocumentEntry?, _ id: SharedBytes
  ) throws(DatabaseError) -> IndexedContent {
    guard let entry, !entry.isDeleted else { return .none }
    let properties = try contentIfSound { () throws(DatabaseError) in
      try view.winningRecord(at: entry.location, id).body
    }
    return properties.map { .properties(EncodedValue($0)) } ?? .unreadable
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
    let locator = try append(.indexDefinition, id: nil) { writer in record.encode(to: &writer) }
    state.put(record, at: locator, scratch: &entryScratch)
  }
}
