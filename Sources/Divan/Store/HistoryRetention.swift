/// How much of what was replaced a database keeps, so that past versions can be read.
///
/// Without any, a revision that was replaced is given back when its segment is merged. All limits that
/// are set hold at once. They are applied when the database cleans up, which it does by itself now and
/// then, and in ``Database/compact()``: until then more is there. Revisions that leaves of a document's tree
/// or named snapshots need stay, whatever the limits.
///
/// While history is kept, each commit takes some thirty bytes more in the log, and each superseded
/// revision about forty bytes of the index.
public struct HistoryRetention: Sendable, Equatable {
  /// How many superseded revisions of each document are held; any number if nil.
  ///
  /// ``Database/snapshot(at:)-(UInt64)`` reaches back no further than to where the document that changes
  /// most often has lost a revision.
  public var revisions: Int?
  /// For how long a revision is held after it was superseded; for ever if nil.
  public var age: Duration?
  /// How many bytes all superseded revisions may take that only history needs, with the attachments that
  /// only they have; any number if nil.
  ///
  /// What was superseded first goes first, in steps of a thousandth of the store's changes.
  public var bytes: Int?
  /// Whether anything is kept at all.
  let isOn: Bool

  private init(isOn: Bool) { self.isOn = isOn }

  /// Keeps everything within the limits that are given.
  public init(revisions: Int? = nil, age: Duration? = nil, bytes: Int? = nil) {
    isOn = true
    self.revisions = revisions
    self.age = age
    self.bytes = bytes
  }

  /// Keeps nothing but what leaves and named snapshots need.
  public static let none = HistoryRetention(isOn: false)
  /// Keeps everything that was ever committed from now on.
  public static let everything = HistoryRetention()
}

extension HistoryRetention {
  /// The greatest age in milliseconds.
  var ageLimit: UInt64? {
    age.map { age in
      let (seconds, attoseconds) = age.components
      guard seconds >= 0, attoseconds >= 0 else { return 0 }
      let whole = UInt64(seconds).multipliedReportingOverflow(by: 1000)
      return whole.overflow
        ? .max : whole.partialValue + UInt64(attoseconds / 1_000_000_000_000_000)
    }
  }
}
