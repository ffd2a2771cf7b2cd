import Testing

@testable import PlantedBugs

/// The planted bugs, without the long work of trying them.
struct PlantedBugTests {
  @Test func `every planted bug still has its place in the source`() throws {
    let files = SourceTree().files(in: "Sources").reduce(into: [:]) { $0[$1.path] = $1.text }
    let bugs = PlantedBug.all + [.diskThatNeverLoses]
    let texts = try Planting(bugs: bugs).texts { path in
      try #require(files[path], "\(path) is gone")
    }
    for bug in bugs {
      for edit in bug.edits {
        #expect(texts[edit.file]?.contains("Planted.\(bug.switchName)") == true, "\(bug.name)")
      }
    }
    #expect(bugs.count > 100)
    #expect(bugs.count { $0.needsLoss } >= 20)
  }
}
