import DivanLog
import Synchronization

/// The predicate cache: match results of filters and values of properties, for later queries.
///
/// The values are those at the paths that filters read. A filter that is run again reads only
/// documents that have changed. So does another filter on the same properties, if these have few
/// values. The cache lives as long as the database is open.
///
/// It keeps the most recently used entries, and takes no more memory than
/// ``Configuration/predicateCacheSize``. Each query takes copies of entries, which share their
/// memory, reads them without a lock, and then stores its additions.
final class PredicateCache: Sendable {
  fileprivate struct Contents {
    var filters: [Entry<FilterIdentity, MatchResults>] = []
    var columns: [Entry<QueryPath, PropertyColumn>] = []
    /// Increases with every use of an entry.
    var time = 0
  }

  fileprivate struct Entry<Name: Sendable & Equatable, Content: PredicateCacheEntry> {
    let name: Name
    var content: Content
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
  /// Clears the flag of new results, before later queries copy the entry.
  mutating func clearModified()
}

extension MatchResults: PredicateCacheEntry {}
extension PropertyColumn: PredicateCacheEntry {}

extension PredicateCache {
  /// Returns the slot of a document by its newest record's sequence number; nil if not cached.
  func slot(of sequence: UInt64) -> PredicateCacheSlot? {
    PredicateCacheSlot(sequence, firstPage: firstPage)
  }

  /// Returns the known match results of a filter.
  ///
  /// No entry takes more than half of the room, so that a filter's columns do not evict its match
  /// results.
  func matchResults(of filter: FilterIdentity) -> MatchResults {
    contents.withLock { $0.get(\.filters, filter) }
      ?? MatchResults(firstPage: firstPage, sizeLimit: sizeLimit / 2)
  }

  /// Returns the known values at a path.
  func column(of path: QueryPath) -> PropertyColumn {
    contents.withLock { $0.get(\.columns, path) }
      ?? PropertyColumn(firstPage: firstPage, sizeLimit: sizeLimit / 2)
  }

  /// Stores match results of a filter, and evicts the least recently used entries if necessary.
  func store(_ matchResults: MatchResults, of filter: FilterIdentity) {
    contents.withLock { contents in
      contents.store(\.filters, matchResults, filter)
      contents.makeRoom(sizeLimit)
    }
  }

  /// Stores values at a path, and evicts the least recently used entries if necessary.
  func store(_ column: PropertyColumn, of path: QueryPath) {
    contents.withLock { contents in
      contents.store(\.columns, column, path)
      contents.makeRoom(sizeLimit)
    }
  }
}

extension PredicateCache.Contents {
  mutating func get<Name, Content>(
    _ list: WritableKeyPath<Self, [PredicateCache.Entry<Name, Content>]>, _ name: Name
  ) -> Content? {
    guard let index = self[keyPath: list].firstIndex(where: { $0.name == name }) else { return nil }
    time += 1
    self[keyPath: list][index].time = time
    return self[keyPath: list][index].content
  }

  mutating func store<Name, Content>(
    _ list: WritableKeyPath<Self, [PredicateCache.Entry<Name, Content>]>, _ content: Content,
    _ name: Name
  ) {
    var content = content
    if let index = self[keyPath: list].firstIndex(where: { $0.name == name }) {
      // Other queries may have found more meanwhile.
      content.add(self[keyPath: list].remove(at: index).content)
    }
    content.clearModified()
    time += 1
    self[keyPath: list].append(PredicateCache.Entry(name: name, content: content, time: time))
  }

  /// Evicts the least recently used entries until the rest fits.
  mutating func makeRoom(_ sizeLimit: Int) {
    var size =
      filters.reduce(0) { $0 + $1.content.size } + columns.reduce(0) { $0 + $1.content.size }
    while size > sizeLimit || filters.count + columns.count > PredicateCache.countLimit {
      let filter = filters.indices.min { filters[$0].time < filters[$1].time }
      let column = columns.indices.min { columns[$0].time < columns[$1].time }
      let isFilterOlder =
        (filter.map { filters[$0].time } ?? .max) < (column.map { columns[$0].time } ?? .max)
      if isFilterOlder, let filter {
        size -= filters.remove(at: filter).content.size
      } else if let column {
        size -= columns.remove(at: column).content.size
      }
    }
  }
}
