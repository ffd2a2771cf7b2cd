import DivanLog

/// What a query means, as of one version of the database, and what has changed since the result before.
///
/// It is a collection of what was found, in the order of the query. A copy costs nothing, and an element a search among
/// the parts that results share with each other.
public struct LiveResult<Row: Sendable>: Sendable {
  private let rows: RankedList<LiveRow>
  private let window: Range<Int>
  private let show: @Sendable (LiveRow) -> Row
  /// What makes this result of the one before, by the indexes of both: see ``ListDifference``.
  ///
  /// An element is among the updates if its document has another winning revision; of the elements whose place among the
  /// others has changed, none moves that was not changed itself. In the first result everything has come.
  public let changes: ListDifference
  /// Whether there was none before.
  public let isFirst: Bool
  /// The sequence number of the last change that is in this result.
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
  /// 0.
  public var startIndex: Int { 0 }
  /// How many elements there are.
  public var endIndex: Int { window.count }

  /// The element of an index.
  public subscript(index: Int) -> Row { show(row(at: index)) }

  /// The ID of the document that an element was made of.
  public func documentID(at index: Int) -> String { row(at: index).id }

  private func row(at index: Int) -> LiveRow {
    require(indices.contains(index), "An index outside the result")
    return rows[window.lowerBound + index]
  }
}
