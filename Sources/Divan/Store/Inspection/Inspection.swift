package import DivanLog

/// A document record, for tools.
package struct InspectedDocument: Sendable {
  let content: DocumentRecord
  package let id: String

  /// Decodes the payload of a record of the kind ``Record/Kind/document``.
  package init(_ payload: SharedBytes) throws(ByteError) {
    content = try DocumentRecord.decode(payload)
    guard let id = content.id else {
      throw ByteError(offset: 1, reason: "a document ID that is not UTF-8")
    }
    self.id = id
  }
}

extension InspectedDocument {
  package var sequence: UInt64 { content.sequence }
  package var revision: RevisionID { content.revision }
  package var isDeleted: Bool { content.isDeleted }
  /// The properties in their binary form.
  package var body: EncodedValue { EncodedValue(content.body) }
  /// The sequence number and the locator of the record that this one supersedes.
  package var superseded: (sequence: UInt64, locator: RecordLocator)? {
    content.superseded.map { ($0.sequence, $0.locator) }
  }

  /// The revisions before this one, the nearest first.
  package var ancestors: [RevisionID] {
    var revisions: [RevisionID] = []
    var generation = content.revision.generation
    for digest in content.ancestors.digests {
      generation -= 1
      guard let revision = RevisionID.read(generation, digest) else { break }
      revisions.append(revision)
    }
    return revisions
  }

  /// A problem of a record whose checksum is valid; nil if there is none.
  ///
  /// It concerns the ID, the properties, or the revision ID, which is recomputed where possible.
  package var problem: String? {
    do throws(DatabaseError) {
      try DocumentID.validate(id)
      try body.validate()
      guard body.kind == .object else { return "the properties are not an object" }
      try PropertyNames.validate(body)
      if content.ancestors.digests.count >= content.revision.generation {
        return "it has more ancestors than its generation allows"
      }
      return try content.matchesItsRevision()
        ? nil : "the revision ID does not match the content"
    } catch {
      return error.message
    }
  }
}

/// The index that some segments produce, for tools that check or measure a store.
///
/// It takes about a hundred bytes of memory for each document.
package struct InspectedIndex: ~Copyable {
  fileprivate var replay: Replay

  /// Creates an empty index.
  package init() {
    replay = Replay(onto: Version(nodeSize: BTree.defaultPageSize), isFromNothing: true)
  }
}

extension InspectedIndex {
  /// Replays a segment, up to its `end`.
  package mutating func add(_ segment: Segment) throws(LogError) {
    _ = try replay.run(segment, from: nil)
  }

  /// The damage that was found so far.
  package var damage: [Damage] { replay.damage }

  /// Brings the indexes up to the log, once all of it was replayed.
  ///
  /// Only of indexes that follow from the documents.
  fileprivate mutating func finish() throws(LogError) {
    replay.state.indexes.removeAll { !type(of: $0.kind).followsFromDocuments }
    replay.finish()
    // Everything is in memory, but for the documents themselves.
    if case .unreadable(_, let error) = replay.indexProblem { throw .system(error) }
  }

  package var documentCount: UInt64 { replay.state.documentCount }

  /// The names of the indexes that only ``Database/check(progress:)`` compares with the documents,
  /// because their bytes do not follow from them.
  package var uncheckedIndexNames: [String] {
    replay.state.indexes.filter { !type(of: $0.kind).followsFromDocuments }.map(\.index.name)
  }

  /// Returns the bytes of records in a segment: all, and those that nothing refers to any more.
  package func usage(of fileID: UInt64) -> (total: UInt64, dead: UInt64)? {
    replay.state.segments.usage(of: fileID).map { ($0.total, $0.dead) }
  }

  /// Returns the bytes of retained document records, by segment file ID.
  ///
  /// Other leaves, history or named snapshots retain them; some may be released already.
  package func retainedSizes() -> [UInt64: UInt64] {
    var sizes: [UInt64: UInt64] = [:]
    var scan = replay.state.retained.scan()
    // Everything is in memory, so nothing can fail.
    while let item = try? scan.next() {
      if let locator = RecordLocator(indexed: item.value) {
        sizes[locator.fileID, default: 0] += UInt64(locator.size)
      }
    }
    return sizes
  }
}

/// The content of an attachment, for tools.
package struct InspectedAttachment: Sendable {
  /// The SHA-256 of the content, in hexadecimal digits.
  package let digest: String
  /// The size of the content, in bytes.
  package let length: Int
  /// Whether it is in a file of its own, and not in the log.
  package let isFile: Bool
  /// The IDs of the documents that refer to it, each once and in order.
  package let documentIDs: [String]
}

extension InspectedIndex {
  /// Returns every attachment content of a store, in the order of the digests.
  ///
  /// That includes contents that nothing refers to any more and that were not cleaned up yet.
  package func attachments() throws -> [InspectedAttachment] {
    let state = replay.state
    var found: [InspectedAttachment] = []
    var scan = state.catalog.scan(
      from: .inclusive([CatalogKey.Kind.attachment.rawValue]),
      to: .exclusive([CatalogKey.Kind.attachment.rawValue + 1]))
    while let item = try scan.next() {
      // The record was read when it was put into the index.
      if let locator = RecordLocator(indexed: item.value),
        let segment = state.segments[locator.fileID]
      {
        found.append(try attachment(try segment.record(at: locator).payload))
      }
    }
    return found
  }

  private func attachment(_ payload: SharedBytes) throws -> InspectedAttachment {
    let record = try AttachmentRecord.decode(payload)
    var ids: Set<DocumentKey> = []
    for reference in try replay.state.attachmentReferences(record.digest)
    where try replay.state.reaches(reference.sequence, of: reference.id) {
      if let id = reference.id.text { ids.insert(DocumentKey(id)) }
    }
    let isFile = if case .file = record.content { true } else { false }
    return InspectedAttachment(
      digest: "\(record.digest)", length: record.length, isFile: isFile,
      documentIDs: ids.sorted(by: DocumentKey.isOrdered).map(\.id))
  }
}

/// The result of a check of a store's attachments.
package struct InspectedAttachmentCheck: Sendable {
  /// The number of contents to which a record refers.
  package internal(set) var count = 0
  /// Their size in bytes, without those whose records are missing.
  package internal(set) var length = 0
  /// The number of contents that nothing refers to any more; they were not read.
  package internal(set) var unreferredCount = 0
  /// Files that do not belong to the store, by their paths in its directory.
  package internal(set) var foreign: [String] = []
}

extension InspectedIndex {
  /// Checks every content to which a record refers.
  ///
  /// Its record and its file must exist, with the right length. Unless `isByName`, the whole
  /// content must match its digest.
  ///
  /// - Parameters:
  ///   - directory: the store's, with the files.
  ///   - isByName: whether contents are not read.
  ///   - progress: called repeatedly with the number of bytes that were read.
  ///   - report: called with each problem.
  /// - Returns: how much was checked.
  /// - Throws: errors of `report`, and system errors.
  package func checkAttachments(
    in directory: StoreDirectory, isByName: Bool, progress: (Int) -> Void = { _ in },
    report: (Damage) throws -> Void
  ) throws -> InspectedAttachmentCheck {
    let files = AttachmentFiles(directory, AttachmentFiles.Settings(isMapped: false))
    var check = InspectedAttachmentCheck()
    var referred: Set<SHA256.Digest> = []
    var scan = replay.state.catalog.scan(
      from: .inclusive([CatalogKey.Kind.reference.rawValue]),
      to: .exclusive([CatalogKey.Kind.reference.rawValue + 1]))
    while let item = try scan.next() {
      var reader = ByteReader(item.key.suffix(from: 1))
      guard let digest = try? reader.readDigest(), !referred.contains(digest) else { continue }
      let references = try replay.state.attachmentReferences(digest)
      guard
        let id = try references.first(where: { try replay.state.reaches($0.sequence, of: $0.id) })?
          .id
      else { continue }
      referred.insert(digest)
      check.count += 1
      do throws(LogError) {
        let content = try files.open(try record(of: digest, in: directory, for: id))
        var size = check.length
        check.length += content.length
        if !isByName {
          var stream = content.stream()
          while let piece = try stream.next() {
            size += piece.count
            progress(size)
          }
        }
      } catch .damaged(let damage) {
        try report(damage)
      } catch {
        throw error
      }
    }
    var records = replay.state.catalog.scan(
      from: .inclusive([CatalogKey.Kind.attachment.rawValue]),
      to: .exclusive([CatalogKey.Kind.attachment.rawValue + 1]))
    while let item = try records.next() {
      var reader = ByteReader(item.key.suffix(from: 1))
      if let digest = try? reader.readDigest(), !referred.contains(digest) {
        check.unreferredCount += 1
      }
    }
    check.foreign = try files.forEachFile { _ in }
    return check
  }

  /// Returns the record of a content to which a document refers.
  private func record(
    of digest: SHA256.Digest, in directory: StoreDirectory, for id: SharedBytes
  ) throws(LogError) -> AttachmentRecord {
    // The whole index is in memory, so a lookup cannot fail.
    let key = CatalogKey.attachment(digest)
    let value = try? replay.state.catalog.find(key.span)
    guard let value, let locator = RecordLocator(indexed: value),
      let segment = replay.state.segments[locator.fileID]
    else {
      throw .damaged(
        Damage(
          path: "\(directory.path)/\(AttachmentName(digest))", offset: 0,
          reason: "the record of an attachment of document "
            + "\(id.text ?? "?") is missing"))
    }
    let record = try segment.record(at: locator)
    do throws(ByteError) {
      return try AttachmentRecord.decode(record.payload)
    } catch {
      throw .damaged(
        Damage(
          path: segment.file.path, offset: Int(clamping: locator.offset), reason: error.reason))
    }
  }
}

/// A checkpoint with all files that it depends on, for tools.
package struct InspectedCheckpoint {
  private let usable: Checkpoint.Usable
  package let number: UInt64

  private init(_ usable: Checkpoint.Usable) {
    self.usable = usable
    number = usable.checkpoint.number
  }

  /// Opens the newest checkpoint that is complete.
  ///
  /// Returns also the watermarks that newer checkpoints prove, though they cannot be used: how far
  /// the log of their store was durable.
  package static func newest(
    among files: Set<FileName>, in directory: StoreDirectory
  ) throws(LogError) -> (
    checkpoint: InspectedCheckpoint?, watermarks: [(StoreID, LogRecovery.Watermark)]
  ) {
    var configuration = Configuration()
    configuration.readMode = .buffered
    var notes: [String] = []
    var evidence: [Checkpoint.Evidence] = []
    let usable = try Checkpoint.newestUsable(
      among: files, in: directory, configuration: configuration, innerPages: .refusing,
      notes: &notes, evidence: &evidence)
    return (usable.map(InspectedCheckpoint.init), evidence.map { ($0.storeID, $0.watermark) })
  }

  /// Opens a checkpoint; nil if a file that it depends on is missing.
  package init?(
    _ number: UInt64, among files: Set<FileName>, in directory: StoreDirectory
  ) throws(LogError) {
    guard
      let usable = try Checkpoint.open(
        number, among: files, in: directory, isMapped: false, nodeSize: BTree.defaultPageSize,
        innerPages: .refusing)
    else { return nil }
    self.usable = usable
    self.number = number
  }
}

extension InspectedCheckpoint {
  /// The end of the log that is in the pages.
  package var end: LogEnd { usable.checkpoint.position.end }
  package var segmentNumber: UInt64 { usable.checkpoint.position.segmentNumber }
  package var fileID: UInt64 { usable.checkpoint.position.fileID }
  package var documentCount: UInt64 { usable.checkpoint.documentCount }
  /// The numbers of all checkpoints whose pages it uses, its own among them.
  package var checkpointsInUse: Set<UInt64> {
    Set(usable.checkpoint.trees.joined().map(\.checkpoint)).union([number])
  }

  /// Compares the pages with the log that they were made from, entry by entry.
  ///
  /// Returns the differences, or nil if the log itself is damaged there, so that there is no
  /// result.
  package func differences(limit: Int = 20) throws(LogError) -> [String]? {
    var index = InspectedIndex()
    for var segment in usable.chain.segments {
      let isLast = segment.header.numbers.contains(segmentNumber)
      if isLast, segment.header.compaction == nil { segment.end = end }
      try index.add(segment)
      if isLast { break }
    }
    try index.finish()
    guard index.damage.isEmpty, usable.chain.damage.isEmpty else { return nil }
    var found: [String] = []
    if index.documentCount != documentCount {
      found.append("it counts \(documentCount) documents, the log \(index.documentCount)")
    }
    let rebuilt = index.replay.state
    InspectedCheckpoint.report(
      usable.state.documents, rebuilt.documents, "document", limit: limit, into: &found)
    InspectedCheckpoint.report(
      usable.state.sequences, rebuilt.sequences, "sequence", limit: limit, into: &found)
    // The log may have more retained records, which no compaction has reached yet.
    InspectedCheckpoint.report(
      usable.state.retained, rebuilt.retained, "retained record", mayLack: { _ in true },
      limit: limit,
      into: &found)
    // Indexes that are not complete may contain anything.
    let ready = Set(rebuilt.indexes.filter { usable.state.indexes.contains($0) }.map(\.number))
    InspectedCheckpoint.report(
      usable.state.catalog, rebuilt.catalog, "catalog entry",
      mayLack: { !IndexEntries.isEntry($0) }, limit: limit, into: &found
    ) { key in
      !IndexEntries.isEntry(key) || IndexEntries.number(of: key).map(ready.contains) == true
    }
    return found
  }

  private static func report(
    _ pages: LayeredTree, _ log: LayeredTree, _ what: String,
    mayLack: (SharedBytes) -> Bool = { _ in false }, limit: Int, into found: inout [String],
    where isCompared: (SharedBytes) -> Bool = { _ in true }
  ) {
    func next(_ scan: inout LayeredScan) throws(PageError) -> TreeEntry? {
      while let entry = try scan.next() {
        if isCompared(entry.key) { return entry }
      }
      return nil
    }
    do throws(PageError) {
      var ours = pages.scan()
      var theirs = log.scan()
      var left = try next(&ours)
      var right = try next(&theirs)
      while left != nil || right != nil, found.count < limit {
        let order =
          switch (left, right) {
          case (let a?, let b?): compare(a.key, b.key)
          case (nil, _): 1
          default: -1
          }
        if order < 0, let key = left?.key {
          found.append("\(what) \(name(key)) is in the pages and not in the log")
        } else if order > 0, let right, mayLack(right.key) {
          // That is allowed.
        } else if order > 0, let key = right?.key {
          found.append("\(what) \(name(key)) is in the log and not in the pages")
        } else if let key = left?.key, left?.value != right?.value {
          found.append("\(what) \(name(key)) differs in the log")
        }
        if let left,
          try left.key.withSpan({ (key) throws(PageError) in try pages.find(key) })
            != left.value
        {
          found.append("\(what) \(name(left.key)) is found by a scan only")
        }
        if order <= 0 { left = try next(&ours) }
        if order >= 0 { right = try next(&theirs) }
      }
    } catch {
      found.append("a page is damaged: \(error)")
    }
  }

  private static func name(_ key: SharedBytes) -> String {
    key.text.map { printable($0) } ?? key.array.map { String($0, radix: 16) }.joined(separator: " ")
  }

  /// Calls `body` with each document in the pages, in order of IDs.
  package func forEachDocument(
    _ body: (_ id: String, _ sequence: UInt64, _ isDeleted: Bool) throws -> Void
  ) throws {
    var scan = usable.state.documents.scan()
    while let item = try scan.next() {
      guard let id = item.key.text, let entry = try? DocumentEntry.decode(item.value) else {
        continue
      }
      try body(id, entry.sequence, entry.isDeleted)
    }
  }
}
