import Dispatch
import Synchronization

/// Runs asynchronous work, and blocks this thread until it ends.
func waitFor<Result: Sendable>(
  _ work: @escaping @Sendable () async throws -> Result
) throws -> Result {
  let outcome = Mutex<Swift.Result<Result, any Error>?>(nil)
  let isDone = DispatchSemaphore(value: 0)
  Task.detached {
    let result: Swift.Result<Result, any Error>
    do { result = .success(try await work()) } catch { result = .failure(error) }
    outcome.withLock { $0 = result }
    isDone.signal()
  }
  isDone.wait()
  guard let result = outcome.withLock({ $0 }) else {
    throw Mismatch("asynchronous work ended without a result")
  }
  return try result.get()
}
