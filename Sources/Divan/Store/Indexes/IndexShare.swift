import DivanLog

/// Part of the order of changes: the documents behind one sequence number, through another one.
struct IndexShare: Sendable {
  /// Behind which sequence number it begins.
  let start: UInt64
  /// The last sequence number.
  let end: UInt64

  /// About how many documents are in one that others read the like of at the same time.
  ///
  /// So few that readers end at about the same time, and stop soon where they must.
  static let documentCount = 256
}

extension IndexShare {
  /// A walk over its part of the order of changes in a version.
  func scan(_ view: StoreView) -> LayeredScan {
    view.state.sequences.scan(
      from: .exclusive(start.bigEndianBytes), to: .inclusive(end.bigEndianBytes))
  }

  /// The sequence number that an entry of the order of changes has as its key; nil if that is none.
  static func sequence(_ item: IndexEntry) -> UInt64? {
    item.withKey { $0.count == 8 ? $0.word(at: 0).byteSwapped : nil }
  }
}

/// The order of changes, given out in shares to those who read it at the same time.
///
/// How far sequence numbers are apart says nothing: where documents are changed often, few numbers are left. So shares are
/// counted out, by a walk over the order.
struct IndexShares {
  /// What was not given out.
  private var rest: IndexShare
  /// About how many documents a share has; nil if all is one, for one who reads.
  private let documentCount: Int?
  private var view: StoreView
  private var scan: LayeredScan?

  /// Begins with all documents of a version.
  init(_ view: StoreView, documentCount: Int?) {
    rest = IndexShare(start: 0, end: view.state.lastSequence)
    self.documentCount = documentCount
    self.view = view
  }
}

extension IndexShares {
  /// Whether all was given out.
  var isAtEnd: Bool { rest.start >= rest.end }

  /// Goes on in a later version.
  mutating func move(to view: StoreView) {
    self.view = view
    scan = nil
  }

  /// Gives out the next share; nil if there is none.
  mutating func next() throws(DatabaseError) -> IndexShare? {
    guard !isAtEnd else { return nil }
    let share = IndexShare(start: rest.start, end: try endOfShare())
    rest = IndexShare(start: share.end, end: rest.end)
    return share
  }

  /// Counts the documents of the next share, leaf by leaf; returns the sequence number of the last one.
  private mutating func endOfShare() throws(DatabaseError) -> UInt64 {
    guard let documentCount else { return rest.end }
    var scan = self.scan.take() ?? rest.scan(view)
    var count = 0
    var end: UInt64?
    while count < documentCount {
      guard let passed = try view.pass(&scan) else { return rest.end }
      count += passed.count
      end = IndexShare.sequence(passed.last) ?? end
    }
    self.scan = scan
    return end ?? rest.end
  }
}

extension StoreView {
  /// Passes the next entries of a scan.
  fileprivate func pass(
    _ scan: inout LayeredScan
  ) throws(DatabaseError) -> (count: Int, last: IndexEntry)? {
    guard !store.isClosed else { throw Store.closedError }
    while true {
      do throws(PageError) {
        return try scan.pass()
      } catch {
        try store.repairIndex(error, in: state)
      }
    }
  }
}
