import DivanLog
import Synchronization

/// The predicate cache: results of queries on documents, kept while the database is open.
///
/// It has the verdicts of filters on documents, and the documents' values at the paths that filters
/// read. A filter that is run again therefore reads only documents that have changed. So does
/// another filter on the same properties, if these have few values.
///
/// It keeps the most recently used entries, and takes no more memory than
/// ``Configuration/predicateCacheSize``. Each query takes copies of entries, which share their
/// memory, reads them without a lock, and returns what it has found.
final class PredicateCache: Sendable {
  fileprivate struct Contents {
    var filters: [Entry<FilterIdentity, MatchResults>] = []
    var columns: [Entry<QueryPath, PropertyColumn>] = []
    /// Increases with every use of an entry.
    var time = 0
  }

  fileprivate struct Entry<Name: Sendable & Equatable, Thing: PredicateCacheEntry> {
    let name: Name
    var thing: Thing
    /// The time of the last use.
    var time: Int
  }

  private let contents = Guarded(Contents())
  /// The first page of all entries.
  private let firstPage: UInt64
  private let sizeLimit: Int

  /// The maximum number of filters and columns, which are searched one by one.
  static let countLimit = 64

  /// Creates an empty cache for a store with this last sequence number.
  init(lastSequence: UInt64, sizeLimit: Int) {
    firstPage = PredicateCacheSlot.firstPage(lastSequence: lastSequence)
    self.sizeLimit = sizeLimit
  }
}

/// An entry of the predicate cache.
protocol PredicateCacheEntry: Sendable {
  /// Creates an empty entry, which takes at most `sizeLimit` bytes.
  init(firstPage: UInt64, sizeLimit: Int)
  /// The size in bytes.
  var size: Int { get }
  /// Adds the results that another entry of the same name has.
  mutating func add(_ other: Self)
  /// Clears the note of new results, so that later copies begin without any.
  mutating func endNews()
}

extension MatchResults: PredicateCacheEntry {}
extension PropertyColumn: PredicateCacheEntry {}

extension PredicateCache {
  /// Returns the place of a document by its newest record's sequence number; nil if not cached.
  func place(of sequence: UInt64) -> PredicateCacheSlot? {
    PredicateCacheSlot(sequence, firstPage: firstPage)
  }

  /// Returns the known verdicts of a filter.
  ///
  /// No entry takes more than half of the room, so that a filter's columns do not evict its
  /// verdicts.
  func matchResults(of filter: FilterIdentity) -> MatchResults {
    contents.withLock { $0.get(\.filters, filter) }
      ?? MatchResults(firstPage: firstPage, sizeLimit: sizeLimit / 2)
  }

  /// Returns the known values at a path.
  func column(of path: QueryPath) -> PropertyColumn {
    contents.withLock { $0.get(\.columns, path) }
      ?? PropertyColumn(firstPage: firstPage, sizeLimit: sizeLimit / 2)
  }

  /// Caches verdicts of a filter, and evicts the least recently used entries if there is no room.
  func keep(_ matchResults: MatchResults, of filter: FilterIdentity) {
    contents.withLock { contents in
      contents.keep(\.filters, matchResults, filter)
      contents.makeRoom(sizeLimit)
    }
  }

  /// Caches values at a path, and evicts the least recently used entries if there is no room.
  func keep(_ column: PropertyColumn, of path: QueryPath) {
    contents.withLock { contents in
      contents.keep(\.columns, column, path)
      contents.makeRoom(sizeLimit)
    }
  }
}

extension PredicateCache.Contents {
  mutating func get<Name, Thing>(
    _ list: WritableKeyPath<Self, [PredicateCache.Entry<Name, Thing>]>, _ name: Name
  ) -> Thing? {
    guard let index = self[keyPath: list].firstIndex(where: { $0.name == name }) else { return nil }
    time += 1
    self[keyPath: list][index].time = time
    return self[keyPath: list][index].thing
  }

  mutating func keep<Name, Thing>(
    _ list: WritableKeyPath<Self, [PredicateCache.Entry<Name, Thing>]>, _ thing: Thing, _ name: Name
  ) {
    var thing = thing
    if let index = self[keyPath: list].firstIndex(where: { $0.name == name }) {
      // Other queries may have found more meanwhile.
      thing.add(self[keyPath: list].remove(at: index).thing)
    }
    thing.endNews()
    time += 1
    self[keyPath: list].append(PredicateCache.Entry(name: name, thing: thing, time: time))
  }

  /// Evicts the least recently used entries until the rest fits.
  mutating func makeRoom(_ sizeLimit: Int) {
    var size = filters.reduce(0) { $0 + $1.thing.size } + columns.reduce(0) { $0 + $1.thing.size }
    while size > sizeLimit || filters.count + columns.count > PredicateCache.countLimit {
      let filter = filters.indices.min { filters[$0].time < filters[$1].time }
      let column = columns.indices.min { columns[$0].time < columns[$1].time }
      let isFilterOlder =
        (filter.map { filters[$0].time } ?? .max) < (column.map { columns[$0].time } ?? .max)
      if isFilterOlder, let filter {
        size -= filters.remove(at: filter).thing.size
      } else if let column {
        size -= columns.remove(at: column).thing.size
      }
    }
  }
}
