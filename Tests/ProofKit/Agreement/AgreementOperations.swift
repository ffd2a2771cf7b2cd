import DivanLog
import DivanTesting

/// A random sequence of operations that depends only on its seed.
struct FileOperations {
  static let operationCount = 14

  let files: any FileSystem
  let root: String
  var random: SeededGenerator
  var open: [any OpenFile] = []
  var mapped: [SharedBytes] = []
  var lock: (any FileLock)?
  var succeeded: Set<Int> = []

  init(_ files: any FileSystem, _ root: String, seed: UInt64) {
    self.files = files
    self.root = root
    random = SeededGenerator(seed: seed)
  }

  /// Performs a random operation, and returns a description of it and its result.
  mutating func step() -> String {
    let operation = Int.random(in: 0..<Self.operationCount, using: &random)
    do {
      let result = try perform(operation)
      succeeded.insert(operation)
      return "\(operation): \(result)"
    } catch {
      #if os(Linux)
        return "\(operation): error \(error.code.rawValue)"
      #else
        // If a call has two reasons to fail, systems differ in which one they report.
        return "\(operation): error"
      #endif
    }
  }

  private mutating func path() -> String {
    let directory = ["", "/d", "/e", "/d/f"].randomElement(using: &random) ?? ""
    let name = ["a", "b", "c", "d", "e", "f"].randomElement(using: &random) ?? ""
    return root + directory + "/" + name
  }

  private mutating func bytes() -> SharedBytes {
    let count = Int.random(in: 0...6000, using: &random)
    let start = UInt8.random(in: 0...255, using: &random)
    return SharedBytes(copying: (0..<count).map { start &+ UInt8(truncatingIfNeeded: $0 &* 13) })
  }

  private mutating func perform(_ operation: Int) throws(SystemError) -> String {
    switch operation {
    case 0:
      let file = try files.open(path(), .creating)
      try file.write(bytes(), at: 0)
      keep(file)
      return "created"
    case 1:
      keep(try files.open(path(), .reading))
      return "opened"
    case 2:
      guard let file = open.randomElement(using: &random) else { return "none" }
      let offset = Int.random(in: 0...20_000, using: &random)
      // Mapped bytes must not change, so files only grow.
      let end = try file.size()
      try file.write(bytes(), at: end + (offset % 3 == 0 ? offset : 0))
      return "\(try file.size())"
    case 3:
      guard let file = open.randomElement(using: &random) else { return "none" }
      let offset = Int.random(in: 0...20_000, using: &random)
      let count = Int.random(in: 0...9_000, using: &random)
      return checksum(try file.read(count, at: offset))
    case 4:
      guard let file = open.randomElement(using: &random) else { return "none" }
      let count = Int.random(in: 0...20_000, using: &random)
      let bytes = try file.map(count)
      mapped.append(bytes)
      if mapped.count > 4 { mapped.removeFirst() }
      return checksum(bytes)
    case 5:
      return mapped.map(checksum).joined(separator: ",")
    case 6:
      try files.rename(path(), to: path())
      return "renamed"
    case 7:
      try files.link(path(), to: path())
      return "linked"
    case 8:
      try files.remove(path())
      return "removed"
    case 9:
      try files.makeDirectory(path())
      return "made"
    case 10:
      try files.removeDirectory(path())
      return "removed"
    case 11:
      return try files.list(path()).joined(separator: ",")
    case 12:
      let path = path()
      let status = try files.status(path)
      return "\(status.kind) \(status.kind == .file ? status.size : 0)"
        + (try files.canonicalPath(path)).dropFirst(root.count)
    default:
      return try lockOrFlush()
    }
  }

  private mutating func lockOrFlush() throws(SystemError) -> String {
    let choice = Int.random(in: 0..<10, using: &random)
    if choice == 0 {
      try files.flushDirectory(path())
      return "flushed"
    }
    if choice == 1 {
      try open.randomElement(using: &random)?.flush()
      return "flushed"
    }
    if choice < 4 {
      lock?.release()
      lock = nil
      return "released"
    }
    switch try files.lock(root + "/LOCK", note: "note \(choice)") {
    case .acquired(let lock):
      self.lock = lock
      return "locked"
    case .held(let note): return note
    }
  }

  private mutating func keep(_ file: any OpenFile) {
    open.append(file)
    if open.count > 8 { try? open.removeFirst().close() }
  }

  private func checksum(_ bytes: SharedBytes) -> String {
    "\(bytes.count):\(CRC32C.checksum(bytes))"
  }

  /// All names, and checksums of all files.
  func everything() throws -> [String] { try everything(in: "") }

  private func everything(in directory: String) throws -> [String] {
    try files.list(root + directory).flatMap { name -> [String] in
      let path = directory + "/" + name
      if try files.status(root + path).kind == .directory {
        return try [path] + everything(in: path)
      }
      return [path + " " + checksum(try files.contents(of: root + path, limit: 1 << 30))]
    }
  }
}
