import DivanLog

/// Describes what damage to the log leaves unknown.
///
/// This is the one rule about the claims of a damaged store; ``ReadView/requireWhole()`` and
/// ``ReadView/requireKnown(_:isLive:_:)`` enforce it. A lost part may have changed any document.
/// So a document is known exactly only in two cases. Its newest record is after all damage; or it
/// is not deleted, and everything missing after its record are new documents. The store makes no
/// claim about anything else, nor about documents that are not found.
struct LogGap: Sendable {
  /// A place in the log.
  struct Place: Sendable, Comparable {
    /// The number of the segment; of a merged one the first number.
    var segment: UInt64
    var offset: UInt64

    /// Before everything.
    static let start = Place(segment: 0, offset: 0)

    static func < (a: Self, b: Self) -> Bool {
      (a.segment, a.offset) < (b.segment, b.offset)
    }
  }

  /// The place from which the log is whole to its end; nil if its end is missing, or damaged.
  var end: Place?
  /// The place from which everything missing are new or previously deleted documents; nil if none.
  var doubtEnd: Place?
  /// The damage to report.
  var damage: DatabaseError

  /// Returns the error for a result that cannot be known.
  func error(about documentID: String? = nil) -> DatabaseError {
    var error = DatabaseError(
      .damaged,
      documentID == nil
        ? "the log is damaged, so this cannot be known: \(damage.message)"
        : "the log is damaged, and what is missing may concern the document: \(damage.message)",
      hint:
        "Open the store with `Configuration.damage` as `.readWhatIsThere` to read what is left, "
        + "rescue it with `logdump salvage`, or restore a backup",
      path: damage.path, offset: damage.offset)
    error.documentID = documentID
    return error
  }
}
