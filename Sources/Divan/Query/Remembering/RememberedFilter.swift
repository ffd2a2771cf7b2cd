import DivanLog

/// What the filter of a run has said of documents in earlier runs and says in this one, or would say by what is known of their
/// values, and where all that is kept.
struct RememberedFilter {
  private let memory: FilterMemory
  private let identity: FilterIdentity
  private var verdicts: FilterVerdicts
  private var columns: FilterColumns?

  /// With fewer candidates it takes longer to look for the filter than to read them.
  private static let leastCandidates = 32.0

  /// Nil if what the plan leaves to be asked is not remembered in a version of the store, or that is not worth it.
  init?(_ plan: QueryPlan, in view: StoreView) {
    guard plan.estimate?.rows ?? 0 >= RememberedFilter.leastCandidates,
      let memory = view.filterMemory, let identity = FilterIdentity(plan.rest)
    else { return nil }
    self.memory = memory
    self.identity = identity
    verdicts = memory.verdicts(of: identity)
    columns = FilterColumns(plan.rest, in: memory)
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
    guard columns != nil, let page = memory.place(of: sequence)?.page,
      let found = columns?.verdicts(ofPage: page)
    else { return nil }
    verdicts.note(found, ofPage: page)
    return verdicts[sequence]
  }

  /// Notes what columns have of a document that was read, and what the filter says of it, if they can tell; returns that.
  mutating func note(_ hit: borrowing QueryHit) -> FilterVerdict? {
    let sequence = hit.place.sequence
    guard columns != nil, let place = memory.place(of: sequence),
      let verdict = columns?.note(hit.row, place, sequence)
    else { return nil }
    verdicts.note(verdict, of: sequence)
    return verdict
  }

  /// Notes what the filter says of a document.
  mutating func note(_ verdict: FilterVerdict, at place: DocumentPlace) {
    verdicts.note(verdict, of: place.sequence)
    if verdict == .deleted { columns?.noteDeletion(of: place.sequence) }
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
