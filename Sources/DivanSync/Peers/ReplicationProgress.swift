import Synchronization

/// How much of the attachments was copied, while a peer stores revisions.
///
/// A peer of your own reports it in ``ReplicationPeer/insert(_:from:)``, so that
/// ``ReplicationStatus/Side/batchAttachmentBytesDone`` grows before the call returns:
///
/// ```swift
/// for try await piece in try await open() {
///   try await upload(piece)
///   ReplicationProgress.report(piece.count)
/// }
/// ```
///
/// Outside of a replication, reports have no effect.
public enum ReplicationProgress {
  /// Receives reports in the tasks of an insertion.
  static let receiver = TaskLocal<(@Sendable (Int) -> Void)?>(wrappedValue: nil)

  /// Reports a number of bytes, in addition to those that were reported before.
  ///
  /// - Parameter count: The number; a negative one takes back what has to be copied again.
  public static func report(_ count: Int) { receiver.get()?(count) }
}

/// The progress of one transfer, which may begin again.
final class TransferProgress: Sendable {
  private let receiver = ReplicationProgress.receiver.get()
  private let reported = Mutex(0)

  /// Reports the number of bytes that were copied since the transfer began.
  func report(total: Int) {
    let count = reported.withLock { reported in
      defer { reported = total }
      return total - reported
    }
    if count != 0 { receiver?(count) }
  }
}
