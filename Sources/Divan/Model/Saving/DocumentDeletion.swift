import DivanLog

/// The deletion of documents and of the references to them, for a transaction on any thread.
struct DocumentDeletion: Sendable {
  /// A document to delete.
  struct Item {
    let id: String
    /// The properties that the model has read; nil if there are external changes besides.
    let properties: EncodedValue?
    /// The attachments that the model has read; nil for those in the context's snapshot.
    let attachments: Document.Attachments?
    /// The properties of the tombstone.
    let tombstone: Value.Object

    init(_ model: Model) {
      id = model.id
      let hasConflicts = model.pendingChanges.map { !$0.bases.isEmpty } ?? false
      properties = hasConflicts ? nil : model.storedProperties
      // Content that was given as a file has no digest to compare.
      attachments = model.pendingChanges?.originalAttachments.flatMap { known in
        known.values.allSatisfy { $0.digest != nil } ? known : nil
      }
      tombstone = model.tombstoneProperties
    }
  }

  /// The references of one property to one of the documents.
  struct References {
    let target: String
    let index: DocumentIndex
    /// The property with the references.
    let key: String
    /// Whether they are removed; if not, their documents are deleted, or keep them.
    let areRemoved: Bool
    /// The IDs of the documents with the references, as the context knows them.
    let ids: [String]
    /// Whether a document is of the class that has the property.
    let includes: @Sendable (Document) -> Bool

    init(_ target: Model, _ relation: InverseRelation, _ ids: [String], _ core: ModelContextCore) {
      self.target = target.id
      index = relation.index
      key = relation.property.key
      areRemoved = relation.rule.removesReferences
      self.ids = ids
      includes = relation.documents(in: core, amid: areRemoved ? ids : [])
    }
  }

  /// The snapshot that the context shows, and in which it found the references.
  let snapshot: Snapshot
  let documents: [Item]
  let references: [References]
  /// The IDs of `documents`.
  let deletedKeys: Set<DocumentKey>

  /// Whether nothing is stored.
  var isEmpty: Bool {
    documents.isEmpty && !references.contains { $0.areRemoved && !$0.ids.isEmpty }
  }
}

/// The changes that deleting models made to documents.
struct StoredDeletion: Sendable {
  /// The removed references, and the properties that had them.
  var nullified: [(change: SavedChange, key: String)] = []
  var deleted: [SavedChange] = []
  /// The number of sequence numbers that the changes took.
  var sequenceCount = 0
}

extension DocumentDeletion {
  /// Deletes the documents and the references.
  ///
  /// - Throws: `conflict` if a document was changed, or a reference added, since the context read
  ///   them.
  @Sendable func delete(in transaction: WriteTransaction) throws -> StoredDeletion {
    try requireNothingNew(in: transaction)
    let first = transaction.lastSequence
    var made = StoredDeletion()
    made.nullified = try removeReferences(in: transaction)
    made.deleted = try documents.compactMap { try delete($0, in: transaction) }
    made.sequenceCount = Int(transaction.lastSequence - first)
    return made
  }

  /// Throws if a document refers to one of the others only since the context's snapshot.
  private func requireNothingNew(in transaction: WriteTransaction) throws {
    guard transaction.lastSequence != snapshot.sequence else { return }
    for each in references {
      let known = Set(each.ids.map(DocumentKey.init))
      let now = try transaction.ids(of: each.index, equalTo: .string(each.target))
      guard let new = now.first(where: { !known.contains(DocumentKey($0)) }) else { continue }
      throw DatabaseError(
        .conflict, "the document \(new.debugDescription) refers to it since an external change",
        hint: "Refresh the context, and delete the model again", documentID: each.target)
    }
  }

  /// Removes references to the deleted documents from the remaining ones.
  private func removeReferences(
    in transaction: WriteTransaction
  ) throws -> [(change: SavedChange, key: String)] {
    var edited: [(change: SavedChange, key: String)] = []
    for each in references where each.areRemoved {
      for id in each.ids where !deletedKeys.contains(DocumentKey(id)) {
        guard let before = try transaction.document(id), each.includes(before) else { continue }
        var document = before
        switch document.properties[each.key] {
        case .string(let text) where haveSameUTF8(text, each.target):
          document.properties[each.key] = nil
        case .array(let values):
          document.properties[each.key] = .array(
            values.filter { !($0.stringValue.map { haveSameUTF8($0, each.target) } ?? false) })
        default: continue
        }
        try transaction.put(document)
        edited.append((SavedChange(id: id, before: before, after: document), each.key))
      }
    }
    return edited
  }

  private func delete(_ item: Item, in transaction: WriteTransaction) throws -> SavedChange? {
    guard let document = try transaction.document(item.id) else { return nil }
    guard try document.encoded().bytes == item.properties?.bytes,
      try hasAttachments(document, of: item)
    else {
      throw DatabaseError(
        .conflict, "the document was changed since the model was read",
        hint: "Refresh the context, and delete the model again", documentID: item.id)
    }
    if !item.tombstone.isEmpty {
      var last = document
      last.properties = item.tombstone
      try transaction.delete(last)
    }
    // In a conflict, the other branches are deleted too.
    _ = try transaction.delete(item.id)
    return SavedChange(id: item.id, before: document, after: nil, tombstone: item.tombstone)
  }

  /// Whether a document has the attachments that the model shows.
  private func hasAttachments(_ document: Document, of item: Item) throws -> Bool {
    if let shown = item.attachments { return document.attachments == shown }
    // Most documents have the same revision, and are not read again.
    if try snapshot.revision(of: item.id) == document.revision { return true }
    return try snapshot.document(item.id)?.attachments == document.attachments
  }
}
