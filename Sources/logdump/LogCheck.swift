import Divan
import DivanLog

/// Reads the whole log and checks what a reader does not. FILE_FORMAT.md §3–§9, §13
final class LogCheck {
  private let log: OpenedLog
  private let findings: Findings
  private let progress: Progress
  private var index = InspectedIndex()
  private(set) var commitCount = 0
  private(set) var recordCount = 0
  /// The commit, sequence number and time that were read last.
  private var commit: UInt64 = 0
  private var sequence: UInt64 = 0
  private var time: UInt64 = 0
  private var lastTrailer: CommitTrailer?

  init(_ log: OpenedLog, _ findings: Findings, _ progress: Progress) {
    self.log = log
    self.findings = findings
    self.progress = progress
  }

  /// The number of documents in the log that are not deleted.
  var documentCount: UInt64 { index.documentCount }
  /// The names of the indexes that are not compared with the documents.
  var uncheckedIndexNames: [String] { index.uncheckedIndexNames }
}

extension LogCheck {
  func run() throws {
    var fileIDs: Set<UInt64> = []
    for (position, segment) in log.segments.enumerated() {
      if !fileIDs.insert(segment.fileID).inserted {
        try add(segment, 64, "another segment has the same file ID")
      }
      try checkHeader(segment)
      if segment.header.compaction == nil {
        try checkTransactions(segment, isLast: position == log.segments.count - 1)
      } else {
        try checkCompacted(segment)
      }
      try index.add(segment)
    }
    for damage in index.damage { try findings.add(damage) }
    if findings.damageCount == 0, let lastTrailer, let last = log.last,
      lastTrailer.documentCount != index.documentCount
    {
      try add(
        last, Int(clamping: last.end.offset),
        "the last commit counts \(lastTrailer.documentCount) documents, but the log has "
          + "\(index.documentCount)")
    }
  }

  /// Checks the attachments of the log's documents, after the log was read.
  func checkAttachments(isByName: Bool) throws -> InspectedAttachmentCheck {
    var damage: [Damage] = []
    let check = try index.checkAttachments(
      in: log.directory, isByName: isByName,
      progress: { self.progress.step("Checking attachments: \($0 >> 20) MiB so far") },
      report: { damage.append($0) })
    if !damage.isEmpty, !log.isClosed {
      // The store may be open in another process, and blobs without references may have been
      // removed since the log was read.
      let newer = try OpenedLog.open(log.directory.path, on: log.directory.fileSystem)
      var index = InspectedIndex()
      for segment in newer.segments { try index.add(segment) }
      var still: [Damage] = []
      _ = try index.checkAttachments(in: log.directory, isByName: isByName) { still.append($0) }
      damage.removeAll { !still.contains($0) }
    }
    for each in damage { try findings.add(each) }
    for path in check.foreign {
      try findings.note(
        Damage(path: "\(log.directory.path)/\(path)", offset: 0, reason: "not a file of the store"))
    }
    return check
  }

  private func add(_ segment: Segment, _ offset: Int, _ reason: String) throws {
    try findings.add(Damage(path: segment.file.path, offset: offset, reason: reason))
  }

  private func checkHeader(_ segment: Segment) throws {
    let block = try segment.bytes(SegmentHeader.size, at: 0)
    let isCompacted = segment.header.compaction != nil
    try findings.requireZeros(
      block,
      [56..<64, 116..<120, (isCompacted ? 192 : 144)..<4092] + (isCompacted ? [180..<184] : []),
      path: segment.file.path, at: 0)
    if block.load(UInt32.self, at: 92) > 1 { try add(segment, 92, "the flags are unknown") }
    if isCompacted == (segment.header.generation == 0) {
      try add(segment, 88, "the generation does not match the kind of segment")
    }
    if segment.header.lastSequence > segment.header.sequenceBound {
      try add(segment, 120, "the last sequence number is above its bound")
    }
  }

  // MARK: Ordinary segments

  private func checkTransactions(_ segment: Segment, isLast: Bool) throws {
    let limit = Int(clamping: segment.end.offset)
    var reader = TransactionReader(segment, limit: limit)
    commit = max(commit, segment.header.predecessor.commit)
    while true {
      let start = reader.end
      switch try reader.next() {
      case .transaction(let transaction):
        commitCount += 1
        commit = transaction.commit
        try check(transaction, start, segment)
      case .broken(let offset, let reason):
        try add(segment, offset, reason)
        guard try reader.resume() else { return }
      case .end:
        if !isLast, reader.end != segment.end {
          try add(
            segment, limit,
            "the segment ends at commit \(reader.end.commit) and byte \(reader.end.offset), but its "
              + "successor follows commit \(segment.end.commit) at byte \(segment.end.offset)")
        }
        return
      }
    }
  }

  private func check(
    _ transaction: LoggedTransaction, _ start: LogEnd, _ segment: Segment
  ) throws {
    let trailer = transaction.trailer
    var count: UInt32 = 0
    for (index, part) in transaction.parts.enumerated() {
      let isLast = index == transaction.parts.count - 1
      let size = part.records.count + (isLast ? CommitTrailer.size : 0)
      try checkPadding(segment, part.offset + size)
      count += try checkRecords(part.records, at: part.offset, segment)
    }
    let end = Int(clamping: transaction.end.offset)
    if count != trailer.recordCount {
      try add(
        segment, end,
        "the transaction has \(count) records, but its trailer counts \(trailer.recordCount)")
    }
    if trailer.flushedThrough > start.offset {
      try add(segment, end, "the trailer promises more flushed bytes than precede it")
    }
    if trailer.lastSequence < sequence { try add(segment, end, "the sequence numbers go back") }
    if trailer.sequenceBound < trailer.lastSequence {
      try add(segment, end, "the last sequence number is above its bound")
    }
    if trailer.time < time { try add(segment, end, "the time goes back") }
    sequence = max(sequence, trailer.lastSequence)
    time = max(time, trailer.time)
    lastTrailer = trailer
  }

  /// Checks that the padding of a frame is zero; the payload ends at `offset`.
  private func checkPadding(_ segment: Segment, _ offset: Int) throws {
    let padding = FrameHeader.padded(offset) - offset
    let bytes = try segment.bytes(padding, at: offset)
    try findings.requireZeros(bytes, [0..<bytes.count], path: segment.file.path, at: offset)
  }

  // MARK: Records

  /// Checks records, and returns how many there are.
  private func checkRecords(
    _ records: SharedBytes, at offset: Int, _ segment: Segment
  ) throws -> UInt32 {
    var reader = RecordReader(records, at: offset, encryptedBy: segment.file.encryption)
    var count: UInt32 = 0
    do {
      while let (record, start, _) = try reader.next() {
        count += 1
        if record.kind == .commitMark, segment.header.compaction != nil {
          try checkMark(record, start, segment)
          continue
        }
        recordCount += 1
        if recordCount % 4096 == 0 {
          progress.step("Checking \(segment.file.name): \(recordCount) records so far")
        }
        try check(record, start, segment)
      }
    } catch let error as ByteError {
      try add(segment, reader.offset, error.reason)
    }
    return count
  }

  private func check(_ record: Record, _ offset: Int, _ segment: Segment) throws {
    guard record.kind == .document else {
      return try checkOther(record, offset, segment)
    }
    let document: InspectedDocument
    do {
      document = try InspectedDocument(record.payload)
    } catch {
      return try add(segment, offset, error.reason)
    }
    if let problem = document.problem { try add(segment, offset, problem) }
    // An expiry writes a record again, and a backup writes the leaves of a conflict together.
    let mayGoBack = document.hasDetails || document.superseded?.sequence == document.sequence
    if document.sequence <= sequence, !mayGoBack {
      try add(segment, offset, "the sequence numbers go back")
    }
    sequence = max(sequence, document.sequence)
  }

  /// Checks a record that is not a document's.
  private func checkOther(_ record: Record, _ offset: Int, _ segment: Segment) throws {
    do {
      _ = try InspectedRecord(record)
    } catch {
      try add(segment, offset, error.reason)
    }
  }

  private func checkMark(_ record: Record, _ offset: Int, _ segment: Segment) throws {
    var reader = ByteReader(record.payload)
    do {
      let marked = try reader.readVarint()
      let markedTime = try reader.readVarint()
      guard reader.isAtEnd else {
        return try add(segment, offset, "the commit mark has a wrong size")
      }
      if marked < commit { try add(segment, offset, "the commit numbers go back") }
      if marked > commit { commitCount += 1 }
      commit = max(commit, marked)
      time = max(time, markedTime)
    } catch let error as ByteError {
      try add(segment, offset, error.reason)
    }
  }

  // MARK: Compacted segments

  private func checkCompacted(_ segment: Segment) throws {
    guard let compaction = segment.header.compaction else { return }
    let size = try segment.file.size()
    if UInt64(size) != compaction.fileSize {
      try add(
        segment, min(size, Int(clamping: compaction.fileSize)),
        "the file's size is not the one that its header states")
    }
    let before = recordCount
    var hasFooter = false
    var scan = SegmentScan(segment, limit: min(size, Int(clamping: compaction.fileSize)))
    while true {
      switch try scan.next() {
      case .frame(let header, let offset, let payload, let isSound):
        guard isSound else {
          try add(segment, offset, "the frame's payload does not match its checksum")
          continue
        }
        try checkPadding(segment, offset + FrameHeader.size + payload.count)
        if hasFooter { try add(segment, offset, "there is a frame after the footer") }
        switch header.kind {
        case .compacted:
          _ = try checkRecords(payload, at: offset + FrameHeader.size, segment)
        case .footer:
          hasFooter = true
          let counted = UInt64(recordCount - before)
          if payload.count != 8 || payload.load(UInt64.self, at: 0) != counted {
            try add(segment, offset, "the footer does not count the records in the file")
          }
        default:
          try add(
            segment, offset, "the frame is of a kind that does not belong in a compacted segment")
        }
      case .gap(let range, let reason):
        try findings.add(
          Damage(
            path: segment.file.path, offset: range.lowerBound, size: range.count, reason: reason))
      case .end:
        if !hasFooter { try add(segment, size, "the footer is missing") }
        if commit > compaction.end.commit {
          try add(segment, 160, "a commit is past the end that the header states")
        }
        commit = max(commit, compaction.end.commit)
        sequence = max(sequence, segment.header.lastSequence)
        return
      }
    }
  }
}
