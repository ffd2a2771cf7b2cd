import DivanLog
import Testing
import logdump

/// Tests of the tool on a store in which another process replaces files.
struct StoreInUseTests {
  @Test(arguments: [["verify"], ["report", "--html", "/page.html"]])
  func `a checkpoint that is removed after the files were listed is skipped`(
    arguments: [String]
  ) throws {
    let store = try DumpedStore.aged()
    let checkpoints = try store.fileNames().filter { $0.hasSuffix(".checkpoint") }
    #expect(!checkpoints.isEmpty)
    let fileSystem = BusyFileSystem(
      store, removing: checkpoints.map { "\(store.path)/\($0)" })
    let run = store.dump(arguments, on: fileSystem)
    #expect(run.status == .sound, "\(run.output)\(run.problems)")
    #expect(try !store.fileNames().contains { $0.hasSuffix(".checkpoint") })
    if arguments == ["verify"] { #expect(run.output.contains(", 0 checkpoints")) }
  }

  @Test(arguments: ["ls", "frames"])
  func `a segment or another file that is removed after the files were listed is skipped`(
    command: String
  ) throws {
    let store = try DumpedStore.aged()
    var ranges: [ClosedRange<UInt64>] = []
    for name in try store.fileNames() {
      if case .segment(let numbers)? = FileName(name) { ranges.append(numbers) }
    }
    // The listing still has the first of the segments that were compacted.
    let compacted = try #require(ranges.first { $0.count > 1 })
    let gone = "\(FileName.segment(compacted.lowerBound...compacted.lowerBound))"
    #expect(try !store.fileNames().contains(gone))
    let run = store.dump([command], on: BusyFileSystem(store, listing: [gone, "CHECK"]))
    #expect(run.status == .sound, "\(run.output)\(run.problems)")
    #expect(run.output.contains("\(FileName.segment(compacted))"))
    #expect(!run.output.contains(gone) && !run.output.contains("CHECK"))
  }
}

/// A file system in which files of a store go away after they were listed.
private final class BusyFileSystem: FileSystem {
  private let base: MemoryFileSystem
  private let storePath: String
  /// The names of files that are still listed, although they are gone.
  private let listed: [String]
  /// The paths of files that are removed once the store was opened.
  private let removals: [String]

  init(_ store: DumpedStore, listing listed: [String] = [], removing removals: [String] = []) {
    base = store.fileSystem
    storePath = store.path
    self.listed = listed
    self.removals = removals
  }

  func list(_ path: String) throws(SystemError) -> [String] {
    // The tool lists the temporary files after it opened the log, and before it reads checkpoints.
    if path == "\(storePath)/\(FileName.temporaries)" {
      for file in removals { try? base.remove(file) }
    }
    let names = try base.list(path)
    return path == storePath ? (names + listed).sorted() : names
  }

  func open(_ path: String, _ access: FileAccess) throws(SystemError) -> any OpenFile {
    try base.open(path, access)
  }
  func rename(_ path: String, to newPath: String) throws(SystemError) {
    try base.rename(path, to: newPath)
  }
  func link(_ path: String, to newPath: String) throws(SystemError) {
    try base.link(path, to: newPath)
  }
  func remove(_ path: String) throws(SystemError) { try base.remove(path) }
  func makeDirectory(_ path: String) throws(SystemError) { try base.makeDirectory(path) }
  func removeDirectory(_ path: String) throws(SystemError) { try base.removeDirectory(path) }
  func status(_ path: String) throws(SystemError) -> FileStatus { try base.status(path) }
  func flushDirectory(_ path: String) throws(SystemError) { try base.flushDirectory(path) }
  func canonicalPath(_ path: String) throws(SystemError) -> String { try base.canonicalPath(path) }
  func lock(_ path: String, note: String) throws(SystemError) -> FileLockOutcome {
    try base.lock(path, note: note)
  }
}
