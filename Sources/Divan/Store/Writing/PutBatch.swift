import DivanLog

/// Documents that are stored together, so that their revision IDs are computed in parallel.
struct PutBatch: ~Copyable {
  struct Item {
    let document: Document
    let id: String
    let bodyOffset: Int
    let bodySize: Int
  }

  private(set) var items: [Item] = []
  private var ids: Set<String> = []
  private var coding = ValueCoding()
  private var encoded = ByteWriter(capacity: 1 << 15)

  private static let countLimit = 64
  private static let sizeLimit = 1 << 20
}

extension PutBatch {
  var isFull: Bool { items.count >= PutBatch.countLimit || encoded.count >= PutBatch.sizeLimit }

  func contains(_ id: String) -> Bool { ids.contains(id) }

  mutating func add(_ document: Document, id: String) throws(DatabaseError) {
    let start = encoded.count
    try document.encodeProperties(with: &coding, to: &encoded)
    items.append(
      Item(document: document, id: id, bodyOffset: start, bodySize: encoded.count - start))
    ids.insert(id)
  }

  /// The properties of each document in their binary form.
  var bodies: [SharedBytes] {
    let all = encoded.sharedCopy
    return items.map { all.suffix(from: $0.bodyOffset).prefix($0.bodySize) }
  }

  /// Computes the revision IDs of the documents, made from these parents.
  func computeRevisions(
    parents: [RevisionID?], _ bodies: [SharedBytes]
  ) throws(DatabaseError) -> [RevisionID] {
    var batch = RevisionID.Batch()
    for (parent, body) in zip(parents, bodies) {
      try body.withSpan { (body) throws(DatabaseError) in
        try batch.append(parent: parent, isDeleted: false, body: body)
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
