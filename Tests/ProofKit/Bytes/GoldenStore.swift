package import Divan
import DivanLog
import DivanTesting
import Synchronization

/// A small store that a version of the format wrote, and its contents.
///
/// The files of `Tests/Fixtures/v1` were created from these once, and must always be readable: they
/// are never rebuilt, only added to.
package struct GoldenStore: Sendable {
  package let name: String
  /// Whether it was closed, so that everything in it was durable.
  package let isClosed: Bool
  /// The files by their names in the store's directory.
  package let files: [String: [UInt8]]
  /// The documents and deletions as JSON lines, written by their creator and not by the store.
  package let contents: [GoldenLine]
  /// The contents after each commit, beginning with none; the last is ``contents``.
  package let versions: [[GoldenLine]]
  /// For a store whose documents have more than properties: the ``GoldenDump`` after each commit.
  ///
  /// It replaces the properties above.
  package var dumps: [[String]] = []
}

/// The data of a document that is known from outside its store.
package struct GoldenLine: Equatable, Sendable {
  package var id: String
  package var revision: String
  package var sequence: UInt64
  package var isDeleted: Bool
  package var properties: Value.Object
  /// The ancestors of this revision that are kept, nearest first.
  package var ancestors: [String] = []

  /// One line of JSON; the properties are a text in it, because they may be nested to the limit.
  package var json: String {
    let members: [(String, Value)] = [
      ("id", .string(id)), ("revision", .string(revision)), ("sequence", .integer(sequence)),
      ("deleted", .bool(isDeleted)), ("properties", .string(Value.object(properties).json)),
      ("ancestors", .array(ancestors.map { .string($0) })),
    ]
    return Value.object(Value.Object(members)).json
  }

  package init(
    id: String, revision: String, sequence: UInt64, isDeleted: Bool, properties: Value.Object,
    ancestors: [String]
  ) {
    self.id = id
    self.revision = revision
    self.sequence = sequence
    self.isDeleted = isDeleted
    self.properties = properties
    self.ancestors = ancestors
  }

  /// Reads what ``json`` wrote; nil if the text is something else.
  package init?(json text: String) {
    guard let value = try? Value(json: text), let id = value["id"]?.stringValue,
      let revision = value["revision"]?.stringValue, let sequence = value["sequence"]?.intValue,
      let isDeleted = value["deleted"]?.boolValue,
      let properties = value["properties"]?.stringValue,
      let object = try? Value(json: properties).objectValue,
      let ancestors = value["ancestors"]?.arrayValue
    else { return nil }
    self.init(
      id: id, revision: revision, sequence: UInt64(sequence), isDeleted: isDeleted,
      properties: object, ancestors: ancestors.compactMap(\.stringValue))
  }

  /// Creates the line of a document in a store.
  package init(_ document: Document, revisions: [RevisionID]) {
    self.init(
      id: document.id, revision: document.revision?.description ?? "",
      sequence: document.sequence, isDeleted: document.isDeleted, properties: document.properties,
      ancestors: revisions.dropFirst().map(\.description))
  }
}

extension [GoldenLine] {
  /// Returns the lines in the order of the store: by the bytes of the IDs.
  package func inOrder() -> [GoldenLine] {
    sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }
  }
}

/// Creates golden stores reproducibly.
///
/// It has a disk in memory, a deterministic clock and random numbers, and a ledger of what was
/// stored.
package final class GoldenBench: Sendable {
  private let disk = MemoryFileSystem()
  private let randomCount = Mutex(0 as UInt64)
  private let time = Mutex(1_700_000_000_000 as UInt64)
  private let ledger = Mutex<[[UInt8]: GoldenLine]>([:])
  private let versionsSoFar = Mutex<[[GoldenLine]]>([[]])
  /// The expected contents of stores with all kinds of changes.
  let model = Mutex(StoreModel())
  let dumpsSoFar = Mutex<[[String]]>([])
  /// The generator for the numbers in these.
  let draws = Mutex(SeededGenerator(seed: 1))
  package static let path = "/store.divan"

  package init() {}
}

extension GoldenBench {
  package func open(_ change: (inout Configuration) -> Void = { _ in }) throws -> Database {
    var configuration = Configuration()
    configuration.fileSystem = disk
    configuration.maintenance = .manual
    configuration.reserveSize = 64
    configuration.sequenceReserve = 1000
    configuration.random = { [self] in
      randomCount.withLock {
        $0 += 1
        return $0 &* 0x9E37_79B9_7F4A_7C15
      }
    }
    configuration.now = { [self] in
      time.withLock {
        $0 += 1000
        return $0
      }
    }
    change(&configuration)
    return try Database(at: GoldenBench.path, configuration: configuration)
  }

  /// Commits documents in one transaction; one without properties is deleted.
  package func commit(
    _ database: Database, _ documents: [(String, Value.Object?)], durability: Durability = .full
  ) throws {
    var noted: [(Document, Value.Object)] = []
    try database.write(durability: durability) { transaction in
      for (id, properties) in documents {
        if let properties {
          noted.append((try transaction.replace(id, with: properties), properties))
        } else if var document = try transaction.document(id) {
          // Some deletions keep the properties.
          if (id.utf8.last ?? 0) % 2 == 1 { document.properties = [:] }
          noted.append((try transaction.delete(document), document.properties))
        }
      }
    }
    for (document, properties) in noted {
      ledger.withLock { ledger in
        // Texts that only look alike are different IDs.
        let key = Array(document.id.utf8)
        // The last twenty revisions are kept.
        let ancestors = ledger[key].map { [$0.revision] + $0.ancestors } ?? []
        ledger[key] = GoldenLine(
          id: document.id, revision: document.revision?.description ?? "",
          sequence: document.sequence, isDeleted: document.isDeleted, properties: properties,
          ancestors: Array(ancestors.prefix(19)))
      }
    }
    let version = contents
    versionsSoFar.withLock { $0.append(version) }
  }

  /// The contents after each commit.
  package var versions: [[GoldenLine]] { versionsSoFar.withLock { $0 } }

  /// Commits documents one by one.
  package func fill(
    _ database: Database, _ numbers: Range<Int>, durability: Durability = .full,
    properties: (Int) -> Value.Object = { ["number": .int(Int64($0))] }
  ) throws {
    for number in numbers {
      try commit(database, [("doc-\(number)", properties(number))], durability: durability)
    }
  }

  /// Returns the files of the store as they are on the disk now.
  package func files(
    _ path: String = GoldenBench.path
  ) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in try disk.list(path) where name != "LOCK" && name != "tmp" {
      guard name == "attachments" else {
        files[name] = try disk.contents(of: "\(path)/\(name)", limit: 1 << 30).array
        continue
      }
      for folder in try disk.list("\(path)/\(name)") {
        for file in try disk.list("\(path)/\(name)/\(folder)") {
          let place = "\(name)/\(folder)/\(file)"
          files[place] = try disk.contents(of: "\(path)/\(place)", limit: 1 << 30).array
        }
      }
    }
    return files
  }

  /// The contents, in the order of IDs.
  package var contents: [GoldenLine] { ledger.withLock { Array($0.values).inOrder() } }
}
