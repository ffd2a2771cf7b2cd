import Foundation
import Synchronization

/// The status of a replication, which its tasks change and any number of readers follow.
///
/// A reader that is slow gets the latest status, and not those in between.
final class StatusBoard: Sendable {
  private struct State {
    var status = ReplicationStatus()
    var readers: [Int: AsyncThrowingStream<ReplicationStatus, any Error>.Continuation] = [:]
    var readerCount = 0
    /// The result of the replication, once it has ended.
    var end: Result<Void, any Error>?
  }

  private let state = Mutex(State())

  var status: ReplicationStatus { state.withLock { $0.status } }

  func update(_ change: (inout ReplicationStatus) -> Void) {
    state.withLock { state in
      change(&state.status)
      for reader in state.readers.values { reader.yield(state.status) }
    }
  }

  /// Ends the sequences of all readers, also of those that come later.
  func end(_ result: Result<Void, any Error>) {
    let readers = state.withLock { state in
      state.end = result
      let readers = state.readers.values
      state.readers = [:]
      return Array(readers)
    }
    for reader in readers { reader.finish(result) }
  }

  /// Returns a sequence of the present status and those that follow.
  func makeStream() -> AsyncThrowingStream<ReplicationStatus, any Error> {
    let (stream, reader) = AsyncThrowingStream.makeStream(
      of: ReplicationStatus.self, bufferingPolicy: .bufferingNewest(1))
    let end = state.withLock { state in
      reader.yield(state.status)
      if state.end == nil {
        state.readerCount += 1
        let number = state.readerCount
        state.readers[number] = reader
        reader.onTermination = { [weak self] _ in
          self?.state.withLock { $0.readers[number] = nil }
        }
      }
      return state.end
    }
    if let end { reader.finish(end) }
    return stream
  }
}

extension AsyncThrowingStream.Continuation where Failure == any Error {
  fileprivate func finish(_ result: Result<Void, any Error>) {
    switch result {
    case .success: finish()
    case .failure(let error): finish(throwing: error)
    }
  }
}
