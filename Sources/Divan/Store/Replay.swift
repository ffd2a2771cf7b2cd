import DivanLog

/// Brings the records of the log into the index.
///
/// After a checkpoint this looks nothing up: each record holds its whole entry and says what it takes
/// the place of. Without one, everything is read, and merged segments may have dropped what a record
/// says it supersedes; then the index itself, which is in memory as a whole, is asked.
struct Replay: ~Copyable {
  var state: StoreState
  /// Whether there is no checkpoint below.
  let isFromNothing: Bool
  private(set) var damage: [Damage] = []
  private(set) var commitCount = 0
  private var scratch = ByteWriter(capacity: 128)

  init(onto state: StoreState, isFromNothing: Bool) {
    self.state = state
    self.isFromNothing = isFromNothing
  }
}

extension Replay {
  /// Brings in a segment.
  ///
  /// Begins at `start`, or at the first frame if that is nil. `progress` is called now and then with
  /// the offset that was reached; when it returns false, this stops and returns false too.
  mutating func run(
    _ segment: Segment, from start: LogEnd?, progress: (Int) -> Bool
  ) throws(LogError) -> Bool {
    state.segments.update(segment)
    var scan = RecordScan(segment, from: start)
    var countdown = 4096
    while true {
      switch try scan.next() {
      case .record(let entry):
        put(entry, in: segment)
        countdown -= 1
        if countdown == 0 {
          countdown = 4096
          guard progress(Int(clamping: entry.locator.offset)) else { return false }
        }
      case .commit(let end, let trailer):
        state.commit = end.commit
        state.time = trailer.time
        state.lastSequence = max(state.lastSequence, trailer.lastSequence)
        if !isFromNothing { state.documentCount = trailer.documentCount }
        commitCount += 1
      case .damage(let found):
        damage.append(found)
      case .end:
        state.commit = max(state.commit, segment.end.commit)
        state.lastSequence = max(state.lastSequence, segment.header.lastSequence)
        return true
      }
    }
  }

  private mutating func put(_ item: RecordScan.Entry, in segment: Segment) {
    guard item.record.kind == .document else {
      // Later versions may add kinds from 128 on that need not be understood. FILE_FORMAT.md §6
      if !item.record.kind.maySkip {
        damage.append(
          Damage(
            path: segment.file.path, offset: Int(clamping: item.locator.offset),
            reason: "a record of the unknown kind \(item.record.kind.rawValue)"))
      }
      return
    }
    let record: DocumentRecord
    do throws(ByteError) {
      record = try DocumentRecord.decode(item.record.payload)
    } catch {
      damage.append(
        Damage(
          path: segment.file.path, offset: Int(clamping: item.locator.offset),
          reason: error.reason))
      return
    }
    let entry = DocumentEntry(
      revision: record.revision, isDeleted: record.isDeleted, sequence: record.sequence,
      locator: item.locator)
    state.lastSequence = max(state.lastSequence, record.sequence)
    state.time = max(state.time, item.time)
    record.idBytes.withSpan { (key: Span<UInt8>) in
      var superseded = record.superseded
      if isFromNothing {
        let old = present(key)
        superseded = old.map { .init(sequence: $0.sequence, locator: $0.locator) }
        let wasLive = old.map { !$0.isDeleted } ?? false
        if wasLive, record.isDeleted { state.documentCount -= 1 }
        if !wasLive, !record.isDeleted { state.documentCount += 1 }
      }
      state.put(entry, id: key, superseding: superseded, scratch: &scratch)
    }
  }

  /// What the index holds for a document.
  ///
  /// Everything is in memory here, so nothing can fail.
  private func present(_ key: Span<UInt8>) -> DocumentEntry? {
    guard let value = try? state.documents.find(key) else { return nil }
    return try? DocumentEntry.decode(value)
  }
}
