import Synchronization

/// The progress of one transfer of attachments, which may begin again.
final class TransferProgress: Sendable {
  private let receiver: (@Sendable (Int) -> Void)?
  private let reported = Mutex(0)

  /// Creates the progress of the transfer of attachments of one batch.
  init(of attachments: [ReplicatedAttachment]) { receiver = attachments.first?.progress }

  /// Reports the number of bytes that were copied since the transfer began.
  func report(total: Int) {
    let count = reported.withLock { reported in
      defer { reported = total }
      return total - reported
    }
    if count != 0 { receiver?(count) }
  }
}
