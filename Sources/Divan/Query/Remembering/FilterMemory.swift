import DivanLog
import Synchronization

/// What queries have found out of documents, for as long as the database is open.
///
/// That is what filters said of them, and the values that they have at the paths at which filters look. So a filter that is
/// asked again reads only the documents that have changed, and so does another one that looks at the same properties if these
/// have few values.
///
/// It knows what was asked for last, and takes no more memory than ``Configuration/filterMemorySize``. Each query takes copies of
/// what is known, which share its memory, asks those without any lock, and gives back what it has found out.
final class FilterMemory: Sendable {
  fileprivate struct Contents {
    var filters: [Entry<FilterIdentity, FilterVerdicts>] = []
    var columns: [Entry<QueryPath, PropertyColumn>] = []
    /// Rises with every use of an entry.
    var time = 0
  }

  fileprivate struct Entry<Name: Sendable & Equatable, Thing: Remembered> {
    let name: Name
    var thing: Thing
    /// When it was asked for last.
    var time: Int
  }

  private let contents = Guarded(Contents())
  /// The first page of everything that is remembered.
  private let firstPage: UInt64
  private let sizeLimit: Int

  /// How many filters and columns are remembered at most, since they are searched one by one.
  static let countLimit = 64

  /// Knows nothing yet of a store with this last sequence number.
  init(lastSequence: UInt64, sizeLimit: Int) {
    firstPage = RememberedPlace.firstPage(lastSequence: lastSequence)
    self.sizeLimit = sizeLimit
  }
}

/// What is remembered under a name.
protocol Remembered: Sendable {
  /// Knows nothing, and takes at most so many bytes.
  init(firstPage: UInt64, sizeLimit: Int)
  /// How many bytes it takes.
  var size: Int { get }
  /// Takes over what another one of the same name knows.
  mutating func add(_ other: Self)
  /// Says that whoever copies this from now on has not noted anything yet.
  mutating func endNews()
}

extension FilterVerdicts: Remembered {}
extension PropertyColumn: Remembered {}

extension FilterMemory {
  /// Where what is remembered of a document stands, by the sequence number of its newest record; nil if it is not remembered.
  func place(of sequence: UInt64) -> RememberedPlace? {
    RememberedPlace(sequence, firstPage: firstPage)
  }

  /// What is known of a filter.
  ///
  /// Nothing takes more than half of the room, so that what a filter needs does not drive itself out.
  func verdicts(of filter: FilterIdentity) -> FilterVerdicts {
    contents.withLock { $0.get(\.filters, filter) }
      ?? FilterVerdicts(firstPage: firstPage, sizeLimit: sizeLimit / 2)
  }

  /// What is known of the values at a path.
  func column(of path: QueryPath) -> PropertyColumn {
    contents.withLock { $0.get(\.columns, path) }
      ?? PropertyColumn(firstPage: firstPage, sizeLimit: sizeLimit / 2)
  }

  /// Remembers what was found out of a filter, and lets go of what was not asked for longest if there is no room.
  func keep(_ verdicts: FilterVerdicts, of filter: FilterIdentity) {
    contents.withLock { contents in
      contents.keep(\.filters, verdicts, filter)
      contents.makeRoom(sizeLimit)
    }
  }

  /// The same of the values at a path.
  func keep(_ column: PropertyColumn, of path: QueryPath) {
    contents.withLock { contents in
      contents.keep(\.columns, column, path)
      contents.makeRoom(sizeLimit)
    }
  }
}

extension FilterMemory.Contents {
  mutating func get<Name, Thing>(
    _ list: WritableKeyPath<Self, [FilterMemory.Entry<Name, Thing>]>, _ name: Name
  ) -> Thing? {
    guard let index = self[keyPath: list].firstIndex(where: { $0.name == name }) else { return nil }
    time += 1
    self[keyPath: list][index].time = time
    return self[keyPath: list][index].thing
  }

  mutating func keep<Name, Thing>(
    _ list: WritableKeyPath<Self, [FilterMemory.Entry<Name, Thing>]>, _ thing: Thing, _ name: Name
  ) {
    var thing = thing
    if let index = self[keyPath: list].firstIndex(where: { $0.name == name }) {
      // Others may have found out more meanwhile.
      thing.add(self[keyPath: list].remove(at: index).thing)
    }
    thing.endNews()
    time += 1
    self[keyPath: list].append(FilterMemory.Entry(name: name, thing: thing, time: time))
  }

  /// Lets go of what was not asked for longest, until the rest fits.
  mutating func makeRoom(_ sizeLimit: Int) {
    var size = filters.reduce(0) { $0 + $1.thing.size } + columns.reduce(0) { $0 + $1.thing.size }
    while size > sizeLimit || filters.count + columns.count > FilterMemory.countLimit {
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

extension StoreView {
  /// Where it is remembered what queries find out of the documents of this version; nil if it is not.
  ///
  /// The numbers of a transaction's own changes may be given to other changes if it fails; and which revision won in a past
  /// version may change with a purge.
  var filterMemory: FilterMemory? {
    let sizeLimit = store.configuration.filterMemorySize
    guard past == nil, !isOfTransaction, sizeLimit > 0 else { return nil }
    return store.companions.get(FilterMemory.self) {
      FilterMemory(lastSequence: state.lastSequence, sizeLimit: sizeLimit)
    }
  }
}
