import DivanLog
import DivanTesting

import Divan

/// The files of views: the rows must match the documents, whatever the file contains.
extension RuleCase {
  static let views: [RuleCase] = [
    RuleCase(name: "a view's file covers only durable commits") {
      let fixture = CrashFixture.fresh()
      try fixture.makeView()
      var database = try fixture.open()
      // Nothing proves that it was durable, so the next opening logs it again.
      try fixture.commit(database, [.put("doc-1", size: 20)])
      try fixture.commit(
        database, [.put("doc-2", size: 21), .put("doc-7", size: 9), .delete("doc-3")],
        durability: .none)
      try fixture.askView(database)
      let left = fixture.restarted(.strict)
      database = try left.openQuiet()
      // If it covered commits that were lost, it would be removed.
      _ = try left.viewPath()
      try database.write { transaction in
        _ = try transaction.replace("doc-4", with: ["number": 1])
      }
      let next = left.restarted(.strict, life: 700)
      try ProofView.check(next.openQuiet())
    },
    RuleCase(name: "a view's file with a changed byte is not used") {
      let fixture = CrashFixture.fresh()
      try fixture.makeView()
      let path = try fixture.viewPath()
      let size = try fixture.fileSystem.status(path).size
      let offsets =
        Array(stride(from: 0, to: ViewFileHeader.size, by: 331))
        + Array(stride(from: ViewFileHeader.size, to: size, by: 7))
      for offset in offsets {
        let other = fixture.restarted(.processEnd, life: 600 + offset)
        try other.fileSystem.corrupt(path, atOffset: offset, mask: 1)
        try ProofView.check(other.openQuiet())
        other.fileSystem.losePower(atCall: 0)
      }
    },
    RuleCase(name: "a document purged after a view's file was written is not in the view") {
      let fixture = CrashFixture.fresh()
      try fixture.makeView()
      let database = try fixture.openQuiet()
      try fixture.commit(database, [.purge("doc-1"), .purge("doc-3")])
      try fixture.commit(database, [.put("doc-3", size: 5)])
      try fixture.close(database)
      try ProofView.check(fixture.openQuiet())
    },
    RuleCase(name: "a view's file of another version of the view is not used") {
      let fixture = CrashFixture.fresh()
      try fixture.makeView()
      let database = try fixture.openQuiet()
      let other = MapReduceView(ProofView.view.name, version: "2") { document, emit in
        emit(.string(document.id))
      }
      try expect(
        database.rows(of: other).allSatisfy { $0.key.stringValue == $0.sourceID },
        "rows of another version")
    },
    RuleCase(name: "a view's file of commits that the store lost is not used after compaction") {
      let fixture = CrashFixture.fresh()
      try fixture.makeView()
      let earlier = fixture.restarted(.processEnd)
      var database = try fixture.open()
      try fixture.fill(database, 2..<9, size: 40)
      try fixture.askView(database)
      try fixture.close(database)
      let path = try fixture.viewPath()
      let bytes = try fixture.fileSystem.contents(of: path, limit: 1 << 20)
      try earlier.fileSystem.remove(path)
      let file = try earlier.fileSystem.open(path, .creating)
      try file.write(bytes, at: 0)
      try file.close()
      // The view is not queried while the segment that it names can be distinguished from the lost
      // one.
      for _ in 0..<2 {
        database = try earlier.openQuiet()
        for round in 0..<10 {
          try database.write { _ = try $0.replace("other", with: ["number": .int(Int64(round))]) }
        }
        try database.compact()
        try database.close()
      }
      try ProofView.check(earlier.openQuiet())
    },
    RuleCase(name: "a view's file of another store, or of a later state of this one, is not used") {
      let fixture = CrashFixture.fresh()
      try fixture.makeView()
      let earlier = fixture.restarted(.processEnd)
      let stranger = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1), life: 900)
      try stranger.makeView(0..<2)
      let database = try fixture.open()
      try fixture.fill(database, 2..<9, size: 40)
      try fixture.askView(database)
      try fixture.close(database)
      let path = try fixture.viewPath()
      let bytes = try fixture.fileSystem.contents(of: path, limit: 1 << 20)
      for other in [earlier, stranger] {
        try other.fileSystem.remove(path)
        let file = try other.fileSystem.open(path, .creating)
        try file.write(bytes, at: 0)
        try file.close()
        // Once while it covers later commits, and again when the number of commits here is the
        // same.
        for round in 0..<10 {
          let database = try other.openQuiet()
          if round % 9 == 0 { try ProofView.check(database) }
          try database.write { _ = try $0.replace("other", with: ["number": .int(Int64(round))]) }
          try database.flush()
          other.lose(.everything)
        }
      }
    },
  ]
}

extension CrashFixture {
  /// Fills a store, queries the view, and closes the store, so that the view has a file.
  fileprivate func makeView(_ numbers: Range<Int> = 0..<6) throws {
    let database = try open()
    try fill(database, numbers, size: 30)
    try askView(database)
    try close(database)
  }

  fileprivate func viewPath() throws -> String {
    let names = fileSystem.names(in: CrashFixture.path).filter { $0.hasSuffix(".view") }
    return path(of: try require(names.first, "file of a view"))
  }
}
