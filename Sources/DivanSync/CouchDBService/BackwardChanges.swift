import Divan

/// The changes of a store from the last to the first.
///
/// A store reads them forward only. So this looks into ranges of sequence numbers, each before the
/// one that was read last, and as long as a batch needs. It keeps sequence numbers and no
/// documents.
struct BackwardChanges: Sendable {
  /// The last sequence number that was not looked at.
  private var end: UInt64
  private var rangeLength: UInt64 = 256
  /// The sequence numbers of the changes that were found and not returned, the next one last.
  private var found: [UInt64] = []
  /// The errors of changes that were left out since this was emptied last.
  var unreadable: [DatabaseError] = []

  private static let countLimit = 1024

  init(through end: UInt64) { self.end = end }

  /// Returns the next change before the ones that were returned; nil at the end.
  ///
  /// A document that was changed again meanwhile is left out.
  ///
  /// - Throws: An error that further calls would throw again: not that of one change.
  mutating func next(in snapshot: Snapshot) throws -> Change? {
    while true {
      guard let sequence = found.popLast() else {
        guard end > 0 else { return nil }
        try find(in: snapshot)
        continue
      }
      var cursor = snapshot.changes(since: sequence - 1)
      do {
        if let change = try cursor.next(), change.sequence == sequence { return change }
      } catch let error as DatabaseError
        where error.code == .damaged && cursor.position >= sequence
      {
        // A later one has its place in the range that it was found in.
        if cursor.position == sequence { unreadable.append(error) }
      }
    }
  }

  /// Finds the changes of the range before the last one.
  private mutating func find(in snapshot: Snapshot) throws {
    let start = end - min(end, rangeLength)
    var sequences: [UInt64] = []
    let unreadableCount = unreadable.count
    var cursor = snapshot.changes(since: start)
    while sequences.count <= Self.countLimit {
      let previous = cursor.position
      do {
        guard let change = try cursor.next(), change.sequence <= end else { break }
        sequences.append(change.sequence)
      } catch let error as DatabaseError
        where error.code == .damaged && cursor.position > previous
      {
        // The cursor continues after a change that it cannot read.
        unreadable.append(error)
      }
    }
    guard sequences.count <= Self.countLimit else {
      // There are at most as many changes as sequence numbers.
      unreadable.removeLast(unreadable.count - unreadableCount)
      rangeLength = max(UInt64(Self.countLimit), rangeLength / 2)
      return
    }
    end = start
    if sequences.count < Self.countLimit / 4 { rangeLength = min(rangeLength * 2, .max / 4) }
    found = sequences
  }
}
