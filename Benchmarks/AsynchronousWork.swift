import Dispatch
import Foundation
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

/// The peak of anonymous memory while a thread looks at it, every few milliseconds.
final class MemoryWatch: Sendable {
  private let greatest = Mutex(GreatestMemory())
  private let isDone = Atomic(false)

  init() {
    let thread = Thread { [self] in
      while !isDone.load(ordering: .relaxed) {
        greatest.withLock { $0.look(oneTimeIn: 1) }
        Thread.sleep(forTimeInterval: 0.004)
      }
    }
    thread.start()
  }

  /// Ends the watch, and returns the growth since it began in bytes.
  func growth() throws -> Double {
    isDone.store(true, ordering: .relaxed)
    return try greatest.withLock { try $0.growth() }
  }
}

extension Duration {
  var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
