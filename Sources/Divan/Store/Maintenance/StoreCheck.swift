import DivanLog

/// The result of ``Database/check(progress:)-7cjfz``.
///
/// ```swift
/// let report = try database.check()
/// print(report.documentCount, report.isSound)
/// for problem in report.problems { print(problem) }
/// ```
public struct CheckReport: Sendable {
  /// The number of documents whose current revision was read, including deleted ones.
  public internal(set) var documentCount = 0
  /// The number of log records that were read, including superseded ones.
  public internal(set) var recordCount = 0
  /// The number of attachments of a read-only version whose content a writer has since removed.
  public internal(set) var removedAttachmentCount = 0
  /// All problems found.
  public internal(set) var problems: [DatabaseError] = []

  /// Whether no problem was found.
  public var isSound: Bool { problems.isEmpty }
}

extension CheckReport: CustomStringConvertible {
  /// Whether the store is sound, what was read, and the problems, each on a line of its own.
  public var description: String {
    (["\(isSound ? "sound" : "not sound"): \(documentCount) documents, \(recordCount) records"]
      + problems.map { "\($0)" }).joined(separator: "\n")
  }
}

struct StoreCheck {
  let view: ReadView
  let progress: ((Double) -> Bool)?
  var report = CheckReport()
  private var liveCount = 0
  private var expiringCount = 0
  /// The number of retained records that the entries of documents lead to.
  private var retainedCount = 0
  /// The comparison of each index that is ready with the documents.
  private var indexChecks: [any IndexCheck]
  /// Whether every entry of the index was read.
  private var isIndexWhole = true
  /// Whether every document was read, so that the expected number of index entries is known.
  private var areDocumentsWhole = true

  init(_ view: ReadView, _ progress: ((Double) -> Bool)?) {
    self.view = view
    self.progress = progress
    indexChecks = view.state.indexes.filter(\.isReady).map { $0.kind.makeCheck(view) }
  }

  private func advance(to share: Double) throws(DatabaseError) {
    guard progress?(share) ?? true else {
      throw DatabaseError(.cancelled, "the check was cancelled")
    }
  }

  mutating func checkLog() throws(DatabaseError) {
    let segments = view.state.segments.segments
    for (index, segment) in segments.enumerated() {
      try advance(to: 0.5 * Double(index) / Double(segments.count))
      var scan = RecordScan(segment)
      reading: while true {
        let item: RecordScan.Item
        do throws(LogError) { item = try scan.next() } catch {
          report.problems.append(DatabaseError(error))
          break
        }
        switch item {
        case .record: report.recordCount += 1
        case .commit: continue
        case .damage(let damage):
          let isKnown = report.problems.contains {
            $0.path == damage.path && $0.offset == damage.offset
          }
          if !isKnown { report.problems.append(DatabaseError(damage)) }
        case .end: break reading
        }
      }
    }
  }

  /// Returns the next entry of the index; nil after an unreadable one, which is reported.
  private mutating func next(_ scan: inout LayeredScan) throws(DatabaseError) -> TreeEntry? {
    do throws(DatabaseError) {
      return try view.step(&scan)
    } catch {
      guard error.code == .damaged else { throw error }
      report.problems.append(error)
      isIndexWhole = false
      return nil
    }
  }

  mutating func checkDocuments() throws(DatabaseError) {
    var scan = view.state.documents.scan()
    while let item = try next(&scan) {
      if report.documentCount % 10_000 == 0 { try advance(to: 0.5) }
      report.documentCount += 1
      do throws(DatabaseError) {
        guard let id = item.key.text else {
          throw DatabaseError(
            .damaged, "a document ID that is not UTF-8", path: view.environment.path)
        }
        let entry = try view.decodeEntry(item)
        if !entry.isDeleted { liveCount += 1 }
        if entry.traits.contains(.expiry) { expiringCount += 1 }
        try check(id, entry)
      } catch {
        report.problems.append(error)
        areDocumentsWhole = false
      }
    }
    if isIndexWhole, liveCount != Int(clamping: view.state.documentCount) {
      report.problems.append(
        DatabaseError(
          .damaged,
          "the index has \(liveCount) documents, and the count is \(view.state.documentCount)",
          path: view.environment.path))
    }
  }

  private mutating func check(_ id: String, _ entry: DocumentEntry) throws(DatabaseError) {
    let newest = try view.newestRecord(of: entry, id)
    try check(newest)
    guard DocumentEntry(newest, at: entry.locator) == entry else {
      throw DatabaseError(
        .damaged, "the index and the log disagree about a revision", documentID: id)
    }
    for sequence in try view.retainedSequences(of: id, entry) {
      retainedCount += 1
      try check(try view.retainedRecord(sequence, of: id))
    }
    try check(try view.tree(of: newest), of: newest, id, entry)
    let winner = try view.winningRecord(at: entry.location, newest.idBytes)
    guard winner.revision == entry.revision, winner.isDeleted == entry.isDeleted else {
      throw DatabaseError(
        .damaged, "the record of the winning revision contains another revision", documentID: id)
    }
    if !winner.isDeleted { try checkIndexes(winner, id) }
  }

  /// Checks a document's revision tree against the index and against the records that it names.
  ///
  /// - The winner of the tree is the one in the index.
  /// - Exactly the leaves have records, each of the leaf's revision, and the newest record is one.
  /// - A record's parent is its parent in the tree, unless the tree no longer has it.
  private func check(
    _ tree: RevisionTree, of newest: DocumentRecord, _ id: String, _ entry: DocumentEntry
  ) throws(DatabaseError) {
    func damage(_ reason: String) -> DatabaseError {
      DatabaseError(
        .damaged, "the document's revision tree: \(reason)", documentID: id,
        path: view.environment.path)
    }
    let leaves = tree.leaves
    guard let winner = leaves.first.map({ tree.nodes[$0] }), winner.revision == entry.revision,
      winner.isDeleted == entry.isDeleted,
      winner.sequence == entry.winningSequence ?? entry.sequence
    else { throw damage("the index has another winner") }
    guard tree.storedSequences.count == leaves.count else {
      throw damage("a revision that is not a leaf has a record")
    }
    guard leaves.contains(where: { tree.nodes[$0].sequence == newest.sequence }) else {
      throw damage("the revision of the newest record is not a leaf")
    }
    for index in leaves {
      let node = tree.nodes[index]
      guard node.sequence != 0 else { throw damage("the leaf \(node.revision) has no record") }
      let record =
        node.sequence == newest.sequence ? newest : try view.retainedRecord(node.sequence, of: id)
      guard record.revision == node.revision, record.isDeleted == node.isDeleted,
        (record.details?.isForeignEdit ?? false) == node.isForeignEdit
      else { throw damage("the record of \(node.revision) is of another revision") }
      if let parent = tree.parent(of: index), let named = record.parent {
        guard tree.nodes[parent].revision == named else {
          throw damage("the record of \(node.revision) names another parent")
        }
      }
    }
  }

  /// Checks that the indexes have what they should of a document.
  private mutating func checkIndexes(
    _ winner: StoredDocument, _ id: String
  ) throws(DatabaseError) {
    for index in indexChecks.indices {
      try reporting { (check) throws(DatabaseError) in
        try check.indexChecks[index].check(winner, id)
      }
    }
  }

  /// Reports damage of an index; the document counts as read.
  private mutating func reporting(
    _ body: (inout StoreCheck) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    do throws(DatabaseError) {
      try body(&self)
    } catch {
      guard error.code == .damaged else { throw error }
      report.problems.append(error)
    }
  }

  /// Checks a single record.
  private func check(_ record: DocumentRecord) throws(DatabaseError) {
    try EncodedValue(record.body).validate()
    for attachment in record.attachments
    where try view.locator(in: \.catalog, CatalogKey.attachment(attachment.digest)) == nil {
      throw DatabaseError(
        .damaged, "the content of the attachment \(attachment.name.debugDescription) is missing",
        documentID: record.id, path: view.environment.path)
    }
    for attachment in record.attachments {
      // Without this reference, a sweep would take the attachment for an unreferenced one.
      let key = CatalogKey.reference(attachment.digest, record.sequence)
      let refers = try view.repairing { (version) throws(PageError) in
        try version.state.catalog.find(key.span) != nil
      }
      guard !refers else { continue }
      throw DatabaseError(
        .damaged,
        "the index lacks the document's reference to the attachment \(attachment.name.debugDescription)",
        documentID: record.id, path: view.environment.path)
    }
    guard try record.matchesItsRevision() else {
      throw DatabaseError(
        .damaged, "the content does not match the revision ID", documentID: record.id)
    }
  }

  /// Checks the catalog's local documents, expiries, indexes, and versions of the store.
  mutating func checkCatalog() throws(DatabaseError) {
    var scan = view.state.catalog.scan()
    var expiryCount = 0
    while let item = try next(&scan) {
      let kind = item.key.prefix(1).array.first.flatMap(CatalogKey.Kind.init(rawValue:))
      if kind == .expiry { expiryCount += 1 }
      do throws(DatabaseError) {
        if let kind { try check(item, of: kind) }
      } catch {
        report.problems.append(error)
      }
    }
    if isIndexWhole, expiryCount != expiringCount {
      report.problems.append(
        DatabaseError(
          .damaged, "the index has \(expiryCount) expiries, and \(expiringCount) documents expire",
          path: view.environment.path))
    }
    guard isIndexWhole else { return }
    try checkOtherKinds()
    guard areDocumentsWhole else { return }
    for index in indexChecks.indices {
      try reporting { (check) throws(DatabaseError) in try check.indexChecks[index].finish() }
    }
  }

  /// Checks that no index has anything of another kind.
  private mutating func checkOtherKinds() throws(DatabaseError) {
    for definition in view.state.indexes where definition.isReady {
      for kind in indexKinds where kind != type(of: definition.kind) {
        let prefix = kind.prefix(of: definition.number)
        var scan = view.state[keyPath: kind.tree].scan(
          from: .inclusive(prefix), to: .end(ofPrefix: prefix))
        guard try next(&scan) != nil else { continue }
        report.problems.append(
          DatabaseError(
            .damaged,
            "the index \(definition.index.name.debugDescription) has entries of another kind of index",
            path: view.environment.path))
      }
    }
  }

  /// Compares an entry of the catalog with the record that it leads to.
  private func check(_ item: TreeEntry, of kind: CatalogKey.Kind) throws(DatabaseError) {
    switch kind {
    case .local:
      let record = try view.localRecord(at: view.decodeLocator(item))
      guard record.idBytes == item.key.suffix(from: 1), let properties = record.body else {
        throw disagreement("a local document")
      }
      try EncodedValue(properties).validate()
    case .expiry:
      guard let (time, id) = Expiry.read(item.key), let text = id.text,
        let entry = try view.entry(id),
        try view.newestRecord(of: entry, text).details?.expiry == time
      else { throw disagreement("an expiry") }
    case .named:
      let named = try view.namedCommitPoint(at: try view.decodeLocator(item))
      guard let named, CatalogKey.named(named.name) == item.key.array else {
        throw disagreement("a named snapshot")
      }
    case .index:
      let definition = try view.indexDefinition(at: try view.decodeLocator(item))
      guard let definition,
        CatalogKey.index(SharedBytes(utf8: definition.index.name)) == item.key.array,
        // An unfinished index is in no version.
        view.state.indexes.contains(definition) || !definition.isReady
      else { throw disagreement("an index of documents") }
    case .commitPoint:
      let found = try view.decodeCommitPoint(at: try view.decodeLocator(item))
      guard CatalogKey.commitPoint(found.commitPoint.sequence) == item.key.array else {
        throw disagreement("a commit point")
      }
    // Attachments and references are checked with the documents, and entries by their indexes.
    case .attachment, .reference, .indexEntry: break
    }
  }

  private func disagreement(_ subject: String) -> DatabaseError {
    DatabaseError(
      .damaged, "the index and the log disagree about \(subject)", path: view.environment.path)
  }

  /// Reads the content of each attachment that a record refers to.
  ///
  /// Content that is missing because another process has since removed it is not damage: see
  /// ``StoreEnvironment/mayLack(_:)``. A single look at the newest version decides this for all.
  mutating func checkAttachments() throws(DatabaseError) {
    var scan = view.state.catalog.scan(
      from: .inclusive([CatalogKey.Kind.attachment.rawValue]),
      to: .exclusive([CatalogKey.Kind.attachment.rawValue + 1]))
    var missing: [(SHA256.Digest, DatabaseError)] = []
    while let item = try next(&scan) {
      var attachment: SHA256.Digest?
      do throws(DatabaseError) {
        var reader = ByteReader(item.key.suffix(from: 1))
        guard let digest = try? reader.readDigest() else {
          throw DatabaseError(
            .damaged, "the index has an invalid attachment digest", path: view.environment.path)
        }
        guard try view.isReferenced(digest) else { continue }
        attachment = digest
        let content = try view.openStoredAttachment(digest)
        try translating { () throws(LogError) in try content.verify() }
      } catch {
        if error.code == .damaged, let attachment, view.environment.mayLack(attachment) {
          missing.append((attachment, error))
        } else {
          report.problems.append(error)
        }
      }
    }
    if !missing.isEmpty {
      let newest = view.environment.newestForReading()
      let now = try? newest?.store.view()
      for (digest, error) in missing {
        if let now, (try? now.isReferenced(digest)) == false {
          report.removedAttachmentCount += 1
        } else {
          report.problems.append(error)
        }
      }
      try? newest?.close()
    }
    try advance(to: 1)
  }

  /// Checks that each retained record is of a document whose entry says that it may have some.
  mutating func checkRetained() throws(DatabaseError) {
    var scan = view.state.retained.scan()
    var count = 0
    while try next(&scan) != nil { count += 1 }
    if isIndexWhole, areDocumentsWhole, count != retainedCount {
      report.problems.append(
        DatabaseError(
          .damaged,
          "the index has \(count) retained revisions, but its documents lead to \(retainedCount)",
          path: view.environment.path))
    }
  }

  mutating func checkSequences() throws(DatabaseError) {
    try advance(to: 0.9)
    var scan = view.state.sequences.scan()
    var count = 0
    while let item = try next(&scan) {
      count += 1
      do throws(DatabaseError) {
        let locator = try view.decodeLocator(item)
        let record = try view.record(at: locator)
        guard let entry = try view.entry(record.idBytes), entry.locator == locator,
          record.sequence.withBigEndianBytes({ key in key.indices.map { key[$0] } })
            == item.key.array
        else {
          throw DatabaseError(
            .damaged,
            "the index by sequence number names a record that is not the document's newest one",
            documentID: record.id)
        }
      } catch {
        report.problems.append(error)
      }
    }
    if isIndexWhole, count != report.documentCount {
      report.problems.append(
        DatabaseError(
          .damaged,
          "the index by sequence number has \(count) entries for \(report.documentCount) documents",
          path: view.environment.path))
    }
  }
}
