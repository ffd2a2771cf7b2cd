import DivanLog

extension StoreView {
  /// All revisions of a document that nothing was made from, the winning one first, deleted ones too.
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
      // Of a past version, a leaf may have been purged since.
      if past != nil, try !holdsOlder(sequence, of: newest.idBytes) { continue }
      documents.append(document(id, of: try olderRecord(sequence, of: id)))
    }
    return documents
  }

  /// The newest record that is held of one revision of a document; nil if there is none.
  ///
  /// Others that are damaged do not matter, unless it is none of those that can be read.
  func heldRecord(
    of revision: RevisionID, _ id: String, _ entry: DocumentEntry, _ newest: DocumentRecord
  ) throws(DatabaseError) -> DocumentRecord? {
    if newest.revision == revision { return newest }
    var damage: DatabaseError?
    for sequence in try olderSequences(of: id, entry).reversed() {
      do throws(DatabaseError) {
        let record = try olderRecord(sequence, of: id)
        if record.revision == revision { return record }
      } catch {
        guard error.code == .damaged else { throw error }
        damage = damage ?? error
      }
    }
    if let damage { throw damage }
    return nil
  }

  /// All records that are held of a document, by their revisions.
  func heldRecords(
    of id: String, _ entry: DocumentEntry, _ newest: DocumentRecord
  ) throws(DatabaseError) -> [RevisionID: DocumentRecord] {
    var held = [newest.revision: newest]
    for sequence in try olderSequences(of: id, entry) {
      let record = try olderRecord(sequence, of: id)
      // A revision that was written again for another reason stands in its newer record.
      if held[record.revision].map({ $0.sequence < record.sequence }) ?? true {
        held[record.revision] = record
      }
    }
    return held
  }
}
