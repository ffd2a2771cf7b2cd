import Divan
import DivanLog
import Synchronization
import logdump

/// A small store in memory for the tool, with a fixed clock and fixed random numbers.
final class DumpedStore: Sendable {
  let fileSystem = MemoryFileSystem()
  let path = "/films.divan"
  private let clock = Atomic<UInt64>(1_700_000_000_000)
  private let randomState = Atomic<UInt64>(0)
}

/// The result of a run of the tool.
struct Run {
  var status: ExitStatus
  var output: String
  var problems: String

  /// The lines of the output.
  var lines: [String] { output.split(separator: "\n").map(String.init) }
}

extension DumpedStore {
  var configuration: Configuration {
    var configuration = Configuration()
    configuration.reserveSize = 0
    configuration.fileSystem = fileSystem
    configuration.maintenance = .manual
    configuration.readMode = .buffered
    configuration.now = { [self] in clock.wrappingAdd(1000, ordering: .relaxed).newValue }
    configuration.random = { [self] in
      // A fixed sequence of numbers that look random.
      let number = randomState.wrappingAdd(1, ordering: .relaxed).newValue
      return number &* 0x9E37_79B9_7F4A_7C15
    }
    return configuration
  }

  /// Sets the time of the clock.
  func setClock(_ time: UInt64) { clock.store(time, ordering: .relaxed) }

  func open() throws -> Database { try Database(at: path, configuration: configuration) }

  /// Returns the size of a file in bytes, without the zeros after the end of the log.
  func sizeInUse(_ name: String) throws -> Int {
    let size = try bytes(name).count
    guard case .segment(let numbers)? = FileName(name) else { return size }
    let file = try SegmentFile(numbers, in: StoreDirectory(path, on: fileSystem))
    guard file.header.compaction == nil else { return size }
    let start = LogEnd(offset: 0, commit: 0, chain: 0)
    var reader = TransactionReader(Segment(file: file, mapped: .empty, end: start), limit: size)
    while case .transaction = try reader.next() {}
    return Int(reader.end.offset)
  }

  /// Returns a closed store with two segments, and a changed, a deleted and a late document.
  static func films() throws -> DumpedStore {
    let store = DumpedStore()
    let first = try store.open()
    try first.write { transaction in
      try transaction.put(Document(id: "metropolis", ["title": "Metropolis", "year": 1927]))
      try transaction.put(Document(id: "nosferatu", ["title": "Nosferatu", "year": 1922]))
    }
    try first.write { transaction in
      try transaction.replace("metropolis", with: ["title": "Metropolis", "minutes": 153.5])
      try transaction.delete("nosferatu")
    }
    try first.close()
    let second = try store.open()
    try second.write { transaction in
      try transaction.put(Document(id: "m", ["title": "M", "tags": ["crime", .null, true]]))
    }
    try second.close()
    return store
  }

  /// Returns a store with checkpoints and compacted segments.
  static func aged() throws -> DumpedStore {
    let store = DumpedStore()
    var configuration = store.configuration
    configuration.segmentSizeGoal = 6000
    configuration.checkpointInterval = 6000
    configuration.compactedSegmentSizeLimit = 30_000
    configuration.reserveSize = 4096
    configuration.maintenance = .inline
    for round in 0..<3 {
      let database = try Database(at: store.path, configuration: configuration)
      if round == 0 { try database.write { try $0.put(Document(id: "alone")) } }
      for number in 0..<25 {
        try database.write { transaction in
          try transaction.replace(
            "document \((number * 7 + round) % 20)",
            with: [
              "round": .int(Int64(round)), "number": .int(Int64(number)),
              "text": .string(String(repeating: "lorem ipsum ", count: 10)),
            ])
          if number % 10 == 9 { try transaction.delete("document \(number - 5)") }
        }
      }
      try database.close()
    }
    return store
  }

  func fileNames() throws -> [String] { try fileSystem.list(path) }

  /// Runs the tool on the store with these arguments.
  func dump(_ arguments: String..., path: String? = nil) -> Run {
    dumpAll(arguments, path: path)
  }

  func dumpAll(_ arguments: [String], path: String? = nil) -> Run {
    run([path ?? self.path] + arguments)
  }

  /// Runs the tool on the store as another file system shows it.
  func dump(_ arguments: [String], on fileSystem: any FileSystem) -> Run {
    DumpedStore.run([path] + arguments, on: fileSystem, configuration)
  }

  /// Runs the tool with only these arguments.
  func run(_ arguments: [String]) -> Run {
    DumpedStore.run(arguments, on: fileSystem, configuration)
  }

  /// Exports a store that is on the machine's disk.
  static func export(_ path: String) -> Run {
    run([path, "export"], on: POSIXFileSystem(), Configuration())
  }

  private static func run(
    _ arguments: [String], on fileSystem: any FileSystem, _ configuration: Configuration
  ) -> Run {
    let (output, problems) = (Collector(), Collector())
    var tool = LogDump(
      fileSystem: fileSystem, output: output.output, problems: problems.output)
    tool.salvageConfiguration = configuration
    let status = tool.run(arguments)
    return Run(status: status, output: output.text, problems: problems.text)
  }

  private final class Collector {
    private(set) var text = ""

    var output: Output {
      Output { [self] (bytes: borrowing ByteWriter) in
        text += bytes.withSpan { span in
          String(decoding: span.indices.map { span[$0] }, as: UTF8.self)
        }
      }
    }
  }
}

extension DumpedStore {
  func bytes(_ name: String) throws -> [UInt8] {
    try fileSystem.contents(of: "\(path)/\(name)", limit: 1 << 30).array
  }

  /// Replaces the contents of a file.
  func replace(_ name: String, with bytes: [UInt8]) throws {
    let file = "\(path)/\(name)"
    if try fileSystem.exists(file) { try fileSystem.remove(file) }
    let opened = try fileSystem.open(file, .creating)
    try opened.write(SharedBytes(copying: bytes), at: 0)
  }

  /// Runs `body` with other bytes in a file, and restores the old ones.
  func withBytes<R>(_ changed: [UInt8], in name: String, _ body: () throws -> R) throws -> R {
    let sound = try bytes(name)
    try replace(name, with: changed)
    defer { try? replace(name, with: sound) }
    return try body()
  }
}
