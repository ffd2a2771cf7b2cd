import Divan
import DivanLog
import Foundation
import TestSupport
import Testing
import logdump

struct LogDumpTests {
  @Test func `info describes the store and the end of its log`() throws {
    let store = try DumpedStore.films()
    let run = store.dump()
    #expect(run.status == .sound)
    #expect(
      run.output == """
        Store         /films.divan
        Store ID      9e3779b97f4a7c153c6ef372fe94f82a
        Segments      2
        Checkpoints   0
        Documents     2
        Last commit   3
          at          2023-11-14T22:13:28.000Z
          sequence    5
        Ending        closed properly
        Damage        none found; `verify` checks every byte

        """)
    #expect(
      store.dump("info", "--json").output
        == #"{"path":"/films.divan","storeID":"9e3779b97f4a7c153c6ef372fe94f82a","segments":2,"#
        + #""checkpoints":0,"documents":2,"commit":3,"time":1700000008000,"sequence":5,"#
        + #""ending":"closed","damage":[]}"# + "\n")
  }

  @Test func `ls lists each file and the part of the log in it`() throws {
    let store = try DumpedStore.films()
    #expect(
      store.dump("ls").lines.map { $0.split(separator: " ").prefix(3).joined(separator: " ") }
        .filter { !$0.hasPrefix("LOCK ") }  // LOCK has the number of this process
        == [
          "File Size What", "0000000001.segment 4536 used,", "0000000002.segment 4232 used,",
          "HEAD 256", "FLUSHED 8448", "tmp", "Total of 6",
        ])
    #expect(store.dump("ls").output.contains("file 2, generation 0, salt b54cda58fbbee87e"))
  }

  @Test func `ls and verify include the files of views`() throws {
    let store = try DumpedStore.films()
    var configuration = store.configuration
    configuration.viewSavingMinimum = 0
    let database = try Database(at: store.path, configuration: configuration)
    let byTitle = MapReduceView("by title", version: "7") { film, emit in emit(film["title"]) }
    #expect(try database.rows(of: byTitle).count == 2)
    try database.close()
    let name = "\(FileName.view(named: "by title"))"
    let line = try #require(store.dump("ls").lines.first { $0.hasPrefix(name) })
    #expect(line.hasSuffix("view by title, version 7, 2 rows, through commit 3"))
    #expect(store.dump("verify").status == .sound)
    #expect(store.dump("verify").output.contains(", 1 views"))
    var bytes = try store.bytes(name)
    bytes[ViewFileHeader.size + FrameHeader.size] ^= 1
    let run = try store.withBytes(bytes, in: name) { store.dump("verify") }
    #expect(run.status == .damage && run.output.contains(name))
    #expect(try store.withBytes(bytes, in: name) { store.dump("export") }.status == .sound)
  }

  @Test func `frames lists every frame`() throws {
    let store = try DumpedStore.films()
    let run = store.dump("frames")
    #expect(run.status == .sound)
    #expect(
      run.lines == [
        "      Offset       Size  Kind        Commit and position in it",
        "0000000001.segment",
        "        4096        208  transaction commit 1 first last",
        "        4304        232  transaction commit 2 first last",
        "0000000002.segment",
        "        4096        136  transaction commit 3 first last",
        "Total of 3 frames, 576 bytes",
      ])
    let second = [run.lines[0]] + run.lines[4...5] + ["Total of 1 frames, 136 bytes"]
    #expect(store.dump("frames", "2").lines == second)
    #expect(store.dump("frames", "0000000002.segment").lines == second)
    #expect(store.dump("frames", "3").status == .usage)
    #expect(store.dump("frames", "3").output == "")
  }

  @Test func `tx lists transactions and their records`() throws {
    let store = try DumpedStore.films()
    #expect(
      store.dump("tx", "--records").lines == [
        "        4128       62  1  metropolis  1-6a4dc34fab4768d11fdaa46cc79c010a",
        "        4190       60  2  nosferatu  1-489a812a5466d9f6b540aeee8e97f6f0",
        "commit 1  2023-11-14T22:13:23.000Z  0000000001.segment to byte 4304, 2 records, "
          + "sequence 2, 2 documents",
        "        4336       87  3  metropolis  2-0ae5e920b4397a1c6c9ee025de137aa6",
        "        4423       58  4  nosferatu  2-d32ea447ba989ddf5b217e5ab3eb8151  deleted",
        "commit 2  2023-11-14T22:13:24.000Z  0000000001.segment to byte 4536, 2 records, "
          + "sequence 4, 1 documents",
        "        4128       51  5  m  1-67458072f2570840e56011f175122826",
        "commit 3  2023-11-14T22:13:28.000Z  0000000002.segment to byte 4232, 1 records, "
          + "sequence 5, 2 documents",
      ])
    #expect(store.dump("log").output == store.dump("tx").output)
    #expect(store.dump("tx").lines.count == 3)
  }

  @Test func `doc shows a document and all of its revisions that are still in the log`() throws {
    let store = try DumpedStore.films()
    #expect(
      store.dump("doc", "metropolis", "--revs").output == """
        Document  metropolis
        Sequence  3
        Revisions 2-0ae5e920b4397a1c6c9ee025de137aa6
                  1-6a4dc34fab4768d11fdaa46cc79c010a
        {"minutes":153.5,"title":"Metropolis"}
        In the log:
          1-6a4dc34fab4768d11fdaa46cc79c010a  commit 1  2023-11-14T22:13:23.000Z  \
        0000000001.segment at byte 4128
            {"title":"Metropolis","year":1927}
          2-0ae5e920b4397a1c6c9ee025de137aa6  commit 2  2023-11-14T22:13:24.000Z  \
        0000000001.segment at byte 4336
            {"minutes":153.5,"title":"Metropolis"}
            - year: 1927
            + minutes: 153.5

        """)
    #expect(store.dump("doc", "nosferatu").lines.first == "Document  nosferatu, deleted")
    let missing = store.dump("doc", "missing")
    #expect(missing.status == .usage)
    #expect(missing.problems.contains("there is no document `missing`"))
    #expect(store.dump("doc", "m", "--json").lines.count == 1)
  }

  @Test func `the article ReadingThePast shows the actual output of doc`() throws {
    let article = try ProjectFolder.text(of: "Sources/Divan/Divan.docc/ReadingThePast.md")
    let shown = try DumpedStore.films().dump("doc", "metropolis", "--revs").output
    #expect(article.contains("```text\n\(shown)```"))
    #expect(article.contains("swift run logdump Films.divan doc metropolis --revs"))
  }

  @Test func `stats counts live and dead bytes`() throws {
    let store = try DumpedStore.films()
    #expect(
      store.dump("stats", "--json").lines == [
        #"{"file":"0000000001.segment","size":4536,"records":267,"live":145,"dead":122,"pinned":0}"#,
        #"{"file":"0000000002.segment","size":4232,"records":51,"live":51,"dead":0,"pinned":0}"#,
      ])
    #expect(
      store.dump("stats").lines.last?.split(separator: " ").map(String.init)
        == ["Total", "of", "2", "8768", "318", "196", "122", "0"])
  }

  @Test func `export writes a line for each document, by ID or by sequence`() throws {
    let store = try DumpedStore.films()
    let metropolis =
      #"{"_id":"metropolis","_rev":"2-0ae5e920b4397a1c6c9ee025de137aa6","minutes":153.5,"#
      + #""title":"Metropolis"}"#
    let m =
      #"{"_id":"m","_rev":"1-67458072f2570840e56011f175122826","tags":["crime",null,true],"title":"M"}"#
    #expect(store.dump("export").lines == [m, metropolis])
    #expect(store.dump("export", "--by", "sequence").lines == [metropolis, m])
  }

  @Test func `salvage of a sound store loses no document and restores no deleted one`() throws {
    let store = try DumpedStore.films()
    let run = store.dump("salvage", "--to", "/new.divan")
    #expect(run.status == .sound)
    #expect(run.output == "2 documents were put into /new.divan; nothing was lost.\n")
    #expect(store.dump("verify", path: "/new.divan").status == .sound)
    let lines = store.dump("export", path: "/new.divan").lines
    #expect(lines.count == 2)
    #expect(lines[1].hasSuffix(#","minutes":153.5,"title":"Metropolis"}"#))
    #expect(store.dump("salvage", "--to", "/new.divan").status == .usage)
  }

  @Test func `salvage does not write into the store`() throws {
    let store = try DumpedStore.films()
    let names = try store.fileNames()
    for target in ["\(store.path)/new", "\(store.path)/a/b", "\(store.path)/tmp/new"] {
      let run = store.dump("salvage", "--to", target)
      #expect(run.status == .usage, "\(target): \(run)")
    }
    #expect(try store.fileNames() == names)
    #expect(try store.fileSystem.list("\(store.path)/tmp").isEmpty)
  }

  @Test func `a store that was never written to is sound and empty`() throws {
    let store = DumpedStore()
    try store.open().close()
    for command in ["info", "ls", "frames", "tx", "att", "stats", "verify", "export"] {
      #expect(store.dump(command).status == .sound, "\(command)")
    }
    #expect(store.dump("salvage", "--to", "/new.divan").status == .sound)
  }

  @Test(arguments: [
    [], ["--nonsense"], ["/films.divan", "nonsense"], ["/films.divan", "doc"],
    ["/films.divan", "salvage"], ["/films.divan", "salvage", "--to"],
    ["/films.divan", "report"], ["/films.divan", "report", "--html"],
    ["/films.divan", "report", "x.html"], ["/films.divan", "ls", "more"],
    ["/films.divan", "export", "--by", "size"],
  ])
  func `invalid arguments are refused`(arguments: [String]) throws {
    let run = try DumpedStore.films().run(arguments)
    #expect(run.status == .usage)
    #expect(run.output == "")
    #expect(run.problems.hasSuffix("See `logdump --help`.\n"))
  }

  @Test func `help lists every command and every exit status`() throws {
    let run = DumpedStore().run(["--help"])
    #expect(run.status == .sound)
    let commands = [
      "info", "ls", "frames", "tx, log", "doc ID", "att", "stats", "verify", "export", "salvage",
      "report",
    ]
    for command in commands { #expect(run.output.contains("\n  \(command)"), "\(command)") }
    for status in 0...5 { #expect(run.output.contains("\n  \(status)  ")) }
  }

  @Test func `a closed output pipe is no error`() throws {
    let store = try DumpedStore.films()
    let closed = Output { (_: borrowing ByteWriter) in
      throw SystemError(call: "write", path: "standard output", code: .brokenPipe)
    }
    let tool = LogDump(fileSystem: store.fileSystem, output: closed, problems: closed)
    #expect(tool.run(["/films.divan", "export"]) == .sound)
  }

  @Test func `a full disk for the output is an error`() throws {
    let store = try DumpedStore.films()
    let full = Output { (_: borrowing ByteWriter) in
      throw SystemError(call: "write", path: "standard output", code: .noSpace)
    }
    let tool = LogDump(fileSystem: store.fileSystem, output: full, problems: full)
    #expect(tool.run(["/films.divan", "export"]) == .unreadable)
  }

  @Test func `times are written in ISO 8601, also in leap years`() throws {
    let store = DumpedStore()
    store.setClock(951_826_554_999)  // 2000-02-29, one second before it is read
    let database = try store.open()
    try database.write { try $0.put(Document(id: "a")) }
    try database.close()
    #expect(store.dump("tx").output.hasPrefix("commit 1  2000-02-29T12:15:"))
  }
}
