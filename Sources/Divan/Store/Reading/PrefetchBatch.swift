import DivanLog

/// Some documents that are read one after the other, with the place of each.
///
/// Reading from a large store is mostly waiting for memory. So several documents are looked up
/// together, and their records are prefetched together: the caller waits for memory once and not
/// for each.
struct PrefetchBatch {
  private(set) var ids: [SharedBytes] = []
  /// The places of the documents, of all or of none.
  private var places: [DocumentLocation] = []
  /// The place of the document, if only one was looked up.
  private var onlyPlace = DocumentLocation.unknown

  /// The number of documents that are read together.
  static let size = 16
}

extension PrefetchBatch {
  var count: Int { ids.count }

  /// Adds a document that is still to be looked up.
  mutating func append(_ id: SharedBytes) { ids.append(id) }

  /// Adds a document whose place is known; then the places of all others must be known, too.
  mutating func append(_ id: SharedBytes, _ place: DocumentLocation) {
    ids.append(id)
    places.append(place)
  }

  /// Returns the place of a document, once it was looked up.
  func place(_ index: Int) -> DocumentLocation { places.isEmpty ? onlyPlace : places[index] }

  /// Returns and removes the ID of a document, which is read only once; so no reference is counted.
  @inline(__always)
  mutating func takeID(_ index: Int) -> SharedBytes {
    var id = SharedBytes.empty
    swap(&ids[index], &id)
    return id
  }

  mutating func removeAll() {
    ids.removeAll(keepingCapacity: true)
    places.removeAll(keepingCapacity: true)
  }

  /// Looks up the places of all documents, unless they are known.
  ///
  /// The place of a document that is not in the index is ``DocumentLocation/unknown``.
  mutating func lookUp(in view: ReadView) throws(DatabaseError) {
    guard places.isEmpty, count > 0 else { return }
    if count == 1 {
      // Most reads of one document come from an index, and need no array for it.
      onlyPlace = try view.place(of: ids[0])
    } else {
      places = try view.places(of: ids)
    }
  }

  /// Prefetches the records of all documents.
  func prefetchRecords(in view: ReadView) {
    if places.count > 1 { view.state.segments.prefetch(places) }
  }
}
