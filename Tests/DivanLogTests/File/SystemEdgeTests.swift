import DivanTesting
import Foundation
import TestSupport
import Testing

@testable import DivanLog

/// Tests of edge cases of system calls.
///
/// They cover empty reads, full disks, closed descriptors, and standard streams without a reader.
@Suite struct SystemEdgeTests {
  @Test(arguments: FileSystemKind.allCases)
  func `empty reads and empty writes do nothing`(kind: FileSystemKind) throws {
    try kind.run { files, root in
      let file = try files.write("abc", to: root + "/a")
      let read = try unsafe file.read(
        into: UnsafeMutableRawBufferPointer(start: nil, count: 0), at: 1)
      #expect(read == 0)
      try unsafe file.write(UnsafeRawBufferPointer(start: nil, count: 0), at: 100)
      #expect(try file.size() == 3)
    }
  }

  @Test(arguments: FileSystemKind.allCases)
  func `a directory can replace only an empty directory`(kind: FileSystemKind) throws {
    try kind.run { files, root in
      for name in ["a", "empty", "full"] { try files.makeDirectory("\(root)/\(name)") }
      try files.write("x", to: root + "/a/x")
      try files.write("y", to: root + "/full/y")
      #expect(code { try files.rename(root + "/a", to: root + "/full") } == .directoryNotEmpty)
      try files.rename(root + "/a", to: root + "/empty")
      #expect(try files.list(root + "/empty") == ["x"])
      #expect(try files.list(root) == ["empty", "full"])
    }
  }

  @Test func `the root cannot be removed or renamed`() {
    let files = MemoryFileSystem()
    #expect(code { try files.remove("/") } != nil)
    #expect(code { try files.removeDirectory("/") } != nil)
    #expect(code { try files.rename("/", to: "/a") } != nil)
  }

  @Test func `mapping beyond the address space fails with outOfMemory`() throws {
    let directory = try TemporaryDirectory()
    let files = POSIXFileSystem()
    let file = try files.open(directory.path + "/sparse", .creating)
    // Eight tebibytes with one stored byte; no process has address space for twenty such maps.
    let size = 1 << 43
    do {
      try file.write(SharedBytes(copying: [1]), at: size - 1)
    } catch {
      // This file system does not support files of that size.
      #expect(error.code == .fileTooLarge || error.code == .invalidArgument)
      return
    }
    var maps: [SharedBytes] = []
    let failure = code { for _ in 0..<40 { maps.append(try file.map(size)) } }
    #expect(failure == .outOfMemory)
    #expect(maps.last?[size - 1] ?? 1 == 1)
  }

  @Test func `closing an invalid descriptor is an error for a file, and harmless for a lock`() {
    let file = POSIXFile(path: "/here", descriptor: -1)
    #expect(file.path == "/here")
    file.didRename(to: "/gone")
    #expect(code { try file.close() } == .badDescriptor)
    // At the second call, there is nothing left to close.
    #expect(code { try file.close() } == nil)
    let lock = POSIXFileLock(POSIXFile(path: "/gone", descriptor: -1))
    lock.leaveNote("process 1")
    #expect(lock.readNote() == "")
    lock.release()
    lock.release()
  }

  @Test(arguments: [false, true])
  func `a lock file that is removed or replaced before it is locked is opened again`(
    isReplaced: Bool
  ) throws {
    let directory = try TemporaryDirectory()
    let files = POSIXFileSystem()
    let path = directory.path + "/LOCK"
    try files.write("", to: path)
    var attempts = 0
    let outcome = try files.lock(path, note: "second") { descriptor in
      attempts += 1
      if attempts == 1 {
        // A process that deletes the store removes the lock file; another one may create it again
        // at once.
        _ = code { try files.rename(path, to: path + " gone") }
        if isReplaced { _ = code { try files.write("", to: path) } }
      }
      return flock(descriptor, LOCK_EX | LOCK_NB)
    }
    #expect(attempts == 2)
    guard case .acquired(let lock) = outcome else {
      Issue.record("a free lock was refused")
      return
    }
    try lock.checkPath()
    #expect(try files.text(of: path) == "second")
    #expect(try files.text(of: path + " gone") == "")
    lock.release()
  }

  // MARK: Standard streams

  /// Runs the tool on a new store, in a shell that redirects its streams.
  private func shell(_ command: String, _ arguments: [String]) throws -> (Int32, String, String) {
    let siblings = [Bundle.main.bundleURL, URL(filePath: CommandLine.arguments[0])]
      .map { $0.deletingLastPathComponent().appending(path: "logdump") }
    let candidates = siblings + [Bundle.main.bundleURL.appending(path: "logdump")]
    let tool = try #require(
      candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) },
      "logdump was not built")
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", command, tool.path] + arguments
    let (output, problems) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = problems
    try process.run()
    let printed = try output.fileHandleForReading.readToEnd() ?? Data()
    let complaint = try problems.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (
      process.terminationStatus, String(decoding: printed, as: UTF8.self),
      String(decoding: complaint, as: UTF8.self)
    )
  }

  @Test func `a program prints to its standard streams, and ends if they have no reader`() throws {
    let directory = try TemporaryDirectory()
    let missing = directory.path + "/none"
    let (failed, nothing, complaint) = try shell("exec \"$0\" \"$@\"", [missing, "info"])
    #expect(failed != 0)
    #expect(nothing.isEmpty)
    #expect(complaint.contains("none"))
    let (helped, help, _) = try shell("exec \"$0\" \"$@\"", ["--help"])
    #expect(helped == 0)
    #expect(!help.isEmpty)
    let (_, unread, _) = try shell("(\"$0\" \"$@\"; echo status $?) >&1 | true; true", ["--help"])
    #expect(unread.isEmpty)
    let (closed, _, _) = try shell("exec \"$0\" \"$@\" >&-", ["--help"])
    #expect(closed != 0)
  }

  @Test func `a file never gets the descriptor of a closed standard stream`() throws {
    let directory = try TemporaryDirectory()
    try ForgedSegment().write(to: StoreDirectory(directory.path + "/s", on: POSIXFileSystem()))
    let (status, output, complaint) = try shell(
      "exec \"$0\" \"$@\" <&-", [directory.path + "/s", "info"])
    #expect(status == 0, "\(complaint)")
    #expect(output.contains(directory.path + "/s"))
  }
}
