package import DivanLog

/// A known revision of a document, for tools that draw its tree.
package struct InspectedRevision: Sendable {
  package let revision: RevisionID
  /// The position of the parent, which precedes this one; nil for a root.
  package let parent: Int?
  package let isLeaf: Bool
  package let isWinner: Bool
  /// Whether it deletes the document; false if only its ID is known.
  package let isDeleted: Bool
  /// The locator of its record; nil if the content is not retained.
  package let locator: RecordLocator?
}

extension InspectedContents {
  /// The most retained records of a document that are read to find their revisions.
  private static let readLimit = 1000

  /// Returns the known revisions of a document, each after its parent; empty if there is none.
  ///
  /// Reads the document's newest record, and the newest 1,000 of its retained ones.
  package func revisions(of id: String) throws -> [InspectedRevision] {
    guard let entry = try view.entry(id) else { return [] }
    let newest = try view.newestRecord(of: entry, id)
    let tree = try view.tree(of: newest)
    let winner = tree.winner
    var locators = [newest.revision: entry.locator]
    let sequences = try view.retainedSequences(of: id, entry)
    for sequence in sequences.suffix(InspectedContents.readLimit).reversed() {
      let key = RetainedKey.bytes(SharedBytes(utf8: id), sequence)
      // A damaged record is not shown as retained; the damage is reported with the log's.
      guard let locator = try view.locator(in: \.retained, key),
        let record = try? view.record(at: locator), locators[record.revision] == nil
      else { continue }
      locators[record.revision] = locator
    }
    return tree.nodes.indices.map { index in
      let node = tree.nodes[index]
      return InspectedRevision(
        revision: node.revision, parent: tree.parent(of: index), isLeaf: tree.isLeaf(index),
        isWinner: index == winner, isDeleted: node.isDeleted, locator: locators[node.revision])
    }
  }

  /// Returns the number of a document's leaves, and of those that are not deleted.
  ///
  /// Reads a record if there is, or was, more than one leaf.
  package func leafCounts(of id: String) throws -> (all: Int, live: Int) {
    let leaves = try view.leafRevisions(of: id)
    return (leaves.count, leaves.count { !$0.isDeleted })
  }
}
