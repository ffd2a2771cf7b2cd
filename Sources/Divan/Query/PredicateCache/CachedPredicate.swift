import DivanLog

/// The predicate cache for the filter of a run: its verdicts on documents, and cached columns.
///
/// Verdicts come from earlier runs, from this one, or from the known values of documents.
struct RememberedFilter {
  private let memory: FilterMemory
  private let identity: FilterIdentity
  private var verdicts: FilterVerdicts
  private var columns: FilterColumns?

  /// The number of candidates below which it is faster to read them than to search the cache.
  private static let leastCandidates = 32.0

  /// Creates the cache for a plan's residual predicate; nil if it is not cached, or not worth it.
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

  /// Returns the verdict on the document whose newest record has this number; nil if unknown.
  @inline(__always)
  mutating func verdict(of sequence: UInt64) -> FilterVerdict? {
    if let verdict = verdicts[sequence] { return verdict }
    return askColumns(sequence)
  }

  /// Returns the verdict after the columns were evaluated for all documents of its page.
  private mutating func askColumns(_ sequence: UInt64) -> FilterVerdict? {
    guard columns != nil, let page = memory.place(of: sequence)?.page,
      let found = columns?.verdicts(ofPage: page)
    else { return nil }
    verdicts.note(found, ofPage: page)
    return verdicts[sequence]
  }

  /// Records the columns' values of a document that was read.
  ///
  /// If the columns can decide, it records and returns the filter's verdict.
  mutating func note(_ hit: borrowing QueryHit) -> FilterVerdict? {
    let sequence = hit.place.sequence
    guard columns != nil, let place = memory.place(of: sequence),
      let verdict = columns?.note(hit.row, place, sequence)
    else { return nil }
    verdicts.note(verdict, of: sequence)
    return verdict
  }

  /// Records the filter's verdict on a document.
  mutating func note(_ verdict: FilterVerdict, at place: DocumentPlace) {
    verdicts.note(verdict, of: place.sequence)
    if verdict == .deleted { columns?.noteDeletion(of: place.sequence) }
  }

  /// Publishes the recorded results to later queries.
  mutating func keep() {
    if verdicts.hasNews {
      memory.keep(verdicts, of: identity)
      verdicts.endNews()
    }
    columns?.keep(in: memory)
  }
}
