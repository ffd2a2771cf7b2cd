import Testing

@testable import PlantedBugs

/// The planted bugs, without the long work of trying them.
struct PlantedBugTests {
  @Test func `every planted bug still has its place in the source`() throws {
    var files: [String: String] = [:]
    for file in SourceTree().files(in: "Sources") { files[file.path] = file.text }
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
    #expect(bugs.filter(\.needsLoss).count >= 20)
  }
}
