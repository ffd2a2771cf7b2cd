import DivanLog

/// A cursor over the documents in the ranges of an index; a document may occur several times.
///
/// Use `while let id = try cursor.next() { … }`, or `while try cursor.advance() { … }` to read
/// values first.
struct IndexScan: ~Copyable {
  private let execution: QueryExecution
  private let access: IndexAccess
  private let descending: Bool
  /// The number of the next range.
  private var nextRange = 1
  private var entries: IndexEntryCursor

  init(
    _ execution: QueryExecution, _ access: IndexAccess, descending: Bool = false
  ) throws(DatabaseError) {
    self.execution = execution
    self.access = access
    self.descending = descending
    entries = try execution.entries(of: access, 0, descending: descending)
  }

  /// Moves to the next document; returns false at the end.
  @inline(__always)
  mutating func advance() throws(DatabaseError) -> Bool {
    while try !entries.advance() {
      guard nextRange < access.ranges.count else { return false }
      entries = try execution.entries(of: access, nextRange, descending: descending)
      nextRange += 1
    }
    try execution.stopIfCancelled()
    execution.tally.entriesRead += 1
    return true
  }

  /// Returns the next document's ID; nil at the end.
  mutating func next() throws(DatabaseError) -> SharedBytes? { try advance() ? takeID() : nil }

  /// Takes the current document's ID, as the last use of the entry.
  @inline(__always)
  mutating func takeID() -> SharedBytes { entries.takeID() }

  /// The values of the current entry: see ``IndexEntryCursor/value``.
  var value: SharedBytes { entries.value }

  /// Calls `body` with the borrowed values of the current entry.
  @inline(__always)
  mutating func withValue<R>(_ body: (Span<UInt8>) -> R) -> R { entries.withValue(body) }
}
