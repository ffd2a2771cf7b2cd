import Divan
import DivanLog
import DivanTesting
import Foundation
import TestSupport
import Testing
import logdump

/// Tests that the engine agrees with the reader that was written from `docs/FILE_FORMAT.md` alone.
struct PythonReaderTests {
  static let python = ["/usr/bin/python3", "/usr/local/bin/python3", "/opt/homebrew/bin/python3"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  @Test(
    .enabled(if: python != nil, "python3 is missing"),
    arguments: [3, 4] as [UInt64])
  func `both readers export the same lines`(seed: UInt64) throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/store.divan"
    var random = SeededGenerator(seed: seed)
    for round in 0..<3 {
      var configuration = Configuration.small(on: POSIXFileSystem())
      configuration.durability = .none
      let database = try Database(at: path, configuration: configuration)
      let conditions: [IndexCondition] = [
        .isPresent("a"), .less("b", ["c": 1.5]), .isIn("b", [.null, "é", 1, ["c": 1]]),
      ]
      try database.addIndex(DocumentIndex("i", on: "a", "b.c", where: conditions))
      for number in 0..<40 {
        try database.write { transaction in
          for _ in 0..<3 {
            let id =
              "\(["é", "a", "漢", "\u{1}\""].randomElement(using: &random) ?? "")\(number % 17)"
            try transaction.replace(id, with: RandomValue.object(&random, depth: 3))
          }
          if number % 5 == 0 { try transaction.delete("a\(number % 17)") }
        }
      }
      // One round runs while the store is still open, as after a crash.
      if round == 1 { try compare(path) }
      try database.close()
      try compare(path)
    }
  }

  @Test(
    .enabled(if: python != nil, "python3 is missing"))
  func `both readers find the same end of a truncated or damaged log`() throws {
    let directory = try TemporaryDirectory()
    let changes = [
      "cut", "garbage", "flip", "flip without FLUSHED", "flip early", "closed and cut",
    ]
    for change in changes {
      let path = directory.path + "/\(change).divan"
      let database = try Database(at: path)
      for number in 0..<5 {
        try database.write(durability: change == "cut" ? Durability.none : .full) {
          _ = try $0.put(Document(id: "\(number)", ["n": .int(Int64(number))]))
          _ = try $0.put(Document(id: "\(number) as well", ["n": .int(Int64(number))]))
        }
      }
      if change == "closed and cut" { try database.close() }
      let file = path + "/0000000001.segment"
      var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
      switch change {
      case "garbage": bytes.append(contentsOf: [1, 2, 3])
      case "flip": bytes[bytes.count - 60] ^= 1
      case "flip without FLUSHED":
        bytes[bytes.count - 60] ^= 1
        try FileManager.default.removeItem(atPath: path + "/FLUSHED")
      case "flip early": bytes[4160] ^= 1
      default: bytes.removeLast(10)
      }
      try FileManager.default.removeItem(atPath: file)
      try bytes.write(to: URL(fileURLWithPath: file))
      let status = try compare(path)
      let isTorn = ["cut", "garbage", "flip without FLUSHED"].contains(change)
      #expect((status == .tornTail) == isTorn, "\(change)")
    }
  }

  @discardableResult
  private func compare(_ path: String) throws -> logdump.ExitStatus {
    let ours = DumpedStore.export(path)
    let reader = ProjectFolder.url.appending(path: "Tests/python/divan_reader.py").path
    let process = Process()
    process.executableURL = URL(fileURLWithPath: PythonReaderTests.python ?? "")
    process.arguments = ["-B", reader, path]
    let (output, problems) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = problems
    try process.run()
    let theirs = output.fileHandleForReading.readDataToEndOfFile()
    let complaints = problems.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(String(decoding: theirs, as: UTF8.self) == ours.output)
    #expect(
      process.terminationStatus == ours.status.rawValue,
      "\(String(decoding: complaints, as: UTF8.self)) \(ours.problems)")
    return ours.status
  }
}

/// Random values of every kind.
private enum RandomValue {
  static func object(_ random: inout SeededGenerator, depth: Int) -> Value.Object {
    let count = Int.random(
      in: 0..<(Int.random(in: 0..<8, using: &random) == 0 ? 40 : 6), using: &random)
    return Value.Object(
      (0..<count).map { ("k\($0)\(text(&random, 3))", value(&random, depth - 1)) })
  }

  private static func value(_ random: inout SeededGenerator, _ depth: Int) -> Value {
    switch Int.random(in: 0..<(depth > 0 ? 12 : 10), using: &random) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &random))
    case 2: return .int(Int64(truncatingIfNeeded: random.next()))
    case 3: return .int(Int64.random(in: -70...70, using: &random))
    case 4: return .integer(random.next())
    case 5: return .double(Double(Int.random(in: -9999...9999, using: &random)) / 100)
    case 6:
      let number = Double(bitPattern: random.next())
      return .double(number.isFinite ? number : -0.0)
    case 7:
      let exponent = Double(Int.random(in: -8...25, using: &random))
      return .double(Double(Int.random(in: 1...99_999, using: &random)) * pow(10, exponent))
    case 8: return .string(text(&random, 6))
    case 9: return .string(text(&random, 90))
    case 10:
      return .array(
        (0..<Int.random(in: 0..<20, using: &random)).map { _ in value(&random, depth - 1) })
    default: return .object(object(&random, depth: depth))
    }
  }

  private static func text(_ random: inout SeededGenerator, _ limit: Int) -> String {
    let characters = ["a", "Z", "\"", "\\", "\n", "\u{1}", "\u{7F}", "é", "漢", "😀", "/", " "]
    return (0..<Int.random(in: 0...limit, using: &random))
      .map { _ in characters.randomElement(using: &random) ?? "" }.joined()
  }
}
