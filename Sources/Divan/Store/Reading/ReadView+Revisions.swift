import DivanLog

extension ReadView {
  /// Implements ``Snapshot/tombstone(_:)``.
  func tombstone(_ id: String) throws(DatabaseError) -> Document? {
    guard let entry = try entry(id), entry.isDeleted else { return nil }
    return try document(id, at: entry.location)
  }

  /// Implements ``Snapshot/revisions(of:)``.
  func revisions(of id: String) throws(DatabaseError) -> [RevisionID] {
    guard let entry = try entry(id) else { return [] }
    return try tree(of: entry, id).winningHistory.map(\.revision)
  }

  /// Implements ``Snapshot/revisions(leadingTo:of:)``.
  func revisions(
    leadingTo revision: RevisionID, of id: String
  ) throws(DatabaseError) -> [RevisionID] {
    guard let entry = try entry(id) else { return [] }
    let tree = try tree(of: entry, id)
    guard let index = tree.index(of: revision) else { return [] }
    return tree.history(of: index).map(\.revision)
  }

  /// Implements ``Snapshot/revision(_:of:)``.
  func revision(_ revision: RevisionID, of id: String) throws(DatabaseError) -> Document? {
    guard let entry = try entry(id) else { return nil }
    if entry.revision == revision { return try document(id, at: entry.location) }
    let newest = try newestRecord(of: entry, id)
    guard try tree(of: newest).contains(revision),
      let record = try retainedRecord(of: revision, id, entry, newest)
    else { return nil }
    return document(id, of: record)
  }

  /// Implements ``Snapshot/leafRevisions(of:)``.
  func leafRevisions(of id: String) throws(DatabaseError) -> [LeafRevision] {
    guard let entry = try entry(id) else { return [] }
    guard past == nil else {
      // A revision that was purged since is not a leaf.
      return try leaves(of: id).compactMap { leaf in
        leaf.revision.map { LeafRevision(id: $0, isDeleted: leaf.isDeleted) }
      }
    }
    guard entry.traits.contains(.tree) else {
      return [LeafRevision(id: entry.revision, isDeleted: entry.isDeleted)]
    }
    return try tree(of: entry, id).leafRevisions
  }

  /// Implements ``Snapshot/leafRevisions(above:of:)``.
  func leafRevisions(
    above revision: RevisionID, of id: String
  ) throws(DatabaseError) -> [RevisionID] {
    guard let entry = try entry(id) else { return [] }
    let tree = try tree(of: entry, id)
    var leaves: [RevisionID] = []
    var index = 0
    while index < tree.nodes.count {
      guard tree.nodes[index].revision == revision else {
        index += 1
        continue
      }
      let end = tree.subtreeEnd(index)
      leaves += (index..<end).filter(tree.isLeaf).map { tree.nodes[$0].revision }
      index = end
    }
    return leaves
  }

  /// Implements ``Snapshot/missingRevisions(among:)``.
  func missingRevisions(
    among revisions: [String: [RevisionID]]
  ) throws(DatabaseError) -> [String: MissingRevisions] {
    var answer: [String: MissingRevisions] = [:]
    for (id, requested) in revisions {
      guard let entry = try entry(id) else {
        if !requested.isEmpty {
          answer[id] = MissingRevisions(missing: requested, possibleAncestors: [])
        }
        continue
      }
      let tree = try tree(of: entry, id)
      let missing = tree.missing(of: requested)
      guard let highest = missing.max() else { continue }
      answer[id] = MissingRevisions(
        missing: missing, possibleAncestors: tree.possibleAncestors(of: highest))
    }
    return answer
  }

  /// Returns the number of documents whose last change is after a sequence number.
  func changeCount(since sequence: UInt64) throws(DatabaseError) -> Int {
    guard past == nil else {
      var cursor = ChangeCursor(self, since: sequence)
      var count = 0
      while try cursor.nextID() != nil { count += 1 }
      return count
    }
    var scan = state.sequences.scan(from: .exclusive(sequence.bigEndianBytes))
    var count = EntryCount()
    // After a page repair, the count continues where it stopped.
    try repairing { (_) throws(PageError) in
      try scan.count(into: &count) { key, _ in key.count == 8 }
    }
    guard count.unsound == 0 else {
      throw DatabaseError(
        .damaged, "the index by sequence number has an invalid key", path: environment.path)
    }
    return count.sound
  }

  /// Returns a document's leaves, the winning one first, including deleted ones.
  func leaves(of id: String) throws(DatabaseError) -> [Document] {
    guard let entry = try entry(id) else { return [] }
    let newest = try newestRecord(of: entry, id)
    guard newest.details?.tree != nil else { return [document(id, of: newest)] }
    let tree = try tree(of: newest)
    var documents: [Document] = []
    for index in tree.leaves {
      let sequence = tree.nodes[index].sequence
      if sequence == newest.sequence {
        documents.append(document(id, of: newest))
        continue
      }
      // In a past version, a leaf may have been purged since.
      if past != nil, try !retains(sequence, of: newest.idBytes) { continue }
      documents.append(document(id, of: try retainedRecord(sequence, of: id)))
    }
    return documents
  }

  /// Returns the newest retained record of a revision of a document; nil if there is none.
  ///
  /// Throws for other damaged records only if no readable one is of this revision.
  func retainedRecord(
    of revision: RevisionID, _ id: String, _ entry: DocumentEntry, _ newest: DocumentRecord
  ) throws(DatabaseError) -> DocumentRecord? {
    if newest.revision == revision { return newest }
    var damage: DatabaseError?
    for sequence in try retainedSequences(of: id, entry).reversed() {
      do throws(DatabaseError) {
        let record = try retainedRecord(sequence, of: id)
        if record.revision == revision { return record }
      } catch {
        guard error.code == .damaged else { throw error }
        damage = damage ?? error
      }
    }
    if let damage { throw damage }
    return nil
  }

  /// Returns all retained records of a document and the newest one, by their revisions.
  func retainedRecords(
    of id: String, _ entry: DocumentEntry, _ newest: DocumentRecord
  ) throws(DatabaseError) -> [RevisionID: DocumentRecord] {
    var records = [newest.revision: newest]
    for sequence in try retainedSequences(of: id, entry) {
      let record = try retainedRecord(sequence, of: id)
      // If a revision was written again, its newer record counts.
      if records[record.revision].map({ $0.sequence < record.sequence }) ?? true {
        records[record.revision] = record
      }
    }
    return records
  }
}
