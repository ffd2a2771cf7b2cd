/// A workload to measure.
struct Workload: Sendable {
  /// The workload's name for `--only`.
  var name: String
  /// A description of the workload.
  var title: String
  /// The unit of a sample.
  var unit: Unit
  /// Whether each sample is taken in a process of its own.
  ///
  /// This is needed to measure memory, caches or an unclean end.
  var isApart = false
  /// The maximum of every sample, in the unit; nil for no limit.
  var limit: Double?
  /// Whether one sample is discarded first, to warm up code and caches.
  var warmsUp = true
  /// Prepares the stores before a sample is taken; not measured.
  var prepare: @Sendable (Bench) throws -> Void = { _ in }
  /// Takes one sample.
  var measure: @Sendable (Bench) throws -> Double

  /// All workloads, in the order in which they run.
  static let all =
    loading + committing + reading + scanning + querying + opening + taking + compacting
    + converting + coding + branching + viewing + searching + following + attaching + modelling
    + saving + observing + transferring + replicating

  /// Whether `--only` selects it, by its name or by a prefix that is not another workload's name.
  func isChosen(by options: Options) -> Bool {
    options.only.isEmpty
      || options.only.contains { wanted in
        name == wanted || name.hasPrefix(wanted) && !Workload.all.contains { $0.name == wanted }
      }
  }
}
