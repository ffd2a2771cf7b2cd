import Foundation
import Synchronization

/// The command line of `PlantedBugs`.
struct PlantedBugsProgram {
  private static let usage = """
    usage: PlantedBugs [--only TEXT] [--jobs COUNT] [--never-lose] [--verbose] [--build]

      Builds the project with \(PlantedBug.all.count) bugs in it, and sees whether each is noticed.

      --only        tries only bugs whose name contains TEXT
      --jobs        how many are tried at the same time; as many as there are cores if not given
      --never-lose  on a simulated disk that never loses anything, where bugs that leave out a
                    flush must not be noticed: so this ends with status 1
      --verbose     says of each what was noticed
      --build       builds, and tries nothing
    """

  /// The maximum time of a killer, which has a second or two of work and may run beside other
  /// proofs.
  private static let secondsLimit = 60.0

  private var only: String?
  private var jobs = ProcessInfo.processInfo.activeProcessorCount
  private var neverLoses = false
  private var isVerbose = false
  private var buildsOnly = false
  private var isUnderstood = true

  init(arguments: [String]) {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--only": only = rest.popFirst()
      case "--jobs": jobs = rest.popFirst().flatMap { Int($0) } ?? 0
      case "--never-lose": neverLoses = true
      case "--verbose": isVerbose = true
      case "--build": buildsOnly = true
      default: isUnderstood = false
      }
    }
  }

  /// The exit status if the bugs could not be tested; 1 means that some survive.
  private static let nothingTried: Int32 = 2

  /// Runs the requested tests; returns the exit status.
  func run() -> Int32 {
    guard isUnderstood, jobs > 0 else {
      say(Self.usage)
      return 64
    }
    do {
      return try runProofs()
    } catch {
      say("\(error)")
      return Self.nothingTried
    }
  }

  private func runProofs() throws -> Int32 {
    let root = URL(filePath: FileManager.default.currentDirectoryPath)
    let build = PlantedBuild(
      root: root, planting: Planting(bugs: PlantedBug.all + [.diskThatNeverLoses]))
    let clock = ContinuousClock()
    let start = clock.now
    try build.prepare()
    guard try build.build() else { return Self.nothingTried }
    say(
      "Built with \(PlantedBug.all.count) bugs in it in \(Int((clock.now - start) / .seconds(1))) s"
    )
    if buildsOnly { return 0 }
    var bugs = PlantedBug.all.filter { bug in only.map(bug.name.contains) ?? true }
    if neverLoses { bugs.removeAll { !$0.needsLoss } }
    guard !bugs.isEmpty else {
      say("No bug is called like that")
      return Self.nothingTried
    }
    guard try holdsWithoutBugs(build, Set(bugs.map(\.killer))) else { return Self.nothingTried }
    guard try kill(bugs, build) else { return 1 }
    return try neverLoses || needsLosses(bugs, build) ? 0 : 1
  }

  /// Returns whether every killer succeeds without a bug.
  private func holdsWithoutBugs(_ build: PlantedBuild, _ killers: Set<Killer>) throws -> Bool {
    let outcomes = try inParallel(killers.sorted { $0.description < $1.description }) {
      ($0, try build.run($0, bugs: [], secondsLimit: Self.secondsLimit))
    }
    var isSound = true
    for (killer, outcome) in outcomes {
      // If there is no line with a figure, nothing of that name was tried.
      let hasTried = outcome.text.contains(#/\n  [1-9][0-9]* /#)
      if outcome.ending == .success, hasTried { continue }
      isSound = false
      say(
        "WITHOUT A BUG \(killer.description): \(outcome.ending), \(outcome.complaint ?? "nothing tried")"
      )
    }
    say("\(killers.count) killers, of which \(isSound ? "none" : "some") complain without a bug")
    return isSound
  }

  /// Returns whether every bug is detected.
  private func kill(_ bugs: [PlantedBug], _ build: PlantedBuild) throws -> Bool {
    let disk = neverLoses ? [PlantedBug.diskThatNeverLoses.name] : []
    let outcomes = try inParallel(bugs) { bug in
      (bug, try build.run(bug.killer, bugs: [bug.name] + disk, secondsLimit: Self.secondsLimit))
    }
    let width = bugs.map(\.name.count).max() ?? 0
    var survivors = 0
    var longest = 0.0
    for (bug, outcome) in outcomes {
      let isKilled = outcome.ending == .symptom(bug.symptom)
      longest = max(longest, outcome.seconds)
      if !isKilled { survivors += 1 }
      let matchResult =
        switch outcome.ending {
        case .success: "SURVIVES"
        case .symptom(let symptom): isKilled ? "killed" : "\(symptom.rawValue), NOT AS EXPECTED"
        case .other(let status): "STATUS \(status)"
        }
      let name = bug.name.padding(toLength: width, withPad: " ", startingAt: 0)
      let seconds = String(format: "%5.2f s", outcome.seconds)
      say(
        "\(matchResult)  \(seconds)  \(name)  \(bug.rule): \(bug.mistake)  [\(bug.killer.description)]"
      )
      if isVerbose { say("    \((outcome.complaint ?? "").prefix(300))") }
    }
    say(
      "\(bugs.count - survivors) of \(bugs.count) planted bugs killed, "
        + String(format: "each within %.1f s", longest))
    return survivors == 0
  }

  /// Returns whether only losses of the simulated disk detect bugs that omit a flush.
  private func needsLosses(_ bugs: [PlantedBug], _ build: PlantedBuild) throws -> Bool {
    let outcomes = try inParallel(bugs.filter(\.needsLoss)) { bug in
      (
        bug,
        try build.run(
          bug.killer, bugs: [bug.name, PlantedBug.diskThatNeverLoses.name],
          secondsLimit: Self.secondsLimit)
      )
    }
    var others = 0
    for (bug, outcome) in outcomes where outcome.ending != .success {
      others += 1
      say("NOTICED WITHOUT LOSSES \(bug.name): \(outcome.complaint ?? "\(outcome.ending)")")
    }
    say(
      "On a disk that never loses anything, \(outcomes.count - others) of the \(outcomes.count) that "
        + "leave out a flush survive")
    return others == 0
  }

  /// Calls `body` for each element, in parallel; the results are in the order of the elements.
  private func inParallel<Element: Sendable, Result: Sendable>(
    _ elements: [Element], _ body: @Sendable (Element) throws -> Result
  ) throws -> [Result] {
    let results = Mutex<[Int: Swift.Result<Result, any Error>]>([:])
    let next = Atomic(0)
    DispatchQueue.concurrentPerform(iterations: jobs) { _ in
      while true {
        let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
        guard index < elements.count else { return }
        let result = Swift.Result { try body(elements[index]) }
        results.withLock { $0[index] = result }
      }
    }
    let all = results.withLock { $0 }
    return try elements.indices.compactMap { try all[$0]?.get() }
  }
}

/// Prints immediately, also if the output is a pipe.
private func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
