import Divan
import DivanLog

extension LogDump {
  /// Writes a page of HTML that shows the store.
  func report(_ options: Options) throws -> ExitStatus {
    let path = options.page ?? ""
    let target = try ReportFile(
      path, outside: options.store, isForced: options.isForced, fileSystem)
    let log = try OpenedLog.open(options.store, on: fileSystem)
    var gathering = ReportGathering(log, options.store, progress)
    try gathering.run(try openForReport(options, log), document: options.document)
    let contents = gathering.contents
    progress.step("Writing \(path)")
    let size = try target.write(ReportPage.markup(of: contents))
    let count = contents.documents.liveCount
    try say(
      options,
      [
        ("path", .text(path)), ("size", .number(size)), ("documents", .number(count)),
        ("segments", .number(contents.segments.count)),
        ("damage", .number(contents.damage.count)),
      ],
      "\(printable(path)) shows \(count) documents in \(contents.segments.count) segments"
        + (contents.damage.count > 0 ? ", and damage at \(contents.damage.count) locations." : "."))
    if contents.damage.count > 0 || !contents.problems.isEmpty { return .damage }
    return log.status
  }

  /// Opens the store; nil if it is too damaged for that, or has no segment yet.
  private func openForReport(_ options: Options, _ log: OpenedLog) throws -> Database? {
    do {
      return try openDatabase(options)
    } catch let error as DatabaseError where error.code == .damaged {
      return nil
    }
  }
}

/// The file that a report is written to.
struct ReportFile {
  private let path: String
  private let isForced: Bool
  private let fileSystem: any FileSystem

  /// Checks that a file can be written there, and that it does not get into a store.
  init(
    _ path: String, outside store: String, isForced: Bool, _ fileSystem: any FileSystem
  ) throws {
    self.path = path
    self.isForced = isForced
    self.fileSystem = fileSystem
    guard !path.isEmpty, !path.hasSuffix("/") else {
      throw UsageError(reason: "`--html` needs the path of a file")
    }
    try checkPath()
    guard try !fileSystem.isFolder(folder, in: store) else {
      throw UsageError(reason: "\(path) is in the store, to which `logdump` never writes")
    }
  }
}

extension ReportFile {
  private var folder: String { ReportFile.folder(of: path) }

  /// Returns the path of the folder that contains a path.
  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private func checkPath() throws {
    guard try fileSystem.isTaken(path) else { return }
    guard isForced else {
      throw UsageError(reason: "\(path) exists already; `--force` replaces it")
    }
    guard try fileSystem.entry(path).kind != .directory else {
      throw UsageError(reason: "\(path) is a directory")
    }
  }

  /// Writes the text, and returns its size in bytes.
  ///
  /// It is written to another name and renamed, so that an error leaves no part of a page, and an
  /// old page is replaced by a whole one.
  func write(_ text: String) throws -> Int {
    let bytes = SharedBytes(utf8: text)
    let file = try makeTemporary()
    do {
      try file.write(bytes, at: 0)
      try file.flush()
      try file.close()
      // Something may have got the name since it was checked.
      try checkPath()
      try fileSystem.rename(file.path, to: path)
    } catch {
      try? fileSystem.remove(file.path)
      throw error
    }
    try fileSystem.flushDirectory(folder)
    return bytes.count
  }

  private func makeTemporary() throws -> any OpenFile {
    for number in 1..<100 {
      if let file = try makeFile("\(path).unfinished-\(number)") { return file }
    }
    throw UsageError(reason: "there are too many files `\(path).unfinished-…`; remove them")
  }

  /// Makes a file; nil if an interrupted or parallel run has its name.
  private func makeFile(_ path: String) throws(SystemError) -> (any OpenFile)? {
    guard try !fileSystem.isTaken(path) else { return nil }
    return try fileSystem.open(path, .creating)
  }
}

extension FileSystem {
  /// Whether a folder, which must exist, is a store or in it.
  func isFolder(_ folder: String, in store: String) throws(SystemError) -> Bool {
    let inner = try canonicalPath(folder)
    let root = try canonicalPath(store)
    return inner == root || inner.hasPrefix(root.hasSuffix("/") ? root : root + "/")
  }
}
