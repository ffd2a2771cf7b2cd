import Dispatch
import Foundation

/// Runs `body` on a thread of its own, and suspends the task meanwhile.
///
/// Swift runs tasks on as many threads as there are cores. A test that blocks one of them until a
/// task has done something takes that thread from the task: two such tests on two cores wait for
/// each other.
package func onOwnThread<Result: Sendable>(
  _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    let thread = Thread { continuation.resume(with: Swift.Result(catching: body)) }
    // Threads of Foundation have a smaller stack than the main thread.
    thread.stackSize = 8 << 20
    thread.start()
  }
}

/// Runs `body` on several threads at the same time, each with its number, and waits for all.
///
/// `DispatchQueue.concurrentPerform` begins only as many calls at once as there are cores. If one
/// call waits for another one, that one may never begin.
package func onOwnThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let running = DispatchGroup()
  for number in 0..<count {
    running.enter()
    let thread = Thread {
      body(number)
      running.leave()
    }
    thread.stackSize = 8 << 20
    thread.start()
  }
  running.wait()
}
