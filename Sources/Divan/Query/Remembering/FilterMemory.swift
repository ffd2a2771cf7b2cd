import DivanLog
import Synchronization

/// What filters have said of documents, for as long as the database is open, so that a filter which is asked again reads
/// only the documents that have changed.
///
/// It knows the filters that were asked last, and takes no more memory than ``Configuration/filterMemorySize``. Each query
/// takes a copy of what is known, which shares its memory, asks that without any lock, and gives back what it has found out.
final class FilterMemory: Sendable {
  private struct Entry {
    let filter: FilterIdentity
    var verdicts: FilterVerdicts
  }

  /// What is known; the filter that was asked last is the last.
  private let entries = Guarded<[Entry]>([])
  private let sizeLimit: Int

  /// How many filters are remembered at most, since they are searched one by one.
  static let filterLimit = 64

  init(sizeLimit: Int) { self.sizeLimit = sizeLimit }
}

extension FilterMemory {
  /// What is known of a filter, as far as a version with this last sequence number may need it.
  func verdicts(of filter: FilterIdentity, lastSequence: UInt64) -> FilterVerdicts {
    entries.withLock { entries in
      guard let index = entries.lastIndex(where: { $0.filter == filter }) else {
        return FilterVerdicts(lastSequence: lastSequence, sizeLimit: sizeLimit)
      }
      let entry = entries.remove(at: index)
      entries.append(entry)
      return entry.verdicts
    }
  }

  /// Remembers what was found out of a filter, and lets others go that were not asked for longer if there is no room.
  func keep(_ verdicts: FilterVerdicts, of filter: FilterIdentity) {
    entries.withLock { entries in
      var verdicts = verdicts
      if let index = entries.lastIndex(where: { $0.filter == filter }) {
        // Others may have found out more meanwhile.
        verdicts.add(entries.remove(at: index).verdicts)
      }
      verdicts.endNews()
      entries.append(Entry(filter: filter, verdicts: verdicts))
      var size = entries.reduce(0) { $0 + $1.verdicts.size }
      while size > sizeLimit || entries.count > FilterMemory.filterLimit {
        size -= entries.removeFirst().verdicts.size
      }
    }
  }
}

extension StoreView {
  /// Where it is remembered what filters say of the documents of this version; nil if it is not.
  ///
  /// The numbers of a transaction's own changes may be given to other changes if it fails; and which revision won in a past
  /// version may change with a purge.
  var filterMemory: FilterMemory? {
    let sizeLimit = store.configuration.filterMemorySize
    guard past == nil, !isOfTransaction, sizeLimit > 0 else { return nil }
    return store.companions.get(FilterMemory.self) { FilterMemory(sizeLimit: sizeLimit) }
  }
}
