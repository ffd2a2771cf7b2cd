import Dispatch
import Synchronization

/// Runs asynchronous work on the thread of its caller, which waits until it ends.
///
/// A fuzzer finds which input is to blame by the thread that calls it, and tests that wait must not
/// take threads from the work that they wait for.
final class OneThread: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])
  private let isDone = Atomic(false)
  private let wakeup = DispatchSemaphore(value: 0)

  private init() {}

  /// Returns the result of `work`.
  static func run<Result: Sendable>(
    _ work: @escaping @Sendable () async throws -> Result
  ) throws -> Result {
    let thread = OneThread()
    let outcome = Mutex<Swift.Result<Result, any Error>?>(nil)
    Task(executorPreference: thread) {
      let result: Swift.Result<Result, any Error>
      do { result = .success(try await work()) } catch { result = .failure(error) }
      outcome.withLock { $0 = result }
      thread.isDone.store(true, ordering: .releasing)
      thread.wakeup.signal()
    }
    thread.runJobs()
    guard let result = outcome.withLock({ $0 }) else {
      throw FuzzFinding("asynchronous work ended without a result")
    }
    return try result.get()
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    wakeup.signal()
  }

  private func runJobs() {
    while !isDone.load(ordering: .acquiring) {
      wakeup.wait()
      while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
      }
    }
  }
}
