import DivanLog

extension Database {
  /// Copies the store, as it is now, to a new directory, while it is in use.
  ///
  /// The copy holds everything that was committed before the call, is durable when the call returns,
  /// and is a store of its own that can be opened at once. It has another store ID, so that nobody
  /// takes positions in its change feed for positions in this one's. It is built beside its place and
  /// renamed into it when it is whole: a crash leaves no half backup under that name.
  ///
  /// - Parameters:
  ///   - path: where the copy goes; nothing may be there.
  ///   - progress: told the share that was done; copying stops with
  ///     ``DatabaseError/Code/cancelled`` when it returns false, and leaves nothing behind.
  /// - Throws: ``DatabaseError`` with the codes `alreadyExists`, `damaged`, `diskFull`,
  ///   `inputOutput`, `cancelled` or `closed`.
  public func backup(to path: String, progress: ((Double) -> Bool)? = nil) throws {
    // Merging waits, so that every file that the copy needs stays.
    try store.maintenance.exclusively(store) { () throws(DatabaseError) in
      try store.commits.flushEverything()
      let view = try store.view()
      try StoreCopy(from: view, to: path, progress).run()
    }
  }

  /// Makes a store of a backup: copies it to a new directory, and checks the copy.
  ///
  /// - Parameters:
  ///   - backup: the directory of the backup, which is only read.
  ///   - path: where the store goes; nothing may be there.
  ///   - configuration: how to read and write; its `isReadOnly` is ignored.
  /// - Throws: ``DatabaseError`` with the code `damaged` if the backup is; then nothing is left at
  ///   `path`.
  public static func restore(
    from backup: String, to path: String, configuration: Configuration = Configuration()
  ) throws {
    var configuration = configuration
    configuration.isReadOnly = true
    let source = try Database(at: backup, configuration: configuration)
    // Damage that was found when it was opened, such as an end that is missing, is among the problems.
    let report = try source.check()
    if let problem = report.problems.first { throw problem }
    try source.backup(to: path)
    try source.close()
  }

  /// Whether there is a store at a path.
  ///
  /// Looks at the directory only.
  public static func exists(at path: String, configuration: Configuration = Configuration()) -> Bool
  {
    let directory = StoreDirectory(path, on: configuration.fileSystem ?? POSIXFileSystem())
    guard let files = try? directory.listing().files else { return false }
    return files.contains { name in
      switch name {
      case .lock, .head, .segment, .checkpoint: true
      default: false
      }
    }
  }

  /// Deletes a store with everything in it.
  ///
  /// It must not be open.
  ///
  /// Files that are none of a store's are left, and then the directory too.
  /// - Throws: ``DatabaseError`` with the codes `notFound`, `notAStore`, `storeInUse`, `accessDenied`.
  public static func delete(at path: String, configuration: Configuration = Configuration()) throws
  {
    let directory = StoreDirectory(path, on: configuration.fileSystem ?? POSIXFileSystem())
    let fileSystem = directory.fileSystem
    try translating { () throws(LogError) in
      let (files, foreign) = try directory.listing()
      guard exists(at: path, configuration: configuration) else {
        throw .foreign(path: path, reason: "the directory holds no store")
      }
      try attempt { () throws(SystemError) in
        guard
          case .acquired(let lock) = try fileSystem.lock(
            directory.path(of: .lock), note: "process \(processID())")
        else { throw SystemError(call: "delete", path: path, code: .busy) }
        defer { lock.release() }
        // HEAD goes last but one: without it and with segments missing, nothing looks like a store.
        let order = files.subtracting([.lock, .head, .temporaries, .attachments])
        for name in order.sorted(by: { "\($0)" > "\($1)" }) {
          try fileSystem.remove(directory.path(of: name))
        }
        for name in [FileName.temporaries, .attachments] where files.contains(name) {
          try removeTree(directory.path(of: name), on: fileSystem)
        }
        if files.contains(.head) { try fileSystem.remove(directory.path(of: .head)) }
        try fileSystem.remove(directory.path(of: .lock))
        guard foreign.isEmpty else { return }
        do throws(SystemError) {
          try fileSystem.removeDirectory(path)
        } catch  where error.code == .directoryNotEmpty || error.code == .notFound {
          // Whoever was waiting for the lock makes a new store there already, or deleted that, too.
        }
      }
    }
  }

  private static func removeTree(_ path: String, on fileSystem: any FileSystem) throws(SystemError)
  {
    // Two levels at most: `attachments/3f/3f9a…`.
    for name in try fileSystem.list(path) {
      let child = "\(path)/\(name)"
      if try fileSystem.status(child).kind == .directory {
        for name in try fileSystem.list(child) { try fileSystem.remove("\(child)/\(name)") }
        try fileSystem.removeDirectory(child)
      } else {
        try fileSystem.remove(child)
      }
    }
    try fileSystem.removeDirectory(path)
  }
}

/// Writes what one version of a store holds to a new store.
///
/// The copy is made through the ordinary writer, record by record, in the order of changes: so it holds
/// what is current and nothing else, and everything that is read is checked.
private struct StoreCopy {
  let view: StoreView
  let path: String
  let progress: ((Double) -> Bool)?

  init(from view: StoreView, to path: String, _ progress: ((Double) -> Bool)?) {
    self.view = view
    self.path = path
    self.progress = progress
  }

  func run() throws(DatabaseError) {
    let fileSystem = view.store.directory.fileSystem
    try translating { () throws(LogError) in
      guard try !attempt({ () throws(SystemError) in try fileSystem.exists(path) }) else {
        throw .system(SystemError(call: "backup", path: path, code: .exists))
      }
    }
    let building = path + ".building"
    var plain = Configuration()
    plain.fileSystem = fileSystem
    // A crash may have left the beginning of another copy, which is no part of this one.
    if Database.exists(at: building, configuration: plain) { try delete(building, plain) }
    do throws(DatabaseError) {
      try write(to: building)
      try translating { () throws(LogError) in
        try attempt { () throws(SystemError) in
          try fileSystem.rename(building, to: path)
          try fileSystem.flushDirectory(parentDirectory(of: path))
        }
      }
    } catch {
      // What is left of the attempt is no store that anybody asked for.
      try? delete(building, plain)
      throw error
    }
  }

  private func delete(_ path: String, _ configuration: Configuration) throws(DatabaseError) {
    do {
      try Database.delete(at: path, configuration: configuration)
    } catch let error as DatabaseError {
      throw error
    } catch {
      throw DatabaseError(.inputOutput, "the backup failed: \(error)", path: path)
    }
  }

  private func write(to building: String) throws(DatabaseError) {
    var configuration = view.store.configuration
    configuration.fileSystem = view.store.directory.fileSystem
    configuration.isReadOnly = false
    configuration.history = .none
    configuration.durability = .none
    configuration.openingProgress = nil
    configuration.purgesExpired = false
    do {
      let copy = try Database(at: building, configuration: configuration)
      try copyIndexes(to: copy)
      var changes = view.state.sequences.scan()
      var count = 0
      var isDone = false
      while !isDone {
        try copy.store.write(durability: .none, timeout: nil) { transaction in
          while transaction.size < TransactionBuffer.frameSizeGoal {
            guard let item = try view.step(&changes) else {
              isDone = true
              break
            }
            try copyDocument(at: view.decodeLocator(item), to: transaction)
            count += 1
          }
        }
        let share = Double(count) / Double(max(1, view.state.documentCount))
        guard progress?(min(share, 1)) ?? true else {
          throw DatabaseError(.cancelled, "the backup was cancelled; nothing was left behind")
        }
      }
      try copyLocalDocuments(to: copy)
      try copy.close()
    } catch let error as DatabaseError {
      throw error
    } catch {
      throw DatabaseError(.inputOutput, "the backup failed: \(error)", path: path)
    }
  }
}

extension StoreCopy {
  /// Lets the copy have the same indexes, which follow the documents that come next.
  private func copyIndexes(to copy: Database) throws {
    for original in view.state.indexes where original.isReady {
      try copy.store.write(durability: .none, timeout: nil) { transaction in
        // Commits have other numbers in the copy.
        let kept = KeptIndex(
          index: original.index, number: transaction.nextCommit, isReady: true)
        try transaction.append(
          IndexRecord(name: SharedBytes(utf8: kept.index.name), superseded: nil, kept: kept))
      }
    }
  }

  private func copyLocalDocuments(to copy: Database) throws {
    var scan = view.state.catalog.scan(
      from: .inclusive(CatalogKey.first(of: .local)),
      to: .end(ofPrefix: CatalogKey.first(of: .local)))
    var isDone = false
    while !isDone {
      try copy.store.write(durability: .none, timeout: nil) { transaction in
        while transaction.size < TransactionBuffer.frameSizeGoal {
          guard let item = try view.step(&scan) else {
            isDone = true
            break
          }
          var record = try view.localRecord(at: view.decodeLocator(item))
          record.superseded = nil
          try transaction.append(record, record.idBytes.text)
        }
      }
    }
  }

  /// Copies a document with all its leaves, each with its sequence number.
  private func copyDocument(
    at locator: RecordLocator, to transaction: WriteTransaction
  ) throws(DatabaseError) {
    let newest = try view.record(at: locator)
    guard let id = newest.id else {
      throw view.damage(at: locator, "a document ID that is no text")
    }
    var records: [DocumentRecord] = []
    if newest.details?.tree != nil {
      let tree = try view.tree(of: newest)
      let others = tree.heldSequences.filter { $0 != newest.sequence }.sorted()
      records = try others.map { (sequence) throws(DatabaseError) in
        try view.olderRecord(sequence, of: id).withoutTree
      }
    }
    records.append(newest)
    var current: DocumentEntry?
    for var record in records {
      record.supersede(current)
      if let entries = record.details?.attachments {
        _ = try transaction.store(
          view.attachments(entries), id: id, madeBy: .elsewhere(record.revision))
      }
      try transaction.append(record, id: id, over: current)
      current = try transaction.entry(of: id)
    }
  }
}

extension DocumentRecord {
  /// The record as one that is held besides a document's newest one needs to be.
  fileprivate var withoutTree: DocumentRecord {
    var copy = self
    copy.details?.tree = nil
    copy.details?.winner = nil
    copy.details?.expiry = nil
    return copy
  }

  /// Lets the record follow others of its document in a copy of the store.
  fileprivate mutating func supersede(_ current: DocumentEntry?) {
    superseded = current.map { .init(sequence: $0.sequence, locator: $0.locator) }
    var details = details ?? DocumentDetails()
    details.released = []
    details.supersededExpiry = nil
    details.keepsSuperseded = current != nil
    details.mayHoldOlder = current != nil
    self.details = details.isEmpty ? nil : details
  }
}

/// The directory that a path is in.
func parentDirectory(of path: String) -> String {
  let parts = path.split(separator: "/", omittingEmptySubsequences: true)
  let parent = parts.dropLast().joined(separator: "/")
  return path.hasPrefix("/") ? "/" + parent : (parent.isEmpty ? "." : parent)
}
