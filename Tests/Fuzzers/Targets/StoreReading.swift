import Divan
import DivanLog
import ProofKit

/// The results of opening a store and reading all of it.
///
/// For read errors only the code counts: the description of a damaged page depends on how it was
/// read.
struct StoreReading: Equatable, CustomStringConvertible {
  /// The error if it was not opened.
  var refusal: String?
  var damage: [String] = []
  /// A line for each document that is not deleted.
  var documents: [String] = []
  /// A line for each change, and for an error that ends the feed.
  var changes: [String] = []
  /// Whether it was checked.
  var isChecked = false
  /// The problems that ``Database/check(progress:)`` found.
  var problems: [String] = []

  var isSound: Bool { refusal == nil && damage.isEmpty && problems.isEmpty }

  var description: String {
    "refusal \(refusal ?? "none"), damage \(damage), \(documents.count) documents "
      + "\(documents.prefix(5)), \(changes.count) changes \(changes.prefix(5)), "
      + "problems \(problems.prefix(5))"
  }

  private init() {}

  /// Opens files for reading only, and reads everything.
  init(_ files: ByteFiles, _ reads: ReadMode, isChecked: Bool) throws {
    self.init()
    var configuration = Configuration()
    configuration.fileSystem = files
    configuration.isReadOnly = true
    configuration.damage = .salvage
    configuration.readMode = reads
    configuration.maintenance = .manual
    let database: Database
    do {
      database = try Database(at: ByteFiles.directory, configuration: configuration)
    } catch let error as DatabaseError {
      let expected: [DatabaseError.Code] = [.damaged, .notAStore, .newerFormat, .missingKey]
      try expect(expected.contains(error.code) && error.path != nil, "opening: \(error)")
      refusal = "\(error)"
      return
    }
    self = try StoreReading(database, isChecked: isChecked)
  }

  /// Reads everything in an open store.
  init(_ database: Database, isChecked: Bool = true) throws {
    self.isChecked = isChecked
    for error in database.openingReport.damage {
      try expect(error.code == .damaged && error.path != nil, "damage without a place: \(error)")
      damage.append("\(error)")
    }
    let snapshot = try database.snapshot()
    var ids = snapshot.ids()
    try StoreReading.forEach({ try ids.next() }) { id in
      switch id {
      case .success(let id):
        let line = try StoreReading.guarded {
          let document = try snapshot.document(id)
          let revisions = isChecked ? try snapshot.revisions(of: id) : []
          return "\(document?.sequence ?? 0) \(revisions) \(document?.json ?? "none")"
        }
        documents.append("\(id) \(line)")
      case .failure(let error): documents.append("! \(error.code)")
      }
    }
    var feed = snapshot.changes()
    try StoreReading.forEach({ try feed.next() }) { change in
      switch change {
      case .success(let change):
        changes.append("\(change.sequence) \(change.id) \(change.isDeleted)")
      case .failure(let error): changes.append("! \(error.code)")
      }
    }
    if isChecked {
      problems = try database.check().problems.map { "\($0.code) \($0.documentID ?? "")" }
    }
  }

  /// Calls `body` with each element; stops after some failures.
  private static func forEach<T>(
    _ next: () throws -> T?, _ body: (Result<T, DatabaseError>) throws -> Void
  ) throws {
    var failureCount = 0
    var count = 0
    while failureCount < 3 {
      count += 1
      try expect(count < 200_000, "reading does not end")
      do {
        guard let element = try next() else { return }
        try body(.success(element))
      } catch let error as DatabaseError {
        try expect(error.code == .damaged, "reading: \(error)")
        failureCount += 1
        try body(.failure(error))
      }
    }
  }

  /// Returns the result of `body`, or the error if it is damage.
  private static func guarded(_ body: () throws -> String) throws -> String {
    do {
      return try body()
    } catch let error as DatabaseError {
      try expect(error.code == .damaged, "reading: \(error)")
      return "\(error.code)"
    }
  }
}

/// Opens files for writing, in memory, and continues with the store.
struct StoreWriting {
  private let disk = MemoryFileSystem()

  init(_ files: [String: SharedBytes]) throws {
    try disk.makeDirectory(ByteFiles.directory)
    // A reader checks the inner pages of the index, and this writer is compared with one.
    if files.keys.contains(where: { $0.hasSuffix(".checkpoint") }) {
      try disk.open("\(ByteFiles.directory)/\(FileName.check)", .creating).close()
    }
    for (name, bytes) in files where name != "tmp" {
      try makeFolders(of: name)
      let file = try disk.open("\(ByteFiles.directory)/\(name)", .creating)
      try file.write(bytes, at: 0)
      try file.close()
    }
  }

  /// Creates the folders that contain a file; those of attachments are two levels deep.
  private func makeFolders(of name: String) throws {
    var path = ByteFiles.directory
    for folder in name.split(separator: "/").dropLast() {
      path += "/\(folder)"
      if (try? disk.list(path)) == nil { try disk.makeDirectory(path) }
    }
  }

  private func open() throws -> Database {
    var configuration = Configuration()
    configuration.fileSystem = disk
    configuration.damage = .salvage
    configuration.maintenance = .manual
    configuration.durability = .none
    configuration.reserveSize = 0
    configuration.random = { 0x1234_5678_9ABC_DEF1 }
    configuration.now = { 1_800_000_000_000 }
    return try Database(at: ByteFiles.directory, configuration: configuration)
  }

  /// Checks that a writer finds what a reader saw, and that its writes are there after reopening.
  ///
  /// Nothing else may have changed.
  func goOn(from reading: StoreReading) throws {
    let database: Database
    do {
      database = try open()
    } catch let error as DatabaseError {
      // Without any file of a store, a writer would create one; with some, it rejects what a reader
      // does.
      try expect(reading.refusal != nil, "a reader opens what a writer does not: \(error)")
      return
    }
    guard reading.refusal == nil else { return }
    let found = try StoreReading(database)
    // Damaged records in valid frames are reported where they are logged again.
    try expect(
      found.documents == reading.documents && found.changes == reading.changes
        && found.damage.count == reading.damage.count,
      "a writer finds something else than a reader:\n\(found)\n\(reading)")
    do {
      try database.write { transaction in
        _ = try transaction.replace("fuzz", with: ["written": true])
      }
    } catch let error as DatabaseError {
      let expected: [DatabaseError.Code] = [.readOnly, .damaged]
      try expect(expected.contains(error.code), "writing: \(error)")
      return
    }
    guard reading.isSound else { return }
    do {
      try database.writeCheckpoint()
      try database.compact()
    } catch let error as DatabaseError {
      try expect(error.code == .damaged, "maintenance: \(error)")
    }
    try database.close()
    let again = try StoreReading(open())
    func others(_ lines: [String]) -> [String] { lines.filter { !$0.hasPrefix("fuzz ") } }
    try expect(
      again.isSound && others(again.documents) == others(reading.documents)
        && again.documents.contains { $0.hasPrefix("fuzz ") },
      "after writing the store holds something else:\n\(again)\n\(reading)")
  }
}
