/// A plausible mistake that is made on purpose, to test which proof detects it.
struct PlantedBug: Sendable {
  /// The bug's name on the command line.
  let name: String
  /// The rule of the log, or the promise of the store, that it violates.
  let rule: String
  /// A short description of the mistake.
  let mistake: String
  let edits: [Edit]
  /// The command that must detect it.
  let killer: Killer
  /// The way in which it shows.
  let symptom: Symptom
  /// Whether it omits or moves a flush, which only a loss of power can show.
  let needsLoss: Bool

  /// Some lines of a source file, and their replacement.
  ///
  /// In the replacement, `PLANTED` represents whether the bug was selected.
  struct Edit: Sendable {
    /// The file's name, with its folder if another file has the same name.
    let file: String
    /// The code of whole lines.
    ///
    /// Comments, indentation and line breaks are ignored.
    let find: String
    let plant: String

    init(_ file: String, find: String, plant: String) {
      self.file = file
      self.find = find
      self.plant = plant
    }
  }

  /// The way in which a bug is detected.
  enum Symptom: String, Sendable {
    /// A check fails.
    case failure = "fails"
    /// The system ends the program, for example because it would read beyond its memory.
    case trap = "traps"
    /// The program does not end, which is the nature of the bug.
    case hang = "hangs"
  }
}

extension PlantedBug {
  /// Creates a bug in one place.
  init(
    _ name: String, rule: String, _ mistake: String, in file: String, find: String, plant: String,
    killedBy killer: Killer, symptom: Symptom = .failure, needsLoss: Bool = false
  ) {
    self.init(
      name, rule: rule, mistake, edits: [Edit(file, find: find, plant: plant)], killedBy: killer,
      symptom: symptom, needsLoss: needsLoss)
  }

  /// Creates a bug in several places.
  init(
    _ name: String, rule: String, _ mistake: String, edits: [Edit], killedBy killer: Killer,
    symptom: Symptom = .failure, needsLoss: Bool = false
  ) {
    self.name = name
    self.rule = rule
    self.mistake = mistake
    self.edits = edits
    self.killer = killer
    self.symptom = symptom
    self.needsLoss = needsLoss
  }
}

/// A command that fails if there is a bug, and succeeds otherwise.
struct Killer: Hashable, Sendable {
  /// The arguments of `Proofs`.
  let arguments: [String]

  /// Returns one check of the proof `rules`.
  static func rules(_ only: String) -> Killer {
    Killer(arguments: ["ci", "rules", "--only", only])
  }

  /// Returns losses of power at every call of one workload, with a few losses at each.
  static func crash(_ only: String) -> Killer {
    Killer(arguments: ["test", "crash", "--only", only])
  }

  /// Stores that exchange revisions whose histories were cut.
  static let replicas = Killer(arguments: ["test", "replicas", "--only", "world"])
  /// Random queries of stores with random indexes.
  static let queries = Killer(arguments: ["test", "queries", "--only", "store"])
  /// Random changes of models.
  static let models = Killer(arguments: ["test", "models", "--only", "models"])

  var description: String { "\(arguments[1]) '\(arguments[3])'" }
}
