/// Runs work that reports progress, and stops it if `progress` throws or the task is cancelled.
///
/// `work` calls the closure that it is given; once that returns false, it must clean up and throw.
/// An error that `progress` threw takes the place of that one.
func reportingProgress<Progress, R>(
  to progress: ((Progress) throws -> Void)?,
  isCancelled: @escaping () -> Bool = { Task.isCancelled },
  _ work: (_ shouldContinue: @escaping (Progress) -> Bool) throws -> R
) throws -> R {
  var thrown: (any Error)?
  func shouldContinue(_ share: Progress) -> Bool {
    guard !isCancelled() else { return false }
    do {
      try progress?(share)
      return true
    } catch {
      thrown = error
      return false
    }
  }
  do {
    return try work(shouldContinue)
  } catch {
    throw thrown ?? error
  }
}
