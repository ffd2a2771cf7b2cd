import DivanLog

extension ReadView {
  /// Throws unless the current state of a document is known.
  @inline(__always)
  private func requireKnown(
    _ location: DocumentLocation, _ id: SharedBytes
  ) throws(DatabaseError) {
    try requireKnown(
      location == .unknown ? nil : location.locator, isLive: !location.isDeleted, id.text)
  }

  /// Returns the location of a document; ``DocumentLocation/unknown`` if it is not in the index.
  func location(of id: SharedBytes) throws(DatabaseError) -> DocumentLocation {
    guard past == nil else { return try entry(id)?.location ?? .unknown }
    return try id.withSpan { (id) throws(DatabaseError) in try findEntry(id) } ?? .unknown
  }

  /// Returns the location of each of some documents.
  func locations(of ids: [SharedBytes]) throws(DatabaseError) -> [DocumentLocation] {
    var locations: [DocumentLocation] = []
    locations.reserveCapacity(ids.count)
    var problem: ByteError?
    try repairing { (version) throws(PageError) in
      // After a page was repaired, this runs again.
      locations.removeAll(keepingCapacity: true)
      try version.state.documents.forEachValue(of: ids) { value in
        guard let value else { return locations.append(.unknown) }
        do throws(ByteError) {
          locations.append(try DocumentLocation.decode(value))
        } catch {
          problem = error
        }
      }
    }
    if let problem { throw noEntry(problem) }
    if hasGap { for (location, id) in zip(locations, ids) { try requireKnown(location, id) } }
    guard past != nil else { return locations }
    for (index, id) in ids.enumerated() { locations[index] = try entry(id)?.location ?? .unknown }
    return locations
  }
}
