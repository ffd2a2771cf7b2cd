import Dispatch
import Foundation
import Synchronization

/// A running `OtherProcess`, and its output so far.
///
/// It is started without Foundation's `Process`, so that only this code determines which
/// descriptors it has and when its end is noticed.
final class ChildProcess: Sendable {
  let number: pid_t
  private let input: FileHandle
  private let state = Mutex(State())
  private let readToEnd = DispatchSemaphore(value: 0)

  private struct State {
    var lines: [String] = []
    var rest: [UInt8] = []
    var isOver = false
    var hasExited = false
  }

  /// Starts the program, which is built into the same directory as the running one.
  init(_ arguments: [String]) throws {
    // Writing to a process that was killed must fail, not end the proof.
    signal(SIGPIPE, SIG_IGN)
    guard let program = ChildProcess.program else {
      throw CrashOracle.Mismatch("the program OtherProcess was not built")
    }
    let texts = [program.path] + arguments.filter { !$0.isEmpty }
    let (number, writing, reading) = try starting.withLock { _ in
      let (input, output) = (try CloseOnExecPipe(), try CloseOnExecPipe())
      let number = try spawn(texts, input: input.reading, output: output.writing)
      close(input.reading)
      close(output.writing)
      return (number, input.writing, output.reading)
    }
    self.number = number
    input = FileHandle(fileDescriptor: writing, closeOnDealloc: true)
    let reader = FileHandle(fileDescriptor: reading, closeOnDealloc: true)
    Thread.detachNewThread { self.follow(reader) }
  }

  /// The location of the program: next to `Proofs`, or next to or in the bundle of tests.
  private static let program: URL? =
    [Bundle.main.bundleURL, URL(filePath: CommandLine.arguments[0])]
    .flatMap { [$0, $0.deletingLastPathComponent()] }
    .map { $0.appending(path: "OtherProcess") }
    .first { FileManager.default.isExecutableFile(atPath: $0.path) }

  private func follow(_ reader: FileHandle) {
    while case let data = reader.availableData, !data.isEmpty {
      state.withLock { said in
        said.rest += data
        while let end = said.rest.firstIndex(of: 0x0A) {
          said.lines.append(String(decoding: said.rest[..<end], as: UTF8.self))
          said.rest.removeSubrange(...end)
        }
      }
    }
    state.withLock { $0.isOver = true }
    readToEnd.signal()
  }
}

extension ChildProcess {
  /// The lines so far.
  var lines: [String] { state.withLock { $0.lines } }

  /// Waits for a line with a prefix; returns nil if the process ended, or took too long.
  func line(beginning prefix: String, within seconds: Double = 20) -> String? {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while true {
      let (line, isOver) = state.withLock { said in
        (said.lines.first { $0.hasPrefix(prefix) }, said.isOver)
      }
      if line != nil || isOver || ContinuousClock.now > deadline { return line }
      usleep(200)
    }
  }

  /// Waits for a number of lines; returns false if the process ended, or took too long.
  func hasSaid(lines count: Int, within seconds: Double = 20) -> Bool {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while true {
      let (lineCount, isOver) = state.withLock { ($0.lines.count, $0.isOver) }
      if lineCount >= count { return true }
      if isOver || ContinuousClock.now > deadline { return false }
      usleep(200)
    }
  }

  /// Sends the process a line.
  func send(_ line: String = "") {
    // If the process is gone already, its output shows that.
    try? input.write(contentsOf: Data((line + "\n").utf8))
  }

  /// Ends the process's input.
  func endInput() { try? input.close() }

  func send(signal number: Int32) { _ = Foundation.kill(self.number, number) }

  /// Stops the process, and returns once it has stopped.
  func stop() throws {
    send(signal: SIGSTOP)
    var status: Int32 = 0
    // The status is this function's own.
    let found = unsafe waitpid(number, &status, WUNTRACED)
    // The low byte of the status of a stopped process is 0x7f, on every system.
    guard found == number, status & 0xFF == 0x7F else {
      throw CrashOracle.Mismatch("it did not stop: \(status)")
    }
  }

  /// Kills the process, if it has not ended, and waits for its end and all its output.
  ///
  /// Its output must not be held open by a child of its own.
  func kill(awaitingOutput: Bool = true) {
    send(signal: SIGKILL)
    waitUntilExit(awaitingOutput: awaitingOutput)
  }

  func waitUntilExit(awaitingOutput: Bool = true) {
    let isFirst = state.withLock { state in
      defer { state.hasExited = true }
      return !state.hasExited
    }
    if isFirst {
      var status: Int32 = 0
      // The status is this function's own.
      while unsafe waitpid(number, &status, 0) == -1 && errno == EINTR {}
    }
    guard awaitingOutput else { return }
    readToEnd.wait()
    readToEnd.signal()
  }

  /// The last round of each thread that was acknowledged.
  var acknowledged: [Int: Int] {
    lines.reduce(into: [:]) { rounds, line in
      let parts = line.split(separator: " ").compactMap { Int($0) }
      if parts.count == 2 { rounds[parts[0]] = parts[1] }
    }
  }

  /// The errors that it reported.
  var errors: [String] { lines.filter { $0.hasPrefix("error ") } }
}

/// Held while a child is started, so that no other one inherits its pipes.
private let starting = Mutex(())

/// A pipe that no child inherits unless that is requested.
private struct CloseOnExecPipe {
  let reading: Int32
  let writing: Int32

  init() throws {
    var ends: [Int32] = [0, 0]
    // Both ends are written to the array.
    guard unsafe pipe(&ends) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EINVAL)
    }
    (reading, writing) = (ends[0], ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  }
}

/// Starts a program with these two descriptors as its standard input and output.
private func spawn(_ arguments: [String], input: Int32, output: Int32) throws -> pid_t {
  var child: pid_t = 0
  var actions = unsafe posix_spawn_file_actions_t()
  // Everything that is passed to the call is owned here until it returns.
  unsafe posix_spawn_file_actions_init(&actions)
  defer { unsafe posix_spawn_file_actions_destroy(&actions) }
  unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
  unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
  var texts = unsafe arguments.map { unsafe strdup($0) } + [nil]
  defer { unsafe texts.forEach { unsafe free($0) } }
  // With coverage enabled, a process that is killed while writing its profile would corrupt it.
  let environment = ProcessInfo.processInfo.environment
    .merging(["LLVM_PROFILE_FILE": "/dev/null"]) { _, new in new }
  var variables = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
  defer { unsafe variables.forEach { unsafe free($0) } }
  let status = unsafe posix_spawn(&child, arguments[0], &actions, nil, &texts, &variables)
  guard status == 0 else { throw POSIXError(POSIXErrorCode(rawValue: status) ?? .EINVAL) }
  return child
}
