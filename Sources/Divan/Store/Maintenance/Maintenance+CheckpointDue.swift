import DivanLog
import Synchronization

extension Maintenance.State {
  /// Whether so many bytes were appended since the last checkpoint was begun that another is due.
  ///
  /// All checkpoints that are written without a request depend on it, except those that follow a
  /// compaction or an index build: passes at ``Configuration/checkpointInterval``, closing at
  /// ``Maintenance/closingInterval``.
  func isCheckpointDue(every interval: Int) -> Bool { pendingSize >= interval }
}

extension Maintenance {
  /// The bytes of log after which closing a store writes a checkpoint.
  static let closingInterval = 1 << 20

  /// Whether closing writes a checkpoint, because the next opening would be slower without one.
  var isClosingCheckpointDue: Bool {
    state.withLock { $0.isCheckpointDue(every: Maintenance.closingInterval) }
  }
}
