import DivanLog

/// A revision that is to be stored, with its relation to existing revisions.
struct RevisionEdit {
  var revision: RevisionID
  var isDeleted: Bool
  /// The properties in their binary form.
  var body: SharedBytes
  var attachments: [AttachmentEntry] = []
  var lineage: Lineage
  /// Whether another store computed the revision's ID.
  var isForeignEdit = false
  /// The origin of the revision, if it comes from another store.
  var origin: String?
  /// The handling of a history that contradicts the known one.
  var contradictions = HistoryContradictions.rejected

  enum Lineage {
    /// A revision that was made from a revision that is known here, or a first one.
    case child(of: RevisionID?)
    /// A revision with the digests of the revisions before it, the nearest first.
    case history([RevisionID.Digest])
  }
}

extension RevisionEdit {
  /// The revision that it was made from, if that is known.
  var parent: RevisionID? {
    switch lineage {
    case .child(let parent): parent
    case .history(let digests):
      digests.first.flatMap { RevisionID.read(revision.generation - 1, $0) }
    }
  }

  /// Whether a record of it needs no details, if the document has none.
  var isPlain: Bool { attachments.isEmpty && !isForeignEdit && origin == nil }
}

extension DocumentRecord {
  /// Whether the revision may come from its recorded parent.
  ///
  /// False if this store made the revision, and its ID shows another parent.
  var isOfItsHistory: Bool {
    get throws(DatabaseError) { parent == nil ? true : try matchesItsRevision() }
  }
}

extension DocumentDetails {
  init(_ edit: RevisionEdit) {
    self.init()
    attachments = edit.attachments
    origin = edit.origin
    isForeignEdit = edit.isForeignEdit
  }
}

extension DocumentRecord {
  /// Takes the content of another record's revision.
  mutating func takeContent(of other: some DocumentContent) {
    revision = other.revision
    isDeleted = other.isDeleted
    body = other.body
    details = other.details.map {
      DocumentDetails(
        attachments: $0.attachments, origin: $0.origin, isForeignEdit: $0.isForeignEdit)
    }
  }
}

extension RevisionTree {
  /// Returns the position of a revision if it is a leaf.
  func leafIndex(of revision: RevisionID) -> Int? {
    // If several nodes have the same revision, a leaf is preferred.
    index(of: revision).flatMap { isLeaf($0) ? $0 : nil }
  }

  /// Returns the position of the revision whose content is in a record.
  func index(ofSequence sequence: UInt64) -> Int? {
    nodes.firstIndex { $0.sequence == sequence }
  }

  /// Clears the sequence numbers of revisions that are not leaves, and returns them.
  ///
  /// Contents that history retains are found by the revisions in their records.
  mutating func clearInnerSequences() -> [UInt64] {
    var cleared: [UInt64] = []
    for index in nodes.indices where !isLeaf(index) {
      if nodes[index].sequence != 0 { cleared.append(nodes[index].sequence) }
      setRecord(isDeleted: false, isForeignEdit: false, sequence: 0, at: index)
    }
    return cleared
  }
}

extension DocumentRecord {
  /// Returns the revision tree of the document whose newest record this is.
  func tree() throws(DatabaseError) -> RevisionTree {
    if let bytes = details?.tree {
      var reader = ByteReader(bytes)
      do throws(ByteError) {
        let tree = try RevisionTree(from: &reader)
        guard reader.isAtEnd, !tree.isEmpty else {
          throw ByteError(offset: reader.offset, reason: "its encoding has the wrong size")
        }
        return tree
      } catch {
        throw DatabaseError(
          .damaged, "the document's revision tree: \(error.reason)", documentID: id)
      }
    }
    // A forged record may name more than its generation allows.
    let known = ancestors.digests.prefix(Int(clamping: revision.generation - 1))
    let path = try RevisionTree.Path(revision, ancestors: Array(known))
    return RevisionTree(
      path, isDeleted: isDeleted, isForeignEdit: details?.isForeignEdit ?? false,
      sequence: sequence)
  }
}
