import Foundation
import Testing

@testable import PlantedBugs

/// Tests that the planted bugs can be applied, without building and running them.
struct PlantedBugTests {
  @Test func `every planted bug can be applied to the source`() throws {
    var files: [String: String] = [:]
    for file in SourceTree().files(in: "Sources") { files[file.path] = file.text }
    let bugs = PlantedBug.all + [.diskThatNeverLoses]
    let texts = try Planting(bugs: bugs).texts(among: Array(files.keys)) { path in
      try #require(files[path], "\(path) does not exist")
    }
    let switches = texts.values.map { text in
      Set(
        text.components(separatedBy: "Planted.").dropFirst().map {
          String(decoding: $0.utf8.prefix(while: SourceTree.isPartOfWord), as: UTF8.self)
        })
    }
    for bug in bugs {
      let count = switches.count { $0.contains(bug.switchName) }
      #expect(count >= Set(bug.edits.map(\.file)).count, "\(bug.name)")
    }
    #expect(bugs.count > 100)
    #expect(bugs.filter(\.needsLoss).count >= 20)
  }

  @Test func `comments, indentation and line breaks do not affect where a planted bug applies`()
    throws
  {
    let bug = PlantedBug(
      "a-bug", rule: "1", "none", in: "A.swift",
      find: "guard a == b, c else {\n  return // why\n}",
      plant: "guard PLANTED || a == b, c else { return }", killedBy: .rules("rule 1:"))
    func planted(_ text: String) throws -> String? {
      try Planting(bugs: [bug]).texts(among: ["Sources/A.swift"]) { _ in text }["Sources/A.swift"]
    }
    let expected = "f()\n  guard Planted.aBug || a == b, c else { return }\ng(\"//\")"
    for text in [
      "f()\n  guard a == b, c else {\n    return\n  }\ng(\"//\")",
      "f()\n  guard a == b,\n    c\n  else { return }  // because\ng(\"//\")",
      "f()\n  guard a == b,\n    // Why it is so.\n    c else {\n    return }\ng(\"//\")",
    ] {
      #expect(try planted(text) == expected)
    }
    // Not in the middle of a line, not where the code occurs twice, and not where it differs.
    for text in [
      "if x { guard a == b, c else { return } }", "guard a == c, c else { return }",
      "guard a == b, c else { return }\nguard a == b, c else { return }",
    ] {
      #expect(throws: Planting.Problem.self) { try planted(text) }
    }
  }
}
