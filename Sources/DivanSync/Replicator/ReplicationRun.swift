import Divan
import Synchronization

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
  private let gate: PauseGate
  private let task: Task<Void, any Error>

  init(_ replicator: Replicator, isContinuous: Bool) {
    let (board, gate) = (StatusBoard(), PauseGate())
    self.board = board
    self.gate = gate
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
          for direction in directions { group.addTask { try await direction.run(gate) } }
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
  }

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

/// A gate at which the tasks of a replication wait while it is paused.
final class PauseGate: Sendable {
  private struct State {
    var isOpen = true
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var waiterCount = 0
  }

  private let state = Mutex(State())

  func close() { state.withLock { $0.isOpen = false } }

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for each in waiting { each.resume() }
  }

  /// Returns when the gate is open, or throws when the task is cancelled.
  func wait() async throws {
    let number = state.withLock { state in
      state.waiterCount += 1
      return state.waiterCount
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let passes = state.withLock { state in
          // The handler below does not find a continuation that is not there yet.
          if state.isOpen || Task.isCancelled { return true }
          state.waiting[number] = continuation
          return false
        }
        if passes { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }
    try Task.checkCancellation()
  }
}
