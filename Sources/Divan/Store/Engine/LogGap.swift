import DivanLog

/// The part of the log that damage makes unknown.
///
/// This is the one rule about the claims of a damaged store; ``ReadView/requireWhole()`` and
/// ``ReadView/requireKnown(_:isLive:_:)`` enforce it. A lost part may have changed any document.
/// So a document is known exactly only in two cases. Its newest record is after all damage; or it
/// is not deleted, and only new documents are missing after its record. The store makes no claim
/// about anything else, nor about documents that are not found.
final class LogGap: Sendable {
  /// A position in the log.
  struct Position: Sendable, Comparable {
    /// The number of the segment; of a compacted one, its first number.
    var segment: UInt64
    var offset: UInt64

    /// Before everything.
    static let start = Position(segment: 0, offset: 0)

    static func < (a: Self, b: Self) -> Bool {
      (a.segment, a.offset) < (b.segment, b.offset)
    }
  }

  /// The position from which the log is whole to its end; nil if its end is missing or damaged.
  let end: Position?
  /// The position from which only new or previously deleted documents are missing; nil if none.
  let doubtEnd: Position?
  /// The damage to report.
  let damage: DatabaseError

  init(end: Position?, doubtEnd: Position?, damage: DatabaseError) {
    self.end = end
    self.doubtEnd = doubtEnd
    self.damage = damage
  }

  /// Returns the error for a result that cannot be known.
  func error(about documentID: String? = nil) -> DatabaseError {
    var error = DatabaseError(
      .damaged,
      documentID == nil
        ? "the log is damaged, so this cannot be known: \(damage.message)"
        : "the log is damaged, and the missing part may concern the document: \(damage.message)",
      hint:
        "Open the store with `Configuration.damage` as `.salvage` to read what is left, "
        + "rescue it with `logdump salvage`, or restore a backup",
      path: damage.path, offset: damage.offset)
    error.documentID = documentID
    return error
  }
}
