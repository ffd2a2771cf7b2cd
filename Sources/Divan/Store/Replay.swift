import DivanLog

/// Brings the records of the log into the index.
///
/// After a checkpoint this looks next to nothing up: each record holds its whole entry and says what
/// it takes the place of. Without one, everything is read, and merged segments may have dropped what a record
/// says it supersedes; then the index itself, which is in memory as a whole, is asked.
struct Replay: ~Copyable {
  var state: StoreState
  /// Whether there is no checkpoint below.
  let isFromNothing: Bool
  /// Whether the whole records of what is damaged are brought in, too.
  let isSalvaging: Bool
  /// Whether the log is damaged, so that what a document's last record is may not be known.
  private(set) var hasGap = false
  /// Where the log is whole again, behind all damage; nil if it is not.
  private(set) var gapEnd: LogGap.Place?
  /// Whether anything is missing that may not be a new document.
  private(set) var hasDoubt = false
  /// Where nothing is missing any more but new documents; nil if that is so nowhere.
  private(set) var doubtEnd: LogGap.Place? = .start
  /// What the transaction that is read did to the number of documents.
  private var tally = DocumentTally()
  /// How many documents there were after the transaction before; nil if that is not known for certain.
  private var certainCount: UInt64?
  /// How many records of damaged transactions were brought in.
  private(set) var salvagedCount = 0
  private(set) var damage: [Damage] = []
  /// Why the index below cannot be used, if a page of it proved bad.
  private(set) var indexProblem: PageError?
  private(set) var commitCount = 0
  /// The documents that the log says something of, if there are indexes below that must follow.
  private var changedIDs: Set<[UInt8]> = []
  /// What the checkpoint has, if there is one.
  private let base: StoreState?
  private var scratch = ByteWriter(capacity: 128)

  init(onto state: StoreState, isFromNothing: Bool, isSalvaging: Bool = false) {
    self.state = state
    self.isFromNothing = isFromNothing
    self.isSalvaging = isSalvaging
    base = isFromNothing ? nil : state
    certainCount = isFromNothing ? 0 : state.documentCount
  }
}

extension Replay {
  /// Brings in a segment.
  ///
  /// Begins at `start`, or at the first frame if that is nil, and stops after a commit. `progress`, if any, is called now and then with
  /// the offset that was reached; when it returns false, or when ``indexProblem`` turns up, this stops
  /// and returns false too. What stands between the segment's end and `limit` is salvaged.
  mutating func run(
    _ segment: Segment, from start: LogEnd?, through lastCommit: UInt64 = .max,
    limit: Int? = nil, progress: ((Int) -> Bool)? = nil
  ) throws(LogError) -> Bool {
    state.segments.update(segment)
    if let merge = segment.header.merge {
      certainCount = nil
      state.historyFloor = max(state.historyFloor, merge.releasedThrough)
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
        if isSalvaging { judgeLost(trailer) }
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

  /// Notes that something of the log is missing here: what follows is whole until that is noted again.
  mutating func noteGap() {
    hasGap = true
    gapEnd = nil
    hasDoubt = true
    doubtEnd = nil
    certainCount = nil
  }

  /// Notes that one record is lost here, of a transaction that is known besides.
  private mutating func noteLost() {
    hasGap = true
    gapEnd = nil
    tally.lostCount += 1
  }

  /// Finds out at the end of a transaction whether all that is lost of it are records of new documents.
  ///
  /// That is so if each made the number of documents one greater: then what was there stays as it was.
  private mutating func judgeLost(_ trailer: CommitTrailer) {
    if tally.lostCount > 0, !tally.areLostNew(certainCount, trailer) {
      hasDoubt = true
      doubtEnd = gapEnd
    }
    tally = DocumentTally()
    certainCount = trailer.documentCount
  }

  /// Whether the index is asked what a record takes the place of.
  ///
  /// What the record says of that, and what commits say of the number of documents, is so only if
  /// everything before them was brought in.
  private var looksUp: Bool { isFromNothing || isSalvaging }

  /// Brings in a record; returns false if the index below cannot be read.
  private mutating func put(_ item: RecordScan.Entry, in segment: Segment) -> Bool {
    if hasGap, gapEnd == nil, item.isProven {
      gapEnd = LogGap.Place(
        segment: segment.header.numbers.lowerBound, offset: item.locator.offset)
      doubtEnd = doubtEnd ?? gapEnd
    }
    tally.foundCount += 1
    if !item.isOfWhole { salvagedCount += 1 }
    do throws(ByteError) {
      try decode(item)
    } catch {
      noteGap()
      damage.append(
        Damage(
          path: segment.file.path, offset: Int(clamping: item.locator.offset),
          reason: error.reason))
    }
    return indexProblem == nil
  }

  private mutating func decode(_ item: RecordScan.Entry) throws(ByteError) {
    let payload = item.record.payload
    switch item.record.kind {
    case .document:
      let record = try DocumentRecord.decode(payload)
      let old = looksUp ? present(record.idBytes) : nil
      if let old, old.sequence > record.sequence {
        throw ByteError(offset: 0, reason: "a document whose sequence numbers go back")
      }
      state.lastSequence = max(state.lastSequence, record.sequence)
      state.time = max(state.time, item.time)
      noteChange(of: record.idBytes)
      apply { (replay) throws(PageError) in try replay.put(record, over: old, item) }
    case .purge:
      let record = try PurgeRecord.decode(payload)
      tally.change = nil
      noteChange(of: record.idBytes)
      apply { (replay) throws(PageError) in try replay.purge(record, item.locator) }
    case .local:
      var record = try LocalRecord.decode(payload)
      if looksUp { record.superseded = present(CatalogKey.local(record.idBytes)) }
      state.put(record, at: item.locator, scratch: &scratch)
    case .named:
      var record = try NamedRecord.decode(payload)
      if looksUp { record.superseded = present(CatalogKey.named(record.name)) }
      state.put(record, at: item.locator, scratch: &scratch)
    case .index:
      var record = try IndexRecord.decode(payload)
      if looksUp { record.superseded = present(CatalogKey.index(record.name)) }
      state.put(record, at: item.locator, scratch: &scratch)
    case .attachment:
      let digest = try AttachmentRecord.decode(payload).digest
      apply { (replay) throws(PageError) in
        try replay.state.putAttachment(digest, at: item.locator, scratch: &replay.scratch)
      }
    case .moment:
      state.put(try MomentRecord.decode(payload), at: item.locator, scratch: &scratch)
    default:
      // Later versions may add kinds from 128 on that need not be understood. FILE_FORMAT.md §6
      guard item.record.kind.maySkip else {
        throw ByteError(
          offset: 0, reason: "a record of the unknown kind \(item.record.kind.rawValue)")
      }
    }
  }

  private mutating func noteChange(of id: SharedBytes) {
    guard let base, !base.indexes.isEmpty else { return }
    changedIDs.insert(id.array)
  }

  /// Brings the indexes up to what the log says of documents, once all of it is read and ``indexProblem`` did not
  /// turn up.
  mutating func finish() {
    let ids = changedIDs
    apply { (replay) throws(PageError) in
      try replay.state.catchUpIndexes(since: replay.base, changed: ids)
    }
  }

  private mutating func apply(_ change: (inout Replay) throws(PageError) -> Void) {
    do throws(PageError) { try change(&self) } catch { indexProblem = error }
  }
}

extension Replay {
  /// Puts a document's record in the place of `old`, which is looked up only where there is no checkpoint.
  private mutating func put(
    _ original: DocumentRecord, over old: DocumentEntry?, _ item: RecordScan.Entry
  ) throws(PageError) {
    var record = original
    if looksUp {
      record.follow(old, expiry: old.flatMap { expiry(of: $0) })
      if let old, old.traits.contains(.mayHoldOlder), record.details?.mayHoldOlder != true {
        // A record that said that nothing is held besides may have been dropped by a merge.
        try state.releaseOlder(of: record.idBytes)
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

  /// Corrects where the superseded record stands, if it stays held.
  ///
  /// Since that was written a merge may have moved it; or recovery has logged it again, and what it was
  /// copied from stands behind the end of its segment. The index knows where it is.
  private func findSuperseded(_ record: inout DocumentRecord) throws(PageError) {
    guard record.details?.keepsSuperseded == true, let old = record.superseded else { return }
    let known = try old.sequence.withBigEndianBytes { (key) throws(PageError) in
      try state.sequences.find(key)
    }
    if let place = known.flatMap({ RecordLocator(indexed: $0) }) {
      record.superseded?.locator = place
    } else {
      record.details?.keepsSuperseded = false
    }
  }

  private mutating func purge(
    _ original: PurgeRecord, _ locator: RecordLocator
  ) throws(PageError) {
    var record = original
    if looksUp, record.sequence == nil {
      let old = present(record.idBytes)
      record.superseded = old.map { .init(sequence: $0.sequence, locator: $0.locator) }
      record.supersededExpiry = old.flatMap { expiry(of: $0) }
      record.mayHoldOlder = record.mayHoldOlder || old?.traits.contains(.mayHoldOlder) == true
      state.countDocument(wasLive: old?.isDeleted == false, isLive: false)
    }
    try state.purge(record, at: locator)
  }

  /// What the index holds for a document.
  ///
  /// Without a checkpoint below, everything is in memory, and nothing can fail.
  private mutating func present(_ id: SharedBytes) -> DocumentEntry? {
    var value: SharedBytes?
    apply { (replay) throws(PageError) in
      value = try id.withSpan { (key) throws(PageError) in try replay.state.documents.find(key) }
    }
    return value.flatMap { try? DocumentEntry.decode($0) }
  }

  /// Where the catalog leads to.
  private mutating func present(_ key: [UInt8]) -> RecordLocator? {
    var value: SharedBytes?
    apply { (replay) throws(PageError) in value = try replay.state.catalog.find(key.span) }
    return value.flatMap { RecordLocator(indexed: $0) }
  }

  /// When a document was to expire, as its newest record says.
  private func expiry(of entry: DocumentEntry) -> UInt64? {
    guard entry.traits.contains(.expiry), let segment = state.segments[entry.locator.fileID],
      let bytes = try? segment.recordBytes(at: entry.locator),
      let record = try? segment.record(bytes, at: entry.locator)
    else { return nil }
    return (try? DocumentRecord.decode(record.payload))?.details?.expiry
  }
}

/// What the records of a transaction did to the number of documents that are not deleted.
private struct DocumentTally {
  var foundCount = 0
  var lostCount = 0
  /// By how much the records that were found changed it; nil if that is not known.
  var change: Int? = 0

  mutating func note(_ wasLive: Bool, _ isLive: Bool, isCertain: Bool) {
    guard isCertain, let known = change else {
      change = nil
      return
    }
    change = known + (isLive ? 1 : 0) - (wasLive ? 1 : 0)
  }

  /// Whether each record that is lost was of a document that was not there, or was deleted, and then was there.
  func areLostNew(_ countBefore: UInt64?, _ trailer: CommitTrailer) -> Bool {
    guard let change, let countBefore, foundCount + lostCount == Int(trailer.recordCount) else {
      return false
    }
    return Int(clamping: countBefore) + change + lostCount == Int(clamping: trailer.documentCount)
  }
}

extension DocumentRecord {
  /// Lets the record take the place of what is there, when merges may have dropped what it says it
  /// supersedes.
  ///
  /// A record that is there although its successor is gone was held, or is what a merge has not
  /// reached yet. Where nothing besides newest records was ever held, it cannot have been.
  fileprivate mutating func follow(_ old: DocumentEntry?, expiry: UInt64?) {
    let isSuccessor = superseded?.sequence == old?.sequence
    superseded = old.map { .init(sequence: $0.sequence, locator: $0.locator) }
    guard details != nil || expiry != nil else { return }
    var details = details ?? DocumentDetails()
    details.supersededExpiry = expiry
    if !isSuccessor { details.keepsSuperseded = old != nil && details.mayHoldOlder }
    self.details = details
  }
}
