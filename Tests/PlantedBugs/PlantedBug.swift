/// A mistake that somebody could make, to be made on purpose, so that it is seen which proof notices.
struct PlantedBug: Sendable {
  /// What it is called on the command line.
  let name: String
  /// The rule of the log, or the promise of the store, that it breaks.
  let rule: String
  /// What is wrong, in a few words.
  let mistake: String
  let edits: [Edit]
  /// What must notice.
  let killer: Killer
  /// How it shows.
  let symptom: Symptom
  /// Whether it leaves out a flush, or moves one: then nothing but a loss of power can show it.
  let needsLoss: Bool

  /// Some lines of a source file, and what takes their place.
  ///
  /// In the latter `PLANTED` stands for whether the bug was chosen.
  struct Edit: Sendable {
    /// The file's name; with the folder it is in, where another file has that name, too.
    let file: String
    /// The code of whole lines.
    ///
    /// Comments, indentation and line breaks do not matter.
    let find: String
    let plant: String

    init(_ file: String, find: String, plant: String) {
      self.file = file
      self.find = find
      self.plant = plant
    }
  }

  /// How it is noticed that something is wrong.
  enum Symptom: String, Sendable {
    /// A check fails.
    case failure = "fails"
    /// The program is ended by the system, as where it would read beyond its memory.
    case trap = "traps"
    /// The program does not end, which is the very nature of the bug.
    case hang = "hangs"
  }
}

extension PlantedBug {
  /// A bug in one place.
  init(
    _ name: String, rule: String, _ mistake: String, in file: String, find: String, plant: String,
    killedBy killer: Killer, symptom: Symptom = .failure, needsLoss: Bool = false
  ) {
    self.init(
      name, rule: rule, mistake, edits: [Edit(file, find: find, plant: plant)], killedBy: killer,
      symptom: symptom, needsLoss: needsLoss)
  }

  /// A bug in several places.
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

/// A command that fails where a bug is, and succeeds otherwise.
struct Killer: Hashable, Sendable {
  /// What `Proofs` is told.
  let arguments: [String]

  /// One check of the proof `rules`.
  static func rules(_ only: String) -> Killer {
    Killer(arguments: ["ci", "rules", "--only", only])
  }

  /// Loss of power at every call of one workload, with a few losses at each.
  static func crash(_ only: String) -> Killer {
    Killer(arguments: ["test", "crash", "--only", only])
  }

  /// Stores that exchange revisions whose histories were cut.
  static let replicas = Killer(arguments: ["test", "replicas", "--only", "world"])

  var description: String { "\(arguments[1]) '\(arguments[3])'" }
}
