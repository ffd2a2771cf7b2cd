/// Something to measure.
struct Workload: Sendable {
  /// What `--only` takes.
  var name: String
  /// What it does, for people.
  var title: String
  /// What a sample counts.
  var unit: Unit
  /// Whether each sample is taken in a process of its own, because memory, caches or an unclean end
  /// are what it is about.
  var isApart = false
  /// What no sample may be above, in the unit; nil if there is nothing to hold.
  var limit: Double?
  /// Whether one sample is thrown away first, so that code and caches are warm.
  var warmsUp = true
  /// What must be there before a sample is taken; not measured.
  var prepare: @Sendable (Bench) throws -> Void = { _ in }
  /// Takes one sample.
  var measure: @Sendable (Bench) throws -> Double

  /// All of them, in the order in which they run.
  static let all =
    loading + committing + reading + scanning + querying + opening + taking + converting + coding
    + branching + viewing + following + attaching + modelling + observing + transferring

  /// Whether `--only` names it, or the beginning of its name where that is no other's whole name.
  func isChosen(by options: Options) -> Bool {
    options.only.isEmpty
      || options.only.contains { wanted in
        name == wanted || name.hasPrefix(wanted) && !Workload.all.contains { $0.name == wanted }
      }
  }
}
