import DivanLog

/// Some documents that are looked at one after the other, and where each is.
///
/// Reading from a large store is mostly waiting for memory. So several documents are looked up together, and their records
/// are brought in together: the memory is waited for once and not for each.
struct DocumentBatch {
  private(set) var ids: [SharedBytes] = []
  /// Where the documents are, of all or of none.
  private var places: [DocumentPlace] = []
  /// Where the only document is that was looked up.
  private var onlyPlace = DocumentPlace.unknown

  /// How many documents are looked at together.
  static let size = 16
}

extension DocumentBatch {
  var count: Int { ids.count }

  /// Adds a document that is still to be looked up.
  mutating func append(_ id: SharedBytes) { ids.append(id) }

  /// Adds a document of which it is known where it is, as of all others.
  mutating func append(_ id: SharedBytes, _ place: DocumentPlace) {
    ids.append(id)
    places.append(place)
  }

  /// Where a document is, once it was looked up.
  func place(_ index: Int) -> DocumentPlace { places.isEmpty ? onlyPlace : places[index] }

  /// Takes out the ID of a document, which nobody else asks for; so no reference is counted.
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

  /// Looks up where all of them are, unless that is known; of what is not in the index, it is ``DocumentPlace/unknown``.
  mutating func lookUp(in view: StoreView) throws(DatabaseError) {
    guard places.isEmpty, count > 0 else { return }
    if count == 1 {
      // Most who ask for one document find it by an index, and want no list for it.
      onlyPlace = try view.place(of: ids[0])
    } else {
      places = try view.places(of: ids)
    }
  }

  /// Brings in the records of all of them.
  func touchRecords(in view: StoreView) {
    if places.count > 1 { view.state.segments.touch(places) }
  }
}

extension StoreView {
  /// Throws unless it is known what a document is.
  @inline(__always)
  private func requireKnown(
    _ place: DocumentPlace, _ id: SharedBytes
  ) throws(DatabaseError) {
    try requireKnown(
      place == .unknown ? nil : place.locator, isLive: !place.isDeleted, id.text)
  }

  /// Where a document is; ``DocumentPlace/unknown`` if it is not in the index.
  fileprivate func place(of id: SharedBytes) throws(DatabaseError) -> DocumentPlace {
    guard past == nil else { return try entry(id)?.place ?? .unknown }
    var place = DocumentPlace.unknown
    var problem: ByteError?
    try repairing { (version) throws(PageError) in
      _ = try id.withSpan { (key) throws(PageError) in
        try version.state.documents.withValue(of: key) { value in
          do throws(ByteError) {
            place = try DocumentPlace.decode(value)
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

  /// Where each of some documents is.
  fileprivate func places(of ids: [SharedBytes]) throws(DatabaseError) -> [DocumentPlace] {
    var places: [DocumentPlace] = []
    places.reserveCapacity(ids.count)
    var problem: ByteError?
    try repairing { (version) throws(PageError) in
      // Once a page was repaired, it begins anew.
      places.removeAll(keepingCapacity: true)
      try version.state.documents.forEachValue(of: ids) { value in
        guard let value else { return places.append(.unknown) }
        do throws(ByteError) {
          places.append(try DocumentPlace.decode(value))
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
