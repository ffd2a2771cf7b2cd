import DivanLog
import DivanTesting
import TestSupport
import Testing

/// The file systems that must behave the same, each with a directory of its own.
enum FileSystemKind: CaseIterable, CustomTestStringConvertible {
  case posix, memory, simulated

  var testDescription: String { "\(self)" }

  func run(_ body: (any FileSystem, String) throws -> Void) throws {
    switch self {
    case .posix:
      let directory = try TemporaryDirectory()
      try withExtendedLifetime(directory) { try body(POSIXFileSystem(), directory.path) }
    case .memory:
      let files = MemoryFileSystem()
      try files.makeDirectory("/store")
      try body(files, "/store")
    case .simulated:
      let files = SimulatedDisk().fileSystem
      try files.makeDirectory("/store")
      try body(files, "/store")
    }
  }
}

/// Returns the code of the error that `body` throws.
func code(of body: () throws -> Void) -> SystemError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? SystemError)?.code
  }
}

extension FileSystem {
  @discardableResult
  func write(_ text: String, to path: String) throws(SystemError) -> any OpenFile {
    let file = try open(path, .creating)
    try file.write(SharedBytes(copying: Array(text.utf8)), at: 0)
    return file
  }

  func text(of path: String) throws(SystemError) -> String? {
    try contents(of: path, limit: 1 << 20).text
  }
}

@Suite struct FileSystemTests {
  @Test(arguments: FileSystemKind.allCases)
  func `written bytes can be read, and a gap reads as zeros`(kind: FileSystemKind) throws {
    try kind.run { files, root in
      let file = try files.open(root + "/a", .creating)
      #expect(try file.size() == 0)
      #expect(try file.read(10, at: 0).isEmpty)
      try file.write(SharedBytes(copying: [1, 2, 3]), at: 0)
      try file.write(SharedBytes(copying: [9]), at: 5)
      try file.write(SharedBytes(copying: [7]), at: 1)
      try file.write(SharedBytes.empty, at: 100)
      #expect(try file.size() == 6)
      #expect(try file.read(100, at: 0).array == [1, 7, 3, 0, 0, 9])
      #expect(try file.read(2, at: 2).array == [3, 0])
      #expect(try file.read(2, at: 5).array == [9])
      #expect(try file.read(2, at: 6).array == [])
      #expect(try file.read(2, at: 600).array == [])
      try file.flush()
      try files.flushDirectory(root)
      let again = try files.open(root + "/a", .reading)
      #expect(again.path == root + "/a")
      #expect(try again.read(100, at: 1).array == [7, 3, 0, 0, 9])
      #expect(code { try again.write(SharedBytes(copying: [1]), at: 0) } == .badDescriptor)
      #expect(try files.status(root + "/a").size == 6)
      #expect(try files.status(root + "/a").kind == .file)
      #expect(try files.status(root).kind == .directory)
    }
  }

  @Test(arguments: FileSystemKind.allCases)
  func `a file of many blocks is written and read as a whole`(kind: FileSystemKind) throws {
    try kind.run { files, root in
      let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
      let file = try files.open(root + "/a", .creating)
      for start in stride(from: 0, to: bytes.count, by: 7_000) {
        let end = min(start + 7_000, bytes.count)
        try file.write(SharedBytes(copying: Array(bytes[start..<end])), at: start)
      }
      #expect(try file.read(bytes.count + 1, at: 0).array == bytes)
      #expect(try file.map(bytes.count).array == bytes)
    }
  }

  @Test(arguments: FileSystemKind.allCases)
  func `invalid calls fail with the expected error codes`(kind: FileSystemKind) throws {
    try kind.run { files, root in
      try files.write("file", to: root + "/file")
      try files.makeDirectory(root + "/directory")
      try files.makeDirectory(root + "/full")
      try files.write("inner", to: root + "/full/inner")
      let missing = root + "/missing"
      let within = root + "/file/within"
      let orphan = root + "/missing/name"
      let nul = root + "/fi\0le"

      #expect(code { _ = try files.open(missing, .reading) } == .notFound)
      #expect(code { _ = try files.open(within, .reading) } == .notADirectory)
      #expect(code { _ = try files.open(root + "/directory", .reading) } == .isADirectory)
      #expect(code { _ = try files.open(root + "/file", .creating) } == .exists)
      #expect(code { _ = try files.open(root + "/directory", .creating) } == .exists)
      #expect(code { _ = try files.open(orphan, .creating) } == .notFound)
      #expect(code { _ = try files.open(within, .creating) } == .notADirectory)
      #expect(code { _ = try files.open("", .reading) } == .notFound)
      #expect(code { _ = try files.open(nul, .reading) } == .invalidArgument)
      #expect(code { try files.rename(missing, to: root + "/x") } == .notFound)
      #expect(code { try files.rename(root + "/file", to: orphan) } == .notFound)
      #expect(code { try files.rename(root + "/file", to: root + "/directory") } == .isADirectory)
      #expect(code { try files.rename(root + "/directory", to: root + "/file") } == .notADirectory)
      #expect(
        code { try files.rename(root + "/directory", to: root + "/full") } == .directoryNotEmpty)
      #expect(
        code { try files.rename(root + "/full", to: root + "/full/below") } == .invalidArgument)
      #expect(
        code { try files.rename(root + "/full/inner", to: root + "/full") } == .directoryNotEmpty)
      #expect(code { try files.link(missing, to: root + "/x") } == .notFound)
      #expect(code { try files.link(root + "/file", to: root + "/full/inner") } == .exists)
      #expect(code { try files.link(root + "/directory", to: root + "/x") } == .notPermitted)
      #expect(code { try files.remove(missing) } == .notFound)
      #expect(code { try files.remove(within) } == .notADirectory)
      #expect(code { try files.remove(root + "/directory") } == .isADirectory)
      #expect(code { try files.makeDirectory(root + "/file") } == .exists)
      #expect(code { try files.makeDirectory(root + "/directory") } == .exists)
      #expect(code { try files.makeDirectory(orphan) } == .notFound)
      #expect(code { try files.removeDirectory(missing) } == .notFound)
      #expect(code { try files.removeDirectory(root + "/file") } == .notADirectory)
      #expect(code { try files.removeDirectory(root + "/full") } == .directoryNotEmpty)
      #expect(code { _ = try files.list(missing) } == .notFound)
      #expect(code { _ = try files.list(root + "/file") } == .notADirectory)
      #expect(code { _ = try files.status(missing) } == .notFound)
      #expect(code { try files.flushDirectory(missing) } == .notFound)
      #expect(code { try files.flushDirectory(root + "/file") } == .notADirectory)
      #expect(code { _ = try files.canonicalPath(missing) } == .notFound)
      #expect(code { _ = try files.lock(orphan, note: "") } == .notFound)
      #expect(code { _ = try files.lock(root + "/directory", note: "") } == .isADirectory)
      #expect(try files.exists(root + "/file"))
      #expect(try !files.exists(missing))
      #expect(try !files.exists(within))
      #expect(code { _ = try files.contents(of: root + "/file", limit: 3) } == .fileTooLarge)
      #expect(try files.list(root) == ["directory", "file", "full"])
    }
  }

  @Test(arguments: FileSystemKind.allCases)
  func `files and directories can be renamed, linked and removed`(kind: FileSystemKind) throws {
    try kind.run { files, root in
      try files.makeDirectory(root + "/tmp")
      try files.write("one", to: root + "/tmp/a")
      try files.write("two", to: root + "/b")
      try files.rename(root + "/tmp/a", to: root + "/b")
      #expect(try files.text(of: root + "/b") == "one")
      #expect(try files.list(root + "/tmp").isEmpty)

      try files.link(root + "/b", to: root + "/tmp/c")
      try files.rename(root + "/b", to: root + "/tmp/c")
      #expect(try files.list(root) == ["b", "tmp"], "two names of one file: nothing to do")
      try files.remove(root + "/b")
      #expect(try files.text(of: root + "/tmp/c") == "one")

      try files.rename(root + "/tmp", to: root + "/moved")
      #expect(try files.text(of: root + "/moved/c") == "one")
      try files.makeDirectory(root + "/empty")
      try files.rename(root + "/moved", to: root + "/empty")
      #expect(try files.list(root) == ["empty"])
      try files.remove(root + "/empty/c")
      try files.removeDirectory(root + "/empty")
      #expect(try files.list(root).isEmpty)
    }
  }

  @Test(arguments: FileSystemKind.allCases)
  func `names are listed in byte order`(kind: FileSystemKind) throws {
    try kind.run { files, root in
      for name in ["b", "a", "ab", "B", "é", ".hidden", "10", "9"] {
        try files.write("", to: root + "/" + name)
      }
      #expect(try files.list(root) == [".hidden", "10", "9", "B", "a", "ab", "b", "é"])
    }
  }

  @Test(arguments: FileSystemKind.allCases)
  func `an open file and a mapping survive the removal of the file's name`(
    kind: FileSystemKind
  ) throws {
    try kind.run { files, root in
      let file = try files.write("before", to: root + "/a")
      let reader = try files.open(root + "/a", .reading)
      let mapped = try reader.map(6)
      let nothing = try reader.map(0)
      #expect(nothing.isEmpty)
      #expect(code { _ = try reader.map(7) } == .invalidArgument)
      try files.remove(root + "/a")
      try file.write(SharedBytes(copying: Array(repeating: 65, count: 100_000)), at: 6)
      #expect(try reader.size() == 100_006)
      #expect(mapped.text == "before")
      try files.write("another", to: root + "/a")
      #expect(try reader.read(7, at: 0).text == "beforeA")
      try reader.close()
      try file.close()
      #expect(mapped.text == "before")
    }
  }

  @Test(arguments: FileSystemKind.allCases)
  func `a closed file fails every call, and can be closed again`(kind: FileSystemKind) throws {
    try kind.run { files, root in
      let file = try files.write("text", to: root + "/a")
      try file.close()
      try file.close()
      #expect(code { _ = try file.read(1, at: 0) } == .badDescriptor)
      #expect(code { try file.write(SharedBytes(copying: [1]), at: 0) } == .badDescriptor)
      #expect(code { _ = try file.size() } == .badDescriptor)
      #expect(code { try file.flush() } == .badDescriptor)
      #expect(code { _ = try file.map(1) } == .badDescriptor)
    }
  }

  @Test(arguments: FileSystemKind.allCases)
  func `a canonical path has no dots and no double slashes`(kind: FileSystemKind) throws {
    try kind.run { files, root in
      try files.makeDirectory(root + "/a")
      #expect(try files.canonicalPath(root + "/./a/../a//") == root + "/a")
      #expect(try files.canonicalPath(root) == root)
    }
  }

  @Test(arguments: FileSystemKind.allCases)
  func `a lock has one holder with a note, until it is released or deallocated`(
    kind: FileSystemKind
  ) throws {
    try kind.run { files, root in
      let path = root + "/LOCK"
      guard case .acquired(let first) = try files.lock(path, note: "a long note: 1") else {
        Issue.record("a free lock was refused")
        return
      }
      guard case .held(let note) = try files.lock(path, note: "2") else {
        Issue.record("a lock was acquired twice")
        return
      }
      #expect(note == "a long note: 1")
      first.release()
      guard case .acquired(let second) = try files.lock(path, note: "3") else {
        Issue.record("a released lock was refused")
        return
      }
      // A second release must not release the lock of the next holder.
      first.release()
      guard case .held(let shorter) = try files.lock(path, note: "4") else {
        Issue.record("a lock was acquired twice")
        return
      }
      #expect(shorter == "3")
      second.release()
      do { _ = try files.lock(path, note: String(repeating: "x", count: 2_000)) }
      guard case .acquired(let third) = try files.lock(path, note: "5") else {
        Issue.record("a deallocated lock was refused")
        return
      }
      #expect(try files.text(of: path) == "5")
      third.release()
    }
  }

  @Test(arguments: FileSystemKind.allCases)
  func `many tasks can read a file while it grows`(kind: FileSystemKind) async throws {
    let directory = try TemporaryDirectory()
    let files: any FileSystem =
      switch kind {
      case .posix: POSIXFileSystem()
      case .memory: MemoryFileSystem()
      case .simulated: SimulatedDisk().fileSystem
      }
    let path = kind == .posix ? directory.path + "/a" : "/a"
    let writer = try files.open(path, .creating)
    let reader = try files.open(path, .reading)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          var size = 0
          while size < 60_000 {
            // With few threads, this lets the writer run.
            await Task.yield()
            size = try reader.size()
            let bytes = size % 2_000 == 0 ? try reader.map(size) : try reader.read(size, at: 0)
            let wrong = stride(from: 0, to: size, by: 499).first { bytes[$0] != UInt8($0 / 1_000) }
            #expect(bytes.count == size && wrong == nil)
          }
        }
      }
      group.addTask {
        for block in 0..<60 {
          let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: block), count: 1_000)
          try writer.write(SharedBytes(copying: bytes), at: block * 1_000)
          await Task.yield()
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func `more bytes than one system call transfers are written and read`() throws {
    let directory = try TemporaryDirectory()
    let count = (64 << 20) + 5_000
    var writer = ByteWriter(capacity: count)
    let pattern = (0..<4_099).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    while writer.count < count { writer.append(pattern) }
    let file = try POSIXFileSystem().open(directory.path + "/a", .creating)
    try file.write(writer, at: 3)
    #expect(try file.size() == writer.count + 3)
    let bytes = try file.read(writer.count + 10, at: 3)
    #expect(bytes.count == writer.count)
    for start in stride(from: 0, to: bytes.count, by: 4_099 * 64) {
      #expect(bytes.slice(start, 4_099)?.array == pattern)
    }
    #expect(bytes.suffix(from: bytes.count - 4_099).array == pattern)
  }

  @Test func `an error describes the call, the path and the cause`() throws {
    let error = SystemError(call: "open", path: "/a", code: .notFound)
    #expect("\(error)" == "open /a: No such file or directory (errno 2)")
    #expect(!"\(SystemError.Code(rawValue: 123_456))".isEmpty)
  }

  @Test func `symbolic links are followed`() throws {
    let directory = try TemporaryDirectory()
    let files = POSIXFileSystem()
    try files.makeDirectory(directory.path + "/real")
    try makeSymbolicLink(at: directory.path + "/alias", to: "real")
    #expect(try files.canonicalPath(directory.path + "/alias") == directory.path + "/real")
    #expect(try files.status(directory.path + "/alias").kind == .directory)
  }

  @Test(.timeLimit(.minutes(20)))
  func `a path that is neither file nor directory is refused without blocking`() throws {
    let files = POSIXFileSystem()
    #expect(code { _ = try files.open("/dev/null", .reading) } == .invalidArgument)
    #expect(try files.status("/dev/null").kind == .other)
  }
}
