import DivanLog
import Synchronization

/// The predicate cache: match results of filters, for later queries.
///
/// A filter that is run again reads only documents that have changed. The cache lives as long as
/// the database is open.
///
/// It keeps the most recently used filters, and takes no more memory than
/// ``Configuration/predicateCacheSize``. Each query takes a copy of its filter's results, which
/// shares their memory, reads it without a lock, and then stores its additions.
final class PredicateCache: Sendable {
  private struct Entry {
    let filter: FilterIdentity
    var matchResults: MatchResults
  }

  /// The filters, the most recently used one last.
  private let entries = Guarded<[Entry]>([])
  /// The first page of all entries.
  private let firstPage: UInt64
  private let sizeLimit: Int

  /// The maximum number of filters, which are searched one by one.
  static let countLimit = 64

  /// Creates an empty cache for a store with this last sequence number.
  init(lastSequence: UInt64, sizeLimit: Int) {
    firstPage = PredicateCacheSlot.firstPage(lastSequence: lastSequence)
    self.sizeLimit = sizeLimit
  }
}

extension PredicateCache {
  /// Returns the known match results of a filter.
  ///
  /// No filter takes more than half of the room, so that it does not evict all others.
  func matchResults(of filter: FilterIdentity) -> MatchResults {
    entries.withLock { entries -> MatchResults? in
      guard let index = entries.firstIndex(where: { $0.filter == filter }) else { return nil }
      entries.append(entries.remove(at: index))
      return entries.last?.matchResults
    } ?? MatchResults(firstPage: firstPage, sizeLimit: sizeLimit / 2)
  }

  /// Stores match results of a filter, and evicts the least recently used ones if necessary.
  func store(_ matchResults: MatchResults, of filter: FilterIdentity) {
    var entry = Entry(filter: filter, matchResults: matchResults)
    entries.withLock { entries in
      if let index = entries.firstIndex(where: { $0.filter == filter }) {
        // Other queries may have found more meanwhile.
        entry.matchResults.add(entries.remove(at: index).matchResults)
      }
      entry.matchResults.clearModified()
      entries.append(entry)
      var size = entries.reduce(0) { $0 + $1.matchResults.size }
      while size > sizeLimit || entries.count > PredicateCache.countLimit {
        size -= entries.removeFirst().matchResults.size
      }
    }
  }
}
