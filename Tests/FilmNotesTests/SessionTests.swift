import Divan
import DivanTesting
import Foundation
import TestSupport
import Testing

@testable import film_notes

/// Tests of the commands, each typed as a user types it.
@MainActor struct SessionTests {
  @Test func `films and series are added with their people`() async throws {
    let desk = try Desk()
    try await desk.type(
      #"add film Metropolis 1927 --by "Fritz Lang" --with "Brigitte Helm" --genre Drama"#)
    try await desk.type(#"add series "Berlin Alexanderplatz" 1980 --seasons 2"#)
    try await desk.type(#"add film M 1931 --by "Fritz Lang""#)
    #expect(
      try await desk.type("list --sort year") == [
        "Metropolis (1927)", "M (1931)", "Berlin Alexanderplatz (1980)", "3 works",
      ])
    #expect(
      try await desk.type(#"person "Fritz Lang""#) == [
        "Fritz Lang", "  directed Metropolis (1927)", "  directed M (1931)",
      ])
    #expect(
      try await desk.type("show METROPOLIS").dropFirst(2) == [
        "  directed by Fritz Lang", "  genres: Drama", "  with Brigitte Helm",
      ])
    #expect(try await desk.type(#"show "berlin alexanderplatz""#).last == "  2 seasons")
  }

  @Test(arguments: [
    ("list --only series", ["Berlin Alexanderplatz (1980)", "1 work"]),
    ("list --genre Crime", ["M (1931)", "1 work"]),
    ("list --from 1930 --to 1980 --sort year --limit 1", ["M (1931)", "1 work"]),
    (#"list --with "Günter Lamprecht""#, ["Berlin Alexanderplatz (1980)", "1 work"]),
    ("list ALEX", ["Berlin Alexanderplatz (1980)", "1 work"]),
  ])
  func `a list has the works that its options describe`(line: String, output: [String])
    async throws
  {
    #expect(try await Desk(Desk.works).type(line) == output)
  }

  @Test func `a search for a genre reads an index`() async throws {
    let plan = try await Desk(Desk.works).type("list --genre Crime --explain")
    #expect(plan.last?.contains(#"index scan "model:Work.genres" = "Crime""#) == true)
  }

  @Test func `a note rates its work, and both are undone together`() async throws {
    let desk = try Desk(Desk.works)
    try await desk.type(
      #"note m "A whistle." --tag sound --tag crime --on 2026-09-01 --rating 4.5"#)
    let note = "2026-09-01: A whistle. Rated 4.5. [sound, crime]"
    #expect(try await desk.type("notes --tag sound --since 2026-08-01") == ["M, \(note)"])
    #expect(try await desk.type("notes --since 2026-10-01").isEmpty)
    #expect(try await desk.type("list --sort rating").first == "M (1931), rated 4.5")
    #expect(try await desk.type("show m").last == "  - \(note)")
    #expect(try await desk.type("undo") == ["Undone"])
    #expect(try await desk.type("notes").isEmpty)
    #expect(try desk.library.work("m").rating == nil)
    #expect(try await desk.type("redo") == ["Redone"])
    #expect(try await desk.type("redo") == ["There is nothing to redo"])
    #expect(try await desk.type("notes") == ["M, \(note)"])
  }

  @Test func `a refused note leaves nothing unsaved`() async throws {
    let desk = try Desk(Desk.works)
    let lines = try await desk.type(#"note m "Too good." --rating 7"#)
    #expect(lines.first?.contains("a rating is between 0 and 5") == true && desk.status == 1)
    #expect(desk.library.context.unsavedModels.isEmpty)
    #expect(try await desk.type("notes").isEmpty)
  }

  @Test func `a deleted work takes its notes along, and undo brings both back`() async throws {
    let desk = try Desk(Desk.works)
    try await desk.type(#"note m "A whistle." --on 2026-09-01"#)
    let ids = try desk.library.context.snapshot.ids().collect()
    #expect(try await desk.type("delete m") == ["Deleted M (1931) and its notes: 1"])
    #expect(try await desk.type("show m") != [] && desk.status == 1)
    try await desk.type("undo")
    #expect(try desk.library.context.snapshot.ids().collect() == ids)
  }

  @Test func `a watched list reports what other commands change`() async throws {
    let desk = try Desk(Desk.works)
    #expect(try await desk.type("watch --to 1940") == ["  M (1931)", "  Metropolis (1927)"])
    #expect(try await desk.type("add film Nosferatu 1922").first == "+ Nosferatu (1922)")
    #expect(try await desk.type("note m Good. --rating 4").first == "~ M (1931), rated 4.0")
    #expect(try await desk.type("delete metropolis").first == "- Metropolis (1927)")
    #expect(try await desk.type("undo") == ["+ Metropolis (1927)", "Undone"])
    #expect(try await desk.type("add film Stalker 1979").count == 1)
    #expect(try await desk.type("unwatch").isEmpty)
    #expect(try await desk.type("delete nosferatu").count == 1)
  }

  @Test func `the history shows each change, and the work as it was`() async throws {
    let desk = try Desk(Desk.works)
    let first = try desk.library.context.snapshot.sequence
    try await desk.type("note m Good. --rating 4 --on 2026-09-01")
    let history = try await desk.type("history m")
    #expect(history.first?.hasSuffix("  rating: 4.0") == true && history.count == 2)
    #expect(try await desk.type("history m --at \(first)").first == "M (1931)")
    try await desk.type("delete m")
    #expect(try await desk.type("history m").first?.hasSuffix("  deleted") == true)
    try await desk.type("history nothing")
    #expect(desk.status == 1)
  }

  @Test func `a poster goes from a file to the store and back`() async throws {
    let directory = try TemporaryDirectory()
    let (file, copy) = (directory.path + "/m.jpg", directory.path + "/copy.jpg")
    let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try bytes.write(to: URL(filePath: file))
    let desk = try Desk(Desk.works)
    #expect(try await desk.type("poster m \(file)") == ["Attached 300000 bytes, image/jpeg"])
    #expect(try await desk.type("show m").contains("  poster: image/jpeg, 300000 bytes"))
    #expect(try await desk.type("poster m --to \(copy)") == ["Wrote 300000 bytes"])
    #expect(try Data(contentsOf: URL(filePath: copy)) == bytes)
    for line in ["poster m --to \(copy)", "poster metropolis --to \(copy)", "poster m \(file)2"] {
      try await desk.type(line)
      #expect(desk.status == 1)
    }
  }

  @Test(arguments: [
    ("", 64), ("frobnicate", 64), ("add", 64), ("add opera Tosca", 64), ("add film M 19x1", 64),
    ("list --sort colour", 64), ("list --limit", 64), ("notes --since yesterday", 64),
    ("show nothing", 1), ("person Nemo", 1), ("import /nothing.json", 1), ("help", 0),
  ])
  func `a mistake is reported with a status`(line: String, status: Int32) async throws {
    let desk = try Desk(Desk.works)
    let lines = try await desk.type(line)
    #expect(!lines.isEmpty && desk.status == status, "\(lines)")
  }

  @Test func `two works of one title are told apart by their IDs`() async throws {
    let desk = try Desk(Desk.works)
    try await desk.type("add film metropolis 2001")
    #expect(try await desk.type("show Metropolis")[0].contains("metropolis is of 1927"))
    #expect(try await desk.type("show metropolis")[0] == "Metropolis (1927)")
  }
}
