/// Runs work that reports progress, and stops it if `progress` throws or `isCancelled` returns
/// true.
///
/// `work` calls the closure that it is given; once that returns false, it must clean up and throw.
/// An error that `progress` threw takes the place of that one. Work that a caller did not ask for,
/// such as an index that a save builds, does not depend on the caller's task.
func reportingProgress<Progress, R: ~Copyable>(
  to progress: ((Progress) throws -> Void)?,
  isCancelled: @escaping () -> Bool = { false },
  _ work: (_ shouldContinue: @escaping (Progress) -> Bool) throws -> R
) throws -> R {
  var thrown: (any Error)?
  func shouldContinue(_ share: Progress) -> Bool {
    guard thrown == nil, !isCancelled() else { return false }
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
