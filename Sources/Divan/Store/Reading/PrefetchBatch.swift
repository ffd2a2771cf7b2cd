import DivanLog

/// Some documents that are read one after the other, with the location of each.
///
/// Reading from a large store is mostly waiting for memory. So several documents are looked up
/// together, and their records are prefetched together: the caller waits for memory once and not
/// for each.
struct PrefetchBatch {
  private(set) var ids: [SharedBytes] = []
  /// The locations of the documents, of all or of none.
  private var locations: [DocumentLocation] = []
  /// The location of the document, if only one was looked up.
  private var onlyLocation = DocumentLocation.unknown

  /// The number of documents that are read together.
  static let size = 16
}

extension PrefetchBatch {
  var count: Int { ids.count }

  /// Adds a document that is still to be looked up.
  mutating func append(_ id: SharedBytes) { ids.append(id) }

  /// Adds a document whose location is known; then the locations of all others must be known, too.
  mutating func append(_ id: SharedBytes, _ location: DocumentLocation) {
    ids.append(id)
    locations.append(location)
  }

  /// Returns the location of a document, once it was looked up.
  func location(_ index: Int) -> DocumentLocation {
    locations.isEmpty ? onlyLocation : locations[index]
  }

  /// Returns and removes the ID of a document, which is read only once, without counting
  /// references.
  @inline(__always)
  mutating func takeID(_ index: Int) -> SharedBytes {
    var id = SharedBytes.empty
    swap(&ids[index], &id)
    return id
  }

  mutating func removeAll() {
    ids.removeAll(keepingCapacity: true)
    locations.removeAll(keepingCapacity: true)
  }

  /// Looks up the locations of all documents, unless they are known.
  ///
  /// The location of a document that is not in the index is ``DocumentLocation/unknown``.
  mutating func lookUp(in view: ReadView) throws(DatabaseError) {
    guard locations.isEmpty, count > 0 else { return }
    if count == 1 {
      // Most reads of one document come from an index, and need no array for it.
      onlyLocation = try view.location(of: ids[0])
    } else {
      locations = try view.locations(of: ids)
    }
  }

  /// Prefetches the records of all documents.
  func prefetchRecords(in view: ReadView) {
    if locations.count > 1 { view.state.segments.prefetch(locations) }
  }
}
