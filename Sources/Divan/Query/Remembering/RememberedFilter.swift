/// What the filter of a run has said of documents in earlier runs and says in this one, and where that is kept.
struct RememberedFilter {
  private let memory: FilterMemory
  private let identity: FilterIdentity
  private(set) var verdicts: FilterVerdicts

  /// With fewer candidates it takes longer to look for the filter than to read them.
  private static let leastCandidates = 32.0

  /// Nil if what the plan leaves to be asked is not remembered in a version of the store, or that is not worth it.
  init?(_ plan: QueryPlan, in view: StoreView) {
    guard plan.estimate?.rows ?? 0 >= RememberedFilter.leastCandidates,
      let memory = view.filterMemory, let identity = FilterIdentity(plan.rest)
    else { return nil }
    self.memory = memory
    self.identity = identity
    verdicts = memory.verdicts(of: identity, lastSequence: view.state.lastSequence)
  }
}

extension RememberedFilter {
  /// Notes what the filter says of the document at a place.
  mutating func note(_ verdict: FilterVerdict, of place: DocumentPlace) {
    verdicts.note(verdict, of: place.sequence)
  }

  /// Gives what was noted to those who ask next.
  mutating func keep() {
    guard verdicts.hasNews else { return }
    memory.keep(verdicts, of: identity)
    verdicts.endNews()
  }
}
