import Divan
import Foundation
import TestSupport
import Testing

private class Film: Model {
  @Persisted var title = ""
  @Persisted var year: Int?
  @Persisted var cast: [String]
}

/// What the README shows, run.
struct ReadmeTests {
  @Test func `the code of the README does what it says`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Films.divan"
    do {
      let database = try Database(at: path)
      let context = database.makeContext()

      let film = Film(in: context)
      film.title = "Metropolis"
      film.year = 1927
      film.cast.append("Brigitte Helm")
      try film.save()

      try database.write { transaction in
        try transaction.put(Document(id: "m", ["title": "M", "year": 1931]))
      }
      let snapshot = try database.snapshot()
      #expect(try (snapshot.get("m")?["title"] ?? "none") == "M")
      #expect(try snapshot.get(film.id)?["cast"] == ["Brigitte Helm"])
      try database.close()
    }
    var configuration = Configuration()
    configuration.history = HistoryRetention(age: .seconds(30 * 86_400))
    let database = try Database(at: path, configuration: configuration)
    #expect(try database.snapshot().count == 2)

    try database.nameSnapshot("before import")
    let before = try database.snapshot()
    try database.write { transaction in
      try transaction.overwrite("m", with: ["title": "M", "year": 1932])
    }
    #expect(try (database.snapshot(named: "before import").get("m")?["year"] ?? "none") == 1931)
    #expect(try database.snapshot(at: before.sequence).count == 2)
    #expect(try database.snapshot().get("m")?["year"] == 1932)
  }

  @Test func `the code of the README is the code above`() throws {
    let here = URL(filePath: #filePath)
    let root = here.deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
    let source = try String(contentsOf: here, encoding: .utf8)
    let blocks = readme.matches(of: /```swift\n([\s\S]*?)```/).map(\.output.1)
    #expect(blocks.count == 2)
    // Paths and what is printed differ; every other line stands above as it stands there.
    for line in blocks.flatMap({ $0.split(separator: "\n") }) {
      let code = line.split(separator: "//")[0].trimmingCharacters(in: .whitespaces)
      if code.hasPrefix("let database =") || code.hasPrefix("print(") { continue }
      #expect(source.contains(code), "\(code)")
    }
  }
}
