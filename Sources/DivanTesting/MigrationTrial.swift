public import Divan
import DivanLog

/// A stored database, opened as a program opens it that has newer classes and migrations.
///
/// Keep a store that an earlier version of the program made among the resources of the tests, or
/// its documents as JSON Lines. A trial opens a copy in memory with the present schema: the fixture
/// stays as it is.
///
/// ```swift
/// let trial = try MigrationTrial(storeAt: folder + "/Trips-1.0.divan", schema: appSchema)
/// #expect(trial.migrationIDs == ["nights are numbers"])
/// #expect(trial.changes.map(\.id) == ["elbe", "lisbon"])
/// #expect(trial["elbe"]?.after?["nights"] == 3)
/// #expect(try trial.database.makeContext().find(Query<Trip>()).count == 2)
/// ```
public struct MigrationTrial: Sendable {
  /// The database after it was opened with the schema, in memory.
  public let database: Database
  /// The documents as they were before.
  public let before: Snapshot
  /// The IDs of the migrations that were run, in the order of the schema.
  public let migrationIDs: [String]
  /// The documents that the migrations changed, in the order of their IDs.
  public let changes: [DocumentDifference]

  /// Opens a copy of a stored database.
  ///
  /// The whole store is read into memory. It must not be open for writing meanwhile.
  ///
  /// - Parameters:
  ///   - path: The store's directory, which is only read.
  ///   - schema: The kinds of documents, with the migrations.
  ///   - configuration: How the database behaves.
  /// - Throws: `DatabaseError.Code.notFound` if there is no store; the errors of reading,
  ///   of opening and of the migrations.
  public init(
    storeAt path: String, schema: Schema, configuration: Configuration = Configuration()
  ) throws {
    let source = configuration.fileSystem ?? POSIXFileSystem(isPrivate: true)
    guard Database.exists(at: path, configuration: configuration) else {
      throw DatabaseError(
        .notFound, "there is no store to try the migrations on",
        hint: "Check that the test has its resources, and the path of the store", path: path)
    }
    let files = MemoryFileSystem()
    do throws(SystemError) {
      try source.copyDirectory(path, to: MigrationTrial.path, on: files)
    } catch {
      throw DatabaseError(error)
    }
    try self.init(files, schema, configuration)
  }

  /// Imports documents of an earlier version of the program, and opens the result with the schema.
  ///
  /// ```swift
  /// let trial = try MigrationTrial(
  ///   jsonLines: """
  ///     {"_id": "elbe", "type": "Trip", "nights": "3"}
  ///     """,
  ///   schema: appSchema)
  /// print(trial.changes[0])
  /// ```
  ///
  /// - Parameters:
  ///   - text: The documents, one a line: see ``Fixture/jsonLines(_:)``. Migrations that were run
  ///     in their database are run again, unless the text has its local documents.
  ///   - schema: The kinds of documents, with the migrations.
  ///   - configuration: How the database behaves.
  /// - Throws: The errors of importing, of opening and of the migrations.
  public init(
    jsonLines text: String, schema: Schema, configuration: Configuration = Configuration()
  ) throws {
    try self.init(.jsonLines(text), schema, configuration)
  }

  /// Imports a file of JSON Lines: see ``init(jsonLines:schema:configuration:)``.
  public init(
    jsonLinesFile path: String, schema: Schema, configuration: Configuration = Configuration()
  ) throws {
    try self.init(.jsonLines(file: path), schema, configuration)
  }

  private init(_ fixture: Fixture, _ schema: Schema, _ configuration: Configuration) throws {
    let files = MemoryFileSystem()
    var own = configuration
    own.fileSystem = files
    let database = try Database(at: MigrationTrial.path, configuration: own)
    try database.load(fixture)
    try database.close()
    try self.init(files, schema, configuration)
  }

  /// Opens the store on a file system as it is, and a copy of it with the schema.
  private init(
    _ files: MemoryFileSystem, _ schema: Schema, _ configuration: Configuration
  ) throws {
    let copy = MemoryFileSystem()
    do throws(SystemError) {
      try files.copyDirectory(MigrationTrial.path, to: MigrationTrial.path, on: copy)
    } catch {
      throw DatabaseError(error)
    }
    var own = configuration
    own.fileSystem = files
    let before = try Database(at: MigrationTrial.path, configuration: own).snapshot()
    own.fileSystem = copy
    database = try Database(at: MigrationTrial.path, schema: schema, configuration: own)
    self.before = before
    let done = try before.localDocument(Migration.documentID) ?? [:]
    migrationIDs = schema.migrations.map(\.id).filter { done[$0] == nil }
    changes = try DocumentDifference.all(from: before, to: database.snapshot())
  }

  private static let path = "/fixture.divan"

  /// The change of a document; nil if it was not changed.
  public subscript(id: String) -> DocumentDifference? {
    changes.first { haveSameUTF8($0.id, id) }
  }
}

extension FileSystem {
  /// Copies a directory with everything in it; a name that is no file and no directory is left out.
  fileprivate func copyDirectory(
    _ path: String, to newPath: String, on target: some FileSystem
  ) throws(SystemError) {
    try target.makeDirectory(newPath)
    for name in try list(path) {
      let (from, to) = ("\(path)/\(name)", "\(newPath)/\(name)")
      switch try entry(from).kind {
      case .directory: try copyDirectory(from, to: to, on: target)
      case .file: try copyFile(from, to: to, on: target)
      case .other: break
      }
    }
  }

  private func copyFile(
    _ path: String, to newPath: String, on target: some FileSystem
  ) throws(SystemError) {
    let (source, copy) = (try open(path, .reading), try target.open(newPath, .creating))
    let size = try source.size()
    var offset = 0
    while offset < size {
      let bytes = try source.read(min(1 << 20, size - offset), at: offset)
      // The file was cut meanwhile: the copy is as short.
      guard !bytes.isEmpty else { break }
      try copy.write(bytes, at: offset)
      offset += bytes.count
    }
    try source.close()
    try copy.close()
  }
}
