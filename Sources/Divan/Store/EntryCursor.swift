import DivanLog

/// Index entries of documents, of deleted ones only if that is asked for, one after the other.
///
/// Whoever reads the documents, too, has it look ahead: the records of the next few are brought in together, so that the
/// memory is waited for once and not for each.
struct EntryCursor {
  typealias Item = (id: SharedBytes, entry: DocumentEntry)

  private let view: StoreView
  private let includesDeleted: Bool
  private let looksAhead: Bool
  private var scan: LayeredScan
  /// What was looked at ahead; nil for what was given already.
  private var upcoming: [Item?] = []
  /// The index of the next one in ``upcoming``.
  private var position = 0
  /// Where the records of these stand.
  private var locators: [RecordLocator] = []
  /// What is to be thrown once these are given.
  private var failure: DatabaseError?
  /// How many entries are looked at ahead.
  private static let batchSize = 8

  init(
    _ view: StoreView, _ range: IDRange, descending: Bool, includesDeleted: Bool = false,
    looksAhead: Bool = false
  ) {
    self.view = view
    self.includesDeleted = includesDeleted
    self.looksAhead = looksAhead
    scan = view.state.documents.scan(from: range.lower, to: range.upper, descending: descending)
  }

  mutating func next() throws(DatabaseError) -> Item? {
    guard looksAhead else { return try nextOfScan() }
    // What was looked at ahead is not given any more, either.
    guard !view.store.isClosed else { throw Store.closedError }
    if position == upcoming.count {
      if let failure {
        self.failure = nil
        throw failure
      }
      try lookAhead()
      if upcoming.isEmpty { return nil }
    }
    defer { position += 1 }
    return upcoming[position].take()
  }

  private mutating func lookAhead() throws(DatabaseError) {
    upcoming.removeAll(keepingCapacity: true)
    locators.removeAll(keepingCapacity: true)
    position = 0
    do throws(DatabaseError) {
      while upcoming.count < EntryCursor.batchSize, let next = try nextOfScan() {
        locators.append(next.entry.locator)
        upcoming.append(next)
      }
    } catch {
      guard !upcoming.isEmpty else { throw error }
      failure = error
    }
    view.state.segments.touch(locators)
  }

  private mutating func nextOfScan() throws(DatabaseError) -> Item? {
    while true {
      guard let item = try view.step(&scan) else { return nil }
      let newest = try view.decodeEntry(item)
      // Of the newest version it is the entry, which is then not copied once more.
      guard let entry = try view.past == nil ? newest : view.entry(before: newest, item.key),
        includesDeleted || !entry.isDeleted
      else { continue }
      return (item.key, entry)
    }
  }
}
