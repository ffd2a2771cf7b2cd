import Divan
import DivanLog
import ProofKit

/// Reads the file of a view, by itself and in a store that it belongs to.
enum FuzzViews {
  private static let view = MapReduceView("by name", version: "1", reduction: .count) {
    document, emit in
    emit(document["name"], document["number"])
    emit([document["number"] ?? .null, document["name"] ?? .null])
  }

  private static let name = FileName.view(named: view.name)

  static func read(_ input: [UInt8], isThorough: Bool) throws {
    let bytes = SharedBytes(copying: input)
    try readByItself(ByteFiles([name.description: bytes]))
    // A trusted file may be wrong, because only the function can tell; but it is in order, and can
    // be queried and changed.
    var files = base
    files[name.description] = bytes
    var configuration = Configuration()
    configuration.fileSystem = ByteFiles(files)
    configuration.isReadOnly = true
    try ask(Database(at: ByteFiles.directory, configuration: configuration))
    guard isThorough || input.count % 4 == 0 else { return }
    let disk = MemoryFileSystem()
    try disk.makeDirectory(ByteFiles.directory)
    for (name, bytes) in files where name != "tmp" {
      let file = try disk.open("\(ByteFiles.directory)/\(name)", .creating)
      try file.write(bytes, at: 0)
      try file.close()
    }
    let database = try Database(at: ByteFiles.directory, configuration: writing(disk))
    try ask(database)
    try database.write { transaction in
      for number in 0..<20 {
        _ = try transaction.replace("\(number)", with: ["name": "changed"])
      }
    }
    let rows = try database.rows(of: view, .key("changed").unreduced())
    try expect(Set(rows.compactMap(\.sourceID)).count >= 20, "changes are not in the view")
    try database.close()
  }

  private static func readByItself(_ files: ByteFiles) throws {
    let directory = StoreDirectory(ByteFiles.directory, on: files)
    do throws(LogError) {
      let found = try InspectedView(name, in: directory)
      let count = try found.check()
      guard found.name == view.name, UInt64(count) <= found.header.rowCount else {
        throw .foreign(path: "", reason: "more documents than rows, or another name")
      }
    } catch .system(let error) {
      throw FuzzFinding("bytes in memory fail like a disk: \(error)")
    } catch .foreign(let path, let reason) where path.isEmpty {
      throw FuzzFinding(reason)
    } catch {}
  }

  private static func ask(_ database: Database) throws {
    let rows = try database.rows(of: view, .all.unreduced())
    let backwards = try database.rows(of: view, .all.unreduced().reversed())
    try expect(
      rows.map(\.sourceID) == backwards.map(\.sourceID).reversed(), "rows in two orders")
    for (one, next) in zip(rows, rows.dropFirst()) {
      try expect(!Collation.precedes(next.key, one.key), "rows that are not in their order")
    }
    _ = try database.rows(of: view, .all.grouped(byFirst: 1))
  }

  // MARK: Seeds

  private static func writing(_ disk: MemoryFileSystem) -> Configuration {
    var configuration = Configuration()
    configuration.fileSystem = disk
    configuration.maintenance = .manual
    configuration.durability = .none
    configuration.reserveSize = 0
    configuration.viewSavingMinimum = 0
    configuration.random = { 0x1234_5678_9ABC_DEF1 }
    configuration.now = { 1_800_000_000_000 }
    return configuration
  }

  /// A store with a view that was queried.
  private static let base: [String: SharedBytes] = (try? makeBase()) ?? [:]

  private static func makeBase() throws -> [String: SharedBytes] {
    let disk = MemoryFileSystem()
    let database = try Database(at: ByteFiles.directory, configuration: writing(disk))
    let names: [Value] = ["Ada", "Émile", .null, 7, 2.5, true, ["a", 1], ["b": "c"], "", "Ada"]
    try database.write { transaction in
      for (number, name) in names.enumerated() {
        _ = try transaction.replace(
          "\(number)", with: ["name": name, "number": .int(Int64(number * 100))])
      }
    }
    _ = try database.rows(of: view)
    try database.close()
    var files: [String: SharedBytes] = [:]
    for name in try disk.list(ByteFiles.directory) where name != "tmp" {
      files[name] = try disk.contents(of: "\(ByteFiles.directory)/\(name)", limit: 1 << 20)
    }
    return files
  }

  static var seeds: [(name: String, bytes: [UInt8])] {
    guard let bytes = base[name.description] else { return [] }
    return [("by name", bytes.array)]
  }
}
