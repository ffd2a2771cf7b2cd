import Divan
import Foundation
import Testing

/// Tests of the program as a process, with signals.
struct ProgramTests {
  /// The program that was built beside the tests.
  private static var program: URL {
    var folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    while folder.path != "/" {
      let program = folder.appending(path: "DivanServer")
      if FileManager.default.isExecutableFile(atPath: program.path),
        !folder.appending(path: "Package.swift").isFile
      {
        return program
      }
      folder = folder.deletingLastPathComponent()
    }
    return URL(filePath: "/nonexistent")
  }

  private func start(_ arguments: [String]) throws -> (Process, Pipe) {
    let process = Process()
    process.executableURL = Self.program
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    return (process, output)
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func `a signal ends the program with its stores closed`(_ signal: Int32) async throws {
    let folder = try RunningServer.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "Films.divan").path
    let (process, output) = try start(["--store", path, "--port", "0"])
    var text = ""
    while !text.contains("Listening") {
      let data = output.fileHandleForReading.availableData
      try #require(!data.isEmpty, "\(text)")
      text += String(decoding: data, as: UTF8.self)
    }
    kill(process.processIdentifier, signal)
    process.waitUntilExit()
    text += String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    #expect(process.terminationStatus == 0, "\(text)")
    #expect(text.contains("The stores are closed."))
    let database = try Database(at: path)
    #expect(try database.snapshot().count == 0)
    try await database.close()
  }

  @Test func `the program refuses other machines without users`() throws {
    let (process, output) = try start(["--store", "/nonexistent/a.divan", "--host", "0.0.0.0"])
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 1)
    #expect(String(decoding: data, as: UTF8.self).contains("Without users"))
  }
}

extension URL {
  fileprivate var isFile: Bool { FileManager.default.fileExists(atPath: path) }
}
