import Foundation

/// A copy of the project with all bugs in it.
struct PlantedBuild {
  /// The root of the project.
  let root: URL
  let planting: Planting

  var directory: URL { root.appending(path: ".build/planted") }
  private var program: URL { directory.appending(path: ".build/release/Proofs") }
  private var logs: URL { directory.appending(path: "logs") }

  /// Copies the project and plants the bugs.
  ///
  /// Files that have not changed since the last time are not written, so that only the rest is
  /// rebuilt.
  func prepare() throws {
    var texts = try planting.texts(among: paths(in: root).filter { $0.hasPrefix("Sources/") }) {
      try String(contentsOf: root.appending(path: $0), encoding: .utf8)
    }
    for target in Set(texts.keys.map { $0.split(separator: "/").prefix(2) }) {
      texts[target.joined(separator: "/") + "/Planted.swift"] = planting.switches
    }
    var wanted = texts.mapValues { Data($0.utf8) }
    for path in try paths(in: root) where wanted[path] == nil {
      wanted[path] = try Data(contentsOf: root.appending(path: path))
    }
    let files = FileManager.default
    try files.createDirectory(at: logs, withIntermediateDirectories: true)
    for path in try paths(in: directory) where wanted[path] == nil {
      try files.removeItem(at: directory.appending(path: path))
    }
    for (path, data) in wanted {
      let copy = directory.appending(path: path)
      if let present = try? Data(contentsOf: copy), present == data { continue }
      try files.createDirectory(
        at: copy.deletingLastPathComponent(), withIntermediateDirectories: true)
      try data.write(to: copy)
    }
  }

  /// Returns the paths that the package manager needs of a project, from its root.
  private func paths(in project: URL) throws -> [String] {
    var paths: [String] = []
    for part in ["Package.swift", "Sources", "Tests", "Benchmarks", "Examples"] {
      let base = project.appending(path: part)
      if PlantedBuild.isFile(base) { paths.append(part) }
      guard let all = try? FileManager.default.subpathsOfDirectory(atPath: base.path) else {
        continue
      }
      for path in all
      where !path.contains(".build") && PlantedBuild.isFile(base.appending(path: path)) {
        paths.append("\(part)/\(path)")
      }
    }
    return paths
  }

  private static func isFile(_ url: URL) -> Bool {
    (try? url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true
  }

  /// Builds the proofs and the fuzzer of the copy; returns whether that succeeded.
  ///
  /// Fuzzing instruments the code. The proofs of the copy are slower by that, and the fuzzer needs
  /// no build of its own, which would take longer.
  func build() throws -> Bool {
    let libFuzzer = Process()
    libFuzzer.executableURL = root.appending(path: "Tests/libfuzzer")
    let path = Pipe()
    libFuzzer.standardOutput = path
    try libFuzzer.run()
    let text = String(decoding: try path.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    libFuzzer.waitUntilExit()
    guard libFuzzer.terminationStatus == 0 else { return false }
    return try ["Proofs", "Fuzzer"].allSatisfy {
      try build($0, libFuzzer: text.trimmingCharacters(in: .newlines))
    }
  }

  private func build(_ product: String, libFuzzer: String) throws -> Bool {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    // The same proofs must notice a bug, however it is built: without the checks that tests are
    // built with.
    process.environment = ProcessInfo.processInfo.environment
    process.environment?["DIVAN_OPTIMIZE"] = nil
    process.environment?["DIVAN_FUZZ"] = libFuzzer
    process.arguments = [
      "swift", "build", "-c", "release", "--product", product, "--package-path", directory.path,
      // The internal checks must notice some of the bugs.
      "-Xswiftc", "-DDIVAN_INTERNAL_CHECKS",
      // Compiling is most of the work: small code takes less than fast code. No debugger looks at
      // the copy, and the compiler does not check its own intermediate code.
      "-Xswiftc", "-Osize", "-Xswiftc", "-gnone",
      "-Xswiftc", "-Xfrontend", "-Xswiftc", "-disable-llvm-verify",
    ]
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}

extension PlantedBuild {
  /// The result of running a killer.
  struct Outcome: Sendable {
    enum Ending: Equatable, Sendable {
      /// Nothing was detected.
      case success
      case symptom(PlantedBug.Symptom)
      /// It could not be run as intended.
      case other(Int32)
    }

    let ending: Ending
    let seconds: Double
    /// The output of the killer.
    let text: String

    /// The first reported problem.
    var complaint: String? {
      text.split(separator: "\n").first { $0.contains("FAILED") || $0.contains("Fatal error") }
        .map { $0.trimmingCharacters(in: .whitespaces) }
    }
  }

  /// Runs a killer with some bugs selected, with a time limit.
  func run(_ killer: Killer, bugs: [String], secondsLimit: Double) throws -> Outcome {
    let name = (bugs + killer.arguments).joined(separator: " ").filter { $0 != "/" }
    let log = logs.appending(path: String(name.prefix(180)))
    try Data().write(to: log)
    let output = try FileHandle(forWritingTo: log)
    defer { try? output.close() }
    let process = Process()
    process.executableURL = program
    process.arguments = killer.arguments + ["--jobs", "1"]
    var environment = ProcessInfo.processInfo.environment
    environment[Planting.variable] = bugs.joined(separator: ",")
    // A stack trace is not needed.
    environment["SWIFT_BACKTRACE"] = "enable=no"
    process.environment = environment
    process.standardOutput = output
    process.standardError = output
    let ended = DispatchSemaphore(value: 0)
    process.terminationHandler = { _ in ended.signal() }
    let clock = ContinuousClock()
    let start = clock.now
    try process.run()
    let isHanging = ended.wait(timeout: .now() + secondsLimit) == .timedOut
    if isHanging {
      kill(process.processIdentifier, SIGKILL)
      ended.wait()
    }
    let ending: Outcome.Ending =
      switch (process.terminationReason, process.terminationStatus) {
      case _ where isHanging: .symptom(.hang)
      case (.uncaughtSignal, _): .symptom(.trap)
      case (_, 0): .success
      case (_, 1): .symptom(.failure)
      case (_, let status): .other(status)
      }
    let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
    return Outcome(ending: ending, seconds: (clock.now - start) / .seconds(1), text: text)
  }
}
