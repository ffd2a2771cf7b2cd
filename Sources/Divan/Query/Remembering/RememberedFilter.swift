import DivanLog

/// What the filter of a run has said of documents in earlier runs and says in this one, or would say by what is known of their
/// values, and where all that is kept.
struct RememberedFilter {
  private let memory: FilterMemory
  private let identity: FilterIdentity
  private var verdicts: FilterVerdicts
  private var columns: Columns?

  /// With fewer candidates it takes longer to look for the filter than to read them.
  private static let leastCandidates = 32.0

  /// The columns that the filter asks.
  fileprivate struct Columns {
    let filter: ColumnFilter
    /// The ways to what they have of a document that was read.
    let paths: [CompiledPath]
    var columns: [PropertyColumn]
    /// Of which pages they were asked; the verdicts have what came of it.
    var askedPages: Set<Int> = []
  }

  /// Nil if what the plan leaves to be asked is not remembered in a version of the store, or that is not worth it.
  init?(_ plan: QueryPlan, in view: StoreView) {
    guard plan.estimate?.rows ?? 0 >= RememberedFilter.leastCandidates,
      let memory = view.filterMemory, let identity = FilterIdentity(plan.rest)
    else { return nil }
    self.memory = memory
    self.identity = identity
    verdicts = memory.verdicts(of: identity)
    guard let filter = ColumnFilter(plan.rest) else { return }
    columns = Columns(
      filter: filter, paths: filter.paths.map { CompiledPath($0) },
      columns: filter.paths.map { memory.column(of: $0) })
  }
}

extension RememberedFilter {
  /// Whether nothing is known yet.
  var isEmpty: Bool { verdicts.isEmpty && columns?.isEmpty ?? true }

  /// What the filter says of the document whose newest record has a sequence number; nil if that is not known.
  @inline(__always)
  mutating func verdict(of sequence: UInt64) -> FilterVerdict? {
    if let verdict = verdicts[sequence] { return verdict }
    return askColumns(sequence)
  }

  /// The same once the columns were asked of all documents of its page.
  private mutating func askColumns(_ sequence: UInt64) -> FilterVerdict? {
    guard let columns, let place = memory.place(of: sequence),
      self.columns?.askedPages.insert(place.page).inserted == true
    else { return nil }
    let pages = columns.columns.map { $0[place.page] }
    guard pages.contains(where: { $0 != nil }) else { return nil }
    verdicts.note(columns.filter.verdicts(pages), ofPage: place.page)
    return verdicts[sequence]
  }

  /// Notes what the filter says of a document that was read, and what it looks at.
  mutating func note(_ isAccepted: Bool, of hit: borrowing QueryHit) {
    let sequence = hit.place.sequence
    verdicts.note(isAccepted ? .accepted : .refused, of: sequence)
    columns?.note(hit.row, sequence)
  }

  /// Notes that a document is deleted.
  mutating func noteDeletion(at place: DocumentPlace) {
    verdicts.note(.deleted, of: place.sequence)
    columns?.noteDeletion(of: place.sequence)
  }

  /// Gives what was noted to those who ask next.
  mutating func keep() {
    if verdicts.hasNews {
      memory.keep(verdicts, of: identity)
      verdicts.endNews()
    }
    columns?.keep(in: memory)
  }
}

extension RememberedFilter.Columns {
  var isEmpty: Bool { columns.allSatisfy(\.isEmpty) }

  mutating func note(_ row: borrowing QueryRow, _ sequence: UInt64) {
    for index in columns.indices where !columns[index].refuses(sequence) {
      // What cannot be read is nothing to be remembered; whoever needs it is told.
      try? row.withBody { (bytes) throws(DatabaseError) in
        try paths[index].follow(bytes, 0..<bytes.count, row) {
          (bytes, range) throws(DatabaseError) in
          columns[index].note(bytes.extracting(range ?? 0..<0), of: sequence)
        }
      }
    }
  }

  mutating func noteDeletion(of sequence: UInt64) {
    for index in columns.indices { columns[index].noteDeletion(of: sequence) }
  }

  mutating func keep(in memory: FilterMemory) {
    for index in columns.indices where columns[index].hasNews {
      memory.keep(columns[index], of: filter.paths[index])
      columns[index].endNews()
    }
  }
}
