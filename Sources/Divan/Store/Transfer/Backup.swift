import DivanLog

/// Writes the contents of one version of a store to a new store.
///
/// The copy is made through the ordinary writer, record by record, in the order of changes. So it
/// contains the requested contents and nothing else, and everything that is read is checked.
struct StoreCopy {
  let view: ReadView
  let path: String
  /// The name of the copy in errors.
  let purpose: String
  /// Whether earlier versions and named snapshots are copied, too.
  let keepsHistory: Bool
  let progress: ((Double) -> Bool)?

  init(
    from view: ReadView, to path: String, as purpose: String, keepsHistory: Bool,
    _ progress: ((Double) -> Bool)?
  ) {
    self.view = view
    self.path = path
    self.purpose = purpose
    self.keepsHistory = keepsHistory
    self.progress = progress
  }

  func run() throws(DatabaseError) {
    let fileSystem = view.environment.directory.fileSystem
    // Computed and not random: a random number would change everything that is written after it.
    let deletion = StoreDeletion(
      fileSystem, nonce: view.environment.storeID.high &+ view.state.commit)
    let building: String
    let surrounding: String?
    do throws(SystemError) {
      try refuseTaken()
      surrounding = try storeAround()
    } catch {
      throw DatabaseError(error, making: purpose, at: path)
    }
    if let surrounding {
      throw DatabaseError(
        .alreadyExists, "\(purpose) cannot be made within a store",
        hint: "Choose a path that is not in \(surrounding)", path: path)
    }
    do throws(SystemError) {
      // A crash may have left the beginning of another copy, which does not belong to this one.
      deletion.removeLeftovers(beside: path, of: .building)
      building = try deletion.freePath(beside: path, for: .building)
      try fileSystem.makeDirectory(building)
    } catch {
      throw DatabaseError(error, making: purpose, at: path)
    }
    do throws(DatabaseError) {
      try write(to: building)
      try translating { () throws(LogError) in
        try attempt { () throws(SystemError) in
          try refuseTaken()
          try fileSystem.rename(building, to: path)
          try fileSystem.flushDirectory(parentDirectory(of: path))
        }
      }
    } catch {
      // The remains of the attempt are not a store that the caller can use.
      deletion.removeLeftover(building)
      guard let cause = error.underlying as? SystemError,
        cause.path == path || cause.path.hasPrefix(path + "/")
      else {
        throw error
      }
      throw DatabaseError(cause, making: purpose, at: path)
    }
  }

  private func refuseTaken() throws(SystemError) {
    guard try !view.environment.directory.fileSystem.isTaken(path) else {
      throw SystemError(call: "backup", path: path, code: .exists)
    }
  }

  /// Returns the store in whose directory the copy would be, this one or another; nil if none.
  ///
  /// No other store belongs among the files of a store.
  private func storeAround() throws(SystemError) -> String? {
    let fileSystem = view.environment.directory.fileSystem
    var directory = try fileSystem.canonicalPath(parentDirectory(of: path))
    let own = try fileSystem.canonicalPath(view.environment.path)
    while true {
      // A directory that cannot be read does not count as a store.
      let isStore = try? StoreDirectory(directory, on: fileSystem).isStore()
      if directory == own || isStore == true { return directory }
      guard directory != "/" else { return nil }
      directory = parentDirectory(of: directory)
    }
  }

  private func write(to building: String) throws(DatabaseError) {
    var configuration = view.environment.configuration
    configuration.fileSystem = view.environment.directory.fileSystem
    configuration.isReadOnly = false
    configuration.history = .disabled
    configuration.durability = .none
    configuration.openingProgress = nil
    configuration.purgesExpired = false
    // The copy's transactions have other sizes than the store's transactions had.
    configuration.transactionSizeLimit = 1 << 30
    if keepsHistory {
      // Cleaning would remove versions that are not referenced until the names are stored.
      configuration.maintenance = .manual
      configuration.checksUniqueness = false
    }
    do {
      let copy = try Database(at: building, configuration: configuration)
      // A clock that was set back must not make times go back in the copy.
      try copy.store.withWriter { (writer) throws(DatabaseError) in
        writer.log?.resume(time: view.state.time)
      }
      try copyIndexes(to: copy)
      if keepsHistory { try copyVersions(to: copy) } else { try copyDocuments(to: copy) }
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
  /// Reports the share that is done, and throws if the caller cancels.
  func report(_ count: Int, of total: Int) throws(DatabaseError) {
    guard progress?(min(Double(count) / Double(max(1, total)), 1)) ?? true else {
      throw DatabaseError(.cancelled, "the backup was cancelled; nothing was left behind")
    }
  }

  /// Copies the newest version of all documents.
  private func copyDocuments(to copy: Database) throws {
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
      try report(count, of: Int(clamping: view.state.documentCount))
    }
  }

  /// Gives the copy the same indexes, which follow the documents that come next.
  private func copyIndexes(to copy: Database) throws {
    for original in view.state.indexes where original.isReady {
      try copy.store.write(durability: .none, timeout: nil) { transaction in
        // Commits have other numbers in the copy.
        let definition = IndexDefinition(
          index: original.index, number: transaction.nextCommit, isReady: true)
        try transaction.append(
          IndexDefinitionRecord(
            name: SharedBytes(utf8: definition.index.name), superseded: nil, definition: definition)
        )
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
      throw view.damage(at: locator, "a document ID that is not UTF-8")
    }
    var records: [DocumentRecord] = []
    if newest.details?.tree != nil {
      let tree = try view.tree(of: newest)
      let others = tree.storedSequences.filter { $0 != newest.sequence }.sorted()
      records = try others.map { (sequence) throws(DatabaseError) in
        try view.retainedRecord(sequence, of: id).withoutTree
      }
    }
    records.append(newest)
    for record in records {
      try append(
        record, id: id, isOtherLeaf: record.sequence != newest.sequence, to: transaction)
    }
  }

  /// Stores a record with its attachments, over the copy's current record of the document.
  ///
  /// A leaf that is older than the document's newest record is an `isOtherLeaf`.
  func append(
    _ original: DocumentRecord, id: String, isOtherLeaf: Bool = false,
    to transaction: WriteTransaction
  ) throws(DatabaseError) {
    let current = try transaction.view.entry(id)
    var record = original
    record.supersede(current, isOtherLeaf: isOtherLeaf)
    if let entries = record.details?.attachments {
      _ = try transaction.store(
        view.attachments(entries), id: id, madeBy: .external(record.revision))
    }
    try transaction.addNewestRecord(record, id: id, over: current)
  }
}

extension DocumentRecord {
  /// The record without the details that only a document's newest record needs.
  fileprivate var withoutTree: DocumentRecord {
    var copy = self
    copy.details?.tree = nil
    copy.details?.winner = nil
    copy.details?.expiry = nil
    return copy
  }

  /// Makes the record a successor of the document's current record in a copy of the store.
  fileprivate mutating func supersede(_ current: DocumentEntry?, isOtherLeaf: Bool) {
    superseded = current?.superseded
    var details = details ?? DocumentDetails()
    details.released = []
    details.supersededExpiry = nil
    details.keepsSuperseded = current != nil
    // Other documents' records with higher sequence numbers precede a leaf that is not the newest
    // record. Only a record with details may go back behind them.
    details.mayRetainOlder = current != nil || isOtherLeaf
    self.details = details.isEmpty ? nil : details
  }
}
