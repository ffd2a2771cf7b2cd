import Divan

/// A replication that runs.
///
/// ```swift
/// let run = replicator.start()
/// run.pause()
/// run.resume()
/// await run.cancel()
/// ```
public final class ReplicationRun: Sendable {
  private let board: StatusBoard
  private let gate: Gate
  /// Ends the wait for the next attempt.
  private let alarm: Alarm
  private let task: Task<Void, any Error>

  init(_ replicator: Replicator, isContinuous: Bool) {
    let (board, gate, alarm) = (StatusBoard(), Gate(isOpen: true), Alarm())
    self.board = board
    self.gate = gate
    self.alarm = alarm
    task = Task.detached {
      let result: Result<Void, any Error>
      do {
        // Both are active at once, so that one is not up to date before the other begins.
        board.update { status in
          if replicator.direction != .push { status.pull.phase = .active }
          if replicator.direction != .pull { status.push.phase = .active }
        }
        let directions = try await replicator.directed(board, isContinuous: isContinuous)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for direction in directions {
            group.addTask { try await direction.run(gate, alarm) }
          }
          // The first error leaves the group, which cancels the others.
          for try await _ in group {}
        }
        result = .success(())
      } catch let error as DatabaseError where error.code == .cancelled {
        result = .failure(CancellationError())
      } catch {
        result = .failure(error)
      }
      board.update {
        $0.pull.phase = .inactive
        $0.push.phase = .inactive
      }
      board.end(result)
      try result.get()
    }
  }

  deinit { task.cancel() }

  /// The status at present.
  public var status: ReplicationStatus { board.status }

  /// The status at present, and each later one.
  ///
  /// A slow reader misses statuses in between, and never the latest. The sequence ends when the
  /// replication ends, and throws the error that ended it.
  public var statuses: AsyncThrowingStream<ReplicationStatus, any Error> { board.makeStream() }

  /// Stops copying after the batch that is being written, until you call ``resume()``.
  public func pause() {
    gate.close()
    board.update { $0.isPaused = true }
  }

  /// Continues after ``pause()``.
  public func resume() {
    board.update { $0.isPaused = false }
    gate.open()
    retryNow()
  }

  /// Tries again at once if the replication is ``ReplicationStatus/Phase/offline(until:)``.
  ///
  /// Call it when the system reports that the network is back, or when a user asks for it. If the
  /// peer still cannot be reached, the wait after it is as long as it would be without the call.
  public func retryNow() { alarm.ring() }

  /// Ends the replication, and returns when it does nothing any more.
  ///
  /// What was copied stays. Another replication continues from there.
  public func cancel() async {
    task.cancel()
    _ = await task.result
  }

  /// Waits for the end of the replication.
  func finish() async throws -> ReplicationStatus {
    try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
    return status
  }
}
