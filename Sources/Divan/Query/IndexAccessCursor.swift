import DivanLog

/// The documents that an index has in one range after the other: one may come in several.
///
/// `while let id = try cursor.next() { … }`, or `while try cursor.advance() { … }` for whoever looks at values first.
struct IndexAccessCursor: ~Copyable {
  private let run: QueryRun
  private let access: IndexAccess
  private let descending: Bool
  /// The range that comes next.
  private var nextRange = 1
  private var entries: IndexEntryCursor

  init(
    _ run: QueryRun, _ access: IndexAccess, descending: Bool = false
  ) throws(DatabaseError) {
    self.run = run
    self.access = access
    self.descending = descending
    entries = try run.entries(of: access, 0, descending: descending)
  }

  /// Moves to the next document; returns false at the end.
  @inline(__always)
  mutating func advance() throws(DatabaseError) -> Bool {
    while true {
      if try entries.advance() {
        try run.stopIfCancelled()
        run.tally.entriesRead += 1
        return true
      }
      guard try beginRange() else { return false }
    }
  }

  private mutating func beginRange() throws(DatabaseError) -> Bool {
    guard nextRange < access.ranges.count else { return false }
    entries = try run.entries(of: access, nextRange, descending: descending)
    nextRange += 1
    return true
  }

  /// The next document's ID; nil at the end.
  mutating func next() throws(DatabaseError) -> SharedBytes? { try advance() ? takeID() : nil }

  /// The present document's ID, for whoever asks nothing more of the entry.
  @inline(__always)
  mutating func takeID() -> SharedBytes { entries.takeID() }

  /// The values by which the index has it: see ``IndexEntryCursor/value``.
  var value: SharedBytes { entries.value }

  /// Lends these.
  @inline(__always)
  mutating func withValue<R>(_ body: (Span<UInt8>) -> R) -> R { entries.withValue(body) }
}

extension QueryRun {
  /// The entries of one range, or none if there is no such range.
  ///
  /// Asked of the run, which lends its version; whoever else hands it on copies it first.
  fileprivate func entries(
    of access: IndexAccess, _ range: Int, descending: Bool
  ) throws(DatabaseError) -> IndexEntryCursor {
    guard range < access.ranges.count else { return .none(in: view) }
    return try access.entries(range, in: view, descending: descending)
  }
}
