import DivanLog
import Synchronization

/// The contents of a store and the space that they take.
///
/// ```swift
/// let statistics = try database.statistics
/// print(statistics.documentCount, statistics.directorySize)
/// if statistics.deadSize > statistics.liveSize { try database.compact() }
/// ```
public struct Statistics: Sendable {
  /// A segment of the log.
  ///
  /// ```swift
  /// for segment in try database.statistics.segments where segment.deadSize > 0 {
  ///   print(segment.name, "has", segment.deadSize, "dead bytes of", segment.size)
  /// }
  /// ```
  public struct Segment: Sendable {
    /// The file's name.
    public let name: String
    /// The file's size in bytes.
    public let size: Int
    /// Bytes of records that are current.
    public let liveSize: Int
    /// Bytes of records that were superseded; compacting the segment reclaims them.
    public let deadSize: Int
    /// Whether commits are appended to it now.
    public let isActive: Bool
  }

  /// The number of documents that are not deleted.
  public let documentCount: Int
  /// The sequence number of the last change.
  public let sequence: UInt64
  /// The number of the last commit.
  public let commit: UInt64
  /// The files of the log, oldest first.
  public let segments: [Segment]
  /// Bytes of all checkpoints.
  public let checkpointSize: Int
  /// Bytes of the store's directory, including attachment files.
  public let directorySize: Int
  /// The number of distinct attachment contents, however many documents refer to each.
  public let attachmentCount: Int
  /// The number of files that each contain one large attachment.
  ///
  /// Some may belong to attachments that were removed recently.
  public let attachmentFileCount: Int
  /// Bytes of those files.
  public let attachmentFileSize: Int
  /// Bytes of the log that attachments take: small contents, and the checksums of large ones.
  public let attachmentLogSize: Int
  /// Bytes of the log that retained records take in addition to the newest one of each document.
  ///
  /// They are retained for ``Configuration/history``, for named snapshots, or because a conflict is
  /// not resolved. They count as ``liveSize``. ``Database/namedSnapshots()`` reports what each
  /// snapshot needs.
  public let pinnedSize: Int
  /// The number of index entries in memory that are in no checkpoint yet.
  public let pendingIndexEntries: Int
  /// The error of the last maintenance pass in the background; nil if it succeeded.
  public let maintenanceProblem: DatabaseError?

  /// Bytes of records that are current.
  public var liveSize: Int { segments.reduce(0) { $0 + $1.liveSize } }
  /// Bytes of records that were superseded.
  public var deadSize: Int { segments.reduce(0) { $0 + $1.deadSize } }
}

extension Statistics: CustomStringConvertible {
  /// The numbers of documents, attachments and segments, and the sizes, in one line.
  public var description: String {
    "\(documentCount) documents, \(attachmentCount) attachments, \(segments.count) segments: "
      + "\(liveSize) bytes live, \(deadSize) dead, \(directorySize) in the directory"
      + (maintenanceProblem.map { "; maintenance failed: \($0)" } ?? "")
  }
}
