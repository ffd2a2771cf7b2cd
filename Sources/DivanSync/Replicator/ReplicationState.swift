public import Observation

/// The state of a replication for a user interface, which is updated when the state changes.
///
/// ```swift
/// struct SyncLabel: View {
///   let sync: ReplicationState        // made once: ReplicationState(replicator.start())
///
///   var body: some View {
///     Text(sync.status.isUpToDate ? "Up to date" : "\(sync.status.pull.pendingCount ?? 0) to go")
///     Button(sync.status.isPaused ? "Resume" : "Pause") {
///       if sync.status.isPaused { sync.run.resume() } else { sync.run.pause() }
///     }
///   }
/// }
/// ```
///
/// It belongs to the main actor. Statuses that follow each other faster than the main actor reads
/// them are skipped, except for the latest. Releasing the state releases the run, and with it ends
/// the replication, unless you retain the run yourself.
@MainActor
public final class ReplicationState: Observable {
  /// The replication.
  public let run: ReplicationRun
  private let observers = ObservationRegistrar()
  private var latest: ReplicationStatus
  private var end: (any Error)?
  private var isOver = false
  private var following: Task<Void, Never>?

  /// Creates the state of a replication, and follows it.
  public init(_ run: ReplicationRun) {
    self.run = run
    latest = run.status
    let statuses = run.statuses
    following = Task { [weak self] in
      do {
        for try await status in statuses {
          guard let self else { return }
          observers.withMutation(of: self, keyPath: \.status) { latest = status }
        }
        self?.finish(nil)
      } catch is CancellationError {
        self?.finish(nil)
      } catch {
        self?.finish(error)
      }
    }
  }

  deinit { following?.cancel() }

  private func finish(_ error: (any Error)?) {
    observers.withMutation(of: self, keyPath: \.error) { end = error }
    observers.withMutation(of: self, keyPath: \.hasEnded) { isOver = true }
  }
}

extension ReplicationState {
  /// What the replication does, and what it has done.
  public var status: ReplicationStatus {
    observers.access(self, keyPath: \.status)
    return latest
  }

  /// The error that ended the replication; nil while it runs, and after you cancelled it.
  public var error: (any Error)? {
    observers.access(self, keyPath: \.error)
    return end
  }

  /// Whether the replication has ended.
  public var hasEnded: Bool {
    observers.access(self, keyPath: \.hasEnded)
    return isOver
  }
}
