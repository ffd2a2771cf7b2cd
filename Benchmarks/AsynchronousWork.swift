import Dispatch
import Synchronization

/// Runs asynchronous work of a workload, and blocks this thread until it ends.
func waitFor(_ work: @escaping @Sendable () async throws -> Double) throws -> Double {
  let outcome = Mutex<Result<Double, any Error>?>(nil)
  let isDone = DispatchSemaphore(value: 0)
  Task.detached {
    do {
      let value = try await work()
      outcome.withLock { $0 = .success(value) }
    } catch {
      outcome.withLock { $0 = .failure(error) }
    }
    isDone.signal()
  }
  isDone.wait()
  guard let value = try outcome.withLock({ $0 })?.get() else {
    throw BenchmarkError("nothing was measured")
  }
  return value
}

extension Duration {
  var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
