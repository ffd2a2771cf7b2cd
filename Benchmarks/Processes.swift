// Processes and threads are only in the full Foundation.
import Foundation

/// One sample that another process takes.
struct ChildTask: Codable {
  /// The workload's name.
  var workload: String
  /// The number of documents in the loaded store.
  var count: Int
  /// The number of the sample.
  var repetition: Int
  /// The directory of the stores.
  var directory: String

  /// The option that passes it.
  static let flag = "--child"

  /// Describes a sample.
  init(workload: String, bench: Bench) {
    self.workload = workload
    count = bench.count
    repetition = bench.repetition
    directory = bench.directory
  }

  /// Decodes the output of ``encoded()``.
  init(encoded: String) throws {
    self = try JSONDecoder().decode(ChildTask.self, from: Data(encoded.utf8))
  }
}

extension ChildTask {
  /// Takes the sample in a new process.
  func run() throws -> Double {
    let (process, output) = try start()
    guard process.terminationReason == .exit, process.terminationStatus == 0 else {
      throw BenchmarkError("the measuring process failed")
    }
    let text = String(decoding: output, as: UTF8.self)
    guard let value = Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
      throw BenchmarkError("the measuring process printed \"\(text)\"")
    }
    return value
  }

  /// Runs the task in a new process that kills itself at the end.
  func runUntilKilled() throws {
    let (process, _) = try start()
    guard process.terminationReason == .uncaughtSignal else {
      throw BenchmarkError("the process exited before it was killed")
    }
  }

  /// Takes the sample and prints it, in the new process.
  func serve() throws {
    guard let found = (Workload.all + [.overwriteAndEnd]).first(where: { $0.name == workload })
    else { throw BenchmarkError("there is no workload \(workload)") }
    let bench = Bench(count: count, repetition: repetition, directory: directory)
    print(try found.measure(bench))
  }

  private func start() throws -> (Process, Data) {
    let process = Process()
    process.executableURL =
      Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
    let task = String(decoding: try JSONEncoder().encode(self), as: UTF8.self)
    process.arguments = [ChildTask.flag, task]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process, output)
  }
}

/// Ends this process as a crash would: nothing is closed.
func killThisProcess() {
  kill(getpid(), SIGKILL)
}

/// Runs a piece of work on threads of its own, and waits for all of them.
func runThreads(_ count: Int, _ body: @Sendable @escaping (Int) throws -> Void) throws {
  let failures = Failures()
  let group = DispatchGroup()
  for index in 0..<count {
    group.enter()
    Thread {
      defer { group.leave() }
      do { try body(index) } catch { failures.add(error) }
    }.start()
  }
  group.wait()
  if let failure = failures.first { throw failure }
}

/// Collects the errors of threads.
///
/// `@unchecked Sendable`: `lock` guards the errors.
private final class Failures: @unchecked Sendable {
  private let lock = NSLock()
  private var errors: [any Error] = []

  func add(_ error: any Error) { lock.withLock { errors.append(error) } }

  var first: (any Error)? { lock.withLock { errors.first } }
}
