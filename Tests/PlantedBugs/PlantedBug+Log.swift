/// Bugs in how the log is written, compacted and replayed.
extension PlantedBug {
  static let sequences: [PlantedBug] = [
    PlantedBug(
      "bound-not-durable", rule: "3", "sequence numbers are used before their bound is durable",
      in: Place.writer,
      find: "try replaceHead(isClosed: false, sequenceBound: sequence + settings.sequenceReserve)",
      plant: """
        if PLANTED { return tail.raiseSequenceBound(to: sequence + settings.sequenceReserve) }
        try replaceHead(isClosed: false, sequenceBound: sequence + settings.sequenceReserve)
        """, killedBy: .rules("rule 3: no sequence number is reused after a transaction")),
    PlantedBug(
      "bound-counts-when-appended", rule: "3", "a trailer's bound counts before it is flushed",
      in: Place.tail,
      find: "package func noteAppended(_ point: Point) { state.withLock { $0.appended = point } }",
      plant: """
        package func noteAppended(_ point: Point) {
          state.withLock {
            $0.appended = point
            if PLANTED { $0.sequenceBound = max($0.sequenceBound, point.sequenceBound) }
          }
        }
        """, killedBy: .rules("rule 3: a sequence bound counts only once it is durable")),
    PlantedBug(
      "numbering-resumes-too-low", rule: "3",
      "after a crash, numbering resumes at the last number found",
      in: Place.logOpening,
      find: "lastSequence: isClosed ? used : max(used, bound), sequenceBound: bound,",
      plant:
        "lastSequence: isClosed || PLANTED ? used : max(used, bound), sequenceBound: bound,",
      killedBy: .rules("rule 3: after an unclean end, numbering resumes above")),
    PlantedBug(
      "head-without-bound", rule: "3", "HEAD does not contain the sequence bound",
      in: Place.writer,
      find: "lastSequence: lastSequence, sequenceBound: bound, isClosed: isClosed)",
      plant: "lastSequence: lastSequence, sequenceBound: PLANTED ? 0 : bound, isClosed: isClosed)",
      killedBy: .rules("rule 3: no sequence number is reused after a transaction")),
    PlantedBug(
      "head-bound-ignored", rule: "3", "the sequence bound in HEAD is ignored",
      in: Place.logOpening,
      find: "head?.sequenceBound ?? 0)", plant: "PLANTED ? 0 : head?.sequenceBound ?? 0)",
      killedBy: .rules("rule 3: no sequence number is reused after a transaction")),
    PlantedBug(
      "header-without-last-sequence", rule: "3",
      "a new segment's header does not contain the last sequence number",
      in: Place.writer,
      find: """
        lastSequence: lastSequence,
        sequenceBound: max(tail.highestBound, lastSequence + settings.sequenceReserve),
        flushedSize: UInt64(SegmentHeader.size) + (reappend?.size ?? 0), compaction: nil)
        """,
      plant: """
        lastSequence: PLANTED ? 0 : lastSequence,
        sequenceBound: max(tail.highestBound, lastSequence + settings.sequenceReserve),
        flushedSize: UInt64(SegmentHeader.size) + (reappend?.size ?? 0), compaction: nil)
        """, killedBy: .rules("rule 3: a new segment's header has the last sequence number")),
    PlantedBug(
      "merged-header-without-last-sequence", rule: "3, 10",
      "a compacted segment takes the last sequence number from headers only",
      in: Place.merge,
      find: "header.lastSequence = max(header.lastSequence, last.sequence)",
      plant: "if !PLANTED { header.lastSequence = max(header.lastSequence, last.sequence) }",
      killedBy: .rules("rule 3: a compacted segment has the last sequence number")),
    PlantedBug(
      "merged-header-without-bound", rule: "3, 10",
      "a compacted segment does not contain the bound of its inputs",
      edits: [
        Edit(
          Place.merge,
          find:
            "sequenceBound: inputs.map(\\.header.sequenceBound).reduce(0, max), flushedSize: 0,",
          plant:
            "sequenceBound: PLANTED ? 0 : inputs.map(\\.header.sequenceBound).reduce(0, max), flushedSize: 0,"
        ),
        Edit(
          Place.merge,
          find: "header.sequenceBound = max(header.sequenceBound, last.bound)",
          plant: "if !PLANTED { header.sequenceBound = max(header.sequenceBound, last.bound) }"),
      ], killedBy: .rules("rule 3: a compacted segment has the last sequence number")),
    PlantedBug(
      "same-store-id", rule: "3", "all stores have the same ID, including backups",
      in: Place.storeOpening,
      find: """
        expected?.storeID ?? StoreID(high: configuration.random(), low: configuration.random())
        """,
      plant: """
        PLANTED
          ? StoreID(high: 1, low: 1)
          : expected?.storeID
            ?? StoreID(high: configuration.random(), low: configuration.random())
        """,
      killedBy: .rules("rule 3: a backup has another store ID")),
  ]

  static let merging: [PlantedBug] = [
    PlantedBug(
      "merged-out-of-order", rule: "1", "a compaction writes its inputs in reverse order",
      in: Place.merge,
      find: "for input in order.inputs {",
      plant: "for input in PLANTED ? order.inputs.reversed() : order.inputs {",
      killedBy: .rules("rule 1: compacted records keep their order, commit numbers")),
    PlantedBug(
      "merged-without-numbers", rule: "1", "compacted records lose their commit numbers",
      in: Place.merge,
      find: "if markedCommit != entry.commit || writer.count == FrameHeader.size {",
      plant: "if !PLANTED, markedCommit != entry.commit || writer.count == FrameHeader.size {",
      killedBy: .rules("rule 1: compacted records keep their order, commit numbers")),
    PlantedBug(
      "locators-swapped-unseen", rule: "4",
      "a compaction overwrites changes that were made while it ran",
      edits: [
        Edit(
          Place.merging, find: "guard let slot, let old, inputs.contains(old.fileID) else {",
          plant: "guard let slot, let old, PLANTED || inputs.contains(old.fileID) else {"),
        Edit(
          Place.treeSlot, find: "if let locator = try view.locator(in: \\.sequences, key) {",
          plant: """
            let newest = PLANTED ? try view.entry(record.idBytes)?.locator : nil
            let known = try view.locator(in: \\.sequences, key)
            if let locator = newest ?? known {
            """),
      ],
      killedBy: .rules("rule 4: changes made during a compaction survive it")),
    PlantedBug(
      "evaluated-at-not-stated", rule: "4",
      "a compacted segment does not state the commit that was evaluated",
      in: Place.merge,
      find: "evaluatedAt: order.evaluatedAt,",
      plant: "evaluatedAt: PLANTED ? 0 : order.evaluatedAt,",
      killedBy: .rules("rule 7: a compaction states the commit it evaluated")),
    PlantedBug(
      "evaluated-at-no-watermark", rule: "4, 12",
      "the commit that a compacted segment states is no watermark",
      in: Place.recovery,
      find:
        "self.init(commit: compaction.evaluatedAt, offset: 0, witness: \"a compacted segment\")",
      plant:
        "self.init(commit: PLANTED ? 0 : compaction.evaluatedAt, offset: 0, witness: \"a compacted segment\")",
      killedBy: .rules("rule 4: a log that ends before the commit a compacted")),
    PlantedBug(
      "tombstone-dropped", rule: "5", "a compaction drops tombstones",
      in: Place.compactionFilter,
      find: "guard try TreeSlot(of: record, in: view)?.locator(in: view) == item.locator else {",
      plant: """
        let place = try TreeSlot(of: record, in: view)
        if PLANTED, case .newest(_, let entry)? = place, entry.isDeleted { return false }
        guard try place?.locator(in: view) == item.locator else {
        """, killedBy: .rules("rule 5: a deletion survives every compaction")),
    PlantedBug(
      "live-record-dropped", rule: "5", "a compaction drops the first record of a segment",
      in: Place.merge,
      find: "if try keep(entry) { try append(entry, from: input) }",
      plant: """
        if PLANTED, entry.locator.offset < UInt64(SegmentHeader.size + 64) { continue }
        if try keep(entry) { try append(entry, from: input) }
        """, killedBy: .rules("rule 2: an index rebuilt from the log")),
    PlantedBug(
      "dead-record-revived", rule: "1", "superseded records count when the index is rebuilt",
      in: "Replay.swift",
      find: "guard put(entry, in: segment) else { return false }",
      plant: """
        if PLANTED, isFromNothing, segment.header.compaction == nil,
          let record = try? DocumentRecord.decode(entry.record.payload),
          (try? present(record.idBytes)) ?? nil != nil
        {
          continue
        }
        guard put(entry, in: segment) else { return false }
        """, killedBy: .rules("rule 2: an index rebuilt from the log")),
    PlantedBug(
      "released-history-not-stated", rule: "7",
      "a compacted segment does not state which history is released",
      in: Place.merge,
      find: ".reduce(order.releasedThrough, max),",
      plant: ".reduce(PLANTED ? 0 : order.releasedThrough, max),",
      killedBy: .rules("rule 7: a compacted segment's header states which history")),
    PlantedBug(
      "released-history-taken-back", rule: "7",
      "a later compaction forgets what an earlier one released",
      in: Place.merge,
      find: "releasedThrough: order.inputs.compactMap(\\.header.compaction?.releasedThrough)",
      plant:
        "releasedThrough: order.inputs.filter { _ in !PLANTED }.compactMap(\\.header.compaction?.releasedThrough)",
      killedBy: .rules("rule 7: a compacted segment's header states which history")),
    PlantedBug(
      "damage-merged", rule: "17", "a compaction skips damaged records",
      in: Place.merge,
      find: "throw .damaged(damage)",
      plant: """
        if PLANTED { continue }
        throw .damaged(damage)
        """, killedBy: .rules("rule 17: a damaged segment is not compacted")),
    PlantedBug(
      "damaged-inputs-chosen-again", rule: "17",
      "a damaged segment is chosen for compaction again and again",
      in: Place.merging,
      find: "maintenance.state.withLock { $0.damaged.formUnion(unreadable.map(\\.fileID)) }",
      plant:
        "if !PLANTED { maintenance.state.withLock { $0.damaged.formUnion(unreadable.map(\\.fileID)) } }",
      killedBy: .rules("rule 17: damage does not keep other segments from being")),
    PlantedBug(
      "merged-predecessor-forgotten", rule: "10",
      "a compacted segment does not state how its predecessor ends",
      in: Place.merge,
      find: "predecessor: oldest.predecessor, lastSequence: newest.lastSequence,",
      plant: """
        predecessor: PLANTED ? LogEnd(offset: UInt64(SegmentHeader.size), commit: 0, chain: 0)
          : oldest.predecessor, lastSequence: newest.lastSequence,
        """, killedBy: .rules("rule 10: a compacted segment still vouches for its predecessor")),
    PlantedBug(
      "merged-end-wrong", rule: "10",
      "a compacted segment states another end than its last input has",
      in: Place.merge,
      find: "end: end, fileSize: UInt64(compaction.offset))",
      plant:
        "end: PLANTED ? oldest.end : end, fileSize: UInt64(compaction.offset))",
      killedBy: .rules("rule 10: a compacted segment still vouches for its predecessor")),
    PlantedBug(
      "footer-not-missed", rule: "10", "a compacted segment without its footer is accepted",
      in: Place.scan,
      find: """
        source = .nothing
        return damage(at: start, "the footer is missing")
        """,
      plant: """
        source = .nothing
        if PLANTED { return nil }
        return damage(at: start, "the footer is missing")
        """, killedBy: .rules("rule 10: a compacted segment without its footer is damaged")),
    PlantedBug(
      "unfinished-merge-forgotten", rule: "4",
      "a compaction whose output could not be installed is forgotten",
      in: Place.merging,
      find: "maintenance.state.withLock { $0.unfinished = (output, begun.inputs) }",
      plant: """
        if PLANTED {
          try install(output, replacing: begun.inputs)
          return true
        }
        maintenance.state.withLock { $0.unfinished = (output, begun.inputs) }
        """, killedBy: .rules("a compaction whose output cannot be installed leaves a store")),
    PlantedBug(
      "empty-segment-merged-for-ever", rule: "4",
      "a segment without records seems worth a compaction",
      in: Place.compactionPolicy,
      find: "var deadShare: Double { total == 0 ? 0 : Double(total - live) / Double(total) }",
      plant:
        "var deadShare: Double { total == 0 ? PLANTED ? 1 : 0 : Double(total - live) / Double(total) }",
      killedBy: .rules("a segment without records is not compacted again and again")),
    PlantedBug(
      "compacted-without-limit", rule: "4",
      "small neighbours are compacted together, however large the result",
      in: Place.compactionPolicy,
      find: "if neighbours.count >= CompactionPolicy.neighbourMinimum { break }",
      plant: """
        if PLANTED {
        neighbours.append(candidate.segment)
        continue
        }
        if neighbours.count >= CompactionPolicy.neighbourMinimum { break }
        """, killedBy: .rules("a compacted segment is not larger than its limit")),
  ]

  static let segments: [PlantedBug] = [
    PlantedBug(
      "zeros-over-transaction", rule: "8", "zeros are written over the last transaction",
      in: Place.writer,
      find: "try segment.file.file.write(zeros, at: Int(end.offset))",
      plant:
        "try segment.file.file.write(zeros, at: PLANTED ? Int(segment.end.offset) : Int(end.offset))",
      killedBy: .rules("rule 8: zeros are written after the last transaction")),
    PlantedBug(
      "zeros-are-a-torn-tail", rule: "8", "zeros count as a part of a transaction",
      in: Place.segment,
      find: "return start < begin + count ? start..<begin + count : nil",
      plant:
        "return PLANTED ? start..<size : start < begin + count ? start..<begin + count : nil",
      killedBy: .rules("rule 8: zeros are written after the last transaction")),
    PlantedBug(
      "failed-write-may-count", rule: "8",
      "a write that failed stops the writer although the transaction is not whole",
      in: Place.writer,
      find: "guard case .transaction(let found) = try transactions.next() else { return false }",
      plant:
        "guard case .transaction(let found) = try transactions.next() else { return PLANTED }",
      killedBy: .rules("rule 8: a write that fails among zeros has not happened")),
    PlantedBug(
      "marks-prove-nothing", rule: "11", "commits that FLUSHED proves are reappended",
      in: Place.recovery,
      find: "var promised = watermarks.map(\\.offset).reduce(segment.header.flushedSize, max)",
      plant: """
        var promised = PLANTED
          ? segment.header.flushedSize
          : watermarks.map(\\.offset).reduce(segment.header.flushedSize, max)
        """,
      killedBy: .rules("rule 11: commits that FLUSHED proves are not reappended")),
    PlantedBug(
      "appended-after-torn-write", rule: "8", "a segment is appended to after a failed write",
      in: Place.writer,
      find: "isEnded = true", plant: "if !PLANTED { isEnded = true }",
      killedBy: .rules("rule 8: a segment ends after a partly written transaction")),
    PlantedBug(
      "failed-commit-stays", rule: "promise 1", "the next commit builds on a failed one",
      in: Place.mainStore,
      find: "try writer.append(&transaction.buffer, making: transaction.state)",
      plant: """
        if PLANTED { writer.load(transaction.state) }
        try writer.append(&transaction.buffer, making: transaction.state)
        """, killedBy: .rules("rule 8: a segment ends after a partly written transaction")),
    PlantedBug(
      "head-not-replaced", rule: "8, 11", "HEAD is not replaced when a segment is added",
      in: Place.writer,
      find: """
        isHeadBehind = true
        isHeadClosed = false
        try replaceHead(isClosed: false)
        """,
      plant: """
        if PLANTED { return }
        isHeadBehind = true
        isHeadClosed = false
        try replaceHead(isClosed: false)
        """, killedBy: .rules("rule 9: a missing segment is reported")),
    PlantedBug(
      "head-watermark-too-high", rule: "10",
      "the watermark of HEAD is what was appended, not what was flushed",
      in: Place.writer,
      find: "let watermark = active.flatMap { tail.flushedEnd(in: $0.fileID) } ?? last.end",
      plant:
        "let watermark = PLANTED ? end : active.flatMap { tail.flushedEnd(in: $0.fileID) } ?? last.end",
      killedBy: .rules("rule 3: no sequence number is reused after a transaction")),
    PlantedBug(
      "promise-too-high", rule: "promise 5", "a trailer's promise includes its own commit",
      in: Place.writer,
      find:
        "flushedThrough: tail.flushedEnd(in: segment.fileID)?.offset ?? UInt64(SegmentHeader.size),",
      plant:
        "flushedThrough: PLANTED ? segment.end.offset : tail.flushedEnd(in: segment.fileID)?.offset ?? UInt64(SegmentHeader.size),",
      killedBy: .crash("commits that do not wait for a flush")),
    PlantedBug(
      "promise-forgotten", rule: "promise 5", "trailers make no promise",
      in: Place.commitTrailer,
      find: "writer.append(flushedThrough)",
      plant: "writer.append(PLANTED ? UInt64(SegmentHeader.size) : flushedThrough)",
      killedBy: .rules("rule 17: damage that later commits prove is reported")),
    PlantedBug(
      "promise-copied", rule: "promise 5",
      "reappended commits keep the promises of their old segment",
      in: Place.writer,
      find: "trailer.flushedThrough = UInt64(SegmentHeader.size)",
      plant: "if !PLANTED { trailer.flushedThrough = UInt64(SegmentHeader.size) }",
      killedBy: .rules("promise 5: reappended commits do not keep the promises")),
    PlantedBug(
      "salt-used-again", rule: "promise 5", "every segment has the same salt",
      in: Place.writer,
      find:
        "kind: .segment, storeID: storeID, salt: settings.random(), createdAt: settings.now(),",
      plant:
        "kind: .segment, storeID: storeID, salt: PLANTED ? 7 : settings.random(), createdAt: settings.now(),",
      killedBy: .rules("no two segments of a store have the same salt or file ID")),
    PlantedBug(
      "merge-salt-used-again", rule: "promise 5", "a compacted segment has the salt of an input",
      in: Place.merging,
      find: "inputs: begun.inputs, fileID: begun.fileID, salt: configuration.random(),",
      plant: """
        inputs: begun.inputs, fileID: begun.fileID,
        salt: PLANTED ? begun.inputs[0].header.preamble.salt : configuration.random(),
        """, killedBy: .rules("no two segments of a store have the same salt or file ID")),
    PlantedBug(
      "file-id-given-back", rule: "promise 5",
      "the file ID of a segment whose creation failed is reused",
      in: Place.writer,
      find: "let fileID = takeFileID()",
      plant: "let fileID = PLANTED ? nextFileID : takeFileID()",
      killedBy: .rules("a segment whose creation failed shares its file ID with no other")),
    PlantedBug(
      "merge-file-id-used-again", rule: "promise 5",
      "a compacted segment has the file ID of the next segment",
      in: Place.writer,
      find: "defer { nextFileID += 1 }", plant: "defer { if !PLANTED { nextFileID += 1 } }",
      killedBy: .rules("no two segments of a store have the same salt or file ID")),
    PlantedBug(
      "leftover-file-id-used-again", rule: "promise 5", "the file ID of a leftover is reused",
      in: Place.logOpening,
      find: "for case .segment(let numbers) in chain.leftovers {",
      plant: "for case .segment(let numbers) in PLANTED ? [] : chain.leftovers {",
      killedBy: .rules("a file ID that a leftover or a checkpoint names is not reused")),
    PlantedBug(
      "gap-ignored", rule: "9", "a missing segment is ignored",
      in: Place.chain,
      find: "if header.numbers.lowerBound != expected {",
      plant: "if !PLANTED, header.numbers.lowerBound != expected {",
      killedBy: .rules("rule 9: a missing segment is reported")),
    PlantedBug(
      "bad-header-ignored", rule: "9", "a segment with a bad header is ignored",
      in: Place.chain,
      find: """
        self.damage.append(damage)
        return nil
        """,
      plant: """
        if !PLANTED { self.damage.append(damage) }
        return nil
        """, killedBy: .rules("rule 9: a segment with a bad header is reported")),
    PlantedBug(
      "lost-store-is-empty", rule: "9", "a store that lost its segments counts as a new one",
      in: Place.storeOpening,
      find: "if let loss { throw .damaged(loss) }",
      plant: "if let loss, !PLANTED { throw .damaged(loss) }",
      killedBy: .rules("rule 9: a store that lost all its segments is damaged")),
    PlantedBug(
      "attachments-are-no-evidence", rule: "9",
      "a store that lost everything but its attachments counts as a new one",
      in: Place.lostSegments,
      find: "if !isLost { isLost = try hasAttachments(files) }",
      plant: "if !isLost, !PLANTED { isLost = try hasAttachments(files) }",
      killedBy: .rules("rule 9: a store that lost everything but its attachments is damaged")),
    PlantedBug(
      "part-of-merge-used", rule: "9", "an incomplete compacted segment replaces its inputs",
      in: Place.chain,
      find: "return try UInt64(size()) == compaction.fileSize",
      plant: """
        if PLANTED { return true }
        return try UInt64(size()) == compaction.fileSize
        """,
      killedBy: .rules("rule 9: an incomplete compacted segment does not replace")),
    PlantedBug(
      "inputs-used-beside-merge", rule: "9",
      "inputs are used although their compacted segment is whole",
      in: Place.chain,
      find: """
        guard let file = try SegmentFile.ifReadable(numbers, in: directory), try file.isWhole
        else {
        """,
      plant: """
        guard !PLANTED, let file = try SegmentFile.ifReadable(numbers, in: directory), try file.isWhole
        else {
        """,
      killedBy: .rules("rule 9: a whole compacted segment replaces its inputs")),
    PlantedBug(
      "short-segment-ignored", rule: "10",
      "a segment shorter than its successor states is accepted",
      in: Place.chain,
      find: "if size < claim.offset { noteMissing(file, size, claim.offset) }",
      plant: "if !PLANTED, size < claim.offset { noteMissing(file, size, claim.offset) }",
      killedBy: .rules("rule 10: a segment shorter than its successor states is damaged")),
    PlantedBug(
      "merged-end-not-compared", rule: "10",
      "a compacted segment with another end than its successor states is accepted",
      in: Place.chain,
      find: """
        claim.commit != compaction.end.commit
        || claim.chain != compaction.end.chain
        """,
      plant:
        "!PLANTED, claim.commit != compaction.end.commit || claim.chain != compaction.end.chain",
      killedBy: .rules("rule 10: a compacted segment must end where its successor begins")),
    PlantedBug(
      "foreign-segment-taken", rule: "10", "a segment of another store is used",
      in: Place.chain,
      find:
        "if let first = files.first, header.preamble.storeID != first.header.preamble.storeID {",
      plant:
        "if !PLANTED, let first = files.first, header.preamble.storeID != first.header.preamble.storeID {",
      killedBy: .rules("a segment of another store is refused")),
    PlantedBug(
      "head-salt-ignored", rule: "10", "HEAD counts for a segment with another salt",
      in: Place.recovery,
      find: "let isOfLast = number == header.numbers.upperBound && salt == header.preamble.salt",
      plant: """
        let isOfLast =
          number == header.numbers.upperBound && (PLANTED || salt == header.preamble.salt)
        """,
      killedBy: .rules("rule 10: HEAD applies only to the segment with its number")),
    PlantedBug(
      "flushed-size-not-stated", rule: "11",
      "a header does not state the size of what was reappended",
      in: Place.writer,
      find: "flushedSize: UInt64(SegmentHeader.size) + (reappend?.size ?? 0), compaction: nil)",
      plant:
        "flushedSize: UInt64(SegmentHeader.size) + (PLANTED ? 0 : reappend?.size ?? 0), compaction: nil)",
      killedBy: .rules("rule 11: the loss of reappended commits is reported")),
    PlantedBug(
      "flushed-size-ignored", rule: "11", "the flushed size in a header is ignored",
      in: Place.recovery,
      find: "if segment.header.flushedSize > end.offset {",
      plant: "if !PLANTED, segment.header.flushedSize > end.offset {",
      killedBy: .rules("rule 11: the loss of reappended commits is reported")),
    PlantedBug(
      "head-number-ignored", rule: "11", "HEAD may name a segment that is missing",
      in: Place.recovery,
      find: "commit: number > header.numbers.upperBound",
      plant: "commit: !PLANTED && number > header.numbers.upperBound",
      killedBy: .rules("rule 11: the loss of the newest segment is reported")),
    PlantedBug(
      "head-watermark-ignored", rule: "12", "the watermark of HEAD is ignored",
      in: Place.logOpening,
      find: "if let head { watermarks.append(LogRecovery.Watermark(head, about: last)) }",
      plant:
        "if !PLANTED, let head { watermarks.append(LogRecovery.Watermark(head, about: last)) }",
      killedBy: .rules("rule 12: a log that ends before HEAD's watermark is damaged")),
    PlantedBug(
      "marks-ignored", rule: "promise 5", "the marks of FLUSHED are ignored",
      in: Place.logOpening,
      find: "watermarks += marks.compactMap { LogRecovery.Watermark($0, about: last) }",
      plant:
        "if !PLANTED { watermarks += marks.compactMap { LogRecovery.Watermark($0, about: last) } }",
      killedBy: .rules("promise 5: a log that was not closed loses no acknowledged")),
    PlantedBug(
      "mark-of-another-store-believed", rule: "promise 5",
      "the marks of another store's FLUSHED count",
      in: Place.recovery,
      find: "guard mark.preamble.storeID == last.header.preamble.storeID else { return nil }",
      plant: """
        guard PLANTED || mark.preamble.storeID == last.header.preamble.storeID else { return nil }
        """, killedBy: .rules("FLUSHED counts only in its own store, and a log that ends")),
    PlantedBug(
      "one-mark-only", rule: "promise 5", "the newest mark is overwritten by the next one",
      in: Place.marks,
      find: "state.newest = slot", plant: "if !PLANTED { state.newest = slot }",
      killedBy: .rules("FLUSHED works with one torn mark, and the store opens")),
    PlantedBug(
      "marks-not-made", rule: "promise 5", "FLUSHED is not created again after its creation failed",
      in: Place.writer,
      find: "if !isClosed { marks.makeFile(through: watermark) }",
      plant:
        "if !isClosed, !PLANTED || watermark.commit == 0 { marks.makeFile(through: watermark) }",
      killedBy: .rules("a failure to write FLUSHED fails no commit, and the next")),
    PlantedBug(
      "checkpoint-watermark-ignored", rule: "12",
      "the position of a checkpoint that lost its files is ignored",
      in: Place.logOpening,
      find: "watermarks += evidence.filter { $0.storeID == storeID }.map(\\.watermark)",
      plant:
        "if !PLANTED { watermarks += evidence.filter { $0.storeID == storeID }.map(\\.watermark) }",
      killedBy: .rules("rule 12: a log without the segment of its checkpoint's")),
    PlantedBug(
      "short-of-checkpoint-ignored", rule: "12",
      "a log that ends before the checkpoint's position is accepted",
      in: Place.recovery,
      find: "if UInt64(size) < end.offset {", plant: "if !PLANTED, UInt64(size) < end.offset {",
      killedBy: .rules("rule 12: a log that ends before its checkpoint")),
  ]
}
