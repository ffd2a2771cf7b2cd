import Divan

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Workload {
  /// Export and import of JSON Lines.
  static let transferring = [
    Workload(
      name: "export", title: "export as JSON Lines, without revisions, output discarded",
      unit: .microsecondsPerDocument, prepare: { try $0.load() }
    ) { try export($0, []) },
    Workload(
      name: "export-everything", title: "export as JSON Lines, with revisions, output discarded",
      unit: .microsecondsPerDocument, prepare: { try $0.load() }
    ) { try export($0, .everything) },
    Workload(
      name: "import", title: "import of JSON Lines as new documents, flushed at the end",
      unit: .microsecondsPerDocument, isApart: true, warmsUp: false,
      prepare: { try write([], in: $0) }
    ) { try read($0) },
    Workload(
      name: "import-everything", title: "import of JSON Lines with revisions, flushed at the end",
      unit: .microsecondsPerDocument, isApart: true, warmsUp: false,
      prepare: { try write(.everything, in: $0) }
    ) { try read($0) },
    Workload(
      name: "memory-import", title: "growth of anonymous memory by an import, with maintenance",
      unit: .megabytes, isApart: true, warmsUp: false, prepare: { try write([], in: $0) }
    ) { bench in
      let before = try requireMemory()
      _ = try read(bench)
      return (try requireMemory() - before) / 1e6
    },
    Workload(
      name: "memory-export", title: "growth of anonymous memory by an export",
      unit: .megabytes, isApart: true, warmsUp: false, prepare: { try $0.load() }
    ) { bench in
      let database = try bench.open("loaded")
      let before = try requireMemory()
      try database.snapshot().exportJSONLines { _ in }
      let after = try requireMemory()
      try database.close()
      return (after - before) / 1e6
    },
    Workload(
      name: "attachment-export", title: "export of an attachment of 64 MiB in pieces",
      unit: .milliseconds, warmsUp: false, prepare: { try attach(to: $0) }
    ) { bench in
      let database = try bench.open("attached")
      let elapsed = try seconds { try database.snapshot().exportJSONLines { _ in } }
      try database.close()
      return elapsed * 1e3
    },
    Workload(
      name: "attachment-import", title: "import of an attachment of 64 MiB in pieces",
      unit: .milliseconds, warmsUp: false,
      prepare: { bench in
        try attach(to: bench)
        try write(.everything, in: bench, from: "attached")
      }
    ) { try read($0) * 1e-3 * Double($0.count) },
  ]

  private static func text(_ bench: Bench) -> String { bench.directory + "/lines.jsonl" }

  private static func export(
    _ bench: Bench, _ content: JSONLines.ExportOptions.Content
  ) throws -> Double {
    let database = try bench.open("loaded")
    let elapsed = try seconds {
      try database.snapshot().exportJSONLines(options: .init(content: content)) { _ in }
    }
    try database.close()
    return elapsed * 1e6 / Double(bench.count)
  }

  private static func write(
    _ content: JSONLines.ExportOptions.Content, in bench: Bench, from name: String = "loaded"
  ) throws {
    if name == "loaded" { try bench.load() }
    if FileManager.default.fileExists(atPath: text(bench)) {
      try FileManager.default.removeItem(atPath: text(bench))
    }
    let database = try bench.open(name)
    try database.exportJSONLines(to: text(bench), options: .init(content: content))
    try database.close()
  }

  private static func read(_ bench: Bench) throws -> Double {
    try bench.remove("imported")
    let database = try bench.open("imported", .none)
    let elapsed = try seconds {
      try database.importJSONLines(from: text(bench))
      try database.flush()
    }
    try database.close()
    try bench.remove("imported")
    return elapsed * 1e6 / Double(bench.count)
  }

  private static func attach(to bench: Bench) throws {
    guard !FileManager.default.fileExists(atPath: bench.path("attached")) else { return }
    let database = try bench.open("attached", .none)
    var random = RandomNumbers(state: 5)
    var rest = 64
    let attachment = try database.storeAttachment(contentType: "application/octet-stream") {
      () -> [UInt8]? in
      guard rest > 0 else { return nil }
      rest -= 1
      let seed = random.next()
      return (0..<1 << 20).map { UInt8(truncatingIfNeeded: seed &* UInt64($0) >> 24) }
    }
    var document = Document(id: "a")
    document.attachments["large"] = attachment
    try database.write { _ = try $0.put(document) }
    try database.close()
  }
}
