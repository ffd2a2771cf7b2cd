import DivanLog

/// Replays the records of the log into the index.
///
/// After a checkpoint this needs almost no lookups: each record has its complete entry, and names
/// the record that it supersedes. Without a checkpoint, everything is read, and compactions may
/// have dropped the records that others supersede. Then replay looks up the entries in the index,
/// which is completely in memory.
struct Replay: ~Copyable {
  var state: Version
  /// Whether there is no checkpoint to start from.
  let isFromNothing: Bool
  /// Whether whole records of damaged transactions are replayed, too.
  let isSalvaging: Bool
  /// Whether the log is damaged, so that a document's last record may not be known.
  private(set) var hasGap = false
  /// The position from which the log is whole again, after all damage; nil if it is not.
  private(set) var gapEnd: LogGap.Position?
  /// Whether anything is missing that may not be a new document.
  private(set) var hasDoubt = false
  /// The position from which only new documents may be missing; nil if there is none.
  private(set) var doubtEnd: LogGap.Position? = .start
  /// The changes of the current transaction to the number of documents.
  private var tally = DocumentTally()
  /// The number of documents after the previous transaction; nil if it is not known for certain.
  private var certainCount: UInt64?
  /// The number of records of damaged transactions that were replayed.
  private(set) var salvagedCount = 0
  private(set) var damage: [Damage] = []
  /// The error of a bad page of the checkpoint's index, which cannot be used then.
  private(set) var indexProblem: PageError?
  private(set) var commitCount = 0
  /// The documents that the log changes, if the checkpoint has indexes that must follow.
  private var changedIDs: Set<[UInt8]> = []
  /// The errors of attachments whose text is missing in full-text indexes.
  private(set) var unreadAttachments: [DatabaseError] = []
  /// The state of the checkpoint; nil if there is none.
  private let base: Version?
  /// The files of attachments, for full-text indexes; nil if these are not brought up to the log.
  private let attachments: AttachmentFiles?
  private var scratch = ByteWriter(capacity: 128)

  init(
    onto state: Version, isFromNothing: Bool, isSalvaging: Bool = false,
    attachments: AttachmentFiles? = nil
  ) {
    self.state = state
    self.isFromNothing = isFromNothing
    self.isSalvaging = isSalvaging
    self.attachments = attachments
    base = isFromNothing ? nil : state
    certainCount = isFromNothing ? 0 : state.documentCount
  }
}

extension Replay {
  /// Replays a segment.
  ///
  /// Begins at `start`, or at the first frame if that is nil, and stops after a commit. `progress`,
  /// if any, is called from time to time with the offset that was reached. If it returns false, or
  /// if ``indexProblem`` is set, this stops and returns false. Records between the segment's end
  /// and `limit` are salvaged.
  mutating func run(
    _ segment: Segment, from start: LogEnd?, through lastCommit: UInt64 = .max,
    limit: Int? = nil, progress: ((Int) -> Bool)? = nil
  ) throws(LogError) -> Bool {
    state.segments.update(segment)
    if let compaction = segment.header.compaction {
      certainCount = nil
      state.historyHorizon = max(state.historyHorizon, compaction.releasedThrough)
    }
    var scan = RecordScan(
      segment, from: start, salvages: isSalvaging, limit: isSalvaging ? limit : nil)
    var countdown = 4096
    while true {
      switch try scan.next() {
      case .record(let entry):
        guard entry.commit <= lastCommit else { return true }
        guard put(entry, in: segment) else { return false }
        countdown -= 1
        if countdown == 0 {
          countdown = 4096
          if let progress, !progress(Int(clamping: entry.locator.offset)) { return false }
        }
      case .commit(let end, let trailer):
        state.commit = end.commit
        state.time = trailer.time
        state.lastSequence = max(state.lastSequence, trailer.lastSequence)
        if !looksUp { state.documentCount = trailer.documentCount }
        if isSalvaging { examineLost(trailer) }
        commitCount += 1
      case .damage(let found):
        damage.append(found)
        if scan.isOfOneRecord { noteLost() } else { noteGap() }
      case .end:
        state.commit = max(state.commit, segment.end.commit)
        state.lastSequence = max(state.lastSequence, segment.header.lastSequence)
        return true
      }
    }
  }

  /// Notes that a part of the log is missing here; the rest is whole until the next such call.
  mutating func noteGap() {
    hasGap = true
    gapEnd = nil
    hasDoubt = true
    doubtEnd = nil
    certainCount = nil
  }

  /// Notes that one record is lost here, of a transaction that is known otherwise.
  private mutating func noteLost() {
    hasGap = true
    gapEnd = nil
    tally.lostCount += 1
  }

  /// Checks at the end of a transaction whether all its lost records are of new documents.
  ///
  /// That is so if each of them increased the number of documents by one: then existing documents
  /// are unchanged.
  private mutating func examineLost(_ trailer: CommitTrailer) {
    if tally.lostCount > 0, !tally.areLostNew(certainCount, trailer) {
      hasDoubt = true
      doubtEnd = gapEnd
    }
    tally = DocumentTally()
    certainCount = trailer.documentCount
  }

  /// Whether replay looks up superseded entries in the index.
  ///
  /// A record's own superseded entry, and the document counts of commits, are valid only if
  /// everything before them was replayed.
  private var looksUp: Bool { isFromNothing || isSalvaging }

  /// Replays a record; returns false if the checkpoint's index cannot be read.
  private mutating func put(_ item: RecordScan.Entry, in segment: Segment) -> Bool {
    if hasGap, gapEnd == nil, item.isProven {
      gapEnd = LogGap.Position(
        segment: segment.header.numbers.lowerBound, offset: item.locator.offset)
      doubtEnd = doubtEnd ?? gapEnd
    }
    tally.foundCount += 1
    if !item.isOfWhole { salvagedCount += 1 }
    do throws(PageError) {
      if let damaged = try apply(item) {
        noteGap()
        damage.append(
          Damage(
            path: segment.file.path, offset: Int(clamping: item.locator.offset),
            reason: damaged.reason))
      }
      return true
    } catch {
      indexProblem = error
      return false
    }
  }

  /// Decodes a record and applies it to the index; returns what is wrong with the record, if
  /// anything.
  private mutating func apply(_ item: RecordScan.Entry) throws(PageError) -> ByteError? {
    let record: LogRecord
    do throws(ByteError) { record = try LogRecord(item.record) } catch { return error }
    switch record {
    case .document(let record):
      let old = looksUp ? try present(record.idBytes) : nil
      if let old, old.sequence > record.sequence {
        return ByteError(offset: 0, reason: "a document record whose sequence number does not rise")
      }
      state.lastSequence = max(state.lastSequence, record.sequence)
      state.time = max(state.time, item.time)
      noteChange(of: record.idBytes)
      try put(record, over: old, item)
    case .purge(let record):
      tally.change = nil
      noteChange(of: record.idBytes)
      try purge(record, item.locator)
    case .localDocument(let record): try put(record, at: item.locator)
    case .snapshotName(let record): try put(record, at: item.locator)
    case .indexDefinition(let record): try put(record, at: item.locator)
    case .attachment(let record):
      try state.putAttachment(record.digest, at: item.locator, scratch: &scratch)
    case .commitPoint(let record): state.put(record, at: item.locator, scratch: &scratch)
    case .skipped: break
    }
    return nil
  }

  private mutating func put(
    _ record: some CatalogRecord, at locator: RecordLocator
  ) throws(PageError) {
    var record = record
    if looksUp { record.superseded = try present(record.catalogKey) }
    state.put(record, at: locator, scratch: &scratch)
  }

  private mutating func noteChange(of id: SharedBytes) {
    guard let base, !base.indexes.isEmpty else { return }
    changedIDs.insert(id.array)
  }

  /// Brings the indexes up to the log, once all of it is read without an ``indexProblem``.
  mutating func finish() {
    do throws(PageError) {
      unreadAttachments = try state.catchUpIndexes(since: base, changed: changedIDs, attachments)
    } catch {
      indexProblem = error
    }
  }
}

extension Replay {
  /// Indexes a document's record over `old`, which is known only if replay looks it up.
  private mutating func put(
    _ original: DocumentRecord, over old: DocumentEntry?, _ item: RecordScan.Entry
  ) throws(PageError) {
    var record = original
    if looksUp {
      record.follow(old, expiry: old.flatMap { expiry(of: $0) })
      if let old, old.traits.contains(.mayRetainOlder), record.details?.mayRetainOlder != true {
        // A compaction may have dropped the record that released the retained ones.
        try state.releaseRetained(of: record.idBytes)
      }
      let wasLive = old.map { !$0.isDeleted } ?? false
      let isLive = !DocumentEntry(record, at: item.locator).isDeleted
      tally.note(wasLive, isLive, isCertain: original.superseded?.sequence == old?.sequence)
      state.countDocument(wasLive: wasLive, isLive: isLive)
    } else {
      try findSuperseded(&record)
    }
    try state.put(record, at: item.locator, commit: item.commit, scratch: &scratch)
  }

  /// Corrects the locator of the superseded record, if that one is retained.
  ///
  /// Since the record was written, a compaction may have moved the superseded one. Or recovery has
  /// reappended it, and its original is after the end of its segment. The index has the current
  /// locator.
  private func findSuperseded(_ record: inout DocumentRecord) throws(PageError) {
    guard record.details?.keepsSuperseded == true, let old = record.superseded else { return }
    let known = try old.sequence.withBigEndianBytes { (key) throws(PageError) in
      try state.sequences.find(key)
    }
    if let locator = known.flatMap({ RecordLocator(indexed: $0) }) {
      record.superseded?.locator = locator
    } else {
      record.details?.keepsSuperseded = false
    }
  }

  private mutating func purge(
    _ original: PurgeRecord, _ locator: RecordLocator
  ) throws(PageError) {
    var record = original
    if looksUp, record.sequence == nil {
      let old = try present(record.idBytes)
      record.superseded = old?.superseded
      record.supersededExpiry = old.flatMap { expiry(of: $0) }
      record.mayRetainOlder = record.mayRetainOlder || old?.traits.contains(.mayRetainOlder) == true
      state.countDocument(wasLive: old?.isDeleted == false, isLive: false)
    }
    try state.purge(record, at: locator)
  }

  /// Returns the index entry of a document.
  private func present(_ id: SharedBytes) throws(PageError) -> DocumentEntry? {
    let value = try id.withSpan { (key) throws(PageError) in try state.documents.find(key) }
    return value.flatMap { try? DocumentEntry.decode($0) }
  }

  /// Returns the locator at a key of the catalog.
  private func present(_ key: [UInt8]) throws(PageError) -> RecordLocator? {
    try state.catalog.find(key.span).flatMap { RecordLocator(indexed: $0) }
  }

  /// Returns the expiry of a document from its newest record.
  private func expiry(of entry: DocumentEntry) -> UInt64? {
    guard entry.traits.contains(.expiry), let segment = state.segments[entry.locator.fileID],
      let record = try? segment.record(at: entry.locator)
    else { return nil }
    return (try? DocumentRecord.decode(record.payload))?.details?.expiry
  }
}

/// The changes of a transaction to the number of documents that are not deleted.
private struct DocumentTally {
  var foundCount = 0
  var lostCount = 0
  /// The change by the records that were found; nil if it is not known.
  var change: Int? = 0

  mutating func note(_ wasLive: Bool, _ isLive: Bool, isCertain: Bool) {
    guard isCertain, let known = change else {
      change = nil
      return
    }
    change = known + (isLive ? 1 : 0) - (wasLive ? 1 : 0)
  }

  /// Returns whether each lost record created a document, or restored a deleted one.
  func areLostNew(_ countBefore: UInt64?, _ trailer: CommitTrailer) -> Bool {
    guard let change, let countBefore, foundCount + lostCount == Int(trailer.recordCount) else {
      return false
    }
    return Int(clamping: countBefore) + change + lostCount == Int(clamping: trailer.documentCount)
  }
}

extension DocumentRecord {
  /// Makes the record supersede the current entry.
  ///
  /// Compactions may have dropped the one that it names. A record whose successor is gone was
  /// retained, or no compaction has reached it yet. If the document never had retained records, it
  /// was not retained.
  fileprivate mutating func follow(_ old: DocumentEntry?, expiry: UInt64?) {
    let isSuccessor = superseded?.sequence == old?.sequence
    superseded = old?.superseded
    guard details != nil || expiry != nil else { return }
    var details = details ?? DocumentDetails()
    details.supersededExpiry = expiry
    if !isSuccessor { details.keepsSuperseded = old != nil && details.mayRetainOlder }
    self.details = details
  }
}
