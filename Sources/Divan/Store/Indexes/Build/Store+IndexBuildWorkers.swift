import Dispatch
import DivanLog
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Store {
  /// The number of threads that read the documents for an index.
  ///
  /// It is one in inline mode, so that the sequence of calls is reproducible, and where there are
  /// too few documents to wake other threads for.
  var indexBuildWorkerCount: Int {
    let most = max(1, configuration.indexBuildBatchSize)
    if let count = configuration.indexBuildWorkerCount { return min(max(1, count), most) }
    guard configuration.maintenance == .background,
      commits.visible?.state.documentCount ?? 0 >= IndexBuildWorkers.documentsWorthSeveral
    else { return 1 }
    return min(ProcessInfo.processInfo.activeProcessorCount, IndexBuildWorkers.countLimit, most)
  }
}
