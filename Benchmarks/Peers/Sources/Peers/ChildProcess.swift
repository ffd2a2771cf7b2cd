import Foundation

/// Runs one task in a process of its own.
///
/// So no engine's memory, caches or threads affect another's figures, and a process may be killed.
enum ChildProcess {
  static let flag = "--child"

  /// Returns the samples of the child; none if it was killed, as a crash step intends.
  static func run(_ task: ChildTask) throws -> [Sample] {
    let process = Process()
    process.executableURL = try executable()
    let encoded = try JSONEncoder().encode(task)
    process.arguments = [flag, String(decoding: encoded, as: UTF8.self)]
    let output = Pipe()
    process.standardOutput = output
    try process.run()

    let identifier = process.processIdentifier
    let timeOut = DispatchWorkItem { kill(identifier, SIGKILL) }
    DispatchQueue.global().asyncAfter(deadline: .now() + task.limitSeconds, execute: timeOut)
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    timeOut.cancel()

    if task.step == .crash { return [] }
    guard process.terminationReason == .exit else {
      throw PeerError("ended by signal \(process.terminationStatus) or the time limit")
    }
    guard process.terminationStatus == 0 else { throw PeerError("failed") }
    return try JSONDecoder().decode([Sample].self, from: data)
  }

  /// Runs the task in the child and prints the samples.
  static func serve(_ encoded: String) throws {
    let task = try JSONDecoder().decode(ChildTask.self, from: Data(encoded.utf8))
    let samples = try task.run()
    FileHandle.standardOutput.write(try JSONEncoder().encode(samples))
  }

  private static func executable() throws -> URL {
    if let url = Bundle.main.executableURL { return url }
    guard let path = CommandLine.arguments.first else { throw PeerError("no path to itself") }
    return URL(fileURLWithPath: path)
  }
}
