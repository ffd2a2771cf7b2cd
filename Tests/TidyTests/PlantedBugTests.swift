import Testing

@testable import PlantedBugs

/// The planted bugs, without the long work of trying them.
struct PlantedBugTests {
  @Test func `every planted bug still has its place in the source`() throws {
    var files: [String: String] = [:]
    for file in SourceTree().files(in: "Sources") { files[file.path] = file.text }
    let bugs = PlantedBug.all + [.diskThatNeverLoses]
    let texts = try Planting(bugs: bugs).texts(among: Array(files.keys)) { path in
      try #require(files[path], "\(path) is gone")
    }
    for bug in bugs {
      let count = texts.values.count { $0.contains("Planted.\(bug.switchName)") }
      #expect(count >= Set(bug.edits.map(\.file)).count, "\(bug.name)")
    }
    #expect(bugs.count > 100)
    #expect(bugs.filter(\.needsLoss).count >= 20)
  }

  @Test func `comments, indentation and line breaks do not move a planted bug`() throws {
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
    // Not a part of a line, not twice, not where the code is another.
    for text in [
      "if x { guard a == b, c else { return } }", "guard a == c, c else { return }",
      "guard a == b, c else { return }\nguard a == b, c else { return }",
    ] {
      #expect(throws: Planting.Problem.self) { try planted(text) }
    }
  }
}
