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

extension ReadView {
  /// Throws unless the current state of a document is known.
  @inline(__always)
  private func requireKnown(
    _ place: DocumentLocation, _ id: SharedBytes
  ) throws(DatabaseError) {
    try requireKnown(
      place == .unknown ? nil : place.locator, isLive: !place.isDeleted, id.text)
  }

  /// Returns the place of a document; ``DocumentLocation/unknown`` if it is not in the index.
  fileprivate func place(of id: SharedBytes) throws(DatabaseError) -> DocumentLocation {
    guard past == nil else { return try entry(id)?.place ?? .unknown }
    var place = DocumentLocation.unknown
    var problem: ByteError?
    try repairing { (version) throws(PageError) in
      _ = try id.withSpan { (key) throws(PageError) in
        try version.state.documents.withValue(of: key) { value in
          do throws(ByteError) {
            place = try DocumentLocation.decode(value)
          } catch {
            problem = error
          }
        }
      }
    }
    if let problem { throw noEntry(problem) }
    try requireKnown(place, id)
    return place
  }

  /// Returns the place of each of some documents.
  fileprivate func places(of ids: [SharedBytes]) throws(DatabaseError) -> [DocumentLocation] {
    var places: [DocumentLocation] = []
    places.reserveCapacity(ids.count)
    var problem: ByteError?
    try repairing { (version) throws(PageError) in
      // After a page was repaired, this runs again.
      places.removeAll(keepingCapacity: true)
      try version.state.documents.forEachValue(of: ids) { value in
        guard let value else { return places.append(.unknown) }
        do throws(ByteError) {
          places.append(try DocumentLocation.decode(value))
        } catch {
          problem = error
        }
      }
    }
    if let problem { throw noEntry(problem) }
    if hasGap { for (place, id) in zip(places, ids) { try requireKnown(place, id) } }
    guard past != nil else { return places }
    for (index, id) in ids.enumerated() { places[index] = try entry(id)?.place ?? .unknown }
    return places
  }
}
