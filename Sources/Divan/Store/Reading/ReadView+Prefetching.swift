import DivanLog

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
  func place(of id: SharedBytes) throws(DatabaseError) -> DocumentLocation {
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
  func places(of ids: [SharedBytes]) throws(DatabaseError) -> [DocumentLocation] {
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
