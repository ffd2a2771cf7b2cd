import DivanLog

/// Documents that are stored together, so that their revision IDs are computed in parallel.
struct PutBatch: ~Copyable {
  struct Item {
    let document: Document
    let id: String
    let offset: Int
    let size: Int
  }

  private(set) var items: [Item] = []
  private var ids: Set<String> = []
  private var encoder = ValueEncoder()
  private var encoded = ByteWriter(capacity: 1 << 15)

  private static let countLimit = 64
  private static let sizeLimit = 1 << 20
}

extension PutBatch {
  var isFull: Bool { items.count >= PutBatch.countLimit || encoded.count >= PutBatch.sizeLimit }

  func contains(_ id: String) -> Bool { ids.contains(id) }

  mutating func add(_ document: Document, id: String) throws(DatabaseError) {
    let start = encoded.count
    try document.encodeProperties(with: &encoder, to: &encoded)
    items.append(
      Item(document: document, id: id, offset: start, size: encoded.count - start))
    ids.insert(id)
  }

  /// The properties of each document in their binary form.
  var encodedProperties: [SharedBytes] {
    let all = encoded.sharedCopy
    return items.map { all.suffix(from: $0.offset).prefix($0.size) }
  }

  /// Computes the revision IDs of the documents, made from these parents.
  func computeRevisions(
    parents: [RevisionID?], _ encodedProperties: [SharedBytes]
  ) throws(DatabaseError) -> [RevisionID] {
    var batch = RevisionID.Batch()
    for (parent, properties) in zip(parents, encodedProperties) {
      try properties.withSpan { (properties) throws(DatabaseError) in
        try batch.append(parent: parent, isDeleted: false, body: properties)
      }
    }
    return batch.finish()
  }

  mutating func removeAll() {
    items.removeAll(keepingCapacity: true)
    ids.removeAll(keepingCapacity: true)
    encoded.removeAll()
  }
}
