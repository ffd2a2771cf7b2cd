import DivanLog

/// Of what the index knows of a document, that which it takes to read it.
///
/// Plain numbers: so many of them are copied without counting a reference.
struct DocumentPlace: BitwiseCopyable, Sendable {
  /// Where the document's newest record stands.
  var locator: RecordLocator
  /// The sequence number of that record.
  var sequence: UInt64
  /// The sequence number of the winning revision's record, if the newest one is another's.
  var winningSequence: UInt64?
  /// Whether the winning revision says that the document is deleted.
  var isDeleted: Bool
}

extension DocumentPlace {
  /// Stands for a document that the index does not know: it is as good as deleted.
  static let unknown = DocumentPlace(
    locator: RecordLocator(fileID: 0, offset: 0, size: 0), sequence: 0, isDeleted: true)
}

extension DocumentEntry {
  /// What it takes to read the document.
  var place: DocumentPlace {
    DocumentPlace(
      locator: locator, sequence: sequence, winningSequence: winningSequence, isDeleted: isDeleted)
  }
}

/// Some documents that are looked at one after the other, and where each is.
///
/// Reading from a large store is mostly waiting for memory. So several documents are looked up together, and their records
/// are brought in together: the memory is waited for once and not for each.
struct DocumentBatch {
  private(set) var ids: [SharedBytes] = []
  /// Where the documents are, of all or of none.
  private(set) var places: [DocumentPlace] = []

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

  /// The only document, if it is still to be looked up.
  var onlyUnknown: SharedBytes? { ids.count == 1 && places.isEmpty ? ids[0] : nil }

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
    places = try view.places(of: ids)
  }

  /// Brings in the records of all of them.
  func touchRecords(in view: StoreView) {
    if places.count > 1 { view.state.segments.touch(places) }
  }
}

extension StoreView {
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
          places.append(try DocumentEntry.decode(value).place)
        } catch {
          problem = error
        }
      }
    }
    if let problem { throw noEntry(problem) }
    guard past != nil else { return places }
    for (index, id) in ids.enumerated() { places[index] = try entry(id)?.place ?? .unknown }
    return places
  }
}

/// Where documents are that are not deleted, one after the other, for whoever reads them.
///
/// `while try cursor.advance() { … cursor.id … cursor.place … }`
///
/// It looks ahead: see ``DocumentBatch``.
struct DocumentPlaceCursor {
  private let view: StoreView
  private var scan: LayeredScan
  private var batch = DocumentBatch()
  /// The index of the present one in ``batch``.
  private var index = 0
  /// What is to be thrown once those of the batch were given.
  private var failure: DatabaseError?
  /// The present document's ID.
  private(set) var id = SharedBytes.empty
  /// Where it is.
  private(set) var place = DocumentPlace.unknown

  init(_ view: StoreView, _ range: IDRange, descending: Bool) {
    self.view = view
    scan = view.state.documents.scan(from: range.lower, to: range.upper, descending: descending)
  }

  /// Moves to the next document; returns false at the end.
  mutating func advance() throws(DatabaseError) -> Bool {
    // What was looked at ahead is not given any more, either.
    guard !view.store.isClosed else { throw Store.closedError }
    index += 1
    if index >= batch.count {
      if let failure {
        self.failure = nil
        throw failure
      }
      try lookAhead()
      if batch.count == 0 { return false }
    }
    place = batch.places[index]
    id = batch.takeID(index)
    return true
  }

  private mutating func lookAhead() throws(DatabaseError) {
    batch.removeAll()
    index = 0
    do throws(DatabaseError) {
      while batch.count < DocumentBatch.size, let item = try view.step(&scan) {
        let newest = try view.decodeEntry(item).place
        // Of the newest version it is the place, which is then not copied once more.
        let place =
          try view.past == nil
          ? newest : view.entry(before: view.decodeEntry(item), item.key)?.place
        guard let place, !place.isDeleted else { continue }
        batch.append(item.key, place)
      }
    } catch {
      guard batch.count > 0 else { throw error }
      failure = error
    }
    batch.touchRecords(in: view)
  }
}
