import Foundation
import TestSupport
import Testing

@testable import film_notes

/// Tests that run what the pages tell a user to type.
@MainActor struct PageTests {
  private let directory: TemporaryDirectory
  private let screen = Screen()

  init() throws { directory = try TemporaryDirectory() }

  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  private func lines(of page: String) throws -> [String] {
    let url = PageTests.root.appending(path: page)
    return try String(contentsOf: url, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false
    ).map(String.init)
  }

  /// The arguments of a line such as `swift run film-notes --store Films.divan list`.
  private func arguments(_ line: String) throws -> [String]? {
    let start = "swift run film-notes "
    guard line.hasPrefix(start) else { return nil }
    return try Command.split(String(line.dropFirst(start.count))).map {
      $0 == "Films.divan" ? directory.path + "/Films.divan" : $0
    }
  }

  private func runCommands(of page: String) async throws {
    var count = 0
    for line in try lines(of: page) {
      guard let arguments = try arguments(line) else { continue }
      let status = await FilmNotes.run(arguments, on: screen.terminal) {
        AsyncStream { $0.finish() }
      }
      #expect(status == 0, "\(line)")
      #expect(!screen.takeLines().isEmpty, "\(line)")
      count += 1
    }
    #expect(count >= 4)
  }

  @Test func `the commands of the tutorial succeed`() async throws {
    try await runCommands(of: "Sources/Divan/Divan.docc/GettingStarted.md")
  }

  @Test func `the commands of the examples' page succeed, and its session has this output`()
    async throws
  {
    let page = "Examples/README.md"
    try await runCommands(of: page)
    let lines = try lines(of: page)
    let start = try #require(lines.firstIndex { $0.hasPrefix("$ swift run film-notes ") })
    let expected = lines[(start + 1)...].prefix { $0 != "```" }
    let typed = expected.filter { $0.hasPrefix("> ") }.map { String($0.dropFirst(2)) }
    // The page shows what a terminal shows, where the user's lines follow the prompt.
    var shown: [String] = []
    var input = typed[...]
    let terminal = Terminal(
      print: { shown.append($0) }, printError: { shown.append($0) },
      prompt: { if let line = input.popFirst() { shown.append("> \(line)") } })
    let arguments = try #require(try arguments(String(lines[start].dropFirst(2))))
    let status = await FilmNotes.run(arguments, on: terminal) {
      AsyncStream { continuation in
        for line in typed { continuation.yield(line) }
        continuation.finish()
      }
    }
    #expect(status == 0)
    #expect(shown == Array(expected))
  }

  @Test func `the table of the examples' page names each source file`() throws {
    let text = try lines(of: "Examples/README.md").joined(separator: "\n")
    let folder = PageTests.root.appending(path: "Examples/FilmNotes").path
    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder)
    #expect(paths.count > 10)
    for path in paths where path.hasSuffix(".swift") {
      #expect(text.contains("(FilmNotes/\(path))"), "\(path)")
    }
  }
}
