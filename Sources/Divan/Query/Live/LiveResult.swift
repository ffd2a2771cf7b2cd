import DivanLog

/// The result of a query in one version of the database, and the changes since the previous one.
///
/// ```swift
/// for try await films in database.liveResults(of: query) {
///   for index in films.changes.insertions { print("inserted:", films[index].title) }
///   if films.count == 2 { break }
/// }
/// ```
///
/// It is a collection of the rows, in the order of the query. A copy costs nothing. Access to an
/// element is a search among the parts that results share with each other.
public struct LiveResult<Row: Sendable>: Sendable {
  private let rows: RankedList<LiveRow>
  private let window: Range<Int>
  private let show: @Sendable (LiveRow) -> Row
  /// The difference from the previous result, by the indexes of both: see ``ListDifference``.
  ///
  /// An element is among the updates if its document has another winning revision. Elements that
  /// have not changed themselves are never reported as moved, except in the order of relevance. In
  /// the first result all elements are insertions.
  public let changes: ListDifference
  /// Whether there was no previous result.
  public let isFirst: Bool
  /// The sequence number of the last change in this result.
  public let sequence: UInt64

  init(_ step: LiveStep, _ show: @escaping @Sendable (LiveRow) -> Row) {
    rows = step.rows
    window = step.window
    changes = step.difference
    isFirst = step.isFirst
    sequence = step.sequence
    self.show = show
  }
}

extension LiveResult: RandomAccessCollection {
  /// The index of the first element: 0.
  public var startIndex: Int { 0 }
  /// The number of elements.
  public var endIndex: Int { window.count }

  /// The element at an index.
  public subscript(index: Int) -> Row { show(row(at: index)) }

  /// Returns the ID of the document that an element was made from.
  public func documentID(at index: Int) -> String { row(at: index).id }

  private func row(at index: Int) -> LiveRow {
    require(indices.contains(index), "An index outside the result")
    return rows[window.lowerBound + index]
  }
}

extension LiveResult: CustomStringConvertible {
  /// The number of elements, and how many were inserted, deleted, moved and updated.
  public var description: String {
    "\(count) elements at \(sequence): \(changes.insertions.count) inserted, "
      + "\(changes.deletions.count) deleted, \(changes.moves.count) moved, "
      + "\(changes.updates.count) updated"
  }
}
