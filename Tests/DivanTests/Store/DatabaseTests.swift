import Divan
import DivanLog
import Testing
import TestSupport

struct DatabaseTests {
  @Test func `documents that are put can be read, and survive reopening`() throws {
    let fileSystem = MemoryFileSystem()
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    let path = "/store.divan"
    do {
      let database = try Database(at: path, configuration: configuration)
      #expect(database.openingReport.ending == .created)
      try database.write { transaction in
        let film = try transaction.put(Document(id: "a", ["title": "Metropolis", "year": 1927]))
        #expect(film.revision?.generation == 1)
        try transaction.put(Document(id: "b", ["title": "M"]))
        #expect(try transaction.document("a")?["year"] == 1927)
      }
      #expect(try database.read { try $0.document("a") }?["title"] == "Metropolis")
      try database.write { transaction in
        try transaction.update("a") { $0["year"] = 1928 }
        try transaction.delete("b")
      }
      try database.close()
    }
    let database = try Database(at: path, configuration: configuration)
    #expect(database.openingReport.ending == .closed)
    let snapshot = try database.snapshot()
    #expect(try snapshot.count == 1)
    #expect(try snapshot.document("a")?["year"] == 1928)
    #expect(try snapshot.document("b") == nil)
    #expect(try snapshot.revisions(of: "a").count == 2)
    let changes = snapshot.changes()
    #expect(try changes.collect().map(\.id) == ["a", "b"])
    let ids = snapshot.ids()
    #expect(try ids.collect() == ["a"])
  }
}
