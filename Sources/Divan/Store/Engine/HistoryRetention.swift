/// How much superseded data a database keeps, so that past versions can be read.
///
/// ```swift
/// configuration.history = HistoryRetention(revisions: 10, age: .seconds(30 * 86_400))
/// let database = try Database(at: path, configuration: configuration)
/// ```
///
/// Without history, compacting a segment frees the space of its superseded revisions.
/// All limits that are set apply at once. They are applied when the database cleans up, which it
/// does by itself from time to time, and in ``Database/compact()-npg5``: until then more is kept.
/// Revisions that leaves of a document's tree or named snapshots need stay with any limits.
///
/// While history is kept, each commit takes some thirty bytes more in the log, and each superseded
/// revision about forty bytes of the index.
public struct HistoryRetention: Sendable, Equatable {
  /// The number of superseded revisions of each document that are retained; no limit if nil.
  ///
  /// ``Database/snapshot(at:)-(UInt64)`` reaches back only to the point where the document that
  /// changes most often has lost a revision.
  public var revisions: Int?
  /// The time for which a revision is retained after it was superseded; no limit if nil.
  public var age: Duration?
  /// The size limit in bytes of all superseded revisions that only history needs; none if nil.
  ///
  /// It includes the attachments that only those revisions have. The revisions that were superseded
  /// first go first, in steps of a thousandth of the store's changes.
  public var bytes: Int?
  /// Whether any history is kept.
  let isOn: Bool

  private init(isOn: Bool) { self.isOn = isOn }

  /// Keeps everything within the given limits.
  public init(revisions: Int? = nil, age: Duration? = nil, bytes: Int? = nil) {
    isOn = true
    self.revisions = revisions
    self.age = age
    self.bytes = bytes
  }

  /// Keeps only the revisions that leaves and named snapshots need.
  public static let disabled = HistoryRetention(isOn: false)
  /// Keeps everything that is committed from now on.
  public static let unlimited = HistoryRetention()
}

extension HistoryRetention {
  /// The greatest age in milliseconds.
  var ageLimit: UInt64? {
    age.map { age in
      let (seconds, attoseconds) = age.components
      guard seconds >= 0, attoseconds >= 0 else { return 0 }
      let (whole, isTooLong) = UInt64(seconds).multipliedReportingOverflow(by: 1000)
      let (sum, isSumTooLong) = whole.addingReportingOverflow(
        UInt64(attoseconds / 1_000_000_000_000_000))
      return isTooLong || isSumTooLong ? .max : sum
    }
  }
}
