// Processes are only in the full Foundation.
import Foundation

/// The release build of this program: figures of other builds are useless.
enum ReleaseBuild {
  /// Whether this is a release build.
  ///
  /// Assertions are evaluated only in builds without optimisation.
  static let isThis: Bool = {
    var isOptimised = true
    assert(
      {
        isOptimised = false
        return true
      }())
    return isOptimised
  }()

  /// Builds the program in release, and runs it with the same arguments.
  ///
  /// It reports that on standard error. The new process uses the same standard input, output and
  /// error.
  ///
  /// - Returns: The exit status, or, as in a shell, 128 plus the number of the signal that ended
  ///   the process.
  static func run(_ arguments: [String]) throws -> Int32 {
    let command = ["swift", "run", "-c", "release", "Benchmarks"] + arguments
    let shown = command.map(quoted).joined(separator: " ")
    guard let package else {
      throw BenchmarkError(
        "this is a debug build, whose figures mean nothing, and its package was not found. "
          + "Run in the package's directory: \(shown)")
    }
    guard let swift else {
      throw BenchmarkError(
        "this is a debug build, whose figures mean nothing, and there is no `swift` in PATH. "
          + "Run in \(package): \(shown)")
    }
    FileHandle.standardError.write(
      Data("Benchmarks: debug build; running a release build: \(shown)\n".utf8))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: swift)
    // Relative paths in the arguments refer to this process's directory, so the new one stays
    // there.
    process.arguments =
      ["run", "--package-path", package, "-c", "release", "Benchmarks"] + arguments
    try process.run()
    process.waitUntilExit()
    return process.terminationReason == .uncaughtSignal
      ? 128 + process.terminationStatus : process.terminationStatus
  }

  /// The directory of the package that this program was built from.
  ///
  /// It is searched for around the program, and otherwise at the source's location.
  private static var package: String? {
    var directory = Bundle.main.executableURL?.resolvingSymlinksInPath()
      .deletingLastPathComponent()
    while let candidate = directory, candidate.pathComponents.count > 1 {
      if isPackage(candidate) { return candidate.path }
      directory = candidate.deletingLastPathComponent()
    }
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent()
    return isPackage(source) ? source.path : nil
  }

  private static func isPackage(_ directory: URL) -> Bool {
    ["Package.swift", "Benchmarks/ReleaseBuild.swift"].allSatisfy {
      FileManager.default.fileExists(atPath: directory.appendingPathComponent($0).path)
    }
  }

  /// The path of `swift`, from PATH.
  private static var swift: String? {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
      .map { "\($0)/swift" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Returns an argument in shell syntax.
  private static func quoted(_ argument: String) -> String {
    let isPlain =
      !argument.isEmpty
      && argument.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "-_./,=:".utf8.contains(byte)
        }
      }
    return isPlain
      ? argument : "'" + argument.replacingOccurrences(of: "'", with: "'\\''") + "'"
  }
}
