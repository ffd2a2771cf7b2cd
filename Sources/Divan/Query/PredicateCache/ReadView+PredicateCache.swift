import DivanLog
import Synchronization

extension ReadView {
  /// The predicate cache for this version; nil if results are not cached.
  ///
  /// In a transaction they are not, because other changes may get its sequence numbers if it fails.
  /// In a past version they are not, because a purge may change which revision won.
  var predicateCache: PredicateCache? {
    let sizeLimit = environment.configuration.predicateCacheSize
    guard past == nil, !isOfTransaction, sizeLimit > 0 else { return nil }
    return environment.services.get(PredicateCache.self) {
      PredicateCache(lastSequence: state.lastSequence, sizeLimit: sizeLimit)
    }
  }
}
